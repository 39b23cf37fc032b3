//! The old names of members: what is opened by one, or needs one, meets the fused file, and no name costs a start anything
//! that nothing asks for.

mod support;

use support::{Target, Trial, fuse, fuse_with};
use underpin_test_support::{Fixture, Output};

/// A counter and a constructor that tells of itself: a second copy would be seen.
const COUNTED: &str = "#include <stdio.h>\nstatic int n; int count(void) { return ++n; }\n\
    __attribute__((constructor)) static void up(void) { puts(\"counted\"); }";
/// Opens a plug-in that needs the counter, and counts through it and directly.
const OPENS: &str = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint count(void);\n\
    void plug(const char *file) { void *h = dlopen(file, RTLD_NOW); if (!h) { puts(dlerror()); return; }\n\
    int (*f)(void) = dlsym(h, \"plug\"); int one = f(), two = count(); printf(\"%s %d %d\\n\", file, one, two); }\n";

/// A library that counts, another one, and a plug-in that needs the first.
fn libraries(target: Target, fixture: &Fixture) {
    target.library(fixture, "count", COUNTED, &[]);
    target.library(fixture, "other", "int other(void) { return 0; }", &[]);
    target.library(fixture, "plug", "int count(void); int plug(void) { return count(); }", &["-lcount"]);
}

/// The names of the fixture's members that a start of the copy searches for.
fn at_start(trial: &Trial, fixture: &Fixture, arguments: &[&str]) -> Vec<String> {
    let searched = trial.searched_with(fixture, arguments);
    let own = |name: &String| trial.members.iter().any(|path| path.ends_with(&format!("/{name}")));
    searched.into_iter().filter(own).collect()
}

#[test]
fn a_plug_in_meets_the_one_copy_whoever_opens_it() {
    for target in Target::all() {
        let fixture = Fixture::new();
        libraries(target, &fixture);
        let renamed = |name: &str| OPENS.replace("void plug(", &format!("void {name}("));
        target.library(&fixture, "inside", &renamed("inside"), &["-lcount", "-ldl"]);
        // dladdr1 keeps it shared.
        let kept = format!(
            "{}void *own(void) {{ Dl_info i; void *m; return dladdr1((void *) own, &i, &m, RTLD_DL_LINKMAP) ? m : 0; }}",
            renamed("outside").replace("int count(void);", "__attribute__((weak)) int count(void);")
        );
        target.library(&fixture, "outside", &kept, &["-ldl"]);
        // By a pointer, by name, with a name of its own and with its path.
        let main = format!(
            "{OPENS}#include <string.h>\n#include <unistd.h>\nvoid inside(const char *), outside(const char *); int other(void);\n\
             int main(int c, char **v) {{ if (c < 2) return other();\n\
             if (!strcmp(v[1], \"program\")) plug(\"libplug.so\"); if (!strcmp(v[1], \"inside\")) inside(\"libplug.so\");\n\
             if (!strcmp(v[1], \"outside\")) outside(\"libplug.so\"); if (!strcmp(v[1], \"path\")) plug(v[2]);\n\
             if (!strcmp(v[1], \"member\")) {{ void *h = dlopen(\"libcount.so\", RTLD_NOW | RTLD_NOLOAD); printf(\"%d\\n\", h != 0); }}\n\
             void *(*open)(const char *, int) = dlsym(RTLD_DEFAULT, \"dlopen\");\n\
             if (!strcmp(v[1], \"symbol\")) {{ open(\"libplug.so\", RTLD_NOW); printf(\"%d\\n\", open(\"libcount.so\", RTLD_NOW) == open(\"libcount.so\", RTLD_NOW)); }}\n\
             return other(); }}"
        );
        let all = ["-Wl,--no-as-needed", "-linside", "-loutside", "-lcount", "-lother", "-ldl"];
        let trial = fuse(target, &fixture, &target.program(&fixture, &main, &all));
        assert_eq!(trial.members.len(), 3, "{:?}", trial.kept);
        assert_eq!(at_start(&trial, &fixture, &[]), [""; 0], "nothing is opened, and no name is asked for");
        let path = fixture.join("libplug.so");
        let path = path.to_str().expect("UTF-8");
        for arguments in [
            vec!["program"],
            vec!["inside"],
            vec!["outside"],
            vec!["path", path],
            vec!["path", "libnone.so"],
            vec!["member"],
            vec!["symbol"],
        ] {
            let output = trial.same(&fixture, &arguments);
            assert_eq!(output.matches("counted").count(), 1, "{arguments:?}: {output}");
        }
        assert_eq!(at_start(&trial, &fixture, &["program"]), ["libcount.so", "libinside.so", "libother.so"]);
    }
}

#[test]
fn what_stays_shared_or_glibc_opens_is_known_at_start() {
    for target in Target::all() {
        let fixture = Fixture::new();
        libraries(target, &fixture);
        target.library(&fixture, "third", "int third(void) { return 0; }", &[]);
        let kept = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint count(void);\n\
            int user(void) { Dl_info i; void *m; return dladdr1((void *) user, &i, &m, RTLD_DL_LINKMAP) ? count() : 0; }";
        target.library(&fixture, "user", kept, &["-lcount", "-ldl"]);
        let main = "int user(void), count(void), other(void), third(void);\n\
            int main(void) { return user() + count() + other() + third() - 3; }";
        let all = ["-luser", "-lcount", "-lother", "-lthird"];
        let program = target.program(&fixture, main, &all);
        let trial =
            fuse_with(target, &fixture, &program, |closure| closure.opened_by_glibc = vec!["libother.so".into()]);
        assert_eq!(trial.same(&fixture, &[]), "counted\n");
        assert_eq!(at_start(&trial, &fixture, &[]), ["libcount.so", "libother.so"]);
    }
}

#[test]
fn where_something_could_be_opened_past_the_file_all_names_are_known_at_start() {
    let main = |body: &str| {
        format!(
            "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <unistd.h>\nint count(void), other(void);\n\
             int main(int c, char **v) {{ (void) v; if (c > 5) {body}; return count() + other() - 1; }}"
        )
    };
    let own = "void *dlopen(const char *f, int m) { (void) f; (void) m; return 0; }";
    for target in Target::all() {
        for (what, source, is_known) in [
            ("nothing", main("dlopen(0, RTLD_NOW)"), false),
            ("leaves its folders", main("return chroot(v[1])"), true),
            ("opens in a namespace", main("dlmopen(LM_ID_BASE, v[1], RTLD_NOW)"), true),
            ("takes the next dlopen", main("return dlsym(RTLD_NEXT, \"dlopen\") != 0"), true),
            ("takes the next of another", main("return dlsym(RTLD_NEXT, \"malloc\") != 0"), false),
            ("has its own", format!("{}{own}", main("return 1")), true),
        ] {
            let fixture = Fixture::new();
            libraries(target, &fixture);
            let program = target.program(&fixture, &source, &["-lcount", "-lother", "-ldl", "-rdynamic"]);
            let trial = fuse(target, &fixture, &program);
            assert_eq!(trial.same(&fixture, &[]), "counted\n");
            assert_eq!(at_start(&trial, &fixture, &[]).len(), if is_known { 2 } else { 0 }, "{what}");
        }
    }
}

#[test]
fn a_module_that_needs_glibc_alone_is_opened_without_the_names() {
    for target in Target::all() {
        let fixture = Fixture::new();
        libraries(target, &fixture);
        let module = |name: &str, flags: &[&str]| {
            let source = "#include <math.h>\nextern __attribute__((weak)) int count(void); int plug(void) { return count ? count() : (int) sqrt(1.); }";
            target.library(&fixture, name, source, flags);
        };
        let eager = "-Wl,--no-as-needed";
        module("nothing", &["-nostdlib", "-Wl,--unresolved-symbols=ignore-all"]);
        module("libc", &["-lm"]);
        module("several", &[eager, "-lm", "-lpthread", "-ldl", "-lrt"]);
        module("direct", &[eager, "-lcount"]);
        module("indirect", &[eager, "-lplug"]);
        module("filter", &["-Wl,--auxiliary,libnone.so"]);
        // More than is looked at.
        let far: Vec<String> = (0..9).map(|number| format!("far{number}")).collect();
        for name in &far {
            target.library(&fixture, name, &format!("int {name}(void) {{ return 0; }}"), &[]);
        }
        let far: Vec<String> = far.iter().map(|name| format!("-l{name}")).collect();
        module("many", &[eager].into_iter().chain(far.iter().map(String::as_str)).collect::<Vec<_>>());
        fixture.write("libtext.so", "not a library");
        fixture.write("libshort.so", b"\x7fELF\x02\x01\x01");
        fixture.mkdir("libfolder.so");
        let main =
            format!("{OPENS}int other(void); int main(int c, char **v) {{ if (c > 1) plug(v[1]); return other(); }}");
        let trial = fuse(target, &fixture, &target.program(&fixture, &main, &["-lcount", "-lother", "-ldl"]));
        for (name, tells) in [
            ("nothing", false),
            ("libc", false),
            ("several", false),
            ("none", false),
            ("direct", true),
            ("indirect", true),
            ("filter", true),
            ("many", true),
            ("text", true),
            ("short", true),
            ("folder", true),
        ] {
            let path = fixture.join(format!("lib{name}.so"));
            let path = path.to_str().expect("UTF-8");
            assert_eq!(trial.same(&fixture, &[path]).matches("counted").count(), 1, "{name}");
            assert_eq!(at_start(&trial, &fixture, &[path]).len(), if tells { 2 } else { 0 }, "{name}");
        }
        // Relative to the current directory, which is the fixture's.
        assert_eq!(at_start(&trial, &fixture, &["./liblibc.so"]).len(), 0);
        assert_eq!(at_start(&trial, &fixture, &["$ORIGIN/liblibc.so"]).len(), 2);
    }
}

#[test]
fn modes_errors_and_threads_are_as_with_glibc_alone() {
    for target in Target::all() {
        let fixture = Fixture::new();
        libraries(target, &fixture);
        let main = format!(
            "{OPENS}#include <pthread.h>\nint other(void);\n\
             static void *open(void *file) {{ return dlopen(file, RTLD_NOW); }}\n\
             int main(void) {{ const int modes[] = {{ 0, RTLD_NOW, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | RTLD_NODELETE | RTLD_DEEPBIND, 0x10000, ~0, RTLD_NOLOAD }};\n\
             const char *files[] = {{ \"libnone.so\", \"libcount.so\", \"libplug.so\", \"\", 0 }};\n\
             pthread_t t[8]; for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, open, \"libplug.so\");\n\
             void *r, *first = 0; int same = 1; for (int i = 0; i < 8; i++) {{ pthread_join(t[i], &r); if (!i) first = r; same &= r && r == first; }}\n\
             printf(\"%d %s\\n\", same, dlerror() ? \"an error\" : \"none\");\n\
             for (int f = 0; f < 5; f++) for (int m = 0; m < 7; m++) {{ void *h = dlopen(files[f], modes[m]); char *e = dlerror(); printf(\"%d\", h != 0); if (e && !h && modes[m] > 0 && modes[m] < 0x10000) printf(\" %s\\n\", e); }}\n\
             plug(\"libplug.so\"); return other(); }}"
        );
        let all = ["-lcount", "-lother", "-ldl", "-pthread"];
        let trial = fuse(target, &fixture, &target.program(&fixture, &main, &all));
        let output = trial.same(&fixture, &[]);
        assert!(output.starts_with("counted\n1 none\n") && output.ends_with("libplug.so 1 2\n"), "{output}");
    }
}

#[test]
fn a_preloaded_dlopen_sees_each_call_and_passes_it_on() {
    for target in Target::all() {
        let fixture = Fixture::new();
        libraries(target, &fixture);
        let hook = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n\
            void *dlopen(const char *f, int m) { printf(\"opens %s\\n\", f); return ((void *(*)(const char *, int)) dlsym(RTLD_NEXT, \"dlopen\"))(f, m); }";
        target.library(&fixture, "hook", hook, &["-ldl"]);
        let main = format!("{OPENS}int other(void); int main(void) {{ plug(\"libplug.so\"); return other(); }}");
        let trial = fuse(target, &fixture, &target.program(&fixture, &main, &["-lcount", "-lother", "-ldl"]));
        let preload = fixture.join("libhook.so");
        let variables = [("LD_PRELOAD", preload.to_str().expect("UTF-8"))];
        let said = |program| Output::of(&mut target.run(&fixture, program, &variables)).stdout;
        assert_eq!(said(&trial.copy), "counted\nopens libplug.so\nlibplug.so 1 2\n");
        assert_eq!(said(&trial.copy), said(&trial.program));
    }
}

#[test]
fn in_a_bundle_all_names_are_known_at_start() {
    let target = Target::all()[0];
    let fixture = Fixture::new();
    libraries(target, &fixture);
    let main = "int count(void), other(void); int main(void) { return count() + other() - 1; }";
    let program = target.program(&fixture, main, &["-lcount", "-lother"]);
    let trial = fuse_with(target, &fixture, &program, |closure| closure.in_place = false);
    assert_eq!(at_start(&trial, &fixture, &[]), ["libcount.so", "libother.so"]);
}
