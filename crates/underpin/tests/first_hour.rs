//! What a first-time user of underpin meets: the first screen, refusals that show the next step, hyperfine's habits.

mod common;

use common::{says, underpin};
use underpin_test_support::{Fixture, Output, need};

#[test]
fn without_arguments_a_short_screen_names_the_questions_and_their_commands() {
    let output = says::<&str>([]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(lines.len() <= 12 && lines.iter().all(|line| line.chars().count() <= 80), "{}", output.stdout);
    let commands: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once("?").map(|(_, rest)| rest.trim())).collect();
    assert!((4..=6).contains(&commands.len()), "{commands:?}");
    for command in commands {
        let verb = command.strip_prefix("underpin ").and_then(|rest| rest.split(' ').next()).expect("a verb");
        assert_eq!(says([verb, "--help"]).code, Some(0), "{command}");
    }
}

#[test]
fn a_program_in_the_place_of_a_verb_leads_to_survey() {
    let output = says(["/bin/sh"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("`underpin survey /bin/sh`"), "{}", output.stderr);
    let output = says(["servey"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("'survey'"), "{}", output.stderr);
    let output = says(["tree", "--lst", "git"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("'--list'"), "{}", output.stderr);
}

fn bench(dir: &Fixture, args: &[&str]) -> Output {
    Output::of(underpin([&["bench", "--debug-mode"], args].concat()).current_dir(dir.path()))
}

#[test]
fn the_time_unit_holds_for_every_time_on_the_screen_and_in_markdown() {
    let dir = Fixture::new();
    for (unit, sign) in [("second", " s "), ("millisecond", " ms "), ("microsecond", " µs ")] {
        let args = ["-u", unit, "--export-markdown", "table.md", "-r", "6", "sleep 0.05", "sleep 0.06"];
        let output = bench(&dir, &args);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let table = std::fs::read_to_string(dir.join("table.md")).expect("a table");
        for text in [output.stdout, table] {
            assert!(text.contains(sign), "{unit}: {text}");
            for other in [" s ", " ms ", " µs ", " ns "].iter().filter(|other| **other != sign) {
                let times = text.lines().filter(|line| line.contains("sleep 0.0") && line.contains("…"));
                assert!(times.clone().all(|line| !line.contains(other)), "{unit}, {other}: {text}");
            }
        }
    }
}

#[test]
fn styles_are_those_of_hyperfine() {
    let dir = Fixture::new();
    let style = |style: &str| bench(&dir, &["--style", style, "-r", "6", "sleep 0.05", "sleep 0.06"]).stdout;
    for plain in ["auto", "basic", "nocolor"] {
        assert!(!style(plain).contains('\u{1b}') && style(plain).contains("Time"), "{plain}");
    }
    for coloured in ["full", "color"] {
        assert!(style(coloured).contains('\u{1b}'), "{coloured}");
    }
    assert_eq!(style("none"), "");
}

#[test]
fn parameters_are_replaced_in_variables_too() {
    need!("sh");
    let dir = Fixture::new();
    let words = ["bench", "-L", "n", "1,2", "--env", "N={n}", "-r", "1", "--memory-runs", "0", "--output", "log"];
    let mut command = underpin([&words[..], &["-S", "sh", "echo $N {n}"]].concat());
    let output = Output::of(command.current_dir(dir.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let log = std::fs::read_to_string(dir.join("log")).expect("the output");
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines, ["1 1", "2 2"]);
}

/// The names are those of hyperfine's `BenchmarkIteration` (1.20 and later); it watches no runs for memory.
#[test]
fn each_run_knows_its_number_as_hyperfine_gives_it() {
    need!("sh");
    let dir = Fixture::new();
    let words = ["bench", "-w", "2", "-r", "3", "--memory-runs", "1", "--output", "log", "--prepare", "echo prepare"];
    let mut command = underpin([&words[..], &["-S", "sh", "echo $HYPERFINE_ITERATION"]].concat());
    let output = Output::of(command.env("HYPERFINE_ITERATION", "ours").current_dir(dir.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let log = std::fs::read_to_string(dir.join("log")).expect("the output");
    let mut lines: Vec<&str> = log.lines().filter(|line| *line != "prepare").collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0", "1", "2", "memory-0", "warmup-0", "warmup-1"]);
}

#[test]
fn each_command_may_have_a_place_of_its_own_for_its_output() {
    let dir = Fixture::new();
    let words =
        ["bench", "-r", "2", "--memory-runs", "1", "--prepare", "echo before", "--output", "a", "--output", "b"];
    let output = Output::of(underpin([&words[..], &["echo 1", "echo 2"]].concat()).current_dir(dir.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let log = |name: &str| std::fs::read_to_string(dir.join(name)).expect("the output");
    assert_eq!((log("a"), log("b")), ("before\n1\n".repeat(3), "before\n2\n".repeat(3)));
}

#[test]
fn the_time_for_each_command_is_in_seconds() {
    let dir = Fixture::new();
    let runs = |time: &str| {
        let args = ["--min-benchmarking-time", time, "--memory-runs", "0", "--json", "sleep 0.05"];
        let output = bench(&dir, &args);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let document: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        document["variants"][0]["runs"].as_array().unwrap_or_else(|| panic!("{document}")).len()
    };
    assert_eq!(runs("0"), 12, "the least number of runs");
    let (one, ten) = (runs("1"), runs("10.0"));
    assert!((18..=24).contains(&one) && (180..=220).contains(&ten), "{one} and {ten} runs of 50 ms each");
    assert_eq!(bench(&dir, &["--min-benchmarking-time", "-1", "sleep 0.05"]).code, Some(2));
}

#[test]
fn what_hyperfine_does_another_way_is_refused_with_the_way_here() {
    let dir = Fixture::new();
    for (words, hint) in [
        (&["--sort", "mean-time"][..], "--export-csv"),
        (&["--reference-name", "old"], "-n NAME"),
        (&["--output", "a", "--output", "b", "--output", "c"], "once for each"),
        (&["--reference", "sleep 9"], "first"),
    ] {
        let output = bench(&dir, &[words, &["sleep 0.05", "sleep 0.06"]].concat());
        assert_eq!(output.code, Some(2), "{words:?}");
        assert!(output.stderr.contains(hint), "{words:?}: {}", output.stderr);
    }
    let output =
        bench(&dir, &["--sort", "command", "--input", "null", "--reference", "sleep 0.06", "sleep 0.05", "sleep 0.06"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn the_pattern_for_file_systems_of_ones_own_is_read_back() {
    let dir = Fixture::new();
    dir.write("site.toml", says(["storm", "--print-fs"]).stdout.replace("name = \"nfs\"", "name = \"ours\""));
    let site = dir.join("site.toml");
    let output = says(["storm", "/bin/sh", "--fs-file", site.to_str().expect("UTF-8"), "--fs", "ours"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// Every kind of file that can be named by mistake: what is wrong with it, and what to do.
#[test]
fn each_refusal_names_the_path_the_cause_and_the_next_step() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("main.c", "int main(void) { return 0; }\n");
    dir.cc(["-c", "-o", "object.o", "main.c"]);
    // Only e_type identifies a core dump: the rest of a header will do.
    let mut core = std::fs::read(dir.join("object.o")).expect("an object");
    core[16] = 4;
    dir.write("core", core);
    dir.write("script", "#!/bin/sh\n");
    dir.write("notes", "hello\n");
    dir.write("empty", "");
    dir.mkdir("folder");
    for (name, cause, step) in [
        ("missing", "no such file", "check the path"),
        ("object.o", "is an object file", "link it"),
        ("core", "is a core dump", "name the program"),
        ("script", "is a script for /bin/sh", "try `underpin"),
        ("notes", "is not an ELF file", "name a program"),
        ("empty", "is empty", "build it again"),
        ("folder", "is a directory", "name a program in it"),
    ] {
        let path = dir.join(name);
        let path = path.to_str().expect("UTF-8");
        let out = dir.join("out");
        let out = out.to_str().expect("UTF-8");
        for verb in [&["tree"][..], &["check"], &["survey"], &["storm"], &["bundle", "-o", out], &["bind"], &["verify"]]
        {
            // These verbs take folders too.
            if name == "folder" && ["tree", "check", "bind", "verify"].contains(&verb[0]) {
                continue;
            }
            let output = says([verb, &[path]].concat());
            assert_eq!(output.code, Some(2), "{verb:?} {name}: {}{}", output.stdout, output.stderr);
            for words in [path, cause, step] {
                assert!(output.stderr.contains(words), "{verb:?} {name}, {words}: {}", output.stderr);
            }
        }
    }
}

#[test]
fn a_name_that_nobody_knows_is_to_be_given_as_a_path() {
    for verb in ["tree", "check", "survey", "storm"] {
        let output = says([verb, "no-such-program-of-underpin"]);
        assert_eq!(output.code, Some(2));
        assert!(output.stderr.contains("in PATH; give its path"), "{verb}: {}", output.stderr);
    }
}

#[test]
fn a_command_that_cannot_be_started_leads_on_too() {
    let dir = Fixture::new();
    dir.write("notes", "hello\n");
    dir.mkdir("folder");
    let path = |name: &str| dir.join(name).to_str().expect("UTF-8").to_owned();
    for (command, step) in [
        ("no-such-program-of-underpin".to_owned(), "give its path"),
        (path("notes"), "chmod +x"),
        (path("folder"), "name a program in it"),
    ] {
        for verb in [&["run", "--malloc", "system"][..], &["trace"], &["bench", "-r", "2"]] {
            let output = Output::of(underpin([verb, &["--", &command]].concat()).current_dir(dir.path()));
            assert!(output.code.is_some_and(|code| code != 0), "{verb:?} {command}: {}", output.stdout);
            assert!(output.stderr.contains(&command), "{verb:?} {command}: {}", output.stderr);
            assert!(output.stderr.contains(step), "{verb:?} {command}: {}", output.stderr);
        }
    }
}
