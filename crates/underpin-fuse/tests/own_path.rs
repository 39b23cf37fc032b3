//! Libraries that ask which file an address is in, and those that open their own: inside, they hear what they heard before.

mod support;

use support::{Target, Trial, contents, fuse};
use underpin_fuse::{Closure, Kept, KeptBecause};
use underpin_test_support::{Fixture, Output};

/// Prints all that dladdr says of an address, relative to where the file is.
const SHOW: &str = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\n\
    static void show(const char *what, const void *p) { Dl_info i; memset(&i, 0x55, sizeof i);\n\
    if (!dladdr(p, &i)) { printf(\"%s: nothing\\n\", what); return; }\n\
    printf(\"%s: %s %.3s %s %ld %ld\\n\", what, i.dli_fname, (char *) i.dli_fbase + 1, i.dli_sname ? i.dli_sname : \"-\",\n\
    i.dli_saddr ? (long) ((char *) i.dli_saddr - (char *) i.dli_fbase) : -1, (long) ((char *) p - (char *) i.dli_fbase)); }\n";

fn because(trial: &Trial, name: &str) -> Option<KeptBecause> {
    let found = trial.kept.iter().find(|(path, _)| path.ends_with(name));
    found.map(|(_, Kept { because, .. })| because.clone())
}

#[test]
fn a_member_is_told_its_own_path_base_and_symbol() {
    for target in Target::all() {
        let fixture = Fixture::new();
        // The same names in both, so that the fused file's own table has only those of the first one.
        let names = "int common(int n) { return n + 1; } static int quiet(int n) { return n * 2; }\n\
            int (*const hidden)(int) = quiet; int data[4] = { 1 }; extern int alias[4] __attribute__((alias(\"data\")));\n";
        target.library(&fixture, "first", &format!("{names} int first(void) {{ return common(0) + data[0]; }}"), &[]);
        let asker = format!(
            "{SHOW}#include <stdlib.h>\n{names}__thread int local;\n\
             void asker(const void *other) {{ int here = 0; show(\"own\", asker); show(\"inside\", (char *) asker + 5);\n\
             show(\"no symbol\", hidden); show(\"data\", data); show(\"end\", data + 3); show(\"other\", other);\n\
             show(\"libc\", (char *) dlsym(RTLD_DEFAULT, \"qsort\")); show(\"stack\", &here); show(\"null\", 0); }}"
        );
        // Old tables are searched otherwise.
        for style in ["-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv"] {
            target.library(&fixture, "asker", &asker, &["-Wl,-Bsymbolic", style, "-lfirst", "-ldl"]);
            let main =
                "int first(void); void asker(const void *); int main(void) { asker(first); return first() - 2; }";
            let program = target.program(&fixture, main, &["-lasker", "-lfirst"]);
            let trial = fuse(target, &fixture, &program);
            assert_eq!(trial.kept.iter().filter(|(path, _)| path.contains(fixture.text())).count(), 0);
            let output = trial.same(&fixture, &[]);
            let line = |what: &str| output.lines().find(|line| line.starts_with(what)).expect("a line").to_owned();
            assert!(line("own: ").contains("libasker.so ELF asker"), "{output}");
            assert!(line("other: ").contains("libfirst.so ELF first"), "{output}");
            assert!(line("no symbol: ").contains("libasker.so ELF"), "{output}");
            assert!(line("libc: ").contains("libc.so.6 ELF qsort"), "{output}");
            assert_eq!(line("null: "), "null: nothing");
            trial.bindings_as_the_loader(&fixture);
            std::fs::remove_dir_all(fixture.join("links")).expect("links");
        }
    }
}

#[test]
fn a_member_that_opens_its_own_file_finds_itself_once() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let folder = fixture.mkdir("plug");
        target.library(&fixture, "plug", "int plug(void) { return 7; }", &[]);
        std::fs::rename(fixture.join("libplug.so"), folder.join("libplug.so")).expect("a plug-in");
        target.library(&fixture, "other", "int other(void) { return 1; }", &[]);
        let own = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\nint counter = 40;\n\
            __attribute__((constructor)) static void up(void) { puts(\"up\"); }\n\
            static void look(const char *what, void *h) { int *c = h ? dlsym(h, \"counter\") : 0; printf(\"%s %d\\n\", what, c ? c == &counter : -1); }\n\
            void own(void) { Dl_info i; if (!dladdr((void *) own, &i)) return; puts(i.dli_fname); counter++;\n\
            look(\"path\", dlopen(i.dli_fname, RTLD_NOW)); look(\"noload\", dlopen(i.dli_fname, RTLD_NOW | RTLD_NOLOAD));\n\
            char *real = realpath(i.dli_fname, 0); puts(real); look(\"real\", dlopen(real, RTLD_NOW)); look(\"none\", dlopen(\"/nowhere\", RTLD_NOW));\n\
            look(\"program\", dlopen(0, RTLD_NOW)); void *h = dlopen(\"libplug.so\", RTLD_NOW); int (*f)(void) = h ? dlsym(h, \"plug\") : 0; printf(\"%d\\n\", f ? f() : 0); }";
        // Only its own path leads to the plug-in: the caller must stay the library.
        let search = format!("-Wl,-rpath,{}", folder.display());
        target.library(&fixture, "own", own, &["-ldl", &search]);
        std::fs::rename(fixture.join("libown.so"), fixture.join("libown.so.1.0")).expect("a library");
        fixture.symlink("libown.so.1.0", "libown.so");
        let main = "void own(void); int other(void); int main(void) { own(); return other() - 1; }";
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &["-lown", "-lother"]));
        assert_eq!(trial.members.len(), 2, "{:?}", trial.kept);
        let output = trial.same(&fixture, &[]);
        let path = fixture.text();
        let expected =
            format!("up\n{path}/libown.so\npath 1\nnoload 1\n{path}/libown.so.1.0\nreal 1\nnone -1\nprogram 1\n7\n");
        assert_eq!(output, expected);
        trial.bindings_as_the_loader(&fixture);
        // A library in LD_PRELOAD still sees what is opened.
        let hook = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nvoid *dlopen(const char *f, int m) { (void) m; printf(\"opens %s\\n\", f ? f : \"itself\"); return 0; }";
        target.library(&fixture, "hook", hook, &["-ldl"]);
        let preload = fixture.join("libhook.so");
        let variables = [("LD_PRELOAD", preload.to_str().expect("UTF-8"))];
        let output = Output::of(&mut target.run(&fixture, &trial.copy, &variables)).stdout;
        assert_eq!(output.matches("opens ").count(), 6, "{output}");
    }
}

#[test]
fn one_that_opens_itself_for_a_symbol_of_an_earlier_library_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let entry = |name: &str| format!("const char *entry(void) {{ return \"{name}\"; }}\n");
        target.library(&fixture, "first", &format!("{}int first(void) {{ return 0; }}", entry("first")), &[]);
        target.library(&fixture, "second", "int second(void) { return 0; }", &[]);
        let own = format!(
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n{}\
             int own(void) {{ Dl_info i; if (!dladdr((void *) own, &i)) return 1; void *h = dlopen(i.dli_fname, RTLD_NOW);\n\
             const char *(*f)(void) = h ? dlsym(h, \"entry\") : 0; puts(f ? f() : \"none\"); return 0; }}",
            entry("own")
        );
        target.library(&fixture, "own", &own, &["-ldl"]);
        let main = "int first(void), second(void), own(void); int main(void) { return first() + second() + own(); }";
        let all = ["-Wl,--no-as-needed", "-lfirst", "-lsecond", "-lown"];
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &all));
        assert_eq!(trial.same(&fixture, &[]), "own\n");
        let own = because(&trial, "libown.so");
        assert!(matches!(&own, Some(KeptBecause::OpenedByName { symbol, .. }) if symbol == "entry"), "{own:?}");
    }
}

#[test]
fn what_asks_for_more_than_a_path_or_asks_another_function_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let map = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <link.h>\n#include <stdio.h>\n\
            int map(void) { Dl_info i; struct link_map *m = 0; ElfW(Sym) *s = 0; int a = dladdr1((void *) map, &i, (void **) &m, RTLD_DL_LINKMAP);\n\
            a += dladdr1((void *) map, &i, (void **) &s, RTLD_DL_SYMENT); printf(\"%d %s %d %d\\n\", a, m->l_name, i.dli_fbase == (void *) m->l_addr, s && s->st_value == (char *) map - (char *) i.dli_fbase); return 0; }";
        target.library(&fixture, "map", map, &["-ldl"]);
        let file = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint file(void) { Dl_info i = { 0 }; int a = dladdr((void *) file, &i); printf(\"%d %s\\n\", a, i.dli_fname ? i.dli_fname : \"-\"); return 0; }";
        target.library(&fixture, "file", file, &["-ldl"]);
        for name in ["one", "two"] {
            target.library(&fixture, name, &format!("int {name}(void) {{ return 0; }}"), &[]);
        }
        let wrapper =
            "int dladdr(const void *p, void *i) { (void) p; (void) i; return 9; } int wrapper(void) { return 0; }";
        target.library(&fixture, "wrapper", wrapper, &[]);
        let main = "int map(void), file(void), one(void), two(void), wrapper(void); int main(void) { return map() + file() + one() + two() + wrapper(); }";
        let all = ["-lmap", "-lfile", "-lone", "-ltwo", "-lwrapper"];
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &all));
        let output = trial.same(&fixture, &[]);
        assert!(output.contains("libmap.so 1 1\n9 -\n") && output.starts_with("2 /"), "{output}");
        assert_eq!(because(&trial, "libmap.so"), Some(KeptBecause::Asks { function: "dladdr1" }));
        assert_eq!(because(&trial, "libfile.so"), Some(KeptBecause::Asks { function: "dladdr" }));
    }
}

#[test]
fn where_the_libraries_are_elsewhere_afterwards_what_asks_stays_shared() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let file =
            "#define _GNU_SOURCE\n#include <dlfcn.h>\nint file(void) { Dl_info i; return dladdr((void *) file, &i); }";
        target.library(&fixture, "file", file, &["-ldl"]);
        for name in ["one", "two"] {
            target.library(&fixture, name, &format!("int {name}(void) {{ return 0; }}"), &[]);
        }
        let main = "int file(void), one(void), two(void); int main(void) { return file() + one() + two(); }";
        let (resolved, contents) = contents(&target.program(&fixture, main, &["-lfile", "-lone", "-ltwo"]));
        let mut closure = Closure::new(&resolved, &contents);
        assert_eq!(underpin_fuse::plan(&closure).expect("a plan").members.len(), 3);
        closure.in_place = false;
        assert_eq!(underpin_fuse::plan(&closure).expect("a plan").members.len(), 2);
    }
}

#[test]
fn what_is_outside_hears_the_merged_file_of_an_address_inside() {
    for target in Target::all() {
        let fixture = Fixture::new();
        let one = "#define _GNU_SOURCE\n#include <dlfcn.h>\nconst char *one(void) { Dl_info i; return dladdr((void *) one, &i) ? i.dli_fname : 0; }";
        target.library(&fixture, "one", one, &["-ldl"]);
        target.library(&fixture, "two", "int two(void) { return 0; }", &[]);
        let main = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n#include <string.h>\nconst char *one(void); int two(void);\n\
            int main(void) { Dl_info i; void *f = dlsym(RTLD_DEFAULT, \"two\"); if (!f || !dladdr(f, &i)) return 1;\n\
            printf(\"%s %s %s\\n\", strrchr(i.dli_fname, '/') + 1, i.dli_sname, strrchr(one(), '/') + 1); return two(); }";
        let trial = fuse(target, &fixture, &target.program(&fixture, main, &["-lone", "-ltwo", "-ldl"]));
        let said = |program| Output::of(&mut target.run(&fixture, program, &[])).stdout;
        assert_eq!(said(&trial.program), "libtwo.so two libone.so\n");
        // The first is what docs/fuse.md says is different.
        assert_eq!(said(&trial.copy), "fused.so two libone.so\n");
    }
}
