//! What merging libraries can break, one test each: as in the original, or the library stays shared, or the program is
//! refused. The rules of symbols are in `rules`.

mod support;

use support::{NATIVE, Target, Trial, contents, fuse};
use underpin_fuse::{Closure, Kept, KeptBecause, Refusal};
use underpin_test_support::{Fixture, Output, need};

/// Why a library of a trial stays shared.
fn because(trial: &Trial, name: &str) -> Option<KeptBecause> {
    let found = trial.kept.iter().find(|(path, _)| path.ends_with(name));
    found.map(|(_, Kept { because, .. })| because.clone())
}

#[test]
fn dlsym_of_a_handle_finds_the_definition_of_that_library() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let source = |name: &str| {
            format!(
                "const char *entry(void) {{ return \"{name}\"; }} int {name}(void) {{ return 1; }}\n\
                 __attribute__((weak)) const char *common(void) {{ return \"common\"; }}"
            )
        };
        for name in ["first", "second", "third"] {
            target.library(&fixture, name, &source(name), &[]);
        }
        // Both weak: an inline function of C++, of which any copy will do.
        target.library(
            &fixture,
            "inline",
            "__attribute__((weak)) const char *common(void) { return \"common\"; }",
            &[],
        );
        let open = "#include <dlfcn.h>\n#include <stdio.h>\nvoid look(void) {\n\
            const char *names[] = { \"libsecond.so\", \"libinline.so\" }, *symbols[] = { \"entry\", \"common\" };\n\
            for (int i = 0; i < 2; i++) { void *h = dlopen(names[i], RTLD_NOW); const char *(*f)(void) = h ? dlsym(h, symbols[i]) : 0; puts(f ? f() : dlerror()); } }";
        target.library(&fixture, "look", open, &[]);
        let main = "int first(void), second(void), third(void); void look(void);\n\
            int main(void) { look(); return first() + second() + third() - 3; }";
        let all = ["-Wl,--no-as-needed", "-lfirst", "-lsecond", "-lthird", "-linline", "-llook"];
        let program = target.program(&fixture, main, &all);
        let trial = fuse(target, &fixture, &program);
        assert_eq!(trial.same(&fixture, &[]), "second\ncommon\n");
        let second = because(&trial, "libsecond.so");
        assert!(matches!(&second, Some(KeptBecause::OpenedByName { symbol, .. }) if symbol == "entry"), "{second:?}");
        // Nothing opens the third one, whose definition is hidden from all others in the original too.
        assert_eq!((because(&trial, "libthird.so"), because(&trial, "libinline.so")), (None, None));
        trial.bindings_as_the_loader(&fixture);
    }
}

#[test]
fn a_preloaded_library_replaces_what_the_program_calls_and_not_what_is_bound_inside() {
    for target in Target::all() {
        let fixture = Fixture::new();
        target.library(&fixture, "low", "const char *inner(void) { return \"inner\"; }", &[]);
        let high = "const char *inner(void); const char *outer(void) { return \"outer\"; }\n\
            const char *through(void) { return inner(); }";
        target.library(&fixture, "high", high, &["-llow"]);
        let both =
            "const char *inner(void) { return \"preloaded\"; } const char *outer(void) { return \"preloaded\"; }";
        target.library(&fixture, "preload", both, &[]);
        let main = "#include <stdio.h>\nconst char *outer(void), *through(void);\n\
            int main(void) { printf(\"%s %s\\n\", outer(), through()); return 0; }";
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &["-lhigh", "-llow"]));
        assert_eq!(trial.same(&fixture, &[]), "outer inner\n");
        let preload = fixture.join("libpreload.so");
        let variables = [("LD_PRELOAD", preload.to_str().expect("UTF-8"))];
        let run = |program| Output::of(&mut target.run(&fixture, program, &variables)).stdout;
        assert_eq!(run(&trial.program), "preloaded preloaded\n");
        // The second is what docs/fuse.md says is different.
        assert_eq!(run(&trial.copy), "preloaded inner\n");
    }
}

#[test]
fn types_exceptions_and_unique_variables_are_one_with_a_plug_in() {
    for target in Target::all() {
        let fixture = Fixture::new();
        fixture.write("base.h", "#include <stdexcept>\nstruct Oops : std::runtime_error { Oops() : std::runtime_error(\"oops\") {} };\nstruct Base { virtual ~Base() {} virtual int f() { return 1; } };\ntemplate <class T> struct Once { static int n; };\ntemplate <class T> int Once<T>::n = 0;\ninline int &counted() { static int n = 0; return n; }\n");
        fixture.write("one.cc", "#include \"base.h\"\nint one(Base *b) { counted()++; Once<int>::n++; return dynamic_cast<Oops *>((std::exception *) 0) == nullptr && b ? b->f() : 0; }\n");
        fixture.write("two.cc", "#include \"base.h\"\nint two(void (*f)()) { counted()++; try { f(); } catch (Oops &) { return ++Once<int>::n; } return -1; }\n");
        fixture.write("plugin.cc", "#include \"base.h\"\nstruct Own : Base { int f() override { return 5; } };\nextern \"C\" Base *make() { counted()++; return new Own; }\nextern \"C\" void fail() { Once<int>::n++; throw Oops(); }\nextern \"C\" const std::type_info *type() { return &typeid(Base); }\n");
        for name in ["one", "two", "plugin"] {
            target.shared(&fixture, target.cxx, name, &format!("{name}.cc"), &[]);
        }
        fixture.write("program.cc", "#include \"base.h\"\n#include <cstdio>\n#include <dlfcn.h>\nint one(Base *), two(void (*)());\nint main(int, char **v) { void *h = dlopen(v[1], RTLD_NOW); if (!h) { puts(dlerror()); return 1; }\n auto make = (Base *(*)()) dlsym(h, \"make\"); auto fail = (void (*)()) dlsym(h, \"fail\"); auto type = (const std::type_info *(*)()) dlsym(h, \"type\");\n int a = one(make()), b = two(fail), c = *type() == typeid(Base); printf(\"%d %d %d %d %d\\n\", a, b, c, Once<int>::n, counted()); }\n");
        let search = target.search(&fixture);
        fixture
            .must(target.cxx, ["-rdynamic", "-o", "program", "program.cc", "-L.", "-lone", "-ltwo", "-ldl", &search]);
        let trial = fuse(target, &fixture, &fixture.join("program"));
        let plugin = fixture.join("libplugin.so");
        assert_eq!(trial.same(&fixture, &[plugin.to_str().expect("UTF-8")]), "5 3 1 3 3\n");
        trial.bindings_as_the_loader(&fixture);
    }
}

#[test]
fn a_plug_in_with_static_thread_local_variables_finds_its_own_and_those_of_members() {
    for target in Target::all() {
        let fixture = Fixture::new();
        target.library(&fixture, "one", "__thread int one = 10; int up(void) { return ++one; }", &[]);
        target.library(&fixture, "two", "__thread int two[100] = { 20 }; int get(void) { return two[0]; }", &[]);
        let plugin = "extern __thread int one, two[]; static __thread int own = 3; int plugin(void) { return one++ + two[0]++ + own++; }";
        target.library(&fixture, "plugin", plugin, &["-ftls-model=initial-exec", "-lone", "-ltwo"]);
        let main = "#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\nint up(void), get(void); static int (*plugin)(void);\n\
            static void *work(void *p) { up(); int a = plugin(), b = plugin(); printf(\"%d %d %d %d\\n\", a, b, up(), get()); return p; }\n\
            int main(int n, char **v) { void *h = dlopen(v[1], RTLD_NOW); if (!h) { puts(dlerror()); return 1; } plugin = dlsym(h, \"plugin\");\n\
            pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0); work(0); return 0; }";
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &["-lone", "-ltwo", "-ldl", "-pthread"]));
        let plugin = fixture.join("libplugin.so");
        assert_eq!(trial.same(&fixture, &[plugin.to_str().expect("UTF-8")]), "34 37 14 22\n34 37 14 22\n");
    }
}

#[test]
fn what_ends_with_the_program_ends_in_the_order_of_the_original() {
    for target in Target::all() {
        let fixture = Fixture::new();
        for (name, needs) in [("low", ""), ("middle", "-llow"), ("high", "-lmiddle")] {
            fixture.write(format!("{name}.cc"), format!("#include <cstdio>\n#include <cstdlib>\n\
                struct Noise {{ const char *what; ~Noise() {{ printf(\"{name} %s\\n\", what); }} }};\n\
                static Noise object {{ \"object\" }};\nstatic void at_exit() {{ puts(\"{name} atexit\"); }}\n\
                __attribute__((constructor)) static void up() {{ atexit(at_exit); }}\n\
                __attribute__((destructor)) static void down() {{ puts(\"{name} destructor\"); }}\n\
                int {name}() {{ static thread_local Noise local {{ \"thread\" }}; static Noise late {{ \"late\" }}; return local.what[0] + late.what[0]; }}\n"));
            target.shared(
                &fixture,
                target.cxx,
                name,
                &format!("{name}.cc"),
                &["-Wl,--no-as-needed", needs][..1 + usize::from(!needs.is_empty())],
            );
        }
        fixture.write("program.cc", "#include <cstdlib>\n#include <cstdio>\nint low(), middle(), high();\nint main() { atexit([] { puts(\"main\"); }); return high() + low() + middle() == 0; }\n");
        let search = target.search(&fixture);
        fixture.must(target.cxx, ["-o", "program", "program.cc", "-L.", "-lhigh", "-lmiddle", "-llow", &search]);
        let trial = fuse(target, &fixture, &fixture.join("program"));
        let output = trial.same(&fixture, &[]);
        assert_eq!(output.lines().count(), 16, "{output}");
    }
}

#[test]
fn what_must_be_a_file_of_its_own_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let info = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <link.h>\nint info(void) { struct link_map *m = 0; void *h = dlopen(\"libinfo.so\", RTLD_NOW); return h && !dlinfo(h, RTLD_DI_LINKMAP, &m) && m->l_name[0] == '/'; }";
        target.library(&fixture, "info", info, &[]);
        target.library(&fixture, "asan", "int asan(void) { return 1; }", &[]);
        target.library(&fixture, "clang_rt.ubsan", "int ubsan(void) { return 1; }", &[]);
        target.library(&fixture, "plain", "int plain(void) { return 1; }", &[]);
        target.library(&fixture, "other", "int other(void) { return 1; }", &[]);
        let main = "#include <stdio.h>\nint info(void), asan(void), ubsan(void), plain(void), other(void);\n\
            int main(void) { printf(\"%d\\n\", info() + asan() + ubsan() + plain() + other()); return 0; }";
        let all = ["-linfo", "-lasan", "-lclang_rt.ubsan", "-lplain", "-lother"];
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &all));
        assert_eq!(trial.same(&fixture, &[]), "5\n");
        assert_eq!(because(&trial, "libinfo.so"), Some(KeptBecause::Asks { function: "dlinfo" }));
        for name in ["libasan.so", "libclang_rt.ubsan.so"] {
            assert_eq!(because(&trial, name), Some(KeptBecause::Runtime));
        }
        assert_eq!(trial.members.len(), 2);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_that_is_relocated_stays_shared_and_an_auditor_is_refused() {
    let fixture = Fixture::new();
    let moved = "int value = 4; int text(void) { int *p; __asm__(\"movabs $value, %0\" : \"=r\"(p)); return *p; }";
    NATIVE.library(&fixture, "text", moved, &["-Wl,-z,notext"]);
    NATIVE.library(&fixture, "one", "int one(void) { return 1; }", &[]);
    NATIVE.library(&fixture, "two", "int two(void) { return 2; }", &[]);
    let main = "#include <stdio.h>\nint text(void), one(void), two(void);\nint main(void) { printf(\"%d\\n\", text() + one() + two()); return 0; }";
    let flags = ["-ltext", "-lone", "-ltwo"];
    let trial = fuse(NATIVE, &fixture, &NATIVE.program(&fixture, main, &flags));
    assert_eq!(trial.same(&fixture, &[]), "7\n");
    assert_eq!(because(&trial, "libtext.so"), Some(KeptBecause::TextRelocations));
    let program = NATIVE.program(&fixture, main, &[&flags[..], &["-Wl,--audit,libauditor.so"]].concat());
    let (resolved, contents) = contents(&program);
    let refused = underpin_fuse::plan(&Closure::new(&resolved, &contents));
    assert!(matches!(&refused, Err(Refusal::Program { why, .. }) if why.contains("auditor")), "{refused:?}");
}

/// A program of three libraries, one of which fails in its depths.
fn deep(target: Target, fixture: &Fixture) -> Trial {
    target.library(fixture, "low", "int low_function(int n) { return n * 7; }", &["-g"]);
    target.library(
        fixture,
        "middle",
        "int low_function(int); int middle_function(int n) { return low_function(n) + 1; }",
        &["-llow", "-g"],
    );
    let main = "#include <stdio.h>\nint middle_function(int);\nint main(int n, char **v) { printf(\"%d\\n\", middle_function(n)); return 0; }";
    fuse(target, fixture, &target.program(fixture, main, &["-lmiddle", "-llow"]))
}

#[test]
fn no_newer_glibc_is_asked_for_than_by_members() {
    need!("readelf");
    for target in Target::all() {
        let fixture = Fixture::new();
        let trial = deep(target, &fixture);
        let versions = |file: &str| {
            let told = fixture.must("readelf", ["-VW", file]);
            let words = told.split_whitespace().filter(|word| word.starts_with("GLIBC_")).map(str::to_owned);
            words.collect::<std::collections::BTreeSet<_>>()
        };
        let members: std::collections::BTreeSet<_> = trial.members.iter().flat_map(|member| versions(member)).collect();
        assert!(versions(trial.file.to_str().expect("UTF-8")).is_subset(&members), "{members:?}");
    }
}

#[test]
fn gdb_addr2line_and_valgrind_find_their_way() {
    need!("gdb", "addr2line", "valgrind", "nm");
    let fixture = Fixture::new();
    let trial = deep(NATIVE, &fixture);
    let (file, copy) = (trial.file.to_str().expect("UTF-8"), trial.copy.to_str().expect("UTF-8"));
    let symbols = fixture.must("nm", [file]);
    let line = symbols.lines().find(|line| line.ends_with(" low_function")).expect("its symbol");
    let address = line.split_whitespace().next().expect("an address");
    let named = fixture.must("addr2line", ["-f", "-e", file, address]);
    assert!(named.starts_with("low_function\n"), "{named}");
    let session = [
        "-batch",
        "-nx",
        "-ex",
        "set breakpoint pending on",
        "-ex",
        "break low_function",
        "-ex",
        "run",
        "-ex",
        "backtrace",
        "-ex",
        "info symbol low_function",
        copy,
    ];
    let told = fixture.must("gdb", session);
    for part in ["low_function () from", " in middle_function ()", " in main ()", ".text.liblow.so"] {
        assert!(told.contains(part), "{told}");
    }
    let run = Output::of(fixture.command("valgrind").args(["-q", "--error-exitcode=9", copy]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "8\n"), "{}", run.stderr);
}
