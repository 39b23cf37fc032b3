//! A bundled program behaves like a plain start: from any place, under any name, with its descriptors, signals,
//! arguments and environment, and without a trace in its children. Both forms; the programs themselves check it.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod bundle_support;

use bundle_support::{FORMS, Making};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use underpin_rewrite::bundle::{BundleCheck, Form, IncludedBecause, Notice};
use underpin_test_support::{Fixture, Output, need};

/// A program that answers questions about its own start.
const PROBE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <sys/stat.h>
extern char **environ;
int answer(void);
int main(int argc, char **argv) {
    char buffer[4096];
    ssize_t size;
    const char *ask = argc > 1 ? argv[1] : "";
    if (!strcmp(ask, "name")) puts(argv[0]);
    else if (!strcmp(ask, "exe")) {
        size = readlink("/proc/self/exe", buffer, sizeof buffer);
        printf("%.*s\n", (int)size, buffer);
    } else if (!strcmp(ask, "comm")) {
        FILE *file = fopen("/proc/self/comm", "r");
        fputs(fgets(buffer, sizeof buffer, file), stdout);
    } else if (!strcmp(ask, "exit")) return atoi(argv[2]);
    else if (!strcmp(ask, "signal")) raise(atoi(argv[2]));
    else if (!strcmp(ask, "cat")) {
        while ((size = read(0, buffer, sizeof buffer)) > 0) if (write(1, buffer, size) != size) return 1;
    } else if (!strcmp(ask, "environment")) for (char **one = environ; *one; one++) puts(*one);
    else if (!strcmp(ask, "arguments")) {
        size_t sum = 0;
        for (int index = 2; index < argc; index++) sum += strlen(argv[index]);
        printf("%d %zu\n", argc - 2, sum);
    } else if (!strcmp(ask, "descriptors")) {
        struct stat status;
        for (int index = 3; index < 64; index++) if (fstat(index, &status) == 0) printf("%d\n", index);
    } else if (!strcmp(ask, "run")) { execv(argv[2], argv + 2); return 126; }
    else if (!strcmp(ask, "maps")) {
        FILE *file = fopen("/proc/self/maps", "r");
        while (fgets(buffer, sizeof buffer, file)) fputs(buffer, stdout);
    } else printf("%d\n", answer());
    return 0;
}
"#;

/// A directory with the probe in `built/`, and its library where only its RUNPATH leads.
fn probe() -> (Fixture, PathBuf) {
    let dir = Fixture::new();
    dir.write("built/probe.c", PROBE);
    dir.write("built/answer.c", "int answer(void){return 42;}");
    dir.mkdir("built/deep");
    dir.cc(["-shared", "-fPIC", "-o", "built/deep/libanswer.so.1", "-Wl,-soname,libanswer.so.1", "built/answer.c"]);
    dir.cc(["-o", "built/probe", "built/probe.c", "built/deep/libanswer.so.1", "-Wl,-rpath,$ORIGIN/deep"]);
    let program = dir.join("built/probe");
    (dir, program)
}

fn bundle(dir: &Fixture, program: &Path, form: Form) -> PathBuf {
    let entry = Making::new(program, form, dir.path()).entry();
    // Anything that the bundle still used from here would be missing.
    std::fs::rename(dir.join("built"), dir.join("gone")).expect("the folder of the original");
    entry
}

fn each(check: impl Fn(&Fixture, &Path, Form)) {
    for form in FORMS {
        let (dir, program) = probe();
        let entry = bundle(&dir, &program, form);
        check(&dir, &entry, form);
    }
}

fn ask(dir: &Fixture, entry: &Path, args: &[&str]) -> Output {
    Output::of(dir.command(entry).args(args))
}

#[test]
fn it_runs_without_the_files_that_it_was_made_of() {
    need!("cc");
    each(|dir, entry, form| assert_eq!(ask(dir, entry, &[]).stdout, "42\n", "{form:?}"));
}

#[test]
fn it_may_be_moved_linked_to_and_found_in_path() {
    need!("cc");
    each(|dir, entry, form| {
        let top = if form == Form::File { entry.to_owned() } else { entry.ancestors().nth(2).unwrap().to_owned() };
        let moved = dir.mkdir("else where/deeper").join("moved");
        std::fs::rename(&top, &moved).expect("moving it");
        let entry = moved.join(entry.strip_prefix(&top).unwrap());
        let entry = if form == Form::File { moved } else { entry };
        assert_eq!(ask(dir, &entry, &[]).stdout, "42\n", "{form:?} moved");
        let link = dir.symlink(&entry, "link");
        let second = dir.symlink("link", "second");
        assert_eq!(ask(dir, &link, &[]).stdout, "42\n", "{form:?} through a link");
        assert_eq!(ask(dir, &second, &["name"]).stdout, format!("{}\n", second.display()), "{form:?} argv[0]");
        let mut command = dir.command(entry.file_name().unwrap());
        command.env("PATH", entry.parent().unwrap());
        assert_eq!(Output::of(&mut command).stdout, "42\n", "{form:?} through PATH");
        let mut relative = Command::new(Path::new(".").join(entry.file_name().unwrap()));
        relative.current_dir(entry.parent().unwrap());
        assert_eq!(Output::of(&mut relative).stdout, "42\n", "{form:?} by a relative path");
    });
}

#[test]
fn its_own_file_and_name_are_those_of_the_bundle() {
    need!("cc");
    each(|dir, entry, form| {
        assert_eq!(ask(dir, entry, &["exe"]).stdout, format!("{}\n", entry.display()), "{form:?}");
        let mut command = dir.command(entry);
        command.arg0("another name").arg("name");
        assert_eq!(Output::of(&mut command).stdout, "another name\n", "{form:?}");
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(ask(dir, entry, &["comm"]).stdout.trim(), name, "{form:?}");
    });
}

#[test]
fn codes_signals_and_streams_pass_through() {
    need!("cc");
    each(|dir, entry, form| {
        assert_eq!(ask(dir, entry, &["exit", "113"]).code, Some(113), "{form:?}");
        let status = dir.command(entry).args(["signal", "15"]).status().expect("a start");
        assert_eq!(status.signal(), Some(15), "{form:?}");
        let mut child = dir.command(entry).arg("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let text: Vec<u8> = (0..30_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut input = child.stdin.take().unwrap();
        let sent = text.clone();
        let writer = std::thread::spawn(move || input.write_all(&sent));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().expect("the whole input is read");
        assert!(output.stdout == text, "{form:?}: {} of {} bytes", output.stdout.len(), text.len());
    });
}

#[test]
fn large_arguments_and_environments_arrive_whole() {
    need!("cc");
    each(|dir, entry, form| {
        let mut command = dir.command(entry);
        command.arg("arguments").args((0..900).map(|index| format!("{index:01000}")));
        command.env("LARGE", "x".repeat(100_000));
        assert_eq!(Output::of(&mut command).stdout, "900 900000\n", "{form:?}");
    });
}

#[test]
fn nothing_leaks_into_the_environment_or_the_descriptors() {
    need!("cc");
    each(|dir, entry, form| {
        let mut command = Command::new(entry);
        command.env_clear().env("ONLY", "this").arg("environment").current_dir(dir.path());
        assert_eq!(Output::of(&mut command).stdout, "ONLY=this\n", "{form:?}");
        let plain = Output::of(Command::new(dir.join("gone/probe")).arg("descriptors")).stdout;
        assert_eq!(Output::of(Command::new(entry).arg("descriptors")).stdout, plain, "{form:?}");
    });
}

#[test]
fn programs_that_it_starts_take_their_own_libraries() {
    need!("cc", "/bin/cat");
    each(|dir, entry, form| {
        let output = ask(dir, entry, &["run", "/bin/cat", "/proc/self/maps"]);
        assert_eq!(output.code, Some(0), "{form:?}");
        let bundled = dir.text();
        assert!(output.stdout.contains("libc") && !output.stdout.contains(bundled), "{form:?}: {}", output.stdout);
        assert!(!output.stdout.contains("memfd"), "{form:?}: {}", output.stdout);
    });
}

#[test]
fn every_mapping_is_of_the_bundle() {
    need!("cc");
    each(|dir, entry, form| {
        let maps = ask(dir, entry, &["maps"]).stdout;
        let of_files: Vec<&str> = maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path)).collect();
        let top = &dir.text()[1..];
        let strange: Vec<_> =
            of_files.iter().filter(|path| !path.starts_with(top) && !path.starts_with("memfd:")).collect();
        assert!(!of_files.is_empty() && strange.is_empty(), "{form:?}: {strange:?}");
        // What is not writable is mapped from the file itself.
        let copies = maps.lines().filter(|line| line.contains("memfd:") && line.contains("r-xp"));
        assert!(cfg!(target_arch = "aarch64") || copies.count() == 0, "{form:?}: {maps}");
    });
}

#[test]
fn a_hostile_library_path_does_not_lead_it_astray() {
    need!("cc");
    each(|dir, entry, form| {
        dir.write("bad/bad.c", "int answer(void){return 666;}");
        dir.cc(["-shared", "-fPIC", "-o", "bad/libanswer.so.1", "-Wl,-soname,libanswer.so.1", "bad/bad.c"]);
        let mut command = dir.command(entry);
        command.env("LD_LIBRARY_PATH", dir.join("bad"));
        assert_eq!(Output::of(&mut command).stdout, "42\n", "{form:?}");
    });
}

#[test]
fn a_program_at_fixed_addresses_is_bundled_too() {
    need!("cc");
    for form in FORMS {
        let dir = Fixture::new();
        dir.write("built/main.c", "#include <stdio.h>\nstatic int zero[100000];\nint main(void){puts(zero[99999]?\"no\":\"fixed\");return 0;}");
        dir.cc(["-no-pie", "-o", "built/fixed", "built/main.c"]);
        let program = dir.join("built/fixed");
        let entry = bundle(&dir, &program, form);
        assert_eq!(ask(&dir, &entry, &[]).stdout, "fixed\n", "{form:?}");
    }
}

/// Its libraries in load order are those of the original, according to the real loader for both.
#[test]
fn the_load_order_is_that_of_the_original() {
    need!("/usr/bin/emacs-gtk");
    let dir = Fixture::new();
    let program = Path::new("/usr/bin/emacs-gtk");
    let written = Making { exclude: vec!["gconv", "libnss_*"], ..Making::new(program, Form::Directory, dir.path()) };
    let written = written.write().expect("emacs is bundled");
    let names = |program: &Path| -> Vec<String> {
        let output = Output::of(dir.command(program).env("LD_TRACE_LOADED_OBJECTS", "1"));
        let paths = output.stdout.lines().filter_map(|line| line.trim().rsplit_once(" (0x")).map(|(path, _)| path);
        let names = paths.filter_map(|path| path.rsplit_once('/')).map(|(_, name)| name.to_owned());
        names.filter(|name| !name.starts_with("ld-")).collect()
    };
    let (original, mut bundled) = (names(program), names(&written.entry));
    // Emacs sets a locale: underpin's library comes before those of the original.
    assert_eq!(bundled.remove(0), "libunderpin-locale.so");
    assert!(original.len() > 50 && original == bundled, "{original:?}\n{bundled:?}");
    assert_eq!(written.check, BundleCheck::Agrees { objects: bundled.len() + 2 });
}

/// Initialisers run in the same order as in the original, according to the loader's LD_DEBUG.
#[test]
fn the_order_of_initialisers_is_that_of_the_original() {
    need!("cc", "/usr/bin/git");
    for form in FORMS {
        let dir = Fixture::new();
        // In one file, what a directory opens later is in the closure; that is not compared here.
        let making =
            Making { exclude: vec!["gconv", "libnss_*"], ..Making::new(Path::new("/usr/bin/git"), form, dir.path()) };
        let entry = making.entry();
        let order = |program: &Path| -> Vec<String> {
            let output = Output::of(dir.command(program).arg("--version").env("LD_DEBUG", "files"));
            let calls =
                output.stderr.lines().filter_map(|line| line.split_once("calling init: ")).map(|(_, path)| path);
            // Underpin's own library has no initialiser; the loader prints it all the same.
            calls.filter(|path| !path.ends_with("/libunderpin-locale.so")).map(str::to_owned).collect()
        };
        let (original, bundled) = (order(Path::new("/usr/bin/git")), order(&entry));
        assert!(original.len() > 2 && original.len() == bundled.len(), "{original:?} {bundled:?}");
        if form == Form::Directory {
            let name = |path: &String| Path::new(path).file_name().unwrap().to_owned();
            assert!(original.iter().map(name).eq(bundled.iter().map(name)), "{original:?} {bundled:?}");
        }
    }
}

#[test]
fn a_plugin_that_is_opened_by_name_comes_from_the_bundle() {
    need!("cc");
    for form in FORMS {
        let dir = Fixture::new();
        dir.write(
            "built/plugin.c",
            "#include <stdio.h>\nint helper(void);\nvoid plug(void){printf(\"plugged %d\\n\", helper());}",
        );
        dir.write("built/helper.c", "int helper(void){return 7;}");
        dir.write(
            "built/main.c",
            "#include <dlfcn.h>\n#include <stdio.h>\nint main(void){void*h=dlopen(\"libplugin.so.1\",RTLD_NOW);\
             if(!h){puts(dlerror());return 1;}((void(*)(void))dlsym(h,\"plug\"))();return 0;}",
        );
        dir.mkdir("built/more");
        dir.cc(["-shared", "-fPIC", "-o", "built/more/libhelper.so", "built/helper.c", "-Wl,-soname,libhelper.so"]);
        dir.cc([
            "-shared",
            "-fPIC",
            "-o",
            "built/libplugin.so.1",
            "built/plugin.c",
            "-Wl,-soname,libplugin.so.1",
            "built/more/libhelper.so",
            "-Wl,-rpath,$ORIGIN/more",
        ]);
        dir.cc(["-o", "built/host", "built/main.c"]);
        let program = dir.join("built/host");
        let mut making = Making::new(&program, form, dir.path());
        let plan = making.plan().expect("a plan");
        assert!(plan.notices.iter().any(|notice| matches!(notice, Notice::OpensMore { by } if by[0] == "host")));
        making.include = vec![dir.join("built/libplugin.so.1").display().to_string()];
        let plan = making.plan().expect("a plan");
        let reason =
            |name: &str| plan.items.iter().find(|item| item.source.ends_with(name.as_bytes())).map(|item| &item.reason);
        assert!(matches!(reason("libplugin.so.1"), Some(IncludedBecause::Included { .. })), "{:?}", plan.items);
        assert!(
            matches!(reason("libhelper.so"), Some(IncludedBecause::NeededByTaken { by }) if by == "libplugin.so.1")
        );
        let entry = making.entry();
        std::fs::rename(dir.join("built"), dir.join("gone")).unwrap();
        assert_eq!(ask(&dir, &entry, &[]).stdout, "plugged 7\n", "{form:?}");
    }
}

/// `soname` is the soname of `libodd.so`, if any; everything is linked against its file name.
fn odd_names(soname: Option<&str>) {
    for form in FORMS {
        let dir = Fixture::new();
        dir.write("built/odd.c", "int odd(void){return 5;}");
        dir.write("built/even.c", "int odd(void);int even(void){return odd()+1;}");
        dir.write(
            "built/main.c",
            "#include <stdio.h>\nint even(void);int main(void){printf(\"%d\\n\",even());return 0;}",
        );
        dir.cc(["-shared", "-fPIC", "-o", "built/libodd.so", "built/odd.c"]);
        dir.cc([
            "-shared",
            "-fPIC",
            "-o",
            "built/libeven.so",
            "built/even.c",
            "-Lbuilt",
            "-lodd",
            "-Wl,-soname,libeven.so",
        ]);
        let soname = soname.map(|soname| format!("-Wl,-soname,{soname}"));
        let args = ["-shared", "-fPIC", "-o", "built/libodd.so", "built/odd.c"].map(str::to_owned);
        dir.cc(args.into_iter().chain(soname));
        dir.cc(["-o", "built/odd", "built/main.c", "-Lbuilt", "-leven", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,built"]);
        let program = dir.join("built/odd");
        let mut making = Making::new(&program, form, dir.path());
        making.library_path = Some(dir.join("built"));
        let entry = making.entry();
        std::fs::rename(dir.join("built"), dir.join("gone")).unwrap();
        assert_eq!(ask(&dir, &entry, &[]).stdout, "6\n", "{form:?}");
    }
}

#[test]
fn names_that_are_not_sonames_are_written_anew() {
    need!("cc");
    odd_names(Some("libother.so.9"));
}

#[test]
fn libraries_without_a_soname_are_found() {
    need!("cc");
    odd_names(None);
}

#[test]
fn musl_programs_are_bundled_too() {
    need!("musl-gcc", "/lib/ld-musl-x86_64.so.1");
    for form in FORMS {
        let dir = Fixture::new();
        dir.write("built/b.c", "int b(void){return 41;}");
        dir.write("built/a.c", "int b(void);int a(void){return b()+1;}");
        dir.write(
            "built/main.c",
            "#include <stdio.h>\nint a(void);int main(int c,char**v){printf(\"%d %s\\n\",a(),v[c-1]);return 7;}",
        );
        dir.musl_cc(["-shared", "-fPIC", "-o", "built/libb.so", "built/b.c"]);
        dir.musl_cc(["-shared", "-fPIC", "-o", "built/liba.so", "built/a.c", "-Lbuilt", "-lb"]);
        dir.musl_cc(["-o", "built/m", "built/main.c", "-Lbuilt", "-la", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,built"]);
        let program = dir.join("built/m");
        let mut making = Making::new(&program, form, dir.path());
        making.library_path = Some(dir.join("built"));
        let written = making.write().unwrap_or_else(|error| panic!("{error}"));
        match form {
            Form::Directory => assert_eq!(written.check, BundleCheck::Agrees { objects: 3 }),
            Form::File => assert!(matches!(written.check, BundleCheck::NotAsked { .. })),
        }
        std::fs::rename(dir.join("built"), dir.join("gone")).unwrap();
        let output = ask(&dir, &written.entry, &["last"]);
        assert_eq!((output.stdout.as_str(), output.code), ("42 last\n", Some(7)), "{form:?} {}", output.stderr);
    }
}

/// The launcher of the other machine, under an emulator.
#[test]
fn aarch64_programs_are_bundled_too() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu/lib/libc.so.6");
    if bundle_support::launcher(underpin_elf::Machine::AARCH64).is_none() {
        underpin_test_support::skip_without_target("aarch64-unknown-linux-gnu");
        return;
    }
    for (form, flag) in FORMS.into_iter().flat_map(|form| ["-pie", "-no-pie"].map(|flag| (form, flag))) {
        let dir = Fixture::new();
        dir.write("main.c", "#include <stdio.h>\n#include <math.h>\nint main(int c,char**v){printf(\"%.3f %s\\n\",sqrt(c),v[0]);return 9;}");
        dir.mkdir("sysroot/lib");
        for name in ["ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6"] {
            std::fs::copy(Path::new("/usr/aarch64-linux-gnu/lib").join(name), dir.join("sysroot/lib").join(name))
                .unwrap();
        }
        let args = ["-fno-builtin", "-fPIE", flag, "-o", "sysroot/prog", "main.c", "-lm"];
        dir.must("aarch64-linux-gnu-gcc", args);
        let mut making = Making::new(Path::new("/prog"), form, dir.path());
        making.sysroot = Some(dir.join("sysroot"));
        let written = making.write().unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(written.check, BundleCheck::NotAsked { .. }) || cfg!(target_arch = "aarch64"));
        let output = Output::of(dir.command("qemu-aarch64").arg(&written.entry).arg("more"));
        assert_eq!(output.stdout, format!("1.414 {}\n", written.entry.display()), "{form:?} {flag} {}", output.stderr);
        assert_eq!(output.code, Some(9));
    }
}

#[test]
fn tools_read_the_bundled_program() {
    need!("cc", "readelf");
    let (dir, program) = probe();
    let entry = bundle(&dir, &program, Form::Directory);
    let dynamic = dir.must("readelf", ["-dW".as_ref(), entry.as_os_str()]);
    assert!(dynamic.contains("[libanswer.so.1]") && dynamic.contains("[$ORIGIN/../lib"), "{dynamic}");
    let output = Output::of(dir.command("readelf").args(["-lW"]).arg(&entry));
    assert!(
        !output.stderr.contains("Error") && !output.stdout.contains("INTERP"),
        "{}{}",
        output.stdout,
        output.stderr
    );
}

/// A tool that does not know the launcher finds nothing to strip.
#[test]
fn strip_leaves_a_bundle_whole() {
    need!("cc", "strip", "objcopy", "eu-strip");
    each(|dir, entry, form| {
        for tool in ["strip", "objcopy", "eu-strip"] {
            let said = Output::of(dir.command(tool).arg(entry)).stderr;
            assert_eq!(ask(dir, entry, &[]).stdout, "42\n", "{form:?} {tool}: {said}");
        }
    });
}

#[test]
fn with_set_user_id_it_does_not_start() {
    need!("cc");
    if std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() != 0) {
        underpin_test_support::skip("giving a file away takes root");
        return;
    }
    each(|dir, entry, form| {
        std::os::unix::fs::chown(entry, Some(65_534), None).unwrap();
        std::fs::set_permissions(entry, std::fs::Permissions::from_mode(0o4755)).unwrap();
        let output = ask(dir, entry, &[]);
        assert_eq!(output.code, Some(126), "{form:?} {}", output.stdout);
        assert!(output.stderr.contains("set-user-ID"), "{form:?} {}", output.stderr);
    });
}

/// Code and constants of a library that are needed before its initialisers run: a resolver of an indirect function that
/// calls another library, and a constant that the program has a copy of. Also an initialiser that reads what is not
/// copied at the start.
const EARLY: &str = r#"
#include <stdio.h>
extern int helper(void);
static int one(void) { return 1; }
static int two(void) { return 2; }
static int (*resolve(void))(void) { return helper() ? two : one; }
int chosen(void) __attribute__((ifunc("resolve")));
"#;
const LARGE: &str = r#"
#define ROW 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16
#define BLOCK ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW,ROW
static const int large[] = {BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK,BLOCK};
int sum;
__attribute__((constructor)) static void add(void) { for (unsigned i = 0; i < sizeof large / 4; i++) sum += large[i]; }
"#;

#[test]
fn what_is_needed_before_initialisers_run_is_there_in_one_file() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("helper.c", "int helper(void){return 1;}");
    dir.write("early.c", EARLY);
    dir.write("large.c", LARGE);
    dir.write("constant.c", "const int constant[4] = {7, 8, 9, 10};");
    dir.write(
        "main.c",
        "#include <stdio.h>\nextern int chosen(void), sum; extern const int constant[4];\n\
         int main(void){printf(\"%d %d %d\\n\", chosen(), sum, constant[3]);return 0;}",
    );
    let library = |name: &str, more: &[&str]| {
        let (out, source, soname) = (format!("lib{name}.so"), format!("{name}.c"), format!("-Wl,-soname,lib{name}.so"));
        dir.cc(["-shared", "-fPIC", "-o", &out, &soname, &source].iter().chain(more));
    };
    library("helper", &[]);
    library("early", &["libhelper.so"]);
    library("large", &[]);
    library("constant", &[]);
    // Bound at start, so that the resolver runs while the loader relocates; at fixed addresses, so that data is copied.
    let flags = ["-no-pie", "-fno-pie", "-Wl,-z,now", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"];
    let files = ["-o", "program", "main.c", "libearly.so", "liblarge.so", "libconstant.so", "libhelper.so"];
    dir.cc(files.iter().chain(&flags));
    let program = dir.join("program");
    let expected = ask(&dir, &program, &[]).stdout;
    assert_eq!(expected, "2 30464 10\n");
    let entry = Making::new(&program, Form::File, dir.path()).entry();
    for variables in [&[][..], &[("LD_BIND_NOW", "1")]] {
        let mut command = dir.command(&entry);
        let output = Output::of(command.envs(variables.iter().copied()));
        assert_eq!(output.stdout, expected, "{}", output.stderr);
    }
}
