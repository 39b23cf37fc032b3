//! `underpin run` from outside: which allocator is in effect, which processes inherit it, exit codes, refusals.

mod common;

use common::{says, underpin};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use underpin_test_support::{Fixture, Output, need, skip};

const ON_BOARD: [&str; 3] = ["jemalloc", "mimalloc", "snmalloc"];
const JEMALLOC_OF_DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

/// Prints the allocators among its own mappings, after calling malloc in threads.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *unused) {
    for (int i = 0; i < 2000; i++) { char *p = malloc(10 + i % 3000); p[0] = 1; free(p); }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024], last[1024] = "";
    while (fgets(line, sizeof line, maps)) {
        char *name = strrchr(line, '/');
        if (!name || !strstr(name, "alloc-") || !strcmp(name, last)) continue;
        strcpy(last, name);
        printf("%.8s\n", name + 1);
    }
}
"#;

/// underpin with a cache of its own.
fn run<'a>(dir: &Fixture, args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = underpin(["run"].into_iter().chain(args));
    command.current_dir(dir.path()).env("XDG_CACHE_HOME", dir.join("cache"));
    for name in ["MALLOC_CONF", "UNDERPIN_RUN", "PYTHONMALLOC"] {
        command.env_remove(name);
    }
    command
}

fn output<'a>(dir: &Fixture, args: impl IntoIterator<Item = &'a str>) -> Output {
    Output::of(&mut run(dir, args))
}

fn is_on_board(name: &str) -> bool {
    !says(["run", "--list"]).stdout.lines().any(|line| line.starts_with(name) && line.contains("not on board"))
}

#[test]
fn the_allocator_serves_a_program_of_glibc_and_of_musl() {
    need!("cc", "musl-gcc");
    let dir = Fixture::new();
    dir.write("program.c", PROGRAM);
    dir.cc(["-fno-builtin", "program.c", "-pthread", "-o", "glibc"]);
    dir.musl_cc(["-fno-builtin", "program.c", "-pthread", "-o", "musl"]);
    for name in ON_BOARD.into_iter().filter(|name| is_on_board(name)) {
        for program in ["./glibc", "./musl"] {
            let output = output(&dir, ["--malloc", name, "--", program]);
            assert_eq!((output.code, output.stdout.trim()), (Some(0), name), "{program}: {}", output.stderr);
            assert_eq!(output.stderr, "", "{program}");
        }
    }
    for program in ["./glibc", "./musl"] {
        let output = output(&dir, ["--malloc", "system", "--", program]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""), "{}", output.stderr);
    }
}

#[test]
fn programs_of_the_machine_run_on_every_allocator() {
    need!("/usr/bin/git", "/usr/bin/python3");
    let dir = Fixture::new();
    let python = "import json, threading; print(len(json.dumps(list(range(1000)))))";
    for name in ON_BOARD.into_iter().filter(|name| is_on_board(name)) {
        let git = output(&dir, ["--malloc", name, "--", "/usr/bin/git", "--version"]);
        assert!(git.code == Some(0) && git.stdout.starts_with("git version"), "{name}: {}", git.stderr);
        let python = output(&dir, ["--malloc", name, "--", "/usr/bin/python3", "-c", python]);
        assert_eq!((python.code, python.stdout.trim()), (Some(0), "4890"), "{name}: {}", python.stderr);
    }
}

#[test]
fn ruby_runs_on_every_allocator() {
    need!("/usr/bin/ruby");
    let dir = Fixture::new();
    let code = "puts File.read('/proc/self/maps').scan(/(\\w+)-\\h{64}\\.so/).flatten.uniq - ['companion']";
    for name in ON_BOARD.into_iter().filter(|name| is_on_board(name)) {
        let output = output(&dir, ["--malloc", name, "--", "/usr/bin/ruby", "-e", code]);
        assert_eq!((output.code, output.stdout.trim()), (Some(0), name), "{}", output.stderr);
    }
}

#[test]
fn children_run_as_they_always_do_unless_followed() {
    let dir = Fixture::new();
    // The shell itself, then a child of it.
    let script = "grep -c mimalloc- /proc/$$/maps; grep -c mimalloc- /proc/self/maps; env";
    let once = output(&dir, ["--malloc", "mimalloc:purge_delay=7", "--", "/bin/sh", "-c", script]);
    let mut lines = once.stdout.lines();
    assert_ne!(lines.next(), Some("0"), "{}", once.stderr);
    assert_eq!(lines.next(), Some("0"), "{}", once.stdout);
    for left in ["LD_PRELOAD", "UNDERPIN", "MIMALLOC"] {
        assert!(!once.stdout.contains(left), "{}", once.stdout);
    }
    let follow = output(&dir, ["--malloc", "mimalloc:purge_delay=7", "--follow", "--", "/bin/sh", "-c", script]);
    let mut lines = follow.stdout.lines();
    assert!(lines.next() != Some("0") && lines.next() != Some("0"), "{}", follow.stdout);
    assert!(follow.stdout.contains("MIMALLOC_PURGE_DELAY=7"), "{}", follow.stdout);
    assert!(!follow.stdout.contains("UNDERPIN"), "{}", follow.stdout);
}

#[test]
fn what_the_user_preloads_is_put_back() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("mine.c", "int nothing_of_importance;");
    dir.cc(["-shared", "-fPIC", "-o", "mine.so", "mine.c"]);
    let mine = dir.join("mine.so");
    let mut command = run(&dir, ["--malloc", "jemalloc", "--", "/bin/sh", "-c", "cat /proc/$$/maps; env"]);
    let output = Output::of(command.env("LD_PRELOAD", &mine).env("MALLOC_CONF", "narenas:5"));
    assert!(output.stdout.contains("jemalloc-"), "{}", output.stderr);
    assert!(output.stdout.contains(&format!(" {}\n", mine.display())), "{}", output.stdout);
    assert!(output.stdout.contains(&format!("\nLD_PRELOAD={}\n", mine.display())), "{}", output.stdout);
    assert!(output.stdout.contains("\nMALLOC_CONF=narenas:5\n"), "{}", output.stdout);
}

#[test]
fn it_stays_with_the_process_through_every_exec_of_its_own() {
    let dir = Fixture::new();
    // env(1) named in a script, a shell that replaces itself, and one that does so by way of env.
    dir.write("script", "#!/usr/bin/env sh\ngrep -c mimalloc- /proc/$$/maps\n");
    dir.chmod("script", 0o755);
    for command in [
        vec!["./script"],
        vec!["/bin/sh", "-c", "exec ./script"],
        vec!["/bin/sh", "-c", "exec env A=1 sh -c 'grep -c mimalloc- /proc/$$/maps'"],
    ] {
        let args = ["--malloc", "mimalloc", "--"].into_iter().chain(command.iter().copied());
        let output = output(&dir, args);
        let count: u32 = output.stdout.trim().parse().unwrap_or(0);
        assert!(count > 0, "{command:?}: {}{}", output.stdout, output.stderr);
    }
}

#[test]
fn exit_code_signal_process_id_and_input_are_the_commands_own() {
    let dir = Fixture::new();
    assert_eq!(output(&dir, ["--malloc", "mimalloc", "--", "sh", "-c", "exit 7"]).code, Some(7));
    let status = run(&dir, ["--malloc", "mimalloc", "--", "sh", "-c", "kill -TERM $$"]).status().unwrap();
    assert_eq!(status.signal(), Some(15), "the command's own end, not the report of one");
    let mut command = run(&dir, ["--malloc", "jemalloc", "--", "sh", "-c", "echo $$; cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"some input\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{pid}\nsome input\n"));
}

#[test]
fn the_settings_of_jemalloc_take_effect() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "arenas.c",
        r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    int (*mallctl)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
    unsigned count = 0;
    size_t size = sizeof count;
    if (!mallctl || mallctl("opt.narenas", &count, &size, 0, 0)) return 1;
    printf("%u\n", count);
}
"#,
    );
    dir.cc(["arenas.c", "-o", "arenas"]);
    let output = output(&dir, ["--malloc", "jemalloc:dirty_decay_ms:100,narenas:3", "--", "./arenas"]);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), "3"), "{}", output.stderr);
}

#[test]
fn the_tunables_of_glibc_take_effect() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "heaps.c",
        r#"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void *work(void *unused) {
    void *kept = malloc(100);
    pthread_barrier_wait(&all);
    free(kept);
    return unused;
}
int main(void) {
    pthread_t threads[6];
    pthread_barrier_init(&all, 0, 6);
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    malloc_info(0, stdout);
}
"#,
    );
    dir.cc(["-fno-builtin", "heaps.c", "-pthread", "-o", "heaps"]);
    let heaps = |name| {
        let output = output(&dir, ["--malloc", name, "--", "./heaps"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout.matches("<heap nr=").count()
    };
    assert_eq!(heaps("system:arena_max=1"), 1);
    assert!(heaps("system") > 1, "without the setting every thread has its own");
}

#[test]
fn statistics_are_printed_at_exit() {
    let dir = Fixture::new();
    for (name, line) in [
        ("jemalloc", "jemalloc statistics"),
        ("mimalloc", "committed"),
        ("system", "got from the system"),
        ("snmalloc", "keeps no statistics"),
    ] {
        if !is_on_board(name) {
            continue;
        }
        // ls closes its standard error before it exits.
        let output = output(&dir, ["--malloc", name, "--report", "--", "/bin/ls", "/"]);
        assert_eq!(output.code, Some(0));
        assert!(output.stderr.contains(line), "{name}: {}", output.stderr);
        assert!(output.stdout.contains("usr") && !output.stdout.contains(line), "{name}");
    }
}

#[test]
fn what_cannot_be_served_is_refused_before_it_runs() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("program.c", "#include <stdio.h>\nint main(void) { puts(\"it ran\"); }");
    dir.cc(["-static", "program.c", "-o", "static"]);
    dir.write(
        "own.c",
        "#include <stdlib.h>\nvoid *malloc(size_t n) { (void)n; return 0; }\nint main(void) { return malloc(1) != 0; }",
    );
    dir.cc(["-rdynamic", "-fno-builtin", "own.c", "-o", "own"]);
    let refusals =
        [("./static", "statically linked"), ("./own", "defines malloc itself"), ("./nothing", "no such file")];
    for (program, reason) in refusals {
        let output = output(&dir, ["--malloc", "mimalloc", "--", program]);
        let code = if program == "./nothing" { 127 } else { 125 };
        assert_eq!((output.code, output.stdout.as_str()), (Some(code), ""), "{program}: {}", output.stderr);
        assert!(output.stderr.contains(reason), "{program}: {}", output.stderr);
    }
}

#[test]
fn a_program_that_gains_privileges_is_refused() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("program.c", "int main(void) { return 0; }");
    dir.cc(["program.c", "-o", "program"]);
    let nobody = Output::of(dir.command("chown").args(["65534", "program"]));
    if nobody.code != Some(0) {
        skip("only root can give a file to another user");
        return;
    }
    dir.chmod("program", 0o4755);
    let output = output(&dir, ["--malloc", "mimalloc", "--", "./program"]);
    assert_eq!(output.code, Some(125));
    assert!(output.stderr.contains("set-uid"), "{}", output.stderr);
}

#[test]
fn a_go_program_is_told_apart() {
    need!("go");
    let dir = Fixture::new();
    // The Go compiler is a Go program itself.
    let output = output(&dir, ["--malloc", "mimalloc", "--", "go", "version"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(125), ""), "{}", output.stderr);
    assert!(output.stderr.contains("Go program"), "{}", output.stderr);
}

#[test]
fn a_program_of_another_machine_is_told_apart() {
    need!("gcc", "/usr/lib32/libc.so.6");
    let dir = Fixture::new();
    dir.write("program.c", "int main(void) { return 0; }");
    dir.cc(["-m32", "program.c", "-o", "program"]);
    let output = output(&dir, ["--malloc", "mimalloc", "--", "./program"]);
    assert_eq!(output.code, Some(125));
    assert!(output.stderr.contains("it is for"), "{}", output.stderr);
}

#[test]
fn an_allocator_that_did_not_take_ends_the_command() {
    need!(JEMALLOC_OF_DEBIAN);
    let dir = Fixture::new();
    // The C library's allocator was requested, but another one precedes it.
    let mut command = run(&dir, ["--malloc", "system", "--", "/bin/echo", "it ran"]);
    let output = Output::of(command.env("LD_PRELOAD", JEMALLOC_OF_DEBIAN));
    assert_eq!((output.code, output.stdout.as_str()), (Some(125), ""), "{}", output.stderr);
    assert!(output.stderr.contains("did not take") && output.stderr.contains("libjemalloc"), "{}", output.stderr);
}

#[test]
fn an_object_that_the_loader_refuses_ends_the_command() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "needs.c",
        "#include <stdlib.h>\nvoid *malloc(size_t n) { (void)n; return 0; }\nvoid free(void *p) { (void)p; }",
    );
    dir.write("gone.c", "int gone;");
    dir.cc(["-shared", "-fPIC", "-o", "libgone.so", "gone.c"]);
    dir.cc(["-shared", "-fPIC", "-fno-builtin", "-Wl,--no-as-needed", "-o", "needs.so", "needs.c", "./libgone.so"]);
    std::fs::remove_file(dir.join("libgone.so")).unwrap();
    let output = output(&dir, ["--malloc", "./needs.so", "--", "/bin/echo", "it ran"]);
    // The loader's own exit code: underpin did not end the process.
    assert_eq!((output.code, output.stdout.as_str()), (Some(127), ""), "{}", output.stderr);
    assert!(output.stderr.contains("did not take"), "{}", output.stderr);
}

#[test]
fn a_shared_object_of_the_users_serves_too() {
    need!(JEMALLOC_OF_DEBIAN);
    let dir = Fixture::new();
    let args = ["--malloc", JEMALLOC_OF_DEBIAN, "--report", "--", "/bin/cat", "/proc/self/maps"];
    let output = output(&dir, args);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("libjemalloc.so.2"), "{}", output.stdout);
    assert!(output.stderr.contains("jemalloc statistics"), "{}", output.stderr);
}

#[test]
fn wrong_names_settings_and_files_are_refused() {
    let dir = Fixture::new();
    let not_an_allocator = std::env::current_exe().unwrap();
    let wrong: [(&str, &str, i32); 7] = [
        ("hoard", "no allocator is called", 2),
        ("jemalloc:narenas", "invalid setting", 2),
        ("mimalloc:purge_dela=0", "purge_delay", 125),
        ("system:arena_max=0", "must be a number from 1", 125),
        ("system:arena_maxx=1", "arena_max", 125),
        ("./nothing.so", "No such file", 125),
        (not_an_allocator.to_str().unwrap(), "shared library", 125),
    ];
    for (name, reason, code) in wrong {
        let output = output(&dir, ["--malloc", name, "--", "/bin/echo", "it ran"]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(code), ""), "{name}: {}", output.stderr);
        assert!(output.stderr.contains(reason), "{name}: {}", output.stderr);
    }
    // jemalloc itself checks its values.
    let output = output(&dir, ["--malloc", "jemalloc:narenas:many", "--", "/bin/echo", "it ran"]);
    assert!(output.code != Some(0) && output.stdout.is_empty(), "{}", output.stdout);
    assert!(output.stderr.contains("did not take"), "{}", output.stderr);
}

#[test]
fn where_tracing_is_not_allowed_the_maps_are_looked_at() {
    need!("strace");
    let dir = Fixture::new();
    // A process has one tracer, and here that is strace.
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", common::program(), "run", "--malloc", "mimalloc", "--"]);
    command.args(["/bin/sh", "-c", "grep -c mimalloc- /proc/$$/maps"]).env("XDG_CACHE_HOME", dir.join("cache"));
    // `cargo test` exports paths of its own, and underpin would report that it leaves them out.
    let output = Output::of(command.env_remove("LD_LIBRARY_PATH"));
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_ne!(output.stdout.trim(), "0");
}

#[test]
fn the_object_is_written_out_privately_and_once() {
    let dir = Fixture::new();
    let folder = dir.join("cache/underpin");
    let files = || -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    assert_eq!(output(&dir, ["--malloc", "mimalloc", "--", "true"]).code, Some(0));
    let first = files();
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(mode(&folder), 0o700);
    assert!(first.iter().all(|file| mode(file) == 0o400), "{first:?}");
    assert_eq!(output(&dir, ["--malloc", "mimalloc", "--", "true"]).code, Some(0));
    assert_eq!(files(), first);
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).expect("a file that was made")) & 0o7777
}

#[test]
fn the_list_says_what_is_on_board() {
    let output = says(["run", "--list"]);
    assert_eq!(output.code, Some(0));
    for name in ON_BOARD {
        assert!(output.stdout.lines().any(|line| line.starts_with(name)), "{}", output.stdout);
    }
}

#[test]
fn the_list_as_a_document_has_each_object_and_its_options() {
    let document = common::json(["run", "--list", "--json"]);
    assert_eq!(document["schema"], "underpin.run/1");
    let allocators = document["allocators"].as_array().expect("a list");
    assert_eq!(allocators.len(), 3);
    let jemalloc = allocators.iter().find(|one| one["name"] == "jemalloc").expect("jemalloc");
    assert!(jemalloc["options"].as_array().unwrap().iter().any(|option| option == "dirty_decay_ms"), "{jemalloc}");
    for one in allocators {
        assert_ne!(one["bytes"].is_null(), one["absent"].is_null(), "{one}");
    }
    assert_eq!(
        says(["run", "--json", "--malloc", "jemalloc", "--", "true"]).code,
        Some(2),
        "a run is the command's own"
    );
}

#[test]
fn a_program_that_only_mentions_an_allocator_is_served() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "lie.c",
        "#include <stdio.h>\n#include <stdlib.h>\nconst char *help = \"<jemalloc>: what its messages begin with\";\n\
         int main(void) { void *p = malloc(100); printf(\"%s %d\\n\", help, p != 0); }\n",
    );
    dir.cc(["-O1", "lie.c", "-o", "lie"]);
    let output = output(&dir, ["--malloc", "mimalloc", "--", "./lie"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{}", output.stdout);
}

/// Prints for a pointer of each side whether it is in the heap, which only glibc's malloc uses.
const TWO: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *_rjem_malloc(size_t);
static int in_heap(void *block) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    unsigned long low, high, at = (unsigned long)block;
    int found = 0;
    while (fgets(line, sizeof line, maps)) {
        found |= sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= at && at < high && strstr(line, "[heap]");
    }
    fclose(maps);
    return found;
}
int main(void) {
    void *c = malloc(100), *rust = _rjem_malloc(100);
    int of_c = in_heap(c), of_rust = in_heap(rust);
    printf("%d %d\n", of_c, of_rust);
}
"#;

#[test]
fn of_two_allocators_the_one_behind_malloc_is_replaced_and_that_is_said() {
    const ARCHIVE: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.a";
    need!("cc", "nm", "objcopy", ARCHIVE);
    let dir = Fixture::new();
    let archive = underpin_test_support::prefixed_jemalloc(&dir, ARCHIVE);
    dir.write("two.c", TWO);
    dir.cc(["-O1", "-fno-builtin", "two.c", &archive, "-lstdc++", "-lm", "-lpthread", "-o", "two"]);
    let plain = Output::of(&mut dir.command(dir.join("two")));
    assert_eq!(plain.stdout, "1 0\n", "{}", plain.stderr);
    let output = output(&dir, ["--malloc", "mimalloc", "--", "./two"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "0 0\n"), "{}", output.stderr);
    assert!(output.stderr.contains("only what calls malloc"), "{}", output.stderr);
    assert!(output.stderr.contains("jemalloc is linked into the program"), "{}", output.stderr);
    let path = dir.join("two");
    let document = common::json(["check", "--json", path.to_str().unwrap()]);
    let served: Vec<_> = document["file"]["served_by"].as_array().expect("a list").iter().collect();
    let words =
        |one: &serde_json::Value| format!("{}: {}", one["serves"].as_str().unwrap(), one["name"].as_str().unwrap());
    assert_eq!(served.iter().map(|one| words(one)).collect::<Vec<_>>(), ["malloc: glibc's malloc", "rust: jemalloc"]);
}
