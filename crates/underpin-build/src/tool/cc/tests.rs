use super::super::{Compiler, Dialect, Surroundings, Tool, ToolPlan, invoke, no_tools, nothing};
use super::apart;
use crate::{Allocator, CLibrary, GlibcVersion, Goal, Linkage, Processor, Spec};
use std::ffi::{OsStr, OsString};

fn spec(libc: CLibrary, linkage: Linkage) -> Spec {
    let (processor, allocator, goal) = (Processor::X86_64, Allocator::Mimalloc, Goal::Balanced);
    Spec { processor, libc, linkage, allocator, goal, overlay: false }
}

fn compiler(dialect: Dialect) -> Compiler {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (program, leading, start, end) = match dialect {
        Dialect::Own => ("gcc", "", "", ""),
        Dialect::Foreign => ("musl-gcc", "", "/m/rcrt1.o /m/crti.o", "-lc /m/crtn.o"),
        Dialect::Zig => ("zig", "cc -target x86_64-linux-musl", "", ""),
    };
    Compiler { program: program.into(), leading: words(leading), dialect, start: words(start), end: words(end) }
}

/// Of no compiler.
fn plan(spec: Spec) -> ToolPlan {
    let objects = vec!["/t/allocator.o".into(), "/t/note.o".into()];
    ToolPlan { ar: vec!["zig".into(), "ar".into()], objects, ..no_tools(spec) }
}

fn line(spec: Spec, dialect: Dialect, arguments: &str) -> String {
    let plan = ToolPlan { cc: Some(compiler(dialect)), ..plan(spec) };
    let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
    let around = Surroundings { is_fixed: &|file| file == "fixed.o", ..nothing() };
    let invocation = invoke(&plan, Tool::Cc, &words, around).unwrap();
    let words: Vec<String> = invocation.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    format!("{} {}", invocation.program.display(), words.join(" "))
}

const STATIC_PIE: (CLibrary, Linkage) = (CLibrary::Musl, Linkage::StaticPie);

#[test]
fn objects_stand_before_every_input_of_a_program_and_in_no_other_link() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Own, arguments);
    assert_eq!(
        of("-O2 a.c -o a"),
        "gcc -fPIE -static-pie -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o -O2 a.c -o a"
    );
    assert_eq!(
        of("-o a a.o -lm"),
        "gcc -fPIE -static-pie -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o -o a a.o -lm"
    );
    for other in ["-c a.c", "-shared a.o -o liba.so", "-r a.o -o b.o", "-E a.c", "--version", "-S a.c"] {
        assert!(!of(other).contains("allocator.o"), "{other}");
    }
}

/// Before them no linker would take anything of it, and behind the C library it would be too late.
#[test]
fn what_is_optional_stands_behind_every_input_and_before_the_c_library() {
    let of = |dialect, arguments: &str| {
        let archive = Some("/t/optional.a".into());
        let plan = ToolPlan { cc: Some(compiler(dialect)), archive, ..plan(spec(STATIC_PIE.0, STATIC_PIE.1)) };
        let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let invocation = invoke(&plan, Tool::Cc, &words, nothing()).unwrap();
        invocation.arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    };
    assert!(of(Dialect::Own, "-x c a -o a liba.a").ends_with(" -x c a -o a liba.a -x none /t/optional.a"));
    assert!(of(Dialect::Foreign, "a.c -lm").ends_with(" a.c -lm -x none /t/optional.a -lc /m/crtn.o"));
    assert!(of(Dialect::Zig, "a.o").ends_with(" a.o -x none /t/optional.a"));
    for other in ["-c a.c", "-shared a.o -o liba.so", "-E a.c"] {
        assert!(!of(Dialect::Own, other).contains("optional.a"), "{other}");
    }
}

#[test]
fn a_question_is_passed_on_as_it_is() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Own, arguments);
    assert_eq!(of("--version"), "gcc --version");
    assert_eq!(of("-dumpmachine"), "gcc -dumpmachine");
}

#[test]
fn musls_wrapper_gets_start_files_of_a_static_pie_since_its_specs_know_none() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Foreign, arguments);
    let expected = "musl-gcc -fPIE -static -nostdlib -Wl,--eh-frame-hdr -Wl,-pie,--no-dynamic-linker,-z,text /m/rcrt1.o /m/crti.o \
                    -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o a.c -o a -x none -lc /m/crtn.o";
    assert_eq!(of("a.c -o a"), expected);
    // The plan decides the kind of program, whatever the project says.
    assert_eq!(of("-static a.c -o a -pie"), expected);
    assert_eq!(of("-c a.c"), "musl-gcc -fPIE -c a.c");
}

#[test]
fn zig_hears_its_own_name_of_the_target_and_no_option_that_it_refuses() {
    let of = |libc, linkage, arguments: &str| line(spec(libc, linkage), Dialect::Zig, arguments);
    let musl = |arguments: &str| of(CLibrary::Musl, Linkage::StaticPie, arguments);
    let start = "zig cc -target x86_64-linux-musl -fPIE -fno-sanitize=undefined -g0 -Wno-date-time -Xclang -target-feature \
                 -Xclang +evex512 -UNDEBUG -Wno-error=implicit-int -Wno-error=return-mismatch \
                 -Wno-error=incompatible-pointer-types -Wno-error=incompatible-function-pointer-types";
    assert_eq!(musl("--target=x86_64-unknown-linux-musl -m64 -c a.c"), format!("{start} -c a.c"));
    assert_eq!(
        musl(
            "-target x86_64-unknown-linux-musl a.o -Wl,-Map=a.map,--as-needed -Wl,-Map,b.map -Wl,--warn-common,--fatal-warnings -fuse-ld=lld -lgcc_s \
             -lgcc"
        ),
        format!("{start} -static -pie /t/allocator.o /t/note.o a.o -Wl,--as-needed -lunwind")
    );
    let floor = CLibrary::Glibc(Some(GlibcVersion { minor: 28 }));
    assert!(!of(floor, Linkage::Dynamic, "a.o").contains("-static"));
    assert!(of(CLibrary::Musl, Linkage::Dynamic, "a.o").contains(" -dynamic "));
}

#[test]
fn zig_adds_debugging_information_only_where_the_project_speaks_of_it() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Zig, arguments);
    assert!(of("-O2 -c a.c").contains(" -g0 "));
    for word in ["-g", "-ggdb3", "-gsplit-dwarf", "-gz"] {
        assert!(!of(&format!("-O2 {word} -c a.c")).contains(" -g0 "), "{word}");
    }
}

#[test]
fn zig_hears_of_code_only_where_there_is_some() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Zig, arguments);
    let has = |arguments: &str| ["-UNDEBUG", "-Xclang -O3", "-Wno-unused"].map(|word| of(arguments).contains(word));
    assert_eq!(has("-O3 -c a.c"), [true, true, false]);
    assert_eq!(has("-O3 -c a.s"), [false, false, false]);
    assert_eq!(has("-O3 a.c b.s"), [true, true, true]);
    assert_eq!(has("-O3 -O2 -c a.c"), [true, false, false]);
    let has_names = |arguments: &str| of(arguments).contains("_REMOVED_BINDERS");
    assert_eq!(["-c a.c", "-c a.cpp", "-c a.C", "-c a.s", "a.o b.cc"].map(has_names), [false, true, true, false, true]);
    assert!(of("-O2 -c a.c").contains(" -fomit-frame-pointer "));
    assert!(!of("-O0 -c a.c").contains("frame-pointer"));
}

#[test]
fn outline_atomics_are_off_where_nothing_defines_their_functions() {
    let arm = Spec { processor: Processor::Aarch64, ..spec(STATIC_PIE.0, STATIC_PIE.1) };
    assert!(line(arm, Dialect::Own, "-c a.c").contains("-mno-outline-atomics"));
    assert!(line(arm, Dialect::Foreign, "-c a.c").contains("-mno-outline-atomics"));
    // Its runtime has them, and its clang gets that from the target.
    assert!(!line(arm, Dialect::Zig, "-c a.c").contains("-mno-outline-atomics"));
}

#[test]
fn code_is_compiled_for_the_kind_of_program() {
    let of = |linkage, arguments: &str| line(spec(CLibrary::Musl, linkage), Dialect::Own, arguments);
    assert_eq!(of(Linkage::Static, "-c a.c"), "gcc -fno-pie -c a.c");
    assert_eq!(of(Linkage::StaticPie, "-fPIC -c a.c"), "gcc -fPIC -c a.c");
    assert!(of(Linkage::Static, "a.o").starts_with("gcc -fno-pie -static -Wl,-z,stack-size=8388608 /t/allocator.o"));
}

#[test]
fn a_program_is_for_one_address_only_where_an_object_is_and_the_link_says_so() {
    let of = |linkage, dialect, arguments: &str| line(spec(CLibrary::Musl, linkage), dialect, arguments);
    assert_eq!(
        of(Linkage::StaticPie, Dialect::Own, "-no-pie fixed.o"),
        "gcc -no-pie -fno-pie -static -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o fixed.o"
    );
    assert_eq!(
        of(Linkage::StaticPie, Dialect::Foreign, "fixed.o -nopie"),
        "musl-gcc -no-pie -fno-pie -static -nostdlib -Wl,--eh-frame-hdr /m/crt1.o /m/crti.o -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o \
         fixed.o -x none -lc /m/crtn.o"
    );
    assert!(of(Linkage::StaticPie, Dialect::Zig, "-no-pie fixed.o").contains(" -static -no-pie "));
    assert_eq!(
        of(Linkage::Dynamic, Dialect::Own, "-no-pie fixed.o"),
        "gcc -no-pie -fPIE -Wl,-z,stack-size=8388608 /t/allocator.o /t/note.o fixed.o"
    );
    for dialect in [Dialect::Own, Dialect::Foreign, Dialect::Zig] {
        let with = |words: &str| of(Linkage::StaticPie, dialect, words);
        assert_eq!(with("-no-pie a.o -lm"), with("a.o -lm"));
        // A linker says best what is wrong here.
        assert!(with("fixed.o").contains("pie"));
        assert!(!with("-no-pie -shared fixed.o").contains("crt1.o"));
        assert_eq!(with("-no-pie -o fixed.o a.o"), with("-o fixed.o a.o"));
    }
}

#[test]
fn what_only_a_link_reads_is_no_part_of_a_compilation() {
    let links = "-s -L/l -L /m -Wl,-rpath-link,/l -Xlinker -s -fuse-ld=lld";
    let dynamic = spec(CLibrary::Glibc(None), Linkage::Dynamic);
    let of = |dialect, end: &str| line(dynamic, dialect, &format!("{links} -MF -s -I -L -O2 {end}"));
    assert_eq!(of(Dialect::Own, "-c a.c"), "gcc -fPIE -MF -s -I -L -O2 -c a.c");
    assert!(of(Dialect::Own, "a.c").contains(links) && of(Dialect::Own, "-shared a.o").contains(links));
    let mut clang = compiler(Dialect::Own);
    clang.leading = ["--target=aarch64-linux-gnu", "-fuse-ld=lld"].map(str::to_owned).to_vec();
    let plan = ToolPlan { cc: Some(clang), ..plan(dynamic) };
    let around = nothing();
    let compiled = invoke(&plan, Tool::Cc, &["-c".into(), "a.c".into()], around).unwrap();
    assert_eq!(compiled.arguments, ["--target=aarch64-linux-gnu", "-fPIE", "-c", "a.c"]);
    assert_eq!(compiled.first, 1);
}

#[test]
fn the_archiver_keeps_its_first_words() {
    let plan = plan(spec(STATIC_PIE.0, STATIC_PIE.1));
    let around = nothing();
    let invocation = invoke(&plan, Tool::Ar, &["rcs".into(), "a.a".into()], around).unwrap();
    assert_eq!(invocation.arguments, ["ar", "rcs", "a.a"]);
    let without = invoke(&plan, Tool::Ar, &["liba.a".into(), "a.o".into()], around).unwrap();
    assert_eq!(without.arguments, ["ar", "rcs", "liba.a", "a.o"]);
    let refused = invoke(&plan, Tool::Cc, &[], around).unwrap_err().to_string();
    assert!(refused.contains("no C compiler for musl+mimalloc"), "{refused}");
}

#[test]
fn an_archive_for_zig_has_its_members_in_it() {
    let of = |dialect, words: &str| {
        let mut plan = plan(spec(STATIC_PIE.0, STATIC_PIE.1));
        plan.cc = Some(compiler(dialect));
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let around = nothing();
        let words = invoke(&plan, Tool::Ar, &words, around).unwrap().arguments;
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    };
    for (asked, becomes) in [
        ("csrDT lib.a T.o", "ar csrD lib.a T.o"),
        ("-rcT lib.a a.o", "ar -rc lib.a a.o"),
        ("--thin rcs lib.a a.o", "ar rcs lib.a a.o"),
        ("rcs --thin lib.a a.o", "ar rcs lib.a a.o"),
        ("rcs libT.a T", "ar rcs libT.a T"),
        ("libT.a a.o", "ar rcs libT.a a.o"),
        ("--help", "ar --help"),
        ("", "ar"),
    ] {
        assert_eq!(of(Dialect::Zig, asked), becomes, "{asked}");
    }
    assert_eq!(of(Dialect::Own, "csrDT lib.a a.o"), "ar csrDT lib.a a.o");
}

#[test]
fn zig_names_the_linker_that_it_links_with_as_others_know_it() {
    let of = |dialect, arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), dialect, arguments);
    assert_eq!(of(Dialect::Zig, "-Wl,--version"), "zig ld.lld --version");
    assert!(of(Dialect::Own, "-Wl,--version").ends_with("-Wl,--version"));
}

#[test]
fn a_linkers_option_that_zig_has_not_is_left_out_with_its_value_or_renamed() {
    let of = |dialect, arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), dialect, arguments);
    // meson's words for libraries beside one another, libtool's, and those of hand.
    for words in
        ["-Wl,-rpath-link,/x", "-Wl,-rpath-link -Wl,/x", "-Xlinker --rpath-link -Xlinker /x", "-Wl,-rpath-link=/x"]
    {
        let line = of(Dialect::Zig, &format!("a.o {words} -lb"));
        assert!(!line.contains("/x") && !line.contains("Xlinker") && line.contains("a.o -lb"), "{line}");
        assert!(of(Dialect::Own, &format!("a.o {words} -lb")).contains(words), "others get what was written");
    }
    for (words, kept) in [
        ("-Wl,-O1,--no-warn-mismatch,-z,text,-z,now", "-Wl,-z,now"),
        ("-Wl,-z -Wl,relro", "-Wl,-z,relro"),
        ("-Wl,-ztext,-zrelro", "-Wl,-zrelro"),
        ("-Wl,-R/lib,-R,/more", "-Wl,-rpath,/lib,-rpath,/more"),
        ("-Wl,-h,x.so,-hash-style=gnu", "-Wl,-soname,x.so,-hash-style=gnu"),
        ("-Wl,--undefined=f -Wl,--undefined -Wl,g", "-Wl,-u,f -Wl,-u -Wl,g"),
        ("-O1 -Wl,-O1 -Xlinker -O2", "-O1"),
        ("-Wl,-m,elf_x86_64,-melf_x86_64,-t,-M,-Map,x.map,-s", "-Wl,-s"),
        ("-Xlinker -rpath -Xlinker /r", "-Xlinker -rpath -Xlinker /r"),
        (
            "-Wl,-dynamic-list,x,--exclude-libs,ALL -Wl,--export-dynamic-symbol=f",
            "-Wl,--export-dynamic -Wl,--export-dynamic",
        ),
        ("-shared -Wl,-dynamic-list,x,--exclude-libs,ALL", "-shared -Wl,-dynamic-list,x,--exclude-libs,ALL"),
        // What decides what the program does is for zig to take or to refuse.
        (
            "-Wl,--wrap=f,--defsym=g=0,--allow-multiple-definition",
            "-Wl,--wrap=f,--defsym=g=0,--allow-multiple-definition",
        ),
    ] {
        let line = of(Dialect::Zig, &format!("a.o {words} -lb"));
        assert!(line.contains(&format!(" a.o {kept} -lb")), "{words}: {line}");
    }
}

#[test]
fn zig_makes_a_program_no_less_portable_than_it_was_asked_for() {
    let of = |dialect, arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), dialect, arguments);
    for (words, kept) in [
        ("-mtune=znver3", ""),
        ("-mtune=native -march=x86-64", "-march=x86_64"),
        ("-march=x86-64-v3 -mtune=generic", "-march=x86_64_v3"),
        ("-Wp,-D_FORTIFY_SOURCE=2", "-D_FORTIFY_SOURCE=2"),
        ("-Wp,-U_FORTIFY_SOURCE,-MMD,a.d,-DX=1", "-U_FORTIFY_SOURCE -DX=1 -Wp,-MMD,a.d"),
    ] {
        let line = of(Dialect::Zig, &format!("-c a.c {words} -O2"));
        assert!(line.contains(&format!("-c a.c {kept} -O2").replace("  ", " ")), "{words}: {line}");
        assert!(of(Dialect::Own, &format!("-c a.c {words} -O2")).contains(words), "others get what was written");
    }
}

#[test]
fn zig_gets_the_switches_that_lead_back_to_a_state_which_was_remembered() {
    let of = |arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), Dialect::Zig, arguments);
    for (words, kept) in [
        ("-Wl,--push-state,--whole-archive -la -Wl,--pop-state", "-Wl,--whole-archive -la -Wl,--no-whole-archive"),
        (
            "-Wl,--as-needed -Wl,--push-state,--no-as-needed,-Bstatic -la -Wl,--pop-state",
            "-Wl,--as-needed -Wl,--no-as-needed,-Bstatic -la -Wl,--as-needed,-Bdynamic",
        ),
        ("-Wl,--push-state -la -Wl,--pop-state", "-la"),
        ("-Wl,--pop-state -la", "-la"),
    ] {
        let line = of(&format!("a.o {words} -lb"));
        assert!(line.contains(&format!(" a.o {kept} -lb")), "{words}: {line}");
    }
}

#[test]
fn zig_is_told_the_language_of_standard_input() {
    let of = |dialect, arguments: &str| line(spec(STATIC_PIE.0, STATIC_PIE.1), dialect, arguments);
    assert!(of(Dialect::Zig, "-E -dM -").contains(" -x c "), "{}", of(Dialect::Zig, "-E -dM -"));
    for line in [of(Dialect::Zig, "-E -x c++ -"), of(Dialect::Zig, "-E a.c"), of(Dialect::Own, "-E -dM -")] {
        assert!(!line.contains(" -x c "), "{line}");
    }
}

#[test]
fn the_linkers_version_is_asked_of_the_linker_that_links() {
    let spec = spec(CLibrary::Musl, Linkage::Static);
    let mut clang = compiler(Dialect::Foreign);
    clang.start.push("-fuse-ld=lld".to_owned());
    let plan = ToolPlan { cc: Some(clang), without_cxx: Some("no C++ here".to_owned()), ..no_tools(spec) };
    let around = nothing();
    let asked = invoke(&plan, Tool::Cc, &["-Wl,--version".into()], around).unwrap();
    assert_eq!(asked.arguments, ["-fuse-ld=lld", "-Wl,--version"]);
    assert_eq!(invoke(&plan, Tool::Cxx, &[], around).unwrap_err().to_string(), "no C++ here");
}

#[test]
fn every_source_of_a_compilation_by_zig_is_a_call_of_its_own() {
    let of = |dialect, arguments: &str| {
        let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        apart(&compiler(dialect), &words, &|_| None).map(|calls| {
            calls.iter().map(|words| words.join(OsStr::new(" ")).into_string().unwrap()).collect::<Vec<_>>()
        })
    };
    assert_eq!(
        of(Dialect::Zig, "-O2 -c a.c -I include b.c -Wall").unwrap(),
        ["-O2 -c a.c -I include -Wall", "-O2 -c -I include b.c -Wall"]
    );
    for only in ["-S", "-E", "-M", "-MM", "-fsyntax-only"] {
        assert_eq!(
            of(Dialect::Zig, &format!("{only} a.c b.c")).unwrap(),
            [format!("{only} a.c"), format!("{only} b.c")]
        );
    }
    for one in ["-c a.c -o a.o", "a.c b.c -o program", "-E a.c", "-MM a.c", "-c", "--version"] {
        assert_eq!(of(Dialect::Zig, one), None, "{one}");
    }
    assert_eq!(of(Dialect::Own, "-c a.c b.c"), None);
    assert_eq!(of(Dialect::Foreign, "-c a.c b.c"), None);
}

#[test]
fn headers_in_front_are_for_c_alone_and_the_layout_for_gnu_ld_alone() {
    let mut lld = compiler(Dialect::Foreign);
    lld.start.push("-fuse-ld=lld".to_owned());
    let plan = |compiler: Compiler| ToolPlan {
        cc: Some(compiler.clone()),
        cxx: Some(compiler),
        headers: Some("/t/include".into()),
        behind: Some("/t/bsd".into()),
        layout: Some("/t/layout.ld".into()),
        ..no_tools(spec(CLibrary::Musl, Linkage::Static))
    };
    let around = nothing();
    let has = |compiler: Compiler, tool, words: &[&str], word: &str| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        invoke(&plan(compiler), tool, &words, around).unwrap().arguments.iter().any(|other| other == word)
    };
    for dialect in [Dialect::Own, Dialect::Foreign, Dialect::Zig] {
        assert!(has(compiler(dialect), Tool::Cc, &["-c", "a.c"], "/t/include"));
        assert!(!has(compiler(dialect), Tool::Cxx, &["-c", "a.cc"], "/t/include"));
        assert!(has(compiler(dialect), Tool::Cxx, &["-c", "a.cc"], "/t/bsd"));
        for tool in [Tool::Cc, Tool::Cxx] {
            let laid_out = has(compiler(dialect), tool, &["a.o"], "-Wl,-T,/t/layout.ld");
            assert_eq!(laid_out, dialect != Dialect::Zig, "{dialect:?}");
        }
    }
    assert!(!has(lld, Tool::Cc, &["a.o"], "-Wl,-T,/t/layout.ld"));
}
