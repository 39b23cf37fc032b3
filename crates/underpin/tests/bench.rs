//! `underpin bench` and `underpin report` from outside: screens, documents, kept runs, gates, refusals.

mod common;

use common::underpin;
use serde_json::Value;
use underpin_test_support::{Fixture, Output, need};

/// Runs underpin with these arguments, in a folder of its own.
fn bench(dir: &Fixture, args: &[&str]) -> Output {
    Output::of(underpin([&["bench"], args].concat()).current_dir(dir.path()))
}

fn report(dir: &Fixture, args: &[&str]) -> Output {
    Output::of(underpin([&["report"], args].concat()).current_dir(dir.path()))
}

fn document(output: &Output) -> Value {
    let document: Value = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("no document ({error}): {}{}", output.stdout, output.stderr));
    assert_eq!(document["schema"], "underpin.bench/1");
    document
}

fn names(document: &Value) -> Vec<&str> {
    document["variants"].as_array().expect("variants").iter().map(|one| one["name"].as_str().expect("a name")).collect()
}

#[test]
fn two_commands_are_compared_and_the_run_is_kept() {
    let dir = Fixture::new();
    let output = bench(&dir, &["--debug-mode", "sleep 0.05 memory=100", "sleep 0.06 memory=20"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for words in ["Time ", "Peak memory", "reference", "more", "less", "-v: every figure"] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    let again = report(&dir, &[]);
    assert_eq!(again.stdout, output.stdout, "the same figures, without running anything");
    assert!(dir.join(".underpin/bench").is_dir());
    assert!(report(&dir, &["--list"]).stdout.starts_with("run-"));
}

#[test]
fn the_document_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(&common::says(["generate", "schema", "bench"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let dir = Fixture::new();
    for args in [
        &["--json", "--aa", "-r", "6", "--", "true"][..],
        &["--json", "-i", "-r", "3", "--memory-runs", "0", "sh -c 'exit 3'", "true"],
        &["--json", "--debug-mode", "--until", "ratio ±2%", "--gate", "wall<+3%", "sleep 0.1", "sleep 0.1"],
    ] {
        let document = document(&bench(&dir, args));
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{args:?}: {errors:#?}");
    }
}

#[test]
fn variants_stand_beside_the_command_as_it_is() {
    let dir = Fixture::new();
    let script = "test \"$A\" = 1 || test -z \"$A\"";
    let args = ["--json", "-r", "2", "--memory-runs", "1", "--variant", "one=A=1", "--variant", "calm=nice -n 1", "--"];
    let output = bench(&dir, &[&args[..], &["sh", "-c", script]].concat());
    let document = document(&output);
    assert_eq!(names(&document), ["as it is", "one", "calm"]);
    assert_eq!(document["variants"][1]["environment"]["A"], "1");
    assert_eq!(document["variants"][2]["command"][0], "nice");
    assert_eq!(document["variants"][0]["is_reference"], true);
    let refused = bench(&dir, &["-r", "2", "--variant", "two=A=2", "--", "sh", "-c", script]);
    assert_eq!(refused.code, Some(2), "the variant is really in effect");
    assert!(refused.stderr.contains("two: the command ended with status 1"), "{}", refused.stderr);
}

#[test]
fn parameters_names_and_hooks_are_those_that_hyperfine_users_know() {
    let dir = Fixture::new();
    let args = ["--json", "-N", "-r", "2", "--memory-runs", "0", "-w", "1", "-L", "x", "1,2", "-L", "y", "a,b"];
    let hooks =
        ["-s", "echo setup >>log", "-p", "echo p{x} >>log", "--conclude", "echo c >>log", "-c", "echo end >>log"];
    let output = bench(&dir, &[&args[..], &hooks, &["-n", "t{x}{y}", "test {x} != {y}"]].concat());
    assert_eq!(names(&document(&output)), ["t1a", "t1b", "t2a", "t2b"]);
    let log = std::fs::read_to_string(dir.join("log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("setup", "end"));
    assert_eq!(lines.iter().filter(|line| **line == "c").count(), 4 * 3, "two runs and a warm-up each");
    assert_eq!(lines.iter().filter(|line| **line == "p1").count(), 2 * 3);
}

#[test]
fn a_range_of_values_is_run_from_end_to_end() {
    let dir = Fixture::new();
    let args =
        ["--json", "-r", "1", "--memory-runs", "0", "-P", "n", "1", "3", "-P", "d", "0.5", "1", "-D", "1", "-D", "0.5"];
    let output = bench(&dir, &[&args[..], &["test {n} != {d}x"]].concat());
    assert_eq!(
        names(&document(&output)),
        ["n=1 d=0.5", "n=1 d=1.0", "n=2 d=0.5", "n=2 d=1.0", "n=3 d=0.5", "n=3 d=1.0"]
    );
    for (args, words) in [
        (&["-P", "n", "3", "1", "true"][..], "-P n: the range is empty"),
        (&["-P", "n", "0", "1.5", "true"], "-D STEP"),
        (&["-P", "n", "a", "b", "true"], "not a number"),
    ] {
        let refused = bench(&dir, args);
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn output_through_a_pipe_is_read_to_its_end() {
    let dir = Fixture::new();
    // Far more than a pipe holds; the command checks that its output is one.
    let script = "test -p /dev/stdout && head -c 3000000 /dev/zero && head -c 300000 /dev/zero >&2";
    let output = bench(
        &dir,
        &["-r", "3", "--memory-runs", "1", "--output", "pipe", "--timeout", "60s", "--", "sh", "-c", script],
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn there_is_no_shell_unless_asked_for() {
    let dir = Fixture::new();
    let run = ["-r", "1", "--memory-runs", "0"];
    assert_eq!(bench(&dir, &[&run[..], &["test a = a && false"]].concat()).code, Some(2), "test gets all the words");
    assert_eq!(bench(&dir, &[&run[..], &["-S", "default", "true && true"]].concat()).code, Some(0));
    let shown = bench(&dir, &[&run[..], &["--show-output", "echo 'from the command'"]].concat());
    assert!(shown.stdout.contains("from the command"));
}

#[test]
fn a_gate_beside_a_kept_run_decides_the_exit_code() {
    let dir = Fixture::new();
    let run = |args: &[&str]| bench(&dir, &[&["--debug-mode", "-r", "20"], args].concat());
    assert_eq!(run(&["--save", "main", "sleep 0.05 memory=100"]).code, Some(0));
    let same = run(&["--baseline", "main", "--gate", "wall<+3%,rss<+5%", "sleep 0.05 memory=100"]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    assert!(same.stdout.contains("Gate passed") && same.stdout.contains("not side by side"), "{}", same.stdout);
    let slower = run(&["--save", "new", "--baseline", "main", "--gate", "wall<+3%,rss<+5%", "sleep 0.06 memory=100"]);
    assert_eq!(slower.code, Some(1), "{}", slower.stdout);
    assert!(slower.stdout.contains("Gate failed"), "{}", slower.stdout);
    let later = report(&dir, &["new", "--baseline", "main", "--gate", "wall<+3%"]);
    assert_eq!(later.code, Some(1));
    assert_eq!(report(&dir, &["new", "--baseline", "main", "--gate", "wall<+30%"]).code, Some(0));
    // An interval that reaches over the limit decides nothing.
    let noisy = run(&["--baseline", "main", "--gate", "wall<+2%", "sleep 0.05 memory=100 noise=0.05"]);
    assert_eq!(noisy.code, Some(125), "{}", noisy.stdout);
    assert!(noisy.stdout.contains("Gate not decided") && noisy.stdout.contains("would decide it"), "{}", noisy.stdout);
    // A gate between two commands of one run needs no baseline.
    assert_eq!(run(&["--gate", "wall<+3%", "sleep 0.05", "sleep 0.06"]).code, Some(1));
}

#[test]
fn a_gate_with_nothing_to_compare_is_wrong_use() {
    let dir = Fixture::new();
    let run = |args: &[&str]| bench(&dir, &[&["--debug-mode", "-r", "20"], args].concat());
    let refused = |output: &Output, words: &str| {
        assert_eq!(output.code, Some(2), "{}", output.stdout);
        assert!(output.stderr.contains(words), "{}", output.stderr);
    };
    refused(&run(&["--gate", "wall<+3%", "sleep 0.05"]), "nothing to compare");
    refused(&run(&["--gate", "wall<+3%", "--aa", "sleep 0.05"]), "nothing to compare");
    assert_eq!(run(&["--save", "main", "sleep 0.05", "sleep 0.06"]).code, Some(0));
    refused(&run(&["--baseline", "main", "--gate", "wall<+3%", "sleep 0.07"]), "it has sleep 0.05, sleep 0.06");
    run(&["--save", "alone", "sleep 0.05"]);
    refused(&report(&dir, &["alone", "--gate", "wall<+3%"]), "nothing to compare");
}

#[test]
fn a_gate_says_passed_failed_and_not_decided_apart() {
    let dir = Fixture::new();
    let run = |runs: &str, gate: &str, args: &[&str]| {
        bench(&dir, &[&["--debug-mode", "--json", "-r", runs, "--gate", gate, "sleep 0.05"], args].concat())
    };
    for (runs, gate, other, code, outcome) in [
        ("20", "wall<+3%", "sleep 0.0501", 0, "passed"),
        ("20", "wall<+3%", "sleep 0.06", 1, "failed"),
        ("2", "wall<+3%", "sleep 0.15", 125, "not_decided"),
        ("14", "wall<+3%", "sleep 0.15", 125, "not_decided"),
        ("16", "wall<+3%", "sleep 0.15", 1, "failed"),
        ("20", "instructions<+3%", "sleep 0.05 noise=0", 125, "not_decided"),
    ] {
        let output = run(runs, gate, &[other]);
        assert_eq!(output.code, Some(code), "{runs} {gate} {other}: {}", output.stderr);
        let document = document(&output);
        assert_eq!(document["gate"]["outcome"], outcome);
        assert_eq!(document["gate"]["passed"], outcome == "passed");
    }
    let few = document(&run("2", "wall<+3%", &["sleep 0.15"]));
    assert_eq!(few["gate"]["limits"][0]["result"], "too_few");
    assert_eq!(few["gate"]["limits"][0]["runs_needed"], 16, "signed ranks of 8 blocks, 2/2^8 < 1 %, are the least");
}

#[test]
fn a_baseline_from_another_machine_judges_only_on_request() {
    let dir = Fixture::new();
    let run = |args: &[&str]| bench(&dir, &[&["--debug-mode", "-r", "20"], args].concat());
    run(&["--save", "main", "sleep 0.05"]);
    let kept = dir.join(".underpin/bench/main.jsonl");
    let record = std::fs::read_to_string(&kept).unwrap();
    let gate = ["--baseline", "main", "--gate", "wall<+3%", "sleep 0.05"];
    assert_eq!(run(&gate).code, Some(0));
    for (is, other, words) in [
        ("\"a model\"", "\"another model\"", "processor another model then, a model now"),
        ("\"processors\":2", "\"processors\":64", "processors 64 then, 2 now"),
    ] {
        assert!(record.contains(is), "{record}");
        std::fs::write(&kept, record.replacen(is, other, 1)).unwrap();
        let refused = run(&gate);
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        assert!(refused.stderr.contains(words) && refused.stderr.contains("--any-machine"), "{}", refused.stderr);
        assert_eq!(run(&[&["--any-machine"], &gate[..]].concat()).code, Some(0));
        assert_eq!(run(&["--baseline", "main", "sleep 0.05"]).code, Some(0), "without a gate it is only told");
    }
}

#[test]
fn two_trivial_commands_take_fourteen_lines_and_keep_their_doubts() {
    need!("script");
    let dir = Fixture::new();
    // On a terminal of 80 columns; the progress goes to the other descriptor.
    let words = format!("{} bench -r 3 true 'sleep 0' 2>/dev/null", common::program());
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &words, "/dev/null"]).env("COLUMNS", "80").env("NO_COLOR", "1");
    let shown = Output::of(command.stdin(std::process::Stdio::null()).current_dir(dir.path())).stdout;
    let shown = shown.replace('\r', "");
    assert!(shown.lines().count() <= 14, "{} lines: {shown}", shown.lines().count());
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("too few runs to compare the time") && words.contains("runs of each."), "{shown}");
    assert!(!words.contains("Not measured") && words.contains("-v: every figure"), "{shown}");
    let all = report(&dir, &["-v"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains("Not measured: rss-growth") && all.contains("How far to trust this"), "{all}");
    // Both screens warn of the machine's load, or neither does.
    assert_eq!(words.contains("load average"), all.contains("load average"), "{shown}{all}");
}

#[test]
fn too_few_runs_have_no_interval_and_a_title_says_the_confidence_that_there_is() {
    let dir = Fixture::new();
    let screen = |runs: &str| bench(&dir, &["--debug-mode", "-r", runs, "sleep 0.01", "sleep 0.05"]).stdout;
    let few = screen("2");
    assert!(few.lines().filter(|line| line.contains("median")).all(|line| !line.contains("95 %")), "{few}");
    assert!(!few.contains("[+"), "{few}");
    assert!(few.contains("too few runs to compare the time"), "{few}");
    // scipy.stats.wilcoxon's distribution: the interval of 6 blocks has 1 - 2/64, that of 8 has 1 - 2*4/256.
    for (runs, title) in [("12", "96 %"), ("16", "96 %")] {
        let shown = screen(runs);
        assert!(shown.lines().any(|line| line.contains("change") && line.contains(title)), "{shown}");
    }
}

#[test]
fn a_likely_change_that_is_not_proven_is_told_in_a_plain_sentence() {
    let dir = Fixture::new();
    // Six blocks give an interval, but no p-value below 2/64.
    let shown = bench(&dir, &["--debug-mode", "-r", "12", "sleep 0.01", "sleep 0.05"]).stdout;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("likely 5.0x the time") && words.contains("not proven at the level of 1 %"), "{shown}");
    assert!(shown.contains("more?"), "{shown}");
}

#[test]
fn exports_are_written_and_agree() {
    let dir = Fixture::new();
    let files = ["--export-json", "x.json", "--export-csv", "x.csv", "--export-markdown", "x.md"];
    let output = bench(&dir, &[&["--debug-mode", "--json"], &files[..], &["sleep 0.05", "sleep 0.06"]].concat());
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    let shown = document(&output);
    assert_eq!(serde_json::from_str::<Value>(&read("x.json")).unwrap(), shown);
    let csv = read("x.csv");
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert!(csv.lines().all(|line| line.split(',').count() == columns.len()), "{csv}");
    let median = shown["variants"][0]["metrics"][0]["median"]["estimate"].as_f64().unwrap();
    assert!(
        csv.contains(&format!("sleep 0.05,wall,seconds,{}", shown["variants"][0]["runs"].as_array().unwrap().len()))
    );
    assert!(csv.contains(&median.to_string()), "{csv}");
    assert!(read("x.md").contains("**Wall time**"), "{}", read("x.md"));
    let dash = bench(&dir, &["--debug-mode", "--export-json", "-", "sleep 0.05"]);
    assert_eq!(names(&document(&dash)), ["sleep 0.05"], "alone on standard output");
    let both = bench(&dir, &["--debug-mode", "--json", "--export-csv", "-", "sleep 0.05"]);
    assert!(both.code == Some(2) && both.stderr.contains("only one document"), "{}", both.stderr);
}

#[test]
fn wrong_use_says_what_to_do() {
    let dir = Fixture::new();
    for (args, words) in [
        (&["--"][..], "no command to measure"),
        (&["no-such-command-of-underpin"], "not found in PATH"),
        (&["'open"], "unclosed quote"),
        (&["--variant", "x", "true"], "--variant x"),
        (&["--env", "x", "true"], "--env NAME=VALUE"),
        (&["--gate", "walls<3%", "true"], "expected one of wall"),
        (&["--until", "soon", "true"], "ratio ±2%"),
        (&["--budget", "1 fortnight", "true"], "60s"),
        (&["--counters", "luck", "true"], "there are cycles"),
        (&["--baseline", "nothing", "true"], "nothing has been measured"),
        (&["--save", "../x", "true"], "for a saved run"),
        (&["--reference", "x", "true"], "there are true"),
        (&["-p", "a", "-p", "b", "true", "true", "true"], "once for each"),
        (&["-r", "1", "false"], "use -i"),
        (&["-r", "1", "--timeout", "100ms", "sleep 100"], "--timeout"),
        (&["-r", "1", "-p", "exit 3", "true"], "the prepare command `exit 3` ended with status 3"),
    ] {
        let output = bench(&dir, args);
        assert_eq!(output.code, Some(2), "{args:?} {}", output.stderr);
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
    }
    assert!(report(&dir, &["no-such-run"]).stderr.contains("no-such-run"));
}

/// underpin, with strace refusing every ptrace call as a container's filter would.
fn denied(dir: &Fixture) -> std::process::Command {
    let mut command = dir.command("strace");
    command.args([
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=ptrace",
        "-e",
        "inject=ptrace:error=EPERM",
    ]);
    command.arg(common::program());
    command
}

#[test]
fn where_ptrace_is_denied_memory_is_sampled_from_outside_and_that_is_said() {
    need!("strace", "cc");
    let dir = Fixture::new();
    // Keeps 40 MiB for a while, then 10 MiB.
    dir.write(
        "main.c",
        "#include <string.h>\n#include <sys/mman.h>\n#include <unistd.h>\nint main(void){char *m=mmap(0,40<<20,3,34,-1,0);\
         memset(m,1,40<<20);usleep(900000);munmap(m,30<<20);usleep(900000);return 0;}",
    );
    dir.cc(["-o", "main", "main.c"]);
    let mut command = denied(&dir);
    command.args(["bench", "--json", "-r", "1", "--memory-runs", "1", "--settle", "300ms", "./main"]);
    let document = document(&Output::of(&mut command));
    let doubts = document["doubts"].to_string();
    assert!(doubts.contains("sampled from outside"), "{doubts}");
    let figure = |name: &str| {
        let metrics = document["variants"][0]["metrics"].as_array().unwrap();
        let found = metrics.iter().find(|one| one["metric"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["median"]["estimate"].as_f64().unwrap() / (1 << 20) as f64
    };
    assert!((40.0..50.0).contains(&figure("rss")), "{}", figure("rss"));
    assert!((10.0..20.0).contains(&figure("rss-end")), "{}", figure("rss-end"));
    assert!((-31.0..-29.0).contains(&figure("rss-growth")), "{}", figure("rss-growth"));
    let mut command = denied(&dir);
    // An allocator is verified in the process's maps; one that is missing there is an error too.
    command.args(["bench", "-r", "1", "--memory-runs", "1", "--malloc", "mimalloc", "--", "sleep", "0.3"]);
    assert_eq!(Output::of(&mut command).code, Some(0));
}

#[test]
fn runs_before_a_failure_are_kept() {
    let dir = Fixture::new();
    let output = bench(&dir, &["-r", "50", "--", "sh", "-c", "echo x >>count; test $(wc -l <count) -lt 8"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("7 runs up to here are kept"), "{}", output.stderr);
    let shown = report(&dir, &[]);
    assert_eq!(shown.code, Some(0));
    assert!(shown.stdout.contains("7 runs") && shown.stdout.contains("interrupted"), "{}", shown.stdout);
}

#[test]
fn runs_before_one_that_hangs_are_kept() {
    let dir = Fixture::new();
    let script = "echo x >>count; test $(wc -l <count) -lt 4 || { sleep 1000 & wait; }";
    let output = bench(&dir, &["-r", "50", "--timeout", "3s", "--", "sh", "-c", script]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("not finished after 3 s and killed"), "{}", output.stderr);
    assert!(output.stderr.contains("3 runs up to here are kept"), "{}", output.stderr);
    assert!(report(&dir, &[]).stdout.contains("3 runs"));
}

/// A limit on the size of files, with its signal ignored, makes writes fail halfway as a full disk does.
#[test]
fn a_disk_that_fills_up_keeps_what_was_written_and_the_figures_are_shown() {
    let dir = Fixture::new();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" bench --debug-mode -r 300 'sleep 0.1'";
    let output = Output::of(dir.command("sh").args(["-c", script, common::program()]));
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stdout.contains("300 runs"), "{}", output.stdout);
    for words in ["could not be kept", ".underpin/bench/run-", "File too large"] {
        assert!(output.stderr.contains(words), "{}", output.stderr);
    }
    let kept = report(&dir, &["--json"]);
    let document = document(&kept);
    let runs = document["variants"][0]["runs"].as_array().unwrap().len();
    assert!((5..300).contains(&runs), "{runs}");
    assert_eq!(document["method"]["stopped"], "interrupted");
    // A requested file on a full disk: the run itself is kept.
    let full = bench(&dir, &["--debug-mode", "--save", "kept", "--export-csv", "/dev/full", "sleep 0.1"]);
    assert_eq!(full.code, Some(2));
    assert!(full.stderr.contains("cannot write /dev/full: No space left"), "{}", full.stderr);
    assert_eq!(report(&dir, &["kept"]).code, Some(0));
}

#[test]
fn figures_that_cannot_be_kept_are_shown_and_the_failure_is_told() {
    let dir = Fixture::new();
    dir.write(".underpin", "a file where the folder goes");
    let output = bench(&dir, &["--debug-mode", "sleep 0.1"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stdout.contains("Peak memory"), "{}", output.stdout);
    assert!(output.stderr.contains("could not be kept"), "{}", output.stderr);
}

/// Counts, not times: what the kernel accounts to a program is the same under both tools.
#[test]
fn a_run_is_what_hyperfine_runs() {
    need!("hyperfine", "strace");
    let dir = Fixture::new();
    let script = "echo \"$1 $2\" >>log; ls -l /proc/self/fd | wc -l >>log";
    let theirs = format!("sh -c '{script}' sh 'a b' c");
    dir.must("hyperfine", ["-N", "-r", "1", "-w", "0", &theirs]);
    let hyperfine = std::fs::read_to_string(dir.join("log")).unwrap();
    std::fs::remove_file(dir.join("log")).unwrap();
    let output = bench(&dir, &["-r", "1", "--memory-runs", "0", &theirs]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let ours = std::fs::read_to_string(dir.join("log")).unwrap();
    assert_eq!(ours, hyperfine, "the same words, and no descriptor of ours leaks");
}

#[test]
fn a_parameter_is_replaced_in_variables_too() {
    let dir = Fixture::new();
    let args = ["-r", "2", "--memory-runs", "0", "-L", "t", "1,2", "--env", "OMP={t}", "--output", "out"];
    let output = bench(&dir, &[&args[..], &["--variant", "v=V={t}{t}", "--", "sh", "-c", "echo $OMP $V"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let printed = std::fs::read_to_string(dir.join("out")).unwrap();
    let printed: std::collections::BTreeSet<&str> = printed.lines().map(str::trim).collect();
    assert_eq!(printed.into_iter().collect::<Vec<_>>(), ["1", "1 11", "2", "2 22"]);
}

#[test]
fn a_variable_before_a_command_is_pointed_to_its_option() {
    let dir = Fixture::new();
    let output = bench(&dir, &["FOO=1 true"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("--env") && output.stderr.contains("-S"), "{}", output.stderr);
}

/// The same columns and, apart from the figures, the same characters as hyperfine itself.
#[test]
fn tables_are_those_of_hyperfine() {
    need!("hyperfine");
    let dir = Fixture::new();
    let exports = ["--export-asciidoc", "x.adoc", "--export-orgmode", "x.org"];
    let ours = bench(&dir, &[&["-r", "2", "-u", "millisecond"][..], &exports, &["true", "sleep 0.01"]].concat());
    assert_eq!(ours.code, Some(0), "{}", ours.stderr);
    let form = |text: String| -> Vec<String> {
        // Figures are left out, the deviation of the fastest too; which one is fastest does not matter here.
        let blank =
            |line: &str| line.replace(|digit: char| digit.is_ascii_digit(), "").replace("±", "").replace('.', "");
        text.lines().map(|line| blank(line).split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let read = |name: &str| form(std::fs::read_to_string(dir.join(name)).expect("an export"));
    let mine = [read("x.adoc"), read("x.org")];
    let mut command = std::process::Command::new("hyperfine");
    command.args(["-N", "-r", "2", "-u", "millisecond"]).args(exports).args(["true", "sleep 0.01"]);
    assert_eq!(Output::of(command.current_dir(dir.path())).code, Some(0));
    assert_eq!(mine, [read("x.adoc"), read("x.org")]);
    let titles = std::fs::read_to_string(dir.join("x.org")).expect("an export");
    assert!(titles.starts_with("| Command  |  Mean [ms] |"), "{titles}");
}

#[test]
fn failures_with_one_of_some_codes_are_measured_and_no_others() {
    let dir = Fixture::new();
    let run = |option: &str, code: &str| {
        bench(&dir, &["-r", "2", "--memory-runs", "0", option, "--", "sh", "-c", &format!("exit {code}")]).code
    };
    assert_eq!(run("-i=2,3", "3"), Some(0));
    assert_eq!(run("--ignore-failure=2,3", "4"), Some(2));
    assert_eq!((run("-i", "4"), run("-i=all-non-zero", "5")), (Some(0), Some(0)));
    assert_eq!(run("-i=x", "0"), Some(2), "no code");
}
