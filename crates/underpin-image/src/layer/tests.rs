//! Rules of reading and resolving, each with the sentence that a mistake gives.

use super::*;
use crate::recipe::Resolved;
use std::borrow::Cow;
use std::path::PathBuf;

const SUM: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn recipe(version: &str, more: &str) -> String {
    format!(
        "version = \"{version}\"\nlicence = \"MIT\"\nbuild = \"make\"\ninstall = [\"install\"]\n{more}\n[source]\ndebian = \"x\"\nsha256 = \"{SUM}\"\n"
    )
}

fn change(text: &str) -> String {
    format!("[[change]]\ncause = \"size\"\nwhy = \"because\"\n{text}\n")
}

fn layer(name: &str, all: &[(&str, String)]) -> Files {
    let all = all.iter().map(|(path, text)| (PathBuf::from(path), Cow::Owned(text.clone().into_bytes())));
    Files { layer: name.to_owned(), prefix: PathBuf::from(name), folder: None, all: all.collect() }
}

fn head(order: i64, more: &str) -> (&'static str, String) {
    ("layer.toml", format!("order = {order}\n{more}\n"))
}

fn on(libc: &str, architecture: &str) -> Selection {
    Selection {
        libc: libc.to_owned(),
        architecture: architecture.to_owned(),
        toolchain: "zig".to_owned(),
        board: "oci".to_owned(),
    }
}

fn resolve(all: &[Files], name: &str, selection: &Selection) -> Result<Resolved, RecipeError> {
    Layers::of(all)?.resolve(name, selection)
}

fn refused(all: &[Files]) -> String {
    Layers::of(all).unwrap_err().to_string()
}

#[test]
fn the_carried_layers_are_whole_and_resolve_for_every_target() {
    let layers = Layers::read(&[] as &[&str]).unwrap();
    for libc in ["musl", "glibc"] {
        for architecture in ["x86_64", "aarch64"] {
            for recipe in layers.recipes() {
                layers.resolve(&recipe.name, &on(libc, architecture)).unwrap();
            }
        }
    }
    assert!(layers.recipe("busybox").is_some());
}

#[test]
fn a_source_package_may_be_of_another_suite_than_the_kernel() {
    let with = |line: &str| {
        let text = recipe("1", "").replace("debian = \"x\"", &format!("debian = \"x\"\n{line}"));
        [layer("a", &[head(1, ""), ("x.toml", text)])]
    };
    let suite = |line: &str| {
        let resolved = resolve(&with(line), "x", &on("musl", "x86_64")).unwrap();
        resolved.recipe.suite.map(|suite| suite.value)
    };
    assert_eq!(suite(""), None);
    assert_eq!(suite("suite = \"bookworm\"").as_deref(), Some("bookworm"));
    assert_eq!(
        refused(&with("suite = \"a b\"")),
        "a/x.toml:8: invalid suite `a b`: expected a release of Debian, as `bookworm`"
    );
}

#[test]
fn a_layers_appends_hold_only_where_its_condition_and_the_changes_own_do() {
    let musl = [
        head(20, "[when]\nlibc = \"musl\""),
        (
            "a.append.toml",
            change("config = { A = \"n\" }") + &change("config = { B = \"n\" }\nwhen = { architecture = \"aarch64\" }"),
        ),
    ];
    let all = [layer("base", &[head(10, ""), ("a.toml", recipe("1", ""))]), layer("musl", &musl)];
    let keys = |libc: &str, architecture: &str| {
        let resolved = resolve(&all, "a", &on(libc, architecture)).unwrap();
        resolved.recipe.config.into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys("musl", "x86_64"), "A");
    assert_eq!(keys("musl", "aarch64"), "A B");
    assert_eq!(keys("glibc", "aarch64"), "");
}

#[test]
fn every_value_says_which_file_and_line_gave_it() {
    let all = [
        layer("base", &[head(10, ""), ("a.toml", recipe("1", "config = { A = \"y\", B = \"y\" }"))]),
        layer("mine", &[head(20, ""), ("a.append.toml", change("config = { A = \"n\" }"))]),
    ];
    let resolved = resolve(&all, "a", &on("musl", "x86_64")).unwrap();
    let a = &resolved.config["A"];
    assert_eq!((a.value.as_str(), a.origin.to_string().as_str()), ("n", "mine/a.append.toml:4"));
    assert_eq!(resolved.config["B"].origin.to_string(), "base/a.toml:5");
}

#[test]
fn an_append_is_for_the_versions_that_its_name_says() {
    let with = |name: &str| {
        let append = [head(20, ""), (name, change("config = { A = \"n\" }"))].to_vec();
        resolve(
            &[layer("base", &[head(10, ""), ("a.toml", recipe("2:6.15.0-1", ""))]), layer("mine", &append)],
            "a",
            &on("musl", "x86_64"),
        )
        .map(|resolved| resolved.config.len())
        .map_err(|error| error.to_string())
    };
    assert_eq!(with("a_6.*.append.toml"), Ok(1));
    assert_eq!(with("a_6.15.0.append.toml"), Ok(1));
    assert_eq!(with("a.append.toml"), Ok(1));
    let refused = with("a_5.*.append.toml").unwrap_err();
    assert_eq!(refused, "mine/a_5.*.append.toml:1: this append selects nothing: a is 2:6.15.0-1 (base/a.toml:1)");
}

#[test]
fn two_appends_that_set_one_value_are_refused_with_both_places() {
    let one = change("config = { A = \"n\" }");
    let all = [
        layer("base", &[head(10, ""), ("a.toml", recipe("1", ""))]),
        layer("one", &[head(20, ""), ("a.append.toml", one.clone())]),
        layer("two", &[head(30, ""), ("a.append.toml", one)]),
    ];
    let error = resolve(&all, "a", &on("musl", "x86_64")).unwrap_err().to_string();
    assert_eq!(error, "two/a.append.toml:4: config.A of a is set at one/a.append.toml:4 too: remove one of the two");
}

#[test]
fn packages_come_after_what_they_need_and_a_cycle_is_named() {
    let base = |c: &str| {
        let needs = |names: &str| recipe("1", &format!("needs = [{names}]"));
        [layer("base", &[head(1, ""), ("a.toml", needs("\"b\"")), ("b.toml", needs("\"c\"")), ("c.toml", needs(c))])]
    };
    let closure = |all: &[Files]| {
        let origin = Origin { layer: String::new(), file: "here".into(), line: 1 };
        let names = [Given { value: "a".to_owned(), origin }];
        let all = Layers::of(all).unwrap().closure(&names, &on("musl", "x86_64"));
        all.map(|all| all.into_iter().map(|one| one.recipe.name).collect::<Vec<_>>().join(" "))
            .map_err(|error| error.to_string())
    };
    assert_eq!(closure(&base("")), Ok("c b a".to_owned()));
    assert_eq!(closure(&base("\"a\"")), Err("base/c.toml:5: packages need each other: a -> b -> c -> a".to_owned()));
    let unknown = closure(&base("\"d\"")).unwrap_err();
    assert!(unknown.starts_with("unknown recipe or image `d` (needed at base/c.toml:5)"), "{unknown}");
}

#[test]
fn a_mistake_is_one_sentence_with_file_and_line() {
    let with = |text: String| refused(&[layer("l", &[head(1, ""), ("a.toml", text)])]);
    assert!(with(recipe("1", "colour = 1")).starts_with("l/a.toml:5: unknown key `colour`: expected one of build, "));
    assert!(with("version = 1\n=".to_owned()).starts_with("l/a.toml:2: not TOML: "));
    assert!(with(recipe("1", "").replace("make", "bazel")).starts_with("l/a.toml:3: unknown build system `bazel`"));
    assert!(with(recipe("1", "").replace("0000", "00")).starts_with("l/a.toml:8: invalid SHA-256"));
    let appended = |text: &str| {
        refused(&[layer("l", &[head(1, ""), ("a.toml", recipe("1", "")), ("a.append.toml", text.to_owned())])])
    };
    assert!(
        appended("[[change]]\ncause = \"mood\"\nwhy = \"x\"\n").starts_with("l/a.append.toml:2: unknown cause `mood`")
    );
    assert!(
        appended("[[change]]\ncause = \"size\"\nwhy = \"x\"\n")
            .starts_with("l/a.append.toml:1: this change changes nothing")
    );
    assert_eq!(appended(&change("patches = [\"no.patch\"]")), "l/a.append.toml:4: l/no.patch is not in the layer");
}

#[test]
fn what_selects_nothing_is_refused() {
    let nothing = "this layer selects nothing: it has no recipe, append or image";
    assert_eq!(refused(&[layer("l", &[head(1, "")])]), format!("l/layer.toml:1: {nothing}"));
    let misspelt = refused(&[layer("l", &[head(1, "[when]\nlibc = \"uclibc\"")])]);
    assert_eq!(misspelt, "l/layer.toml:3: unknown libc `uclibc`: expected one of musl, glibc");
    let orphan = [layer("l", &[head(1, ""), ("b.append.toml", change("needs = [\"x\"]"))])];
    assert_eq!(refused(&orphan), "l/b.append.toml:1: this append selects nothing: no layer has a recipe `b`");
    let idle = recipe("1", "").replace("install = [\"install\"]\n", "");
    assert!(refused(&[layer("l", &[head(1, ""), ("a.toml", idle)])]).contains("it selects nothing"));
}
