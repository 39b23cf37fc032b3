//! `underpin image compare`: what is refused, limits on the rows of a kept run of guests, and one row compared in guests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use serde_json::Value;
use std::fs;
use underpin_bench::{
    End, Header, Nanos, Observer, Reported, RowName, Rules, RunOutcome, Sample, Stopped, Store, VariantRecord,
};
use underpin_test_support::{Fixture, Output, need};

fn run(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(args);
    command.current_dir(dir.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    Output::of(&mut command)
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_sentence_before_anything_is_built() {
    let dir = Fixture::new();
    let refused = |args: &[&str], words: &[&str]| {
        let output = run(&dir, &[&["image", "compare", "busybox"], args].concat());
        assert_eq!(output.code, Some(2), "{args:?}: {}", output.stdout);
        words.iter().for_each(|word| assert!(output.stderr.contains(word), "{args:?}: {}", output.stderr));
    };
    refused(&["--libc", "musl"], &["two builds", "glibc,musl"]);
    refused(&["--libc", "glibc,musk"], &["--libc musk"]);
    refused(&["--libc", "glibc:2.28,musl"], &["glibc:2.28", "recipe"]);
    refused(&["--libc", "glibc,musl:dynamic"], &["musl:dynamic", "static"]);
    refused(&["--suite", "libcs"], &["unknown suite `libcs`"]);
    refused(&["--suite", "libc", "--filter", "nothing-like-it"], &["no row", "strlen"]);
    refused(&["--gate", "wall<+3%"], &["--gate", "row:strlen<+3%"]);
    refused(&["--json", "--export-html", "-"], &["one document"]);
    refused(&["--target", "rpi4"], &["rpi4"]);
    refused(&["--save", "a/b"], &["a/b"]);
    assert!(!dir.join(".underpin").exists());
}

/// A run of guests as `image compare` keeps it: one row, in which musl takes a fifth longer.
fn kept(dir: &Fixture) {
    let folder = dir.join("store/suites/twins");
    fs::create_dir_all(&folder).unwrap();
    let machine = serde_json::json!({
        "processor": "p", "processors": 2, "memory_bytes": null, "kernel": "k", "system": "s", "governor": null,
        "aslr": true, "load_hundredths": null
    });
    let build = |name: &str| serde_json::json!({"name": name, "description": "static"});
    let run = serde_json::json!({
        "form": "underpin.suite-run/1", "started": 1, "underpin": "0", "machine": machine, "asked": "twins",
        "builds": [build("glibc"), build("musl")],
        "guest": {"machine": "qemu-aarch64", "emulator": "QEMU 7.2 (tcg)", "counts_instructions": true},
        "is_quick": true, "seconds": 60.0, "count": 1, "is_finished": true,
        "rows": [{"suite": "libc", "row": "strlen", "is_measured": true, "failures": []}]
    });
    fs::write(folder.join("suite.json"), run.to_string()).unwrap();
    let header = Header {
        started: 1,
        underpin: "0".to_owned(),
        machine: serde_json::from_value(machine).unwrap(),
        variants: ["glibc", "musl"]
            .map(|name| VariantRecord { name: name.to_owned(), ..VariantRecord::default() })
            .into(),
        reference: 0,
        rules: Rules::default(),
        load: None,
        row: Some(RowName { suite: "libc".to_owned(), row: "strlen".to_owned() }),
    };
    let mut file = Store::new(&folder).begin(1, Some("libc.strlen")).unwrap();
    file.begin(&header).unwrap();
    for block in 0..9 {
        for (variant, ns) in [(0, 10.0), (1, 12.0)] {
            let reported = format!(
                "{{\"ns\":{},\"operations\":1,\"repetitions\":5,\"virtual\":0,\"resident\":0,\"dirty\":0}}",
                ns + 0.001 * f64::from(block)
            );
            let reported = Reported::of_text(&reported).unwrap();
            let sample = Sample::of_report(variant, block, Nanos(0), RunOutcome::Exited(0), reported);
            file.sample(&sample).unwrap();
        }
    }
    let end =
        End { stopped: Stopped::Runs, took_ns: Nanos(0), missing: Vec::new(), load_hundredths: None, sampled: None };
    file.end(&end).unwrap();
    assert!(file.failure().is_none());
}

#[test]
fn a_kept_run_of_guests_says_so_and_its_gate_decides_the_exit_code() {
    let dir = Fixture::new();
    kept(&dir);
    let report = |gate: &str| run(&dir, &["report", "twins", "--store", "store", "--gate", gate]);
    let passed = report("row:strlen<+30%");
    assert_eq!(passed.code, Some(0), "{}{}", passed.stdout, passed.stderr);
    let title = passed.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(title.contains("in a guest (qemu-aarch64), counted instructions"), "{}", passed.stdout);
    assert_eq!(report("row:strlen<+3%").code, Some(1));
    assert_eq!(report("row:memset<+3%").code, Some(125));
}

#[test]
fn one_row_is_compared_in_guests_that_were_started_in_turn() {
    need!("qemu-system-x86_64", "cc", "musl-gcc");
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let dir = Fixture::new();
    dir.write("layer/layer.toml", "order = 100\n");
    dir.write("layer/hello.toml", "version = \"1\"\nlicence = \"MIT\"\nbuild = \"make\"\n[source]\nfolder = \"hello\"\n[take]\n\"usr/bin/hello\" = \"hello\"\n");
    dir.write("layer/hello/hello.c", "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n");
    dir.write("layer/hello/Makefile", "hello: hello.c\n\t$(CC) -o $@ $<\n");
    let mut args = vec!["image", "compare", "hello", "--layer", "layer", "--target", "qemu-x86_64", "--quick"];
    args.extend(["--toolchain", "gcc", "--boots", "2", "--suite", "libc,os", "--filter", "libc:strlen", "--filter"]);
    args.extend(["os:sh-system", "--json", "--store", "store", "-o", "twins"]);
    let output = run(&dir, &args);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["schema"], "underpin.image-compare/1");
    // The C library itself is the only difference between the packages.
    let differences = document["differences"].as_array().unwrap();
    assert!(differences.len() == 1 && differences[0]["name"] == "glibc", "{differences:?}");
    let images = document["images"].as_array().unwrap();
    assert_eq!(images[0]["kernel"], images[1]["kernel"]);
    assert!(document["sizes"][0]["system_ratio"].as_f64().unwrap() < 1.0, "{}", document["sizes"]);
    for figure in document["figures"].as_array().unwrap() {
        assert!(figure["cells"].as_array().unwrap().iter().all(|cell| cell["boots"] == 2), "{figure}");
    }
    let rows = |suite: usize| document["suite"]["suites"][suite]["rows"][0]["cells"].as_array().unwrap();
    assert!(rows(0).iter().all(|cell| cell["is"] == "measured"), "{:?}", rows(0));
    // The images have no shell: the row says so, and the others were measured.
    assert!(rows(1).iter().all(|cell| cell["is"] == "failed"), "{:?}", rows(1));
    assert_eq!(document["repeats"][0]["boots"], 2);
    assert!(dir.join("twins/musl/image.json").is_file() && dir.join("twins/glibc/image.json").is_file());
    assert!(fs::read_dir(dir.join("store/suites")).unwrap().count() == 1);
}
