//! Records on disk: what is written is read, what is broken is refused, what was cut off is kept.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use underpin_bench::{
    BenchRecord, Candidate, Experiment, Machine, MockExecutor, Rules, Store, StoreError, Variant, measure,
};

fn experiment() -> Experiment {
    let variant = Variant { changes: vec![("A".into(), Some("1".into())), ("B".into(), None)], ..Variant::default() };
    let candidate = |name: &str, text: &str| Candidate { variant: variant.clone(), ..common::candidate(name, text) };
    Experiment {
        candidates: vec![candidate("a", "sleep 0.5"), candidate("b", "sleep 0.6")],
        reference: 0,
        rules: Rules {
            runs: Some(4),
            until: Some("ratio ±2%".parse().expect("a rule")),
            memory_runs: 2,
            ..Rules::default()
        },
        version: "0".to_owned(),
        started: 1_700_000_000,
        row: None,
        machine: Machine { processor: "a \"model\"".to_owned(), ..Machine::default() },
    }
}

fn saved(store: &Store, name: Option<&str>) -> BenchRecord {
    let mut file = store.begin(1_700_000_000, name).expect("a name");
    let record = measure(&experiment(), &mut MockExecutor::new(1), &mut file).expect("an experiment");
    assert!(file.failure().is_none());
    record
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("deep/er"));
    let record = saved(&store, Some("before"));
    let (path, read) = store.load(Some("before")).unwrap();
    assert_eq!(read, record);
    assert_eq!(path.file_name().unwrap(), "before.jsonl");
    assert_eq!(store.load(None).unwrap().1, record);
    assert_eq!(store.load(path.to_str()).unwrap().1, record, "a path will do");
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn runs_without_a_name_never_overwrite_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    saved(&store, None);
    saved(&store, None);
    saved(&store, Some("x"));
    saved(&store, Some("x"));
    assert_eq!(store.list().unwrap().len(), 3);
}

#[test]
fn an_interrupted_record_is_read_up_to_where_it_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let record = saved(&store, Some("x"));
    let path = dir.path().join("x.jsonl");
    let whole = fs::read(&path).unwrap();
    let first_line = whole.iter().position(|&byte| byte == b'\n').unwrap();
    for length in (first_line + 1..whole.len()).step_by(37) {
        fs::write(&path, &whole[..length]).unwrap();
        let read = store.load(Some("x")).unwrap().1;
        assert_eq!(read.header, record.header);
        assert_eq!(read.samples[..], record.samples[..read.samples.len()]);
        assert_eq!(read.memory[..], record.memory[..read.memory.len()]);
    }
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    saved(&store, Some("x"));
    let path = dir.path().join("x.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let other_form = whole.replace("underpin.record/1", "underpin.record/9");
    let stranger = whole.replace("\"variant\":1", "\"variant\":7");
    let no_header = lines[1..].join("\n");
    let two_headers = format!("{}\n{whole}", lines[0]);
    let junk = whole.replacen("\"sample\"", "\"dance\"", 1);
    for (text, line) in [
        ("", 1),
        ("hello\n", 1),
        (other_form.as_str(), 1),
        (no_header.as_str(), 1),
        (two_headers.as_str(), 2),
        (stranger.as_str(), 2),
        (junk.as_str(), 2),
    ] {
        fs::write(&path, text).unwrap();
        match store.load(Some("x")).unwrap_err() {
            StoreError::Line { line: found, .. } => assert!(found >= line, "{found} {text}"),
            other => panic!("{other}"),
        }
    }
    fs::write(&path, b"\xff\xfe\n").unwrap();
    assert!(store.load(Some("x")).is_err());
}

#[test]
fn names_stay_inside_the_folder() {
    let store = Store::new(tempfile::tempdir().unwrap().path());
    for name in ["", "..", "../x", "a/b", ".hidden", "a b", "a\0"] {
        assert!(matches!(store.begin(1, Some(name)), Err(StoreError::Name(_))), "{name:?}");
    }
}

#[test]
fn a_missing_record_says_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    assert!(store.load(None).unwrap_err().to_string().contains("nothing has been measured"));
    saved(&store, Some("main"));
    let error = store.load(Some("mian")).unwrap_err().to_string();
    assert!(error.contains("mian") && error.contains("there are main"), "{error}");
}

#[test]
fn a_disk_that_is_full_ends_keeping_and_not_measuring() {
    // /dev/full takes every open and refuses every write.
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    std::os::unix::fs::symlink("/dev/full", dir.path().join("run-5.jsonl")).unwrap();
    // A run file is created anew, so the link is skipped; what is reported is a folder that cannot be made.
    fs::write(dir.path().join("file"), "").unwrap();
    let blocked = Store::new(dir.path().join("file/below"));
    let mut file = blocked.begin(5, None).unwrap();
    let record = measure(&experiment(), &mut MockExecutor::new(1), &mut file).unwrap();
    assert_eq!(record.samples.len(), 8, "everything was measured");
    let failure = file.failure().unwrap().to_string();
    assert!(failure.contains("file/below"), "{failure}");
    let mut file = store.begin(5, None).unwrap();
    assert!(file.failure().is_none());
    assert_eq!(file.target().file_name().unwrap(), "run-5-1.jsonl");
    assert!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o700 == 0o700);
}
