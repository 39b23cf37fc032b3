//! What a file is: checked on programs that the tests build, so the right answer is known.

mod common;

use common::details;
use std::path::{Path, PathBuf};
use underpin_elf::{
    Allocator, AllocatorKind, AllocatorNames, Details, Evidence, Language, LibcKind, LibcPlacement, Linkage,
};
use underpin_test_support::{Fixture, need};

const HELLO: &str = "#include <stdio.h>\n#include <stdlib.h>\n\
    int main(int n, char **v) { char *p = malloc(n * 100); printf(\"%s %p\\n\", v[0], (void *)p); free(p); return 0; }\n";

fn built(fixture: &Fixture, compiler: &str, name: &str, arguments: &[&str]) -> PathBuf {
    fixture.write("hello.c", HELLO);
    // diet is put before the compiler's command line.
    let prefix = if compiler == "diet" { &["cc"][..] } else { &[] };
    fixture.must(compiler, prefix.iter().chain(&["-O1", "-o", name, "hello.c"]).chain(arguments));
    fixture.join(name)
}

fn stripped(fixture: &Fixture, name: &str) -> Details {
    let output = format!("{name}.stripped");
    fixture.must("strip", ["-o", &output, name]);
    let details = details(&fixture.join(&output));
    assert!(details.identity.stripped, "{name}");
    details
}

fn libc(details: &Details) -> Option<(LibcKind, LibcPlacement)> {
    details.identity.libc.as_ref().map(|libc| (libc.kind, libc.placement))
}

fn kinds(details: &Details) -> Vec<AllocatorKind> {
    details.identity.allocators.iter().map(|allocator| allocator.kind).collect()
}

fn only_allocator(details: &Details, kind: AllocatorKind) -> &Allocator {
    let found = details.identity.allocators.iter().find(|allocator| allocator.kind == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", details.identity.allocators));
    assert!(!found.evidence.is_empty(), "{kind:?} is claimed without evidence");
    found
}

#[test]
fn dynamic_programs_and_libraries_are_told_apart() {
    need!("cc");
    let fixture = Fixture::new();
    let linkage = |name: &str, arguments: &[&str]| {
        let details = details(&built(&fixture, "cc", name, arguments));
        assert_eq!(libc(&details), Some((LibcKind::Glibc, LibcPlacement::Loaded)), "{name}");
        assert!(details.identity.allocators.is_empty(), "{name}");
        assert!(details.identity.allocation_imported.iter().any(|function| function == "malloc"), "{name}");
        details.identity.linkage
    };
    assert_eq!(linkage("pie", &["-pie", "-fPIE"]), Linkage::DynamicPie);
    assert_eq!(linkage("fixed", &["-no-pie"]), Linkage::DynamicExecutable);
    assert_eq!(linkage("library", &["-shared", "-fPIC"]), Linkage::SharedLibrary);
}

#[test]
fn static_glibc_is_recognised_with_and_without_symbols() {
    need!("cc", "strip");
    let fixture = Fixture::new();
    for (name, argument, linkage) in
        [("fixed", "-static", Linkage::StaticExecutable), ("pie", "-static-pie", Linkage::StaticPie)]
    {
        let whole = details(&built(&fixture, "cc", name, &[argument]));
        for details in [whole, stripped(&fixture, name)] {
            assert_eq!(details.identity.linkage, linkage);
            assert_eq!(libc(&details), Some((LibcKind::Glibc, LibcPlacement::Inside)), "{name}");
            assert_eq!(kinds(&details), [AllocatorKind::Ptmalloc], "{name}");
            only_allocator(&details, AllocatorKind::Ptmalloc);
        }
    }
}

#[test]
fn musl_is_recognised_dynamic_and_static() {
    need!("musl-gcc", "strip");
    let fixture = Fixture::new();
    let dynamic = details(&built(&fixture, "musl-gcc", "dynamic", &[]));
    assert_eq!(libc(&dynamic), Some((LibcKind::Musl, LibcPlacement::Loaded)));
    let whole = details(&built(&fixture, "musl-gcc", "static", &["-static"]));
    for details in [whole, stripped(&fixture, "static")] {
        assert_eq!(details.identity.linkage, Linkage::StaticExecutable);
        assert_eq!(libc(&details), Some((LibcKind::Musl, LibcPlacement::Inside)));
        assert_eq!(kinds(&details), [AllocatorKind::MuslMallocng]);
    }
}

/// Its own allocator is what reveals a stripped musl; a program may have another one.
#[test]
fn musl_is_recognised_without_its_own_allocator_and_without_symbols() {
    need!("musl-gcc", "strip");
    let fixture = Fixture::new();
    fixture.write(
        "bump.c",
        "#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\nstatic char heap[65536]; static size_t used;\n\
         void *malloc(size_t n) { char *at = heap + used; used += (n + 15) & ~15; return at; }\n\
         void free(void *p) { (void)p; }\n\
         void *calloc(size_t n, size_t size) { return malloc(n * size); }\n\
         void *realloc(void *p, size_t n) { return p ? NULL : malloc(n); }\n\
         int main(int count, char **words) { puts(strerror(count)); puts(words[0]); return !malloc(9); }\n",
    );
    fixture.must("musl-gcc", ["-O1", "-static", "-fno-builtin", "-o", "bump", "bump.c"]);
    let details = stripped(&fixture, "bump");
    assert_eq!(libc(&details), Some((LibcKind::Musl, LibcPlacement::Inside)), "{:?}", details.identity);
    assert!(kinds(&details).is_empty(), "{:?}", details.identity.allocators);
}

#[test]
fn a_static_pie_that_the_musl_wrapper_made_dynamic_is_not_called_static() {
    need!("musl-gcc");
    let fixture = Fixture::new();
    let details = details(&built(&fixture, "musl-gcc", "fake", &["-static-pie"]));
    assert_eq!(details.identity.linkage, Linkage::DynamicPie);
}

#[test]
fn loaders_and_c_libraries_are_what_they_are() {
    const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";
    const LD_SO: &str = "/lib64/ld-linux-x86-64.so.2";
    const MUSL: &str = "/lib/ld-musl-x86_64.so.1";
    need!(LIBC, LD_SO, MUSL);
    let glibc = details(Path::new(LIBC));
    assert_eq!(glibc.identity.linkage, Linkage::RunnableLibrary);
    assert_eq!(libc(&glibc), Some((LibcKind::Glibc, LibcPlacement::Inside)));
    assert_eq!(kinds(&glibc), [AllocatorKind::Ptmalloc]);
    let banner = common::run_any(&mut std::process::Command::new(LIBC));
    let version = glibc.identity.libc.and_then(|libc| libc.version).expect("glibc states its version");
    assert!(banner.contains(&format!("version {version}.")), "{version} is not in: {banner}");

    let ld_so = details(Path::new(LD_SO));
    assert_eq!(
        (ld_so.identity.linkage, libc(&ld_so)),
        (Linkage::Loader, Some((LibcKind::Glibc, LibcPlacement::Inside)))
    );

    let musl = details(Path::new(MUSL));
    assert_eq!((musl.identity.linkage, libc(&musl)), (Linkage::Loader, Some((LibcKind::Musl, LibcPlacement::Inside))));
    let output = std::process::Command::new(MUSL).output().expect("musl's loader can be run");
    let banner = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = musl.identity.libc.and_then(|libc| libc.version).expect("musl states its version");
    assert!(banner.contains(&format!("Version {version}\n")), "{version} is not in: {banner}");
}

#[test]
fn go_programs_have_no_c_library() {
    need!("go");
    let fixture = Fixture::new();
    fixture.write("main.go", "package main\nfunc main() { println(\"hello\") }\n");
    let mut go = fixture.command("go");
    go.args(["build", "-o", "hello", "main.go"]).env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod");
    let output = underpin_test_support::Output::of(&mut go);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let details = details(&fixture.join("hello"));
    assert_eq!(details.identity.linkage, Linkage::StaticExecutable);
    assert_eq!(libc(&details), Some((LibcKind::GoRuntime, LibcPlacement::Inside)));
    let version = only_allocator(&details, AllocatorKind::GoRuntime).version.clone().expect("go states its version");
    let said = fixture.must("go", ["version"]);
    assert!(said.contains(&version.to_string()), "{version} is not in {said}");
    assert_eq!(details.identity.languages[0].language, Language::Go);
}

#[test]
fn rust_programs_name_their_compiler() {
    need!("rustc");
    let fixture = Fixture::new();
    fixture.write("main.rs", "fn main() { println!(\"{:?}\", std::env::args().collect::<Vec<_>>()); }");
    fixture.must("rustc", ["-O", "-o", "hello", "main.rs"]);
    let details = details(&fixture.join("hello"));
    let rust = details.identity.languages.iter().find(|trace| trace.language == Language::Rust).expect("Rust");
    let version = rust.version.as_ref().expect("rustc writes .comment").to_string();
    assert!(fixture.must("rustc", ["--version"]).contains(&version), "{version}");
    assert!(details.identity.allocators.is_empty(), "{:?}", details.identity.allocators);
}

#[test]
fn rust_on_musl_is_static_with_mallocng() {
    need!("rustc");
    let fixture = Fixture::new();
    fixture.write("main.rs", "fn main() { println!(\"{:?}\", std::env::args().collect::<Vec<_>>()); }");
    let target = "x86_64-unknown-linux-musl";
    let installed = fixture.must("rustc", ["--print", "sysroot"]);
    let library = Path::new(installed.trim()).join("lib/rustlib").join(target);
    need!(library.to_str().expect("a sysroot with a UTF-8 name"));
    fixture.must("rustc", ["-O", "--target", target, "-C", "strip=symbols", "-o", "hello", "main.rs"]);
    let details = details(&fixture.join("hello"));
    assert!(details.identity.linkage.is_static());
    assert_eq!(libc(&details), Some((LibcKind::Musl, LibcPlacement::Inside)));
    assert_eq!(kinds(&details), [AllocatorKind::MuslMallocng]);
}

/// A program with an allocator's archive linked in, before and after `strip`.
fn with_archive(fixture: &Fixture, name: &str, archive: &str, check: impl Fn(&Details)) {
    let libraries = ["-lstdc++", "-lm", "-lpthread", "-ldl"];
    let arguments: Vec<&str> = [archive].into_iter().chain(libraries).collect();
    let whole = details(&built(fixture, "cc", name, &arguments));
    assert!(whole.identity.allocation_defined.iter().any(|function| function == "malloc"), "{name}");
    check(&whole);
    check(&stripped(fixture, name));
}

#[test]
fn jemalloc_is_recognised_with_version_and_page_size() {
    const ARCHIVE: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.a";
    need!("cc", "strip", ARCHIVE, "/usr/include/jemalloc/jemalloc.h");
    let header = std::fs::read_to_string("/usr/include/jemalloc/jemalloc.h").expect("the header can be read");
    let fixture = Fixture::new();
    with_archive(&fixture, "hello", ARCHIVE, |details| {
        let jemalloc = only_allocator(details, AllocatorKind::Jemalloc);
        let version = jemalloc.version.as_ref().expect("jemalloc states its version");
        assert!(header.contains(&format!("\"{version}\"")), "{version}");
        if !details.identity.stripped {
            assert_eq!(jemalloc.page_size, Some(4096));
        }
    });
}

#[test]
fn tcmalloc_is_recognised_with_and_without_symbols() {
    const ARCHIVE: &str = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.a";
    need!("cc", "strip", ARCHIVE);
    let fixture = Fixture::new();
    with_archive(&fixture, "hello", ARCHIVE, |details| {
        assert!(only_allocator(details, AllocatorKind::Tcmalloc).version.is_some());
    });
}

#[test]
fn mimalloc_is_recognised_with_the_version_of_its_header() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0";
    const HEADER: &str = "/usr/include/mimalloc.h";
    need!(LIBRARY, HEADER);
    let header = std::fs::read_to_string(HEADER).expect("the header can be read");
    let line = header.lines().find(|line| line.contains("#define MI_MALLOC_VERSION")).expect("the header says so");
    let digits = line.split_whitespace().nth(2).expect("a number").to_string();
    let details = details(Path::new(LIBRARY));
    let version = only_allocator(&details, AllocatorKind::Mimalloc).version.as_ref().expect("mi_version is exported");
    assert_eq!(version.to_string().replace('.', ""), digits);
}

#[test]
fn a_program_that_searches_for_texts_is_not_taken_for_their_owner() {
    let details = details(Path::new("/proc/self/exe"));
    assert!(kinds(&details).is_empty(), "{:?}", details.identity.allocators);
}

#[test]
fn object_files_and_detached_debug_files_are_named_so() {
    need!("cc", "objcopy");
    let fixture = Fixture::new();
    let program = built(&fixture, "cc", "program", &["-g"]);
    fixture.must("objcopy", ["--only-keep-debug", "program", "program.debug"]);
    fixture.must("cc", ["-c", "-o", "hello.o", "hello.c"]);
    assert_eq!(details(&fixture.join("program.debug")).identity.linkage, Linkage::DebugFile);
    let object = details(&fixture.join("hello.o"));
    assert_eq!(object.identity.linkage, Linkage::Relocatable);
    assert!(object.imports.iter().any(|import| import.name == "malloc"));
    assert!(object.exports.iter().any(|export| export.name == "main"));
    assert_eq!(details(&program).identity.linkage, Linkage::DynamicPie);
}

#[test]
fn diet_libc_is_recognised_by_its_symbols() {
    need!("diet", "cc");
    let fixture = Fixture::new();
    let whole = details(&built(&fixture, "diet", "hello", &[]));
    assert_eq!(libc(&whole), Some((LibcKind::Dietlibc, LibcPlacement::Inside)));
}

#[test]
fn a_program_without_any_c_library_has_none() {
    need!("cc");
    let fixture = Fixture::new();
    fixture.write("bare.c", "void _start(void) { for (;;) {} }");
    fixture.cc(["-static", "-nostdlib", "-o", "bare", "bare.c"]);
    let details = details(&fixture.join("bare"));
    assert_eq!(libc(&details), Some((LibcKind::NoLibc, LibcPlacement::Inside)));
    assert!(details.identity.allocators.is_empty());
}

#[test]
fn weak_only_needs_and_markers_are_told_from_strong_ones() {
    need!("cc");
    let fixture = Fixture::new();
    fixture.write(
        "weak.c",
        "extern int gettid(void) __attribute__((weak));\n#include <stdio.h>\n\
         int main(void) { if (gettid) return gettid() < 0; puts(\"none\"); return 0; }",
    );
    fixture.cc(["-o", "weak", "weak.c", "-Wl,-z,pack-relative-relocs"]);
    let details = details(&fixture.join("weak"));
    let strength = |version: &str| {
        details.version_needs.iter().find(|need| need.version == version).map(underpin_elf::VersionNeed::strength)
    };
    use underpin_elf::NeedStrength::{Marker, Strong, WeakOnly};
    assert_eq!(strength("GLIBC_2.30"), Some(WeakOnly));
    assert_eq!(strength("GLIBC_2.34"), Some(Strong));
    if details.version_needs.iter().any(|need| need.version == "GLIBC_ABI_DT_RELR") {
        assert_eq!(strength("GLIBC_ABI_DT_RELR"), Some(Marker));
    }
}

#[test]
fn data_copied_out_of_a_library_forces_its_version_too() {
    need!("cc");
    let fixture = Fixture::new();
    fixture.write("copy.c", "#include <stdio.h>\nint main(void) { return stdout == 0; }");
    fixture.cc(["-no-pie", "-fno-pie", "-o", "copy", "copy.c"]);
    let details = details(&fixture.join("copy"));
    let need = details.version_needs.iter().find(|need| need.symbols.iter().any(|symbol| symbol.name == "stdout"));
    assert_eq!(need.map(|need| need.version.to_string()), Some("GLIBC_2.2.5".to_string()));
    assert!(details.exports.iter().any(|export| export.name == "stdout"));
}

#[test]
fn evidence_reads_as_a_phrase() {
    assert_eq!(Evidence::Defines("mi_malloc".into()).to_string(), "defines mi_malloc");
    assert_eq!(Evidence::Text("some text".into()).to_string(), "text \"some text\"");
}

/// Every text and table that the search looks for, as spelled in the released versions.
const NEEDLES: [(&str, &str); 14] = [
    ("ptmalloc", "malloc(): corrupted top size"),
    ("glibc banner", "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\\n"),
    ("glibc", "Fatal error: glibc detected an invalid stdio handle\\n"),
    ("musl", "No error information"),
    ("musl loader", "musl libc (x86_64)\\nVersion 1.2.3"),
    ("jemalloc", "<jemalloc>: "),
    ("mimalloc", "mimalloc: error: %s"),
    ("tcmalloc", "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD"),
    ("gperftools", "gperftools 2.10"),
    ("snmalloc", "Failed to initialise snmalloc"),
    ("PartitionAlloc", "partition_alloc/partitions/"),
    (
        "size classes",
        "\\1\\0\\2\\0\\3\\0\\4\\0\\5\\0\\6\\0\\7\\0\\10\\0\\11\\0\\12\\0\\14\\0\\17\\0\\22\\0\\24\\0\\31\\0\\37\\0\\44\\0\\52\\0\\62\\0\\77\\0\
         \\110\\0\\124\\0\\146\\0\\177",
    ),
    (
        "group sizes",
        "\\36\\36\\36\\37\\17\\17\\24\\12\\12\\37\\17\\7\\31\\14\\6\\25\\12\\5\\22\\10\\4\\37\\17\\7\\34\\16\\6",
    ),
    ("bins", " !\"#$$%%&&''(((())))****++++,,,,"),
];

#[test]
fn a_text_alone_makes_no_file_an_allocators_or_a_c_librarys() {
    need!("cc", "strip");
    let fixture = Fixture::new();
    for (name, text) in NEEDLES {
        let text = text.replace('"', "\\\"");
        let program = format!(
            "#include <stdio.h>\n#include <stdlib.h>\nconst char text[] = \"{text}\";\n\
             int main(void) {{ void *p = malloc(100); printf(\"%s %d\\n\", text, p != 0); return 0; }}\n"
        );
        fixture.write("lie.c", program);
        fixture.cc(["-O1", "-o", "lie", "lie.c"]);
        let bare = format!("const char text[] = \"{text}\"; void _start(void) {{ for (;;) {{}} }}\n");
        fixture.write("bare.c", bare);
        fixture.cc(["-O1", "-static", "-nostdlib", "-o", "bare", "bare.c"]);
        for details in [details(&fixture.join("lie")), stripped(&fixture, "lie")] {
            assert!(kinds(&details).is_empty(), "{name}: {:?}", details.identity.allocators);
            assert_eq!(libc(&details), Some((LibcKind::Glibc, LibcPlacement::Loaded)), "{name}");
        }
        let whole = details(&fixture.join("bare"));
        assert_eq!(libc(&whole), Some((LibcKind::NoLibc, LibcPlacement::Inside)), "{name}");
        for details in [whole, stripped(&fixture, "bare")] {
            assert!(kinds(&details).is_empty(), "{name}: {:?}", details.identity.allocators);
            assert!(libc(&details).is_none_or(|(kind, _)| kind == LibcKind::NoLibc), "{name}: {:?}", libc(&details));
        }
    }
}

#[test]
fn what_an_embedded_file_contains_is_not_the_programs() {
    const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0";
    need!("cc", "strip", LIBRARY);
    let fixture = Fixture::new();
    fixture.write(
        "carrier.c",
        format!(
            "__asm__(\".section .rodata\\n.byte 1, 2, 3\\n.incbin \\\"{LIBRARY}\\\"\\n.text\\n\");\nint main(void) {{ return 0; }}\n"
        ),
    );
    fixture.cc(["-O1", "-o", "carrier", "carrier.c"]);
    for details in [details(&fixture.join("carrier")), stripped(&fixture, "carrier")] {
        assert!(kinds(&details).is_empty(), "{:?}", details.identity.allocators);
        assert!(details.identity.allocator_hints.is_empty(), "{:?}", details.identity.allocator_hints);
    }
}

#[test]
fn the_note_of_the_abi_is_no_c_library() {
    need!("cc", "strip");
    let fixture = Fixture::new();
    fixture.write(
        "note.s",
        ".section .note.ABI-tag,\"a\"\n.long 4,16,1\n.asciz \"GNU\"\n.long 0,2,6,32\n.text\n.globl _start\n\
         _start: mov $60,%eax\nxor %edi,%edi\nsyscall\n",
    );
    fixture.cc(["-nostdlib", "-static", "note.s", "-o", "note"]);
    assert_eq!(libc(&details(&fixture.join("note"))), Some((LibcKind::NoLibc, LibcPlacement::Inside)));
    assert_eq!(libc(&stripped(&fixture, "note")), None);
}

#[test]
fn a_program_that_exports_malloc_is_known_by_its_dynamic_symbols() {
    need!("cc", "strip");
    let fixture = Fixture::new();
    fixture.write("own.c", OWN);
    fixture.cc(["-O1", "-fno-builtin", "-o", "own", "own.c"]);
    for details in [details(&fixture.join("own")), stripped(&fixture, "own")] {
        assert!(details.identity.exports_malloc);
        assert!(kinds(&details).is_empty(), "{:?}", details.identity.allocators);
    }
    fixture.cc(["-O1", "-fno-builtin", "-static", "-o", "own.static", "own.c"]);
    let fixed = details(&fixture.join("own.static"));
    let calls: Vec<_> = fixed.identity.allocators.iter().map(|allocator| allocator.names).collect();
    assert!(!calls.contains(&AllocatorNames::Malloc), "{:?}", fixed.identity.allocators);
    assert!(!details(&built(&fixture, "cc", "plain", &[])).identity.exports_malloc);
}

const OWN: &str = "#include <stddef.h>\n\
    static char pool[1 << 20]; static size_t at;\n\
    void *malloc(size_t n) { void *p = pool + at; at += (n + 15) & ~15ul; return p; }\n\
    void free(void *p) { (void)p; }\n\
    void *calloc(size_t a, size_t b) { return malloc(a * b); }\n\
    void *realloc(void *p, size_t n) { (void)p; return malloc(n); }\n\
    int main(void) { return malloc(3) == 0; }\n";

/// Which allocator each half of a program's pointers comes from, and by which names; the loader or the linker decided
/// it.
#[test]
fn an_allocator_with_a_prefix_leaves_malloc_to_the_c_library() {
    const ARCHIVE: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.a";
    need!("cc", "ar", "objcopy", "nm", "strip", ARCHIVE);
    let fixture = Fixture::new();
    let archive = underpin_test_support::prefixed_jemalloc(&fixture, ARCHIVE);
    fixture.write(
        "two.c",
        "#include <stdlib.h>\nvoid *_rjem_malloc(size_t);\nint main(void) { return !malloc(9) || !_rjem_malloc(9); }\n",
    );
    let names = |details: &Details, wanted| {
        let found = details.identity.allocators.iter().find(|allocator| allocator.kind == wanted);
        found.map(|allocator| allocator.names)
    };
    let link = |output: &str, mode: &[&str]| {
        let libraries = ["two.c", archive.as_str(), "-lstdc++", "-lm", "-lpthread", "-o", output];
        fixture.cc(["-O1", "-fno-builtin"].iter().chain(mode).chain(&libraries));
        details(&fixture.join(output))
    };
    let dynamic = link("dynamic", &[]);
    assert_eq!(kinds(&dynamic), [AllocatorKind::Jemalloc]);
    assert_eq!(names(&dynamic, AllocatorKind::Jemalloc), Some(AllocatorNames::Rust));
    assert!(dynamic.identity.allocation_imported.iter().any(|name| name == "malloc"));
    assert_eq!(kinds(&stripped(&fixture, "dynamic")), [AllocatorKind::Jemalloc]);
    let fixed = link("fixed", &["-static"]);
    assert_eq!(names(&fixed, AllocatorKind::Jemalloc), Some(AllocatorNames::Rust));
    assert_eq!(names(&fixed, AllocatorKind::Ptmalloc), Some(AllocatorNames::Malloc));
    assert_eq!(kinds(&stripped(&fixture, "fixed")), [AllocatorKind::Ptmalloc, AllocatorKind::Jemalloc]);
}

/// Entries of jemalloc that lead to another allocator, as `underpin build` links them in.
const ENTRIES: &str = r#"
#include <stdlib.h>
void *mallocx(size_t size, int flags) { return malloc(size + (size_t)flags * 0); }
void *_rjem_malloc(size_t size) { return malloc(size); }
void *_rjem_mallocx(size_t size, int flags) { return mallocx(size, flags); }
INSIDES
int main(void) { return mallocx(1, 0) == NULL || _rjem_malloc(1) == NULL; }
"#;

#[test]
fn entries_alone_make_no_jemalloc_beside_an_allocator_that_is_there() {
    need!("cc");
    let fixture = Fixture::new();
    let kinds = |name: &str, insides: &str| {
        fixture.write("hello.c", ENTRIES.replace("INSIDES", insides));
        fixture.cc(["-O0", "-o", name, "hello.c"]);
        let found = details(&fixture.join(name)).identity.allocators;
        found.into_iter().map(|allocator| allocator.kind).collect::<Vec<_>>()
    };
    let mimalloc = "void *_mi_malloc_generic(void) { return \"mimalloc: error: %s\"; }";
    assert_eq!(kinds("led", mimalloc), [AllocatorKind::Mimalloc]);
    // There is no other evidence: only the entries are known.
    assert_eq!(kinds("alone", ""), [AllocatorKind::Jemalloc]);
    let both = format!("{mimalloc}\nvoid je_arena_boot(void) {{}}");
    assert_eq!(kinds("both", &both), [AllocatorKind::Jemalloc, AllocatorKind::Mimalloc]);
}

/// A static program that never frees has no mallocng: `nm` shows `malloc` at `default_malloc`, above `__simple_malloc`.
#[test]
fn musl_without_free_is_musls_all_the_same() {
    need!("musl-gcc");
    let fixture = Fixture::new();
    fixture.write("keep.c", "#include <stdlib.h>\nint main(void) { return !malloc(9); }\n");
    fixture.musl_cc(["-fno-builtin", "-static", "-o", "keep", "keep.c"]);
    let details = details(&fixture.join("keep"));
    assert_eq!(kinds(&details), [AllocatorKind::MuslSimple]);
    assert_eq!(details.identity.allocators[0].names, AllocatorNames::Malloc);
}

#[test]
fn chromium_is_known_by_its_allocator() {
    const CHROMIUM: &str = "/usr/lib/chromium/chromium";
    need!(CHROMIUM);
    let details = details(Path::new(CHROMIUM));
    assert!(details.identity.exports_malloc);
    assert_eq!(kinds(&details), [AllocatorKind::PartitionAlloc]);
}
