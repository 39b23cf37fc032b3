use super::super::{Compiler, Dialect, LINKER_VARIABLE, RustLinker, RustPlan, Surroundings, nothing};
use std::ffi::OsString;
use std::path::Path;

const TRIPLE: &str = "x86_64-unknown-linux-musl";

fn plan(linker: RustLinker, wrapper: Option<&str>) -> RustPlan {
    let flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    RustPlan { triple: TRIPLE.to_owned(), linker, flags, wrapper: wrapper.map(Into::into), objects: Vec::new() }
}

fn cc() -> RustLinker {
    let (leading, start, end) = (Vec::new(), Vec::new(), Vec::new());
    RustLinker::Compiler(Compiler { program: "cc".into(), leading, dialect: Dialect::Own, start, end })
}

fn line(rust: &RustPlan, arguments: &str) -> (String, Option<OsString>) {
    let words: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
    let around = nothing();
    let invocation = super::invoke(rust, &words, around).unwrap();
    let words: Vec<String> = invocation.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let remembered = invocation.environment.into_iter().find(|(name, _)| *name == LINKER_VARIABLE);
    (format!("{} {}", invocation.program.display(), words.join(" ")), remembered.map(|(_, value)| value))
}

#[test]
fn the_linker_is_appended_last_and_for_the_target_alone() {
    let rust = plan(cc(), None);
    let (of_target, users) = line(&rust, &format!("/r/rustc --crate-name a --target {TRIPLE} a.rs"));
    let expected =
        format!("/r/rustc --crate-name a --target {TRIPLE} a.rs -Ctarget-feature=+crt-static -Clinker=/t/linker");
    assert_eq!((of_target.as_str(), users), (expected.as_str(), None));
    // Build scripts and macros run on this machine; cargo asks for the version with no target at all.
    for other in ["/r/rustc -vV", "/r/rustc --crate-name build_script_build build.rs", "/r/rustc --target other a.rs"] {
        assert_eq!(line(&rust, other).0, other, "{other}");
    }
}

#[test]
fn the_users_linker_is_remembered_in_each_way_of_writing_it() {
    let rust = plan(cc(), None);
    for (words, linker, tool) in [
        ("-C linker=clang", "clang", "linker"),
        ("-Clinker=musl-gcc", "musl-gcc", "linker"),
        ("--codegen linker=/opt/ld.lld", "/opt/ld.lld", "ld.lld"),
        ("-Clinker=a -C linker=rust-lld", "rust-lld", "ld.lld"),
        ("--codegen=linker=x86_64-linux-ld", "x86_64-linux-ld", "ld.lld"),
    ] {
        let (line, users) = line(&rust, &format!("/r/rustc --target={TRIPLE} {words} a.rs"));
        assert_eq!(users, Some(linker.into()), "{words}");
        assert!(line.ends_with(&format!("-Clinker=/t/{tool}")), "{line}");
    }
}

#[test]
fn a_linker_of_the_plan_is_spoken_to_as_a_linker() {
    let rust = plan(RustLinker::Ld("/r/rust-lld".into(), Vec::new()), None);
    assert!(line(&rust, &format!("/r/rustc --target {TRIPLE} a.rs")).0.ends_with("-Clinker=/t/ld.lld"));
}

#[test]
fn the_users_own_wrapper_is_called_with_the_real_compiler_first() {
    let rust = plan(cc(), Some("sccache"));
    let (line, _) = line(&rust, &format!("/r/rustc --target {TRIPLE} a.rs"));
    assert!(line.starts_with(&format!("sccache /r/rustc --target {TRIPLE} a.rs ")), "{line}");
}

#[test]
fn the_folder_of_the_build_has_another_name_in_what_is_written() {
    let rust = plan(cc(), None);
    let words = ["/r/rustc", "--target", TRIPLE, "a.rs"].map(OsString::from);
    let around = Surroundings { folder: Path::new("/home/me/.cache/x/tools"), ..nothing() };
    let line = super::invoke(&rust, &words, around).unwrap().arguments;
    assert!(line.contains(&"--remap-path-prefix=/home/me/.cache/x=/build".into()), "{line:?}");
}
