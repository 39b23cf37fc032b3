use super::super::{Compiler, Dialect, RustLinker, RustPlan, Surroundings, Tool, ToolPlan, invoke, no_tools, nothing};
use crate::{Allocator, CLibrary, Goal, Linkage, Processor, Spec};
use std::ffi::{OsStr, OsString};

fn cc(program: &str) -> RustLinker {
    RustLinker::Compiler(Compiler {
        program: program.into(),
        leading: Vec::new(),
        dialect: Dialect::Own,
        start: Vec::new(),
        end: Vec::new(),
    })
}

fn line(linker: RustLinker, users: Option<&str>, tool: Tool, arguments: &str) -> String {
    line_with(None, linker, users, tool, arguments)
}

fn line_with(cxx: Option<Compiler>, linker: RustLinker, users: Option<&str>, tool: Tool, arguments: &str) -> String {
    let spec = Spec {
        processor: Processor::Aarch64,
        libc: CLibrary::Musl,
        linkage: Linkage::StaticPie,
        allocator: Allocator::Mimalloc,
        goal: Goal::Balanced,
        overlay: false,
    };
    let objects = vec!["/t/dates.o".into()];
    let rust = RustPlan { triple: spec.rust_triple(), linker, flags: Vec::new(), wrapper: None, objects };
    let plan = ToolPlan { cxx, objects: vec!["/t/allocator.o".into()], rust: Some(rust), ..no_tools(spec) };
    let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
    let response = |file: &OsStr| (file == "/tmp/args").then(|| b"\"-shared\"\n\"a.o\"".to_vec());
    let archives = |_: &Compiler| ["/z/libc++.a", "/z/libc++abi.a"].map(OsString::from).to_vec();
    let linker = users.map(OsStr::new);
    let around = Surroundings { linker, response: &response, cxx_library: &archives, ..nothing() };
    let invocation = invoke(&plan, tool, &words, around).unwrap();
    let words: Vec<String> = invocation.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    format!("{} {}", invocation.program.display(), words.join(" "))
}

#[test]
fn objects_come_first_whatever_links() {
    assert_eq!(
        line(cc("cc"), None, Tool::Linker, "-static-pie a.o -lc"),
        "cc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o -static-pie a.o -lc"
    );
    assert_eq!(
        line(cc("cc"), Some("clang"), Tool::Linker, "-static-pie a.o"),
        "clang -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o -static-pie a.o"
    );
    let lld = RustLinker::Ld("/r/rust-lld".into(), vec!["-flavor".into(), "gnu".into()]);
    assert_eq!(
        line(lld, None, Tool::Ld, "-pie a.o"),
        "/r/rust-lld -flavor gnu -z stack-size=8388608 /t/allocator.o /t/dates.o -pie a.o"
    );
}

#[test]
fn lld_is_told_its_flavor_once() {
    assert_eq!(
        line(cc("cc"), Some("rust-lld"), Tool::Ld, "-flavor gnu -pie a.o"),
        "rust-lld -flavor gnu -z stack-size=8388608 /t/allocator.o /t/dates.o -pie a.o"
    );
    assert_eq!(
        line(cc("cc"), Some("rust-lld"), Tool::Ld, "-pie a.o"),
        "rust-lld -flavor gnu -z stack-size=8388608 /t/allocator.o /t/dates.o -pie a.o"
    );
    assert_eq!(
        line(cc("cc"), Some("/usr/bin/ld.lld"), Tool::Ld, "-pie a.o"),
        "/usr/bin/ld.lld -z stack-size=8388608 /t/allocator.o /t/dates.o -pie a.o"
    );
}

#[test]
fn a_shared_library_gets_no_objects_even_if_its_arguments_are_in_a_file() {
    assert_eq!(line(cc("cc"), None, Tool::Linker, "-shared a.o"), "cc -shared a.o");
    assert_eq!(line(cc("cc"), None, Tool::Linker, "@/tmp/args"), "cc -shared a.o");
}

#[test]
fn a_static_program_becomes_a_static_pie_where_rustc_knows_none() {
    let arguments = "/s/crt1.o /s/crtbegin.o a.o -static /s/crtend.o";
    let lld = RustLinker::Ld("ld.lld".into(), Vec::new());
    assert_eq!(
        line(lld, None, Tool::Ld, arguments),
        "ld.lld -z stack-size=8388608 /t/allocator.o /t/dates.o /s/rcrt1.o /s/crtbeginS.o a.o -static -pie --no-dynamic-linker -z text /s/crtendS.o"
    );
    assert_eq!(
        line(cc("aarch64-linux-gnu-gcc"), None, Tool::Linker, &format!("{arguments} -no-pie")),
        "aarch64-linux-gnu-gcc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o /s/rcrt1.o /s/crtbeginS.o a.o -static-pie /s/crtendS.o"
    );
}

#[test]
fn musls_wrapper_as_the_users_linker_is_told_what_a_static_pie_is() {
    assert_eq!(
        line(cc("cc"), Some("/usr/bin/musl-gcc"), Tool::Linker, "rcrt1.o a.o -static-pie"),
        "/usr/bin/musl-gcc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o rcrt1.o a.o -static -Wl,-pie,--no-dynamic-linker,-z,text"
    );
}

#[test]
fn a_static_program_is_not_linked_with_gccs_shared_library() {
    assert_eq!(
        line(cc("cc"), None, Tool::Linker, "-static-pie a.o -lgcc_s -lc"),
        "cc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o -static-pie a.o -lc"
    );
    let lld = RustLinker::Ld("ld.lld".into(), Vec::new());
    assert_eq!(
        line(lld, None, Tool::Ld, "-pie a.o -lgcc_s"),
        "ld.lld -z stack-size=8388608 /t/allocator.o /t/dates.o -pie a.o"
    );
    // A shared library may have it.
    assert_eq!(line(cc("cc"), None, Tool::Linker, "-shared a.o -lgcc_s"), "cc -shared a.o -lgcc_s");
}

#[test]
fn zig_is_told_the_linkage_and_not_what_rustc_thinks_of_it() {
    let zig = || {
        RustLinker::Compiler(Compiler {
            program: "zig".into(),
            leading: vec!["cc".into(), "-target".into(), "aarch64-linux-musl".into()],
            dialect: Dialect::Zig,
            start: Vec::new(),
            end: Vec::new(),
        })
    };
    assert_eq!(
        line(zig(), None, Tool::Linker, "a.o -static -no-pie -lgcc_s"),
        "zig cc -target aarch64-linux-musl -static -pie /t/allocator.o /t/dates.o a.o -lunwind"
    );
}

#[test]
fn a_compiler_of_another_c_library_gets_start_files_libraries_and_an_unwinder() {
    let foreign = RustLinker::Compiler(Compiler {
        program: "musl-gcc".into(),
        leading: Vec::new(),
        dialect: Dialect::Foreign,
        start: vec!["/m/rcrt1.o".into()],
        end: vec!["-lgcc_eh".into(), "/m/crtn.o".into()],
    });
    assert_eq!(
        line(foreign, None, Tool::Linker, "a.o -static-pie -lunwind -lc"),
        "musl-gcc -static -nostdlib -Wl,--eh-frame-hdr -Wl,-pie,--no-dynamic-linker,-z,text /m/rcrt1.o -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o a.o \
         -lc -lgcc_eh /m/crtn.o"
    );
}

#[test]
fn the_library_of_what_compiled_c_plus_plus_is_linked() {
    let RustLinker::Compiler(zig) = cc("zig") else { unreachable!() };
    let zig = Compiler { dialect: Dialect::Zig, ..zig };
    let of = |linker, line: &str| line_with(Some(zig.clone()), linker, None, Tool::Linker, line);
    assert_eq!(
        of(cc("cc"), "-static-pie -lstdc++ a.o liba.a -lc++ -lc"),
        "cc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o -static-pie a.o liba.a /z/libc++.a /z/libc++abi.a -lc"
    );
    assert_eq!(
        of(cc("cc"), "-static-pie a.o -lc"),
        "cc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o -static-pie a.o -lc"
    );
    assert_eq!(of(cc("cc"), "-shared a.o -lc++"), "cc -shared a.o -lc++", "a procedural macro's");
    // zig finds its own.
    let line = of(RustLinker::Compiler(zig.clone()), "-static-pie a.o -lc++");
    assert!(line.contains("-lc++") && !line.contains("/z/"), "{line}");
    // gcc's C++ is linked with gcc's library.
    assert_eq!(
        line_with(None, cc("cc"), None, Tool::Linker, "a.o -lstdc++"),
        "cc -Wl,-z,stack-size=8388608 /t/allocator.o /t/dates.o a.o -lstdc++"
    );
}
