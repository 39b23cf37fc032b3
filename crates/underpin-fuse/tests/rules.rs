//! The loader's rules, one test each: a program behaves the same when its libraries are one file, and each reference is
//! bound as the loader binds it.

mod support;

use support::{Target, Trial, fuse};
use underpin_fuse::KeptBecause;
use underpin_test_support::Fixture;

/// Fuses, compares the runs and the bindings.
fn prove(target: Target, fixture: &Fixture, source: &str, flags: &[&str]) -> (Trial, String) {
    let program = target.program(fixture, source, flags);
    let trial = fuse(target, fixture, &program);
    let output = trial.same(fixture, &[]);
    trial.bindings_as_the_loader(fixture);
    (trial, output)
}

#[test]
fn constructors_and_destructors_run_in_the_order_of_the_loader() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let source = |name: &str, needs: &str| {
            format!(
                "#include <stdio.h>\n{needs}\n\
                 __attribute__((constructor(200))) static void b(void) {{ puts(\"{name} second\"); }}\n\
                 __attribute__((constructor(150))) static void a(void) {{ puts(\"{name} first\"); }}\n\
                 __attribute__((destructor(150))) static void c(void) {{ puts(\"{name} last\"); }}\n\
                 __attribute__((destructor(200))) static void d(void) {{ puts(\"{name} nearly last\"); }}\n\
                 void _legacy_init(void) {{ puts(\"{name} DT_INIT\"); }}\n\
                 void _legacy_fini(void) {{ puts(\"{name} DT_FINI\"); }}\n\
                 int {name}(void) {{ return 1; }}\n"
            )
        };
        let old = ["-Wl,-init,_legacy_init", "-Wl,-fini,_legacy_fini"];
        target.library(&fixture, "bottom", &source("bottom", ""), &old);
        target.library(
            &fixture,
            "left",
            &source("left", "int bottom(void); int l(void) { return bottom(); }"),
            &["-lbottom"],
        );
        target.library(
            &fixture,
            "right",
            &source("right", "int left(void); int r(void) { return left(); }"),
            &["-lleft", "-lbottom"],
        );
        let main = "#include <stdio.h>\nint right(void), bottom(void);\nint main(void) { puts(\"main\"); return right() + bottom() - 2; }";
        let (trial, output) = prove(target, &fixture, main, &["-Wl,--no-as-needed", "-lbottom", "-lright", "-lleft"]);
        assert_eq!(trial.members.len(), 3);
        assert!(output.starts_with("bottom DT_INIT\nbottom first\n"), "{output}");
    }
}

#[test]
fn thread_local_variables_of_every_model_keep_their_values() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let source = |name: &str| {
            format!(
                "static int target_{name} = 5;\n\
                 __thread int {name}_shared = 11; __thread long {name}_zero;\n\
                 static __thread int {name}_own = 22; static __thread int *{name}_pointer = &target_{name};\n\
                 static __thread char {name}_wide[64] __attribute__((aligned(64))) = \"w\";\n\
                 long {name}(void) {{ {name}_shared++; {name}_own += 2; {name}_zero += 3;\n\
                 return {name}_shared + {name}_own * 100L + {name}_zero * 10000 + *{name}_pointer + (((long) {name}_wide) & 63) + {name}_wide[0]; }}\n"
            )
        };
        target.library(&fixture, "gd", &source("gd"), &[target.descriptors[1]]);
        target.library(&fixture, "ld", &source("ld"), &["-ftls-model=local-dynamic", target.descriptors[1]]);
        target.library(&fixture, "ie", &source("ie"), &["-ftls-model=initial-exec"]);
        target.library(&fixture, "desc", &source("desc"), &[target.descriptors[0]]);
        let across = "extern __thread int gd_shared, ie_shared, desc_shared;\nint across(void) { return gd_shared++ + ie_shared++ + desc_shared++; }";
        target.library(&fixture, "across", across, &[target.descriptors[0], "-lgd", "-lie", "-ldesc"]);
        target.library(
            &fixture,
            "old",
            &across.replace("int across", "int old"),
            &["-lgd", "-lie", "-ldesc", target.descriptors[1]],
        );
        let main = "#include <stdio.h>\n#include <pthread.h>\nextern __thread int gd_shared, ld_shared;\n\
            long gd(void), ld(void), ie(void), desc(void); int across(void), old(void);\n\
            static void *work(void *name) { for (int i = 0; i < 3; i++) printf(\"%s %ld %ld %ld %ld %d %d %d\\n\", (char *) name, gd(), ld(), ie(), desc(), across(), old(), gd_shared + ld_shared); return 0; }\n\
            int main(void) { work(\"main\"); pthread_t t; pthread_create(&t, 0, work, \"thread\"); pthread_join(t, 0); work(\"main\"); return 0; }";
        let (trial, _) = prove(target, &fixture, main, &["-lgd", "-lld", "-lie", "-ldesc", "-lacross", "-lold"]);
        assert_eq!(trial.members.len(), 6);
    }
}

#[test]
fn indirect_functions_are_chosen_once_and_called_from_everywhere() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let ifunc = "static int one(void) { return 1; }\nstatic int two(void) { return 2; }\n\
            static int chosen = 1; __attribute__((visibility(\"hidden\"))) int *hidden = &chosen;\n\
            static int (*choose(void))(void) { return *hidden ? two : one; }\n\
            int pick(void) __attribute__((ifunc(\"choose\")));\n\
            static int (*choose_own(void))(void) { return one; }\n\
            static int own(void) __attribute__((ifunc(\"choose_own\")));\nint call_own(void) { return own() + pick(); }";
        target.library(&fixture, "pick", ifunc, &[]);
        let user = "int pick(void); int call_own(void); int (*table[])(void) = { pick, call_own };\n\
            int user(void) { return pick() * 100 + table[0]() * 10 + table[1]() + (table[0] == pick); }";
        target.library(&fixture, "user", user, &["-lpick"]);
        let main = "#include <stdio.h>\nint user(void), pick(void);\nint main(void) { printf(\"%d %d\\n\", user(), pick()); return 0; }";
        let (trial, output) = prove(target, &fixture, main, &["-luser", "-lpick"]);
        assert_eq!((trial.members.len(), output.as_str()), (2, "224 2\n"));
    }
}

#[test]
fn data_that_the_program_copied_and_functions_whose_address_it_took_are_its_own() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let source = "#include <stdio.h>\nint counter = 40; int *const where = &counter;\nint function(void) { return 7; }\n\
            FILE *stream(void) { return stdout; }\nvoid *address(void) { return (void *) function; }\nint up(void) { return ++counter; }";
        target.library(&fixture, "data", source, &[]);
        target.library(
            &fixture,
            "more",
            "extern int counter; int up(void); int more(void) { return up() + counter; }",
            &["-ldata"],
        );
        let main = "#include <stdio.h>\nextern int counter, *const where; int function(void), up(void), more(void); void *address(void); FILE *stream(void);\n\
            int main(void) { counter++; int m = more(); printf(\"%d %d %d %d %d\\n\", m, counter, where == &counter, address() == (void *) function, stream() == stdout); return 0; }";
        let (trial, output) = prove(target, &fixture, main, &["-no-pie", "-fno-pie", "-lmore", "-ldata"]);
        assert_eq!((trial.members.len(), output.as_str()), (2, "84 42 1 1 1\n"));
    }
}

#[test]
fn each_reference_gets_the_version_that_it_asked_for() {
    for target in Target::all() {
        let fixture = Fixture::new();
        fixture.write("map", "V1 { global: foo; local: *; };\nV2 { global: foo; only; } V1;\n");
        fixture.write("map1", "V1 { global: foo; local: *; };\n");
        let old = "int foo(void) { return 1; }";
        target.library(&fixture, "versioned", old, &["-Wl,--version-script,map1"]);
        target.library(&fixture, "before", "int foo(void); int before(void) { return foo(); }", &["-lversioned"]);
        let both = "int foo1(void) { return 1; }\nint foo2(void) { return 2; }\nint only(void) { return 3; }\n\
            __asm__(\".symver foo1,foo@V1\\n.symver foo2,foo@@V2\");";
        target.library(&fixture, "versioned", both, &["-Wl,--version-script,map"]);
        target.library(
            &fixture,
            "after",
            "int foo(void), only(void); int after(void) { return foo() * 10 + only(); }",
            &["-lversioned"],
        );
        let main = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint before(void), after(void), foo(void);\n\
            int main(void) { int (*v1)(void) = dlvsym(RTLD_DEFAULT, \"foo\", \"V1\"), (*any)(void) = dlsym(RTLD_DEFAULT, \"foo\");\n\
            printf(\"%d %d %d %d %d\\n\", before(), after(), foo(), v1(), any()); return 0; }";
        let (trial, output) = prove(target, &fixture, main, &["-lbefore", "-lafter", "-lversioned"]);
        assert_eq!((trial.members.len(), output.as_str()), (3, "1 23 2 1 2\n"));
    }
}

#[test]
fn the_first_definition_of_the_scope_wins_weak_or_not_except_for_protected_and_symbolic() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let source = |name: &str, kind: &str| {
            format!(
                "const char *shared(void) {kind};\nconst char *shared(void) {{ return \"{name}\"; }}\n\
                 extern int nowhere(void) __attribute__((weak));\n\
                 const char *{name}(void) {{ return nowhere ? \"?\" : shared(); }}"
            )
        };
        target.library(&fixture, "weak", &source("weak", "__attribute__((weak))"), &[]);
        target.library(&fixture, "strong", &source("strong", ""), &[]);
        target.library(&fixture, "protected", &source("protected", "__attribute__((visibility(\"protected\")))"), &[]);
        target.library(&fixture, "symbolic", &source("symbolic", ""), &["-Wl,-Bsymbolic"]);
        let flags = ["-Wl,--no-as-needed", "-lweak", "-lstrong", "-lprotected", "-lsymbolic"];
        let main = "#include <stdio.h>\nconst char *weak(void), *strong(void), *protected(void), *symbolic(void), *shared(void);\n\
            int main(void) { printf(\"%s %s %s %s %s\\n\", weak(), strong(), protected(), symbolic(), shared()); return 0; }";
        let (_, output) = prove(target, &fixture, main, &flags);
        assert_eq!(output, "weak weak protected symbolic weak\n");
        // What the program defines comes before all of them.
        let fixture = Fixture::new();
        for (name, kind) in [("weak", ""), ("strong", ""), ("protected", "__attribute__((visibility(\"protected\")))")]
        {
            target.library(&fixture, name, &source(name, kind), &[]);
        }
        target.library(&fixture, "symbolic", &source("symbolic", ""), &["-Wl,-Bsymbolic"]);
        let own =
            main.replace(", *shared(void);", ";\nconst char *shared(void) { return \"program\"; }\nint nowhere2;");
        let (_, output) = prove(target, &fixture, &own, &flags);
        assert_eq!(output, "program program protected symbolic program\n");
    }
}

#[test]
fn exceptions_and_types_cross_the_borders_of_libraries() {
    for target in Target::all() {
        let fixture = Fixture::new();
        fixture.write("base.h", "#include <stdexcept>\nstruct Base { virtual ~Base(); virtual int f() = 0; };\nstruct Oops : std::runtime_error { Oops(); ~Oops() override; };\nBase *make(); void fail(int);\ntemplate <class T> int &once() { static int n = 0; return n; }\n");
        fixture.write("base.cc", "#include \"base.h\"\nBase::~Base() {}\nOops::Oops() : std::runtime_error(\"oops\") {}\nOops::~Oops() {}\nint touch_base() { return ++once<int>(); }\n");
        fixture.write("impl.cc", "#include \"base.h\"\nstruct Impl : Base { int f() override { return 3; } };\nBase *make() { return new Impl; }\nvoid fail(int n) { if (n) fail(n - 1); else throw Oops(); }\nint touch_impl() { return ++once<int>(); }\n");
        fixture.write("program.cc", "#include \"base.h\"\n#include <cstdio>\n#include <typeinfo>\nint touch_base(), touch_impl();\nint main() { Base *b = make(); printf(\"%d %s\\n\", b->f(), typeid(*b).name()); delete b;\n try { fail(3); } catch (std::exception &e) { printf(\"%s %d\\n\", e.what(), dynamic_cast<Oops *>(&e) != nullptr); }\n touch_base(); touch_impl(); printf(\"%d\\n\", ++once<int>()); }\n");
        let search = target.search(&fixture);
        for (name, more) in [("base", "-g"), ("impl", "-lbase")] {
            target.shared(&fixture, target.cxx, name, &format!("{name}.cc"), &[more]);
        }
        fixture.must(target.cxx, ["-o", "program", "program.cc", "-L.", "-limpl", "-lbase", &search]);
        let trial = fuse(target, &fixture, &fixture.join("program"));
        assert!(trial.members.iter().any(|member| member.contains("libstdc++")), "{:?}", trial.members);
        assert_eq!(trial.same(&fixture, &[]), "3 4Impl\noops 1\n3\n");
        trial.bindings_as_the_loader(&fixture);
    }
}

#[test]
fn a_member_that_is_opened_or_needed_later_is_the_one_that_is_there() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let counter = "#include <stdio.h>\nint count; int up(void) { return ++count; }\n__attribute__((constructor)) static void c(void) { puts(\"counter\"); }";
        target.library(&fixture, "counter", counter, &[]);
        target.library(&fixture, "second", "int up(void); int second(void) { return up(); }", &["-lcounter"]);
        target.library(
            &fixture,
            "plugin",
            "int up(void); int plugin(void) { return up(); }",
            &["-lcounter", "-lsecond", "-Wl,--no-as-needed"],
        );
        let main = "#include <dlfcn.h>\n#include <stdio.h>\nint second(void);\n\
            int main(int n, char **v) { second(); printf(\"%d\\n\", dlopen(\"libcounter.so\", RTLD_NOLOAD | RTLD_NOW) != 0);\n\
            void *m = dlopen(\"libcounter.so\", RTLD_NOW), *p = dlopen(v[1], RTLD_NOW); if (!m || !p) { puts(dlerror()); return 1; }\n\
            int (*plugin)(void) = dlsym(p, \"plugin\"), (*up)(void) = dlsym(m, \"up\"), a = plugin(), b = up(); printf(\"%d %d %d\\n\", a, b, second()); return 0; }";
        let program = target.program(&fixture, main, &["-Wl,--disable-new-dtags", "-lsecond"]);
        let trial = fuse(target, &fixture, &program);
        let plugin = fixture.join("libplugin.so");
        assert_eq!(trial.same(&fixture, &[plugin.to_str().expect("UTF-8")]), "counter\n1\n2 3 4\n");
        // Another file of that name that LD_LIBRARY_PATH leads to does not become a second copy.
        fixture.copy(fixture.join("libcounter.so"), "elsewhere/libcounter.so");
        let elsewhere = fixture.join("elsewhere");
        let path = [("LD_LIBRARY_PATH", elsewhere.to_str().expect("UTF-8"))];
        let mut command = target.run(&fixture, &trial.copy, &path);
        command.arg(&plugin);
        assert_eq!(underpin_test_support::Output::of(&mut command).stdout, "counter\n1\n2 3 4\n");
    }
}

#[test]
fn what_asks_for_the_next_definition_or_its_own_file_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let next = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <string.h>\n\
            char *getenv(const char *n) { char *(*real)(const char *) = dlsym(RTLD_NEXT, \"getenv\"); return strcmp(n, \"WRAPPED\") ? real(n) : \"yes\"; }";
        target.library(&fixture, "next", next, &[]);
        let plain =
            "#define _GNU_SOURCE\n#include <dlfcn.h>\nvoid *plain(const char *n) { return dlsym(RTLD_DEFAULT, n); }";
        target.library(&fixture, "plain", plain, &[]);
        target.library(&fixture, "deep", "#include <stdlib.h>\nchar *deep(void) { return getenv(\"WRAPPED\"); }", &[]);
        let file = "#define _GNU_SOURCE\n#include <dlfcn.h>\nconst char *file(void) { Dl_info i; void *m; return dladdr1((void *) file, &i, &m, RTLD_DL_LINKMAP) ? i.dli_fname : 0; }";
        target.library(&fixture, "file", file, &[]);
        let main = "#include <stdio.h>\nvoid *plain(const char *); char *deep(void); const char *file(void);\n\
            int main(void) { printf(\"%d %s %s\\n\", plain(\"puts\") != 0, deep(), file()); return 0; }";
        let (trial, output) =
            prove(target, &fixture, main, &["-Wl,--no-as-needed", "-lplain", "-lnext", "-ldeep", "-lfile"]);
        let because = |name: &str| {
            let found = trial.kept.iter().find(|(path, _)| path.ends_with(name));
            found.map(|(_, kept)| kept.because.clone())
        };
        assert_eq!(because("libnext.so"), Some(KeptBecause::NextDefinition));
        assert_eq!(because("libfile.so"), Some(KeptBecause::Asks { function: "dladdr1" }));
        assert_eq!(because("libplain.so"), None);
        assert!(output.contains(" yes ") && output.trim().ends_with("/libfile.so"), "{output}");
    }
}

#[test]
fn what_looks_for_itself_among_the_mappings_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let plain = "int plain(void) { return 0; }";
        target.library(&fixture, "plain", plain, &[]);
        let other =
            "#include <string.h>\nconst char *other(void) { return strrchr(\"/proc/self/status /proc/maps\", 's'); }";
        target.library(&fixture, "other", other, &[]);
        // Asks for addresses alone.
        let addresses = "#include <stdio.h>\nint addresses(void) { return fopen(\"/proc/self/maps\", \"r\") != 0; }";
        target.library(&fixture, "addresses", addresses, &[]);
        // As libvlccore does it, and with the process's number.
        let number = "(snprintf(path, sizeof path, \"/proc/%d/maps\", (int) getpid()), path)";
        for (name, path) in [("self", "\"/proc/self/maps\""), ("number", number)] {
            let source = format!(
                "#define _GNU_SOURCE\n#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n\
                const char *{name}(void) {{ static char line[4096], path[64]; FILE *maps = fopen({path}, \"r\");\n\
                while (maps && fgets(line, sizeof line, maps)) {{ unsigned long a, b; if (sscanf(line, \"%lx-%lx\", &a, &b) == 2\n\
                && a <= (unsigned long) {name} && (unsigned long) {name} < b) {{ line[strlen(line) - 1] = 0; return strrchr(line, '/') + 1; }} }} return \"?\"; }}"
            );
            target.library(&fixture, name, &source, &[]);
        }
        let main = "#include <stdio.h>\nint plain(void), addresses(void); const char *other(void), *self(void), *number(void);\n\
            int main(void) { printf(\"%s %s %s %d\\n\", self(), number(), other(), addresses()); return plain(); }";
        let words = ["-Wl,--no-as-needed", "-lplain", "-lother", "-laddresses", "-lself", "-lnumber"];
        let (trial, output) = prove(target, &fixture, main, &words);
        for name in ["libself.so", "libnumber.so"] {
            let kept = trial.kept.iter().find(|(path, _)| path.ends_with(name)).map(|(_, kept)| &kept.because);
            assert_eq!(kept, Some(&KeptBecause::ReadsMappings), "{name}");
        }
        assert_eq!(trial.members.len(), 3, "{:?}", trial.kept);
        assert!(output.starts_with("libself.so libnumber.so "), "{output}");
    }
}

#[test]
fn what_a_shared_library_between_members_needs_stays_shared_too() {
    for target in Target::all() {
        let fixture = Fixture::new();
        target.library(&fixture, "low", "int low(void) { return 1; }", &[]);
        let file = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint low(void);\nint middle(void) { Dl_info i; void *m; return low() + dladdr1((void *) middle, &i, &m, RTLD_DL_LINKMAP); }";
        target.library(&fixture, "middle", file, &["-llow"]);
        target.library(&fixture, "high", "int middle(void); int high(void) { return middle(); }", &["-lmiddle"]);
        target.library(&fixture, "other", "int other(void) { return 5; }", &[]);
        let main = "#include <stdio.h>\nint high(void), other(void);\nint main(void) { printf(\"%d\\n\", high() + other()); return 0; }";
        let (trial, output) = prove(target, &fixture, main, &["-lhigh", "-lother"]);
        let low = trial.kept.iter().find(|(path, _)| path.ends_with("liblow.so")).map(|(_, kept)| kept.because.clone());
        assert!(matches!(low, Some(KeptBecause::NeededBy { .. })), "{low:?}");
        assert_eq!((trial.members.len(), output.as_str()), (2, "7\n"));
    }
}

#[test]
fn what_stays_shared_is_not_searched_for_where_a_path_led_to_it() {
    for target in Target::all() {
        let fixture = Fixture::new();
        fixture.write("versions", "V { global: middle; local: *; };");
        target.library(&fixture, "low", "int low(void) { return 1; }", &[]);
        let file = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint low(void);\nint middle(void) { Dl_info i; void *m; return low() + dladdr1((void *) middle, &i, &m, RTLD_DL_LINKMAP); }";
        target.library(&fixture, "middle", file, &["-llow", "-Wl,--version-script=versions"]);
        target.library(&fixture, "high", "int middle(void); int high(void) { return middle(); }", &["-lmiddle"]);
        target.library(&fixture, "other", "int other(void) { return 5; }", &[]);
        let main = "#include <stdio.h>\nint high(void), other(void), middle(void);\n\
            int main(void) { printf(\"%d\\n\", high() + other() + middle()); return 0; }";
        let (trial, output) = prove(target, &fixture, main, &["-lhigh", "-lother", "-lmiddle"]);
        assert_eq!((trial.members.len(), output.as_str()), (2, "9\n"));
        // Nothing needs the members by their names at start; libc is found by its system.
        let searched = trial.searched(&fixture);
        let of_the_fixture = ["high", "low", "middle", "other"].map(|name| searched.contains(&format!("lib{name}.so")));
        assert_eq!(of_the_fixture, [false; 4], "{searched:?}");
    }
}

#[test]
fn a_unique_symbol_is_one_in_the_process_whatever_version_was_asked_for() {
    for target in Target::all() {
        let fixture = Fixture::new();
        fixture.write(
            "once.h",
            "template <class T> struct Once { static int n; };\ntemplate <class T> int Once<T>::n = 0;\n",
        );
        let search = target.search(&fixture);
        for (name, needs) in [("low", "-lm"), ("high", "-llow")] {
            fixture.write(
                format!("{name}.cc"),
                format!("#include \"once.h\"\nint {name}() {{ return ++Once<int>::n; }}\n"),
            );
            fixture.write(format!("{name}.map"), format!("V_{name} {{ global: *; }};\n"));
            let (file, map) = (format!("{name}.cc"), format!("-Wl,--version-script,{name}.map"));
            target.shared(&fixture, target.cxx, name, &file, &["-Wl,--no-as-needed", needs, &map]);
        }
        fixture.write("program.cc", "#include <cstdio>\nint low(), high();\nint main() { int a = low(), b = high(); printf(\"%d %d\\n\", a, b); }\n");
        fixture.must(target.cxx, ["-o", "program", "program.cc", "-L.", "-lhigh", "-llow", &search]);
        let trial = fuse(target, &fixture, &fixture.join("program"));
        assert_eq!(trial.same(&fixture, &[]), "1 2\n");
        trial.bindings_as_the_loader(&fixture);
    }
}
