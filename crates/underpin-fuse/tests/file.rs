//! The fused file itself: permissions, its note, the tools that people run on it, and hostile members.

mod support;

use support::{NATIVE, Target, contents, fuse};
use underpin_elf::{Elf, SegmentKind};
use underpin_fuse::{Closure, Names, note};
use underpin_test_support::{Fixture, Output, Random, need};

fn three(target: Target, fixture: &Fixture) -> std::path::PathBuf {
    three_with(target, fixture, "")
}

/// Three libraries; the second one has a further function.
fn three_with(target: Target, fixture: &Fixture, function: &str) -> std::path::PathBuf {
    for name in ["one", "two", "three"] {
        let function = if name == "two" { function } else { "" };
        let source = format!(
            "{function}\n#include <stdio.h>\nint {name}_data = 1; const char *const {name}_table[600] = {{ \"a\", \"b\" }}; static __thread int t = 3;\n\
             const void *{name}_place(void) {{ return {name}_table; }}\nint {name}(int n) {{ return n > 8 ? fprintf(stderr, \"x\") : {name}_data + t++; }}"
        );
        target.library(fixture, name, &source, &["-Wl,-z,relro"]);
    }
    let main = "#include <stdio.h>\n#include <stdlib.h>\nint one(int), two(int), three(int); const void *one_place(void), *two_place(void), *three_place(void);\n\
        int main(int n, char **v) { if (n > 1) { FILE *m = fopen(\"/proc/self/maps\", \"r\"); unsigned long a, b, p[] = { (unsigned long) one_place(), (unsigned long) two_place(), (unsigned long) three_place() }; char r[8], l[4096];\n\
        while (fgets(l, sizeof l, m)) if (sscanf(l, \"%lx-%lx %7s\", &a, &b, r) == 3) { for (int i = 0; i < 3; i++) if (a <= p[i] && p[i] < b) puts(r); if (r[1] == 'w' && r[2] == 'x') puts(\"W+X\"); } return 0; }\n\
        printf(\"%d\\n\", one(1) + two(2) + three(3)); return 0; }";
    target.program(fixture, main, &["-lone", "-ltwo", "-lthree"])
}

#[test]
fn no_segment_is_writable_and_executable_and_constants_are_read_only_after_start() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let trial = fuse(target, &fixture, &three(target, &fixture));
        let elf = Elf::read(std::fs::read(&trial.file).expect("the file").as_slice()).expect("an ELF file");
        assert!(elf.loads().all(|load| !(load.flags.write && load.flags.execute)));
        assert!(elf.segment(SegmentKind::Stack).is_some_and(|stack| !stack.flags.execute));
        assert_eq!(trial.same(&fixture, &["maps"]), "r--p\nr--p\nr--p\n");
    }
}

#[test]
fn the_note_names_each_member_as_it_was() {
    let fixture = Fixture::new();
    let trial = fuse(NATIVE, &fixture, &three(NATIVE, &fixture));
    let merged = note::read(&std::fs::read(&trial.file).expect("the file")).expect("a note");
    let paths: Vec<String> = merged.iter().map(|member| member.path.to_string()).collect();
    assert_eq!(paths, trial.members);
    for member in &merged {
        let size = std::fs::metadata(member.path.to_string()).expect("a member").len();
        assert_eq!((member.size, member.modified, member.build_id.len()), (size, 7, 40));
    }
    assert_eq!(note::read(&std::fs::read(&trial.program).expect("a program")), None);
}

/// A function of glibc 2.36, which has DT_RELR; the one of an older release stands for all that do not.
const NEW: &str = "unsigned arc4random(void); unsigned draw(void) { return arc4random() & 0; }";

#[test]
fn relative_relocations_are_short_where_a_member_asks_for_a_glibc_that_knows_them() {
    need!("readelf");
    for target in Target::all() {
        for (function, short) in [("", false), (NEW, true)] {
            let fixture = Fixture::new();
            let trial = fuse(target, &fixture, &three_with(target, &fixture, function));
            let text = fixture.must("readelf", ["-dVW", trial.file.to_str().expect("UTF-8")]);
            assert_eq!(text.contains("(RELR)"), short, "{text}");
            assert_eq!(text.contains("GLIBC_ABI_DT_RELR"), short, "{text}");
            let count = text.lines().find_map(|line| line.split_once("(RELACOUNT)")?.1.trim().parse::<u64>().ok());
            assert!(if short { count == Some(0) } else { count > Some(6) }, "{text}");
            trial.same(&fixture, &[]);
            assert_eq!(trial.same(&fixture, &["maps"]), "r--p\nr--p\nr--p\n");
        }
    }
}

#[test]
fn it_starts_after_what_tools_do_to_it_and_readelf_finds_no_fault() {
    need!("readelf", "strip", "objcopy", "eu-strip", "patchelf");
    for function in ["", NEW] {
        tools(function);
    }
}

fn tools(function: &str) {
    let fixture = Fixture::new();
    let trial = fuse(NATIVE, &fixture, &three_with(NATIVE, &fixture, function));
    let file = trial.file.to_str().expect("UTF-8");
    let said = Output::of(fixture.command("readelf").args(["-aW", file]));
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.contains("two_place"), "its symbols have names");
    let whole = std::fs::read(file).expect("the file");
    for tool in [
        &["strip"][..],
        &["strip", "-g"],
        &["strip", "--strip-all"],
        &["objcopy"],
        &["eu-strip"],
        &["eu-strip", "-g"],
        &["patchelf", "--set-soname", "libother.so"],
        &["patchelf", "--add-needed", "libm.so.6"],
    ] {
        // In its place, because links lead to it.
        std::fs::write(file, &whole).expect("the file");
        fixture.must(tool[0], tool[1..].iter().chain(&[file]));
        trial.same(&fixture, &[]);
        fixture.must(tool[0], tool[1..].iter().chain(&[file]));
        trial.same(&fixture, &["maps"]);
    }
}

#[test]
fn debuggers_name_functions_and_members() {
    let fixture = Fixture::new();
    let trial = fuse(NATIVE, &fixture, &three(NATIVE, &fixture));
    let text = fixture.must("nm", ["-S", "--defined-only", trial.file.to_str().expect("UTF-8")]);
    assert!(text.lines().any(|line| line.ends_with(" t two_place")), "{text}");
    let sections = fixture.must("readelf", ["-SW", trial.file.to_str().expect("UTF-8")]);
    assert!(sections.contains(".text.libtwo.so"), "{sections}");
}

#[test]
fn damaged_members_are_refused_or_fused_but_never_a_panic() {
    let fixture = Fixture::new();
    let program = three(NATIVE, &fixture);
    let (resolved, contents) = contents(&program);
    let names = Names { soname: "fused.so".into(), links: "/nowhere".into(), only_links: false };
    let victim = resolved.objects.iter().position(|object| object.path.ends_with(b"libtwo.so")).expect("a member");
    let mut random = Random::new(17);
    let mut refused = 0;
    for round in 0..400u64 {
        let mut damaged = contents.clone();
        let bytes = &mut damaged[victim].bytes;
        if round % 8 == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        for _ in 0..1 + random.below(6) {
            // Headers and tables first: that is where the decisions are.
            let limit = if random.below(3) == 0 { bytes.len() as u64 } else { bytes.len().min(0x1000) as u64 };
            if let Some(byte) = bytes.get_mut(random.below(limit.max(1)) as usize) {
                *byte = random.next() as u8;
            }
        }
        let closure = Closure::new(&resolved, &damaged);
        let done = underpin_fuse::plan(&closure).and_then(|plan| underpin_fuse::fuse(&closure, &plan, &names));
        refused += usize::from(done.is_err());
    }
    assert!(refused > 20, "{refused}");
}
