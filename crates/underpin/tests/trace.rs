//! `underpin trace` from outside: exit codes as env(1) has them, the command's streams, the document.

mod common;

use common::{json, says, underpin};
use underpin_test_support::{Fixture, Output, need};

#[test]
fn the_commands_exit_code_is_handed_on() {
    assert_eq!(says(["trace", "--", "true"]).code, Some(0));
    assert_eq!(says(["trace", "--", "sh", "-c", "exit 7"]).code, Some(7));
    assert_eq!(says(["trace", "--until", "exit", "--", "sh", "-c", "exit 7"]).code, Some(7));
    assert_eq!(says(["trace", "--until", "exit", "--", "sh", "-c", "kill -TERM $$"]).code, Some(128 + 15));
}

#[test]
fn a_command_that_cannot_be_started_exits_as_env_does() {
    let dir = Fixture::new();
    let text = dir.write("text", "no program");
    assert_eq!(says(["trace", "--", "no-such-command-of-underpin"]).code, Some(127));
    let output = says(["trace".as_ref(), "--".as_ref(), text.as_os_str()]);
    assert_eq!(output.code, Some(126), "{}", output.stderr);
    assert!(output.stderr.contains("text"), "{}", output.stderr);
}

#[test]
fn the_commands_output_is_kept_and_leaves_the_document_alone() {
    let screen = says(["trace", "--until", "exit", "--", "echo", "said by the command"]);
    assert!(screen.stdout.contains("said by the command"));
    let output = says(["trace", "--json", "--until", "exit", "--", "echo", "said by the command"]);
    assert!(output.stderr.contains("said by the command"));
    let document: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["schema"], "underpin.trace/1");
}

#[test]
fn the_document_has_totals_and_phases() {
    let document = json(["trace", "--json", "--until", "exit", "--", "/bin/true"]);
    let calls = document["syscalls"].as_array().unwrap();
    let openat = calls.iter().find(|call| call["name"] == "openat").unwrap();
    for field in ["calls", "errors", "seconds"] {
        assert!(openat[field].is_number(), "{openat}");
    }
    let phases = document["phases"].as_array().unwrap();
    let sum: u64 = phases
        .iter()
        .flat_map(|phase| phase["syscalls"].as_array().unwrap())
        .filter(|call| call["name"] == "openat")
        .map(|call| call["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(Some(sum), openat["calls"].as_u64(), "the phases add up to the total");
}

#[test]
fn options_before_the_command_are_ours_and_those_after_it_are_its_own() {
    let output = says(["trace", "--until", "exit", "echo", "--json"]);
    assert!(output.stdout.contains("--json"), "{}", output.stdout);
}

#[test]
fn an_unknown_call_is_wrong_use() {
    let output = says(["trace", "--calls", "opnat", "--", "true"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("opnat"), "{}", output.stderr);
}

#[test]
fn the_page_is_written_whole_and_needs_no_network() {
    let dir = Fixture::new();
    let page = dir.join("start.html");
    let output = says(["trace".as_ref(), "--export-html".as_ref(), page.as_os_str(), "--".as_ref(), "true".as_ref()]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.trim_end().ends_with("</html>"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let nowhere = dir.join("no/such/folder/x.html");
    let output =
        says(["trace".as_ref(), "--export-html".as_ref(), nowhere.as_os_str(), "--".as_ref(), "true".as_ref()]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("x.html"), "{}", output.stderr);
}

#[test]
fn counts_equal_those_of_strace() {
    need!("strace", "/usr/bin/git");
    let dir = Fixture::new();
    let command = ["/usr/bin/git", "--version"];
    let set = "openat,mmap,mprotect,munmap,access,newfstatat,execve,read,pread64,close,brk";
    // Both runs see the same streams, folder and language: git makes different calls in others.
    let set_of_strace = format!("trace={set}");
    let strace = [&["-f", "-c", "-e", &set_of_strace, "-o", "counts"][..], &command].concat();
    dir.must("strace", strace);
    let summary = std::fs::read_to_string(dir.join("counts")).unwrap();
    let ours = [&["trace", "--json", "--until", "exit", "--calls", set, "--"][..], &command].concat();
    let ours = Output::of(underpin(ours).env("LC_ALL", "C").current_dir(dir.path()));
    let document: serde_json::Value = serde_json::from_str(&ours.stdout).unwrap();
    let mut compared = 0;
    for call in document["syscalls"].as_array().unwrap() {
        let name = call["name"].as_str().unwrap();
        let row = summary
            .lines()
            .find(|line| line.split_whitespace().last() == Some(name))
            .unwrap_or_else(|| panic!("strace counts no {name}:\n{summary}"));
        let figures: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(figures[3].parse::<u64>().ok(), call["calls"].as_u64(), "{name}");
        compared += 1;
    }
    assert!(compared >= 8, "{summary}");
}

/// strace prints the call with `?` for its result, and `strace -c` leaves it out, so it is named but not counted.
#[test]
fn a_call_that_does_not_return_is_named_where_counts_are_called_exact() {
    let arguments = ["trace", "--until", "exit", "--calls", "exit_group,execve", "--", "/bin/true"];
    let output = says(arguments);
    assert!(output.stdout.contains("exit_group"), "{}", output.stdout);
    let document = json(["trace", "--json", "--until", "exit", "--", "/bin/true"]);
    assert_eq!(document["not_returned"], serde_json::json!(["exit_group"]));
    let before = json(["trace", "--json", "--until", "entry", "--", "/bin/true"]);
    assert_eq!(before["not_returned"], serde_json::json!([]));
}

/// A program that opens a library by its bare name, and one that does not exist, after this many folders.
fn opens_later(dir: &Fixture, folders: usize) -> String {
    dir.write("f.c", "int f(void){return 0;}");
    dir.write("g.c", "int g(void){return 0;}");
    dir.write(
        "m.c",
        "#include <dlfcn.h>\nint f(void);\nint main(void) { dlopen(\"libnowhere.so.1\", RTLD_NOW);\
         return f() || !dlopen(\"libg.so.1\", RTLD_NOW); }",
    );
    let at = dir.text();
    let empty: Vec<String> = (0..folders).map(|number| format!("{at}/p{number}/lib")).collect();
    empty.iter().for_each(|folder| std::fs::create_dir_all(folder).expect("a folder"));
    dir.mkdir("last");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libf.so.1", "f.c", "-o", "last/libf.so.1"]);
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libg.so.1", "g.c", "-o", "last/libg.so.1"]);
    let search = format!("-Wl,--disable-new-dtags,-rpath,{}:{at}/last", empty.join(":"));
    dir.cc(["m.c", "last/libf.so.1", &search, "-ldl", "-o", "m"]);
    format!("{at}/m")
}

/// Lookups below the fixture's folder as strace sees them in the whole run: all, and those that found nothing.
fn lookups_of_strace(dir: &Fixture, program: &str) -> (u64, u64) {
    dir.must("strace", ["-e", "trace=openat,newfstatat", "-e", "signal=none", "-o", "log", program]);
    let log = std::fs::read_to_string(dir.join("log")).expect("strace's log");
    let named = log.lines().filter(|line| line.contains("(AT_FDCWD, \"/") && !line.contains("ld.so.cache"));
    let (failed, found): (Vec<&str>, Vec<&str>) = named.partition(|line| line.contains("ENOENT"));
    // A stat that succeeds checks whether a folder exists; it is not a library.
    let libraries = found.iter().filter(|line| line.starts_with("openat")).count();
    ((failed.len() + libraries) as u64, failed.len() as u64)
}

#[test]
fn lookups_of_the_start_and_of_later_are_those_of_strace_together() {
    need!("strace", "cc");
    let dir = Fixture::new();
    let program = opens_later(&dir, 20);
    let (all, failing) = lookups_of_strace(&dir, &program);
    let document = json(["trace", "--json", "--", &program]);
    let figure = |part: &str, name: &str| document["lookups"][part][name].as_u64().expect("a figure");
    assert_eq!(figure("start", "calls") + figure("later", "calls"), all, "{}", document["lookups"]);
    assert_eq!(figure("start", "failing") + figure("later", "failing"), failing, "{}", document["lookups"]);
    assert_eq!((figure("start", "libraries"), figure("later", "libraries")), (2, 1), "libf and libc, then libg");
    // What is opened later is searched for in every folder again, including what does not exist.
    assert!(figure("later", "failing") >= 2 * 20, "{}", document["lookups"]);
    assert_eq!(document["lookups"]["to_the_end"], true);
    let start = json(["trace", "--json", "--until", "main", "--", &program]);
    assert_eq!(start["lookups"]["start"], document["lookups"]["start"]);
    assert_eq!((&start["lookups"]["later"]["calls"], &start["lookups"]["to_the_end"]), (&0.into(), &false.into()));
    let screen = says(["trace", "--", &program]);
    assert!(screen.stdout.contains("lookups for libraries: start") && screen.stdout.contains("opened later"));
    let survey = json(["survey", "--json", "--trial", "0", &program, "--"]);
    assert_eq!(survey["trace"]["lookups"], document["lookups"], "survey counts what trace counts");
}

#[test]
fn a_binding_leaves_less_to_look_for_later_too() {
    need!("strace", "cc");
    let dir = Fixture::new();
    let program = opens_later(&dir, 20);
    let later = || json(["trace", "--json", "--", &program])["lookups"]["later"]["failing"].as_u64().expect("a figure");
    let before = later();
    assert_eq!(says(["bind", &program]).code, Some(0));
    let (_, failing) = lookups_of_strace(&dir, &program);
    let document = json(["trace", "--json", "--", &program]);
    let figure = |part: &str| document["lookups"][part]["failing"].as_u64().expect("a figure");
    assert_eq!(figure("start") + figure("later"), failing, "{}", document["lookups"]);
    assert!(later() < before, "{} {before}", later());
}
