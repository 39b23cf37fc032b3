//! Bundles on other systems: a Debian with an older glibc, a root with only musl, an empty root. The programs were
//! built here, against a glibc that none of these roots has.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod bundle_release;
mod bundle_support;

use bstr::ByteSlice;
use bundle_release::release;
use bundle_support::{FORMS, Making, Root, can_enter};
use std::path::Path;
use underpin_rewrite::bundle::{BundleError, Form, IncludedBecause, Item, NoLocale, Notice};
use underpin_test_support::{Fixture, Output, need};

const NAME_SERVICE: &str = r#"
#include <pwd.h>
#include <stdio.h>
int main(int argc, char **argv) {
    struct passwd *entry = getpwnam(argv[1]);
    if (!entry) { puts("nobody of that name"); return 3; }
    printf("%s %d %s\n", entry->pw_name, (int)entry->pw_uid, entry->pw_dir);
    return 0;
}
"#;

const CHARSETS: &str = r#"
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    char from[] = "\xc3\xa9", to[64], *in = from, *out = to;
    size_t left = 2, room = sizeof to;
    iconv_t conversion = iconv_open(argv[1], "UTF-8");
    if (conversion == (iconv_t)-1) { puts("no such charset"); return 3; }
    iconv(conversion, &in, &left, &out, &room);
    for (char *byte = to; byte < out; byte++) printf("%02x", (unsigned char)*byte);
    printf(" %s\n", getenv("GCONV_PATH") ? getenv("GCONV_PATH") : "unset");
    return 0;
}
"#;

/// Prints which locale it gets by either function, how that formats a number, and whether LOCPATH is the caller's.
const LOCALE: &str = r#"
#define _GNU_SOURCE
#include <locale.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    char *name = setlocale(LC_ALL, argv[1]);
    int found = newlocale(LC_ALL_MASK, argv[1], 0) != 0;
    printf("%s %d %s %s %.1f ", name ? name : "none", found, nl_langinfo(CODESET), nl_langinfo(MON_3), 1.5);
    fflush(stdout);
    char *path = getenv("LOCPATH");
    puts(path ? path : "unset");
    return 0;
}
"#;

const EXCEPTIONS: &str = r#"
#include <atomic>
#include <iostream>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
thread_local int depth;
int deep(int levels) {
    depth++;
    if (levels == 0) throw std::runtime_error("thrown at " + std::to_string(depth));
    return deep(levels - 1) + 1;
}
int main() {
    std::vector<std::thread> threads;
    std::atomic<int> caught{0};
    for (int index = 0; index < 8; index++)
        threads.emplace_back([&] { try { deep(50); } catch (std::exception &) { caught++; } });
    for (auto &thread : threads) thread.join();
    auto later = std::async(std::launch::async, [] { return deep(3); });
    try { later.get(); } catch (std::exception &error) { std::cout << error.what() << ", caught " << caught << "\n"; }
}
"#;

/// Ends one thread by each function that makes glibc open libgcc_s.so.1, which a C program does not need by name.
const UNWINDING: &str = r#"
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <threads.h>
#include <unistd.h>
static void *exits(void *value) { pthread_exit(value); }
static void *waits(void *value) { for (;;) pause(); return value; }
static int ends(void *value) { thrd_exit((int)(long)value); }
int main(void) {
    pthread_t exiting, cancelled;
    thrd_t ending;
    void *first, *second, *frames[8];
    int third = 0;
    pthread_create(&exiting, 0, exits, (void *)7);
    pthread_join(exiting, &first);
    pthread_create(&cancelled, 0, waits, 0);
    pthread_cancel(cancelled);
    pthread_join(cancelled, &second);
    thrd_create(&ending, ends, (void *)9);
    thrd_join(ending, &third);
    printf("%ld %d %d %d\n", (long)first, second == PTHREAD_CANCELED, third, backtrace(frames, 8) > 1);
    return 0;
}
"#;

/// Every root that is available here. The musl root needs musl, the older one a Debian package.
fn roots() -> Vec<Root> {
    let mut roots = vec![Root::empty()];
    if underpin_test_support::available("musl-gcc") {
        roots.push(Root::musl());
    }
    if let Some(older) = release("bullseye") {
        roots.push(Root::older(&older));
    }
    roots
}

/// Bundles a program built from source into each root, in both forms, and compares what it prints there.
fn everywhere(compiler: &str, source: (&str, &str), flags: &[&str], args: &[&str], expected: &str) {
    let dir = Fixture::new();
    dir.write(source.0, source.1);
    dir.must(compiler, ["-o", "program", source.0].iter().chain(flags));
    for root in roots() {
        for form in FORMS {
            let entry = Making::new(&dir.join("program"), form, &root.place()).entry();
            let command: Vec<String> =
                std::iter::once(root.inside(&entry)).chain(args.iter().map(|&arg| arg.into())).collect();
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            let output = root.run(form == Form::File, &command);
            assert_eq!(output.stdout, expected, "{} {form:?}: {}", root.name, output.stderr);
        }
    }
}

#[test]
fn what_glibc_opens_to_unwind_a_stack_is_included() {
    need!("cc");
    if can_enter() {
        everywhere("cc", ("main.c", UNWINDING), &["-pthread"], &[], "7 1 9 1\n");
    }
}

#[test]
fn exceptions_and_threads_work() {
    need!("c++");
    if can_enter() {
        everywhere("c++", ("main.cpp", EXCEPTIONS), &["-pthread"], &[], "thrown at 4, caught 8\n");
    }
}

#[test]
fn users_are_looked_up_in_the_files_of_the_machine() {
    need!("cc");
    if can_enter() {
        everywhere("cc", ("main.c", NAME_SERVICE), &[], &["probe"], "probe 4711 /home/probe\n");
    }
}

/// UTF-16 is not a built-in charset; the variable that leads to the modules is removed before the program starts.
#[test]
fn charset_modules_come_from_the_bundle() {
    need!("cc");
    if !can_enter() {
        return;
    }
    let dir = Fixture::new();
    dir.write("main.c", CHARSETS);
    dir.cc(["-o", "program", "main.c"]);
    let program = dir.join("program");
    for root in roots() {
        let making = Making::new(&program, Form::Directory, &root.place());
        let plan = making.plan().expect("a plan");
        assert!(
            plan.items
                .iter()
                .any(|item| item.reason == IncludedBecause::Charset && item.place == "lib/gconv/UTF-16.so")
        );
        let entry = root.inside(&making.entry());
        assert_eq!(root.run(false, &[&entry, "UTF-16BE"]).stdout, "00e9 unset\n", "{}", root.name);
        // A variable that the user set is left alone.
        let own = root.run_with(false, &[("GCONV_PATH", "/tmp/own")], &[&entry, "UTF-16BE"]);
        // glibc then looks where its modules were on the original machine, which only the older Debian has.
        let expected = if root.name == "older glibc" { "00e9 /tmp/own\n" } else { "no such charset\n" };
        assert_eq!(own.stdout, expected, "{}", root.name);
    }
    let one = Making::new(&program, Form::File, dir.path()).plan().expect("a plan");
    assert!(one.notices.contains(&Notice::NoCharsets), "{:?}", one.notices);
}

fn locale_program() -> Fixture {
    let dir = Fixture::new();
    dir.write("main.c", LOCALE);
    dir.cc(["-o", "program", "main.c"]);
    dir
}

/// glibc finds locales by a compiled-in path, which is empty on such a machine. The answers are those of the original
/// program here.
#[test]
fn the_locale_c_utf_8_comes_from_the_bundle() {
    need!("cc", "/usr/lib/locale/C.utf8");
    if !can_enter() {
        return;
    }
    let dir = locale_program();
    let program = dir.join("program");
    for root in roots() {
        let making = Making::new(&program, Form::Directory, &root.place());
        let plan = making.plan().expect("a plan");
        assert!(plan.items.iter().any(|item| item.place == "lib/locale/C.utf8/LC_CTYPE"), "{:?}", plan.items);
        assert!(!plan.notices.iter().any(|notice| matches!(notice, Notice::NoLocales { .. })), "{:?}", plan.notices);
        let entry = root.inside(&making.entry());
        for (name, variables) in [("C.UTF-8", &[][..]), ("C.utf8", &[]), ("", &[("LANG", "C.UTF-8")]), ("POSIX", &[])] {
            let mut command = dir.command(&program);
            command.env_clear().arg(name).envs(variables.iter().copied());
            let expected = Output::of(&mut command).stdout;
            let output = root.run_with(false, variables, &[&entry, name]);
            assert_eq!(output.stdout, expected, "{} `{name}`: {}", root.name, output.stderr);
        }
        // A variable that the user set is left alone, before and after.
        let own = root.run_with(false, &[("LOCPATH", "/tmp/none")], &[&entry, "C.UTF-8"]);
        assert!(own.stdout.starts_with("C.UTF-8 1 UTF-8 ") && own.stdout.ends_with(" /tmp/none\n"), "{}", own.stdout);
    }
}

/// Whatever locales a machine has: a bundle that includes some answers there as the original does.
#[test]
fn on_a_machine_with_locales_every_answer_is_the_machines() {
    need!("cc", "localedef", "/usr/lib/locale/C.utf8");
    let dir = locale_program();
    let made = dir.mkdir("made").join("de_DE.UTF-8");
    dir.must(
        "localedef",
        ["-c".as_ref(), "-f".as_ref(), "UTF-8".as_ref(), "-i".as_ref(), "de_DE".as_ref(), made.as_os_str()],
    );
    let entry = Making::new(&dir.join("program"), Form::Directory, dir.path()).entry();
    let path = made.parent().unwrap().to_str().unwrap();
    let answers = |program: &Path| {
        let mut all = Vec::new();
        for name in ["", "C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "de_DE.utf8", "de_DE", "xx_XX.UTF-8"] {
            for variables in [&[][..], &[("LANG", "de_DE.UTF-8")], &[("LOCPATH", path), ("LC_ALL", "de_DE.UTF-8")]] {
                let mut command = dir.command(program);
                all.push(Output::of(command.env_clear().arg(name).envs(variables.iter().copied())).stdout);
            }
        }
        all
    };
    let original = answers(&dir.join("program"));
    assert!(original.iter().any(|answer| answer.contains("de_DE.UTF-8 1 UTF-8 März 1,5")), "{original:?}");
    assert_eq!(answers(&entry), original);
}

/// From an archive or a directory, both made by localedef(1): the files in the bundle are the same.
#[test]
fn a_locale_that_is_named_is_taken_from_an_archive_or_a_directory() {
    need!("cc", "localedef");
    if !can_enter() {
        return;
    }
    // Compiling takes far longer than everything else here, so each locale is compiled once.
    let compiled = Fixture::new();
    for (source, name) in [("fr_FR", "fr_FR.utf8"), ("de_DE", "de_DE.utf8")] {
        let made = compiled.join(name);
        compiled.must("localedef", ["-c", "-f", "UTF-8", "-i", source, made.to_str().unwrap()]);
    }
    for in_archive in [true, false] {
        let dir = locale_program();
        let root = Root::empty();
        // This machine's C library in a directory used as `/`, with locales of its own.
        let system = dir.mkdir("system");
        let plain = Making::new(&dir.join("program"), Form::Directory, &root.place()).plan().expect("a plan");
        let object = |item: &&Item| matches!(item.reason, IncludedBecause::Needed { .. } | IncludedBecause::Loader);
        for item in plain.items.iter().filter(object) {
            let source = item.source.to_path_lossy();
            let copy = system.join(source.strip_prefix("/").unwrap());
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(source, copy).unwrap();
        }
        dir.copy(dir.join("program"), "system/program");
        dir.mkdir("system/usr/lib/locale");
        let prefix = format!("--prefix={}", system.display());
        let locales = system.join("usr/lib/locale");
        if in_archive {
            compiled.must("localedef", ["--quiet", &prefix, "--add-to-archive", "fr_FR.utf8", "de_DE.utf8"]);
        } else {
            compiled.must("cp", ["-r", "fr_FR.utf8", "de_DE.utf8", locales.to_str().unwrap()]);
        }
        let archive = locales.join("locale-archive");
        assert_eq!(archive.is_file(), in_archive);
        let making = Making {
            sysroot: Some(system),
            locales: vec!["fr_FR.UTF-8"],
            ..Making::new(Path::new("/program"), Form::Directory, &root.place())
        };
        let plan = making.plan().expect("a plan");
        let missing = |notice: &Notice| matches!(notice, Notice::NoLocales { reason: NoLocale::NotHere { .. } });
        assert!(plan.notices.iter().any(missing), "there is no C.UTF-8: {:?}", plan.notices);
        let entry = root.inside(&making.entry());
        let said = root.run(false, &[&entry, "fr_FR.UTF-8"]).stdout;
        assert_eq!(said, "fr_FR.UTF-8 1 UTF-8 mars 1,5 unset\n", "in an archive: {in_archive}");
        assert_eq!(root.run(false, &[&entry, "de_DE.UTF-8"]).stdout, "none 0 ANSI_X3.4-1968 March 1.5 unset\n");
        let made = compiled.join("fr_FR.utf8");
        dir.must("diff", ["-r".as_ref(), made.as_os_str(), making.target.join("lib/locale/fr_FR.utf8").as_os_str()]);
        let unknown = Making { locales: vec!["xx_XX.UTF-8"], ..making };
        assert!(matches!(unknown.plan(), Err(BundleError::NoLocale { .. })));
    }
}

#[test]
fn a_bundle_without_locales_says_so() {
    need!("cc");
    let dir = locale_program();
    let program = dir.join("program");
    let said = |making: &Making<'_>| {
        let notices = making.plan().expect("a plan").notices;
        notices.into_iter().find_map(|notice| match notice {
            Notice::NoLocales { reason } => Some(reason),
            _ => None,
        })
    };
    let one = Making::new(&program, Form::File, dir.path());
    assert_eq!(said(&one), Some(NoLocale::OneFile));
    let named = Making { locales: vec!["C.UTF-8"], ..one };
    assert!(matches!(named.plan(), Err(BundleError::NoLocale { .. })));
    let without = Making { exclude: vec!["locale"], ..Making::new(&program, Form::Directory, dir.path()) };
    assert_eq!(said(&without), Some(NoLocale::Excluded));
}

#[test]
fn git_works() {
    need!("/usr/bin/git");
    if !can_enter() {
        return;
    }
    let expected =
        String::from_utf8(std::process::Command::new("/usr/bin/git").arg("--version").output().unwrap().stdout);
    let expected = expected.expect("text");
    for root in roots() {
        root.dir.must("mknod", [root.dir.join("dev/null").as_os_str(), "c".as_ref(), "1".as_ref(), "3".as_ref()]);
        for form in FORMS {
            let entry = root.inside(&Making::new(Path::new("/usr/bin/git"), form, &root.place()).entry());
            let output = root.run(form == Form::File, &[&entry, "--version"]);
            assert_eq!(output.stdout, expected, "{} {form:?}: {}", root.name, output.stderr);
            let repository = format!("/tmp/repository-{form:?}");
            let output = root.run(form == Form::File, &[&entry, "init", "--quiet", "--template=", &repository]);
            assert_eq!(output.code, Some(0), "{} {form:?}: {}", root.name, output.stderr);
        }
    }
}

/// With its library of modules, some of them objects with libraries of their own that the program does not need.
#[test]
fn python_finds_its_modules_in_the_bundle() {
    need!("/usr/bin/python3", "/usr/lib/python3/dist-packages");
    let program = Path::new("/usr/bin/python3").canonicalize().expect("python");
    let name = program.file_name().unwrap().to_str().unwrap();
    if !can_enter() {
        return;
    }
    for root in [Root::empty()].into_iter().chain(release("bullseye").map(|older| Root::older(&older))) {
        let mut making = Making::new(&program, Form::Directory, &root.place());
        making.include = vec![format!("/usr/lib/{name}")];
        making.exclude = vec!["*.pyc", "*/test/*", "gconv"];
        let entry = root.inside(&making.entry());
        let script = "import ctypes, json, sqlite3, ssl, sys; print(sys.prefix, json.dumps([ssl.OPENSSL_VERSION[:7]]))";
        let output = root.run(false, &[&entry, "-B", "-c", script]);
        let prefix = root.inside(&making.target);
        assert_eq!(output.stdout, format!("{prefix} [\"OpenSSL\"]\n"), "{}: {}", root.name, output.stderr);
    }
}

#[test]
fn emacs_says_its_version() {
    need!("/usr/bin/emacs-gtk", "/usr/lib/emacs");
    if !can_enter() {
        return;
    }
    // One root is enough for such a large bundle.
    {
        let root = Root::empty();
        let mut making = Making::new(Path::new("/usr/bin/emacs-gtk"), Form::Directory, &root.place());
        making.include = vec!["/usr/lib/emacs".to_owned()];
        making.exclude = vec!["gconv"];
        let plan = making.plan().expect("a plan");
        let told = |path: &str| {
            plan.notices.iter().any(|notice| matches!(notice, Notice::Data { path: data } if data == path))
        };
        assert!(told("/usr/share/emacs") && !told("/usr/lib/emacs"), "{:?}", plan.notices);
        let entry = root.inside(&making.entry());
        let output = root.run(false, &[&entry, "--version"]);
        assert!(output.stdout.starts_with("GNU Emacs "), "{}: {}{}", root.name, output.stdout, output.stderr);
    }
}

/// The shell of an older Debian, started by a bundled program, with the older C library of that Debian.
#[test]
fn programs_of_the_host_keep_their_own_loader() {
    need!("cc");
    let Some(older) = release("bullseye") else { return };
    if !can_enter() {
        return;
    }
    let root = Root::older(&older);
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdlib.h>\nint main(void){return system(\"echo from the shell; read line < /proc/$$/maps; echo $line\");}");
    dir.cc(["-o", "program", "main.c"]);
    std::os::unix::fs::symlink("dash", root.dir.join("bin/sh"))
        .or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
        .expect("a shell");
    for form in FORMS {
        let entry = root.inside(&Making::new(&dir.join("program"), form, &root.place()).entry());
        let output = root.run(true, &[&entry]);
        assert_eq!(output.code, Some(0), "{form:?}: {}", output.stderr);
        assert!(
            output.stdout.starts_with("from the shell\n") && output.stdout.contains("/bin/dash"),
            "{}",
            output.stdout
        );
    }
}

#[test]
fn without_proc_a_directory_works_and_a_file_says_what_it_needs() {
    need!("cc");
    if !can_enter() {
        return;
    }
    let root = Root::empty();
    let dir = Fixture::new();
    dir.write("main.c", "#include <stdio.h>\nint main(void){puts(\"started\");return 0;}");
    dir.cc(["-o", "program", "main.c"]);
    let [directory, file] =
        FORMS.map(|form| root.inside(&Making::new(&dir.join("program"), form, &root.place()).entry()));
    root.dir.symlink("../tmp/program.dir/bin/program", "bin/linked");
    for entry in [directory.as_str(), "/bin/linked"] {
        assert_eq!(root.run(false, &[entry]).stdout, "started\n", "{entry}");
    }
    let output = root.run(false, &[&file]);
    assert_eq!(output.code, Some(126));
    assert!(output.stderr.contains("/proc/self/exe") && output.stderr.contains("mount -t proc"), "{}", output.stderr);
}

/// The other way round: programs of an older and of a newer Debian, with their own loaders, run here.
#[test]
fn programs_of_other_releases_run_here() {
    need!("unshare");
    for suite in ["bullseye", "sid"] {
        let Some(libraries) = release(suite) else { continue };
        let top = libraries.ancestors().find(|path| path.join("etc").is_dir() && path.join("usr").is_dir()).unwrap();
        let shell = ["bin/dash", "usr/bin/dash"].into_iter().find(|path| top.join(path).is_file()).expect("dash");
        let shell = Path::new("/").join(shell);
        for form in FORMS {
            let dir = Fixture::new();
            let mut making = Making::new(&shell, form, dir.path());
            // Since the merge of /usr the loader's path goes through links that a package alone does not have.
            making.sysroot = Some(bundle_release::merged(top, dir.path()));
            let entry = making.entry();
            let output = underpin_test_support::Output::of(dir.command(&entry).args(["-c", "echo $((6 * 7))"]));
            assert_eq!(output.stdout, "42\n", "{suite} {form:?}: {}", output.stderr);
        }
    }
}
