//! Packages that are really built: a small program in a local folder, with an append's configuration and patch.

use std::fs;
use std::path::Path;
use underpin_image::ImageError;
use underpin_image::layer::{Layers, Selection};
use underpin_image::package::{Package, Tools, build_all, root};
use underpin_image::recipe::{Given, Origin};
use underpin_image::store::{Access, Store};

const RECIPE: &str = r#"version = "1"
licence = "MIT"
build = "make"
needs = []

[source]
folder = "hello-src"

[take]
"usr/bin/hello" = "hello"
"#;
const APPEND: &str = r#"[[change]]
cause = "upstream bug"
why = "it greets nobody"
config = { WHOM = "world" }
patches = ["greet.patch"]
"#;
const PATCH: &str = "--- a/hello.c\n+++ b/hello.c\n@@ -2,3 +2,3 @@\n int main(void) {\n-    return puts(\"nobody\") < 0;\n+    return puts(WHOM) < 0;\n }\n";

fn layer(folder: &Path) {
    fs::create_dir_all(folder.join("hello-src")).expect("written");
    fs::write(folder.join("layer.toml"), "order = 100\n").expect("written");
    fs::write(folder.join("hello.toml"), RECIPE).expect("written");
    fs::write(folder.join("hello_1.append.toml"), APPEND).expect("written");
    fs::write(folder.join("greet.patch"), PATCH).expect("written");
    let source = "#include <stdio.h>\nint main(void) {\n    return puts(\"nobody\") < 0;\n}\n";
    fs::write(folder.join("hello-src/hello.c"), source).expect("written");
    let makefile = "hello: hello.c\n\t$(CC) -DWHOM='\"$(WHOM)\"' -o hello hello.c\n";
    fs::write(folder.join("hello-src/Makefile"), makefile).expect("written");
}

fn build(folder: &Path, store: &Path) -> Result<Vec<Package>, ImageError> {
    let layers = Layers::read(&[folder])?;
    let selection = Selection {
        libc: "glibc".to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        toolchain: "gcc".to_owned(),
        board: "oci".to_owned(),
    };
    let tools = Tools {
        libc: "glibc".to_owned(),
        processor: std::env::consts::ARCH.to_owned(),
        debian: "amd64".to_owned(),
        identity: "this machine's".to_owned(),
        environment: vec![("CC".to_owned(), "cc".to_owned())],
        triple: format!("{}-linux-gnu", std::env::consts::ARCH),
        starts_here: true,
        is_static: false,
    };
    let origin = Origin { layer: String::new(), file: "here".into(), line: 1 };
    let recipes = layers.closure(&[Given { value: "hello".to_owned(), origin }], &selection)?;
    build_all(&Store::new(store), &recipes, &tools, Access::Offline, 2, &|_| {})
}

#[test]
fn a_local_recipe_with_an_append_and_a_patch_is_built_once() {
    let folder = tempfile::tempdir().expect("a value");
    let (source, store) = (folder.path().join("mine"), folder.path().join("store"));
    layer(&source);
    let built = build(&source, &store).expect("a value");
    let (all, rest) = (folder.path().join("all"), folder.path().join("rest"));
    let rooted = root(&built.iter().collect::<Vec<_>>(), &all, &rest).expect("a value");
    let program = all.join(&rooted.programs[0]);
    let said = std::process::Command::new(&program).output().expect("a value");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "world\n");
    assert!(!built[0].cached);
    assert!(build(&source, &store).expect("a value")[0].cached);
    // Another byte of what it is made from is another package.
    fs::write(source.join("hello_1.append.toml"), APPEND.replace("world", "moon")).expect("written");
    let again = build(&source, &store).expect("a value");
    assert!(!again[0].cached && again[0].key != built[0].key);
}

#[test]
fn a_patch_that_does_not_apply_names_its_line_and_hunk_and_leaves_nothing_built() {
    let folder = tempfile::tempdir().expect("a value");
    let (source, store) = (folder.path().join("mine"), folder.path().join("store"));
    layer(&source);
    fs::write(source.join("greet.patch"), PATCH.replace("nobody", "somebody")).expect("written");
    let error = build(&source, &store).unwrap_err().to_string();
    assert!(error.contains("hello_1.append.toml:5: ") && error.contains("hello.c: Hunk #1 FAILED at 2"), "{error}");
    assert!(!store.join("built").exists());
    // The store is sound: with the right patch it goes on.
    fs::write(source.join("greet.patch"), PATCH).expect("written");
    assert_eq!(build(&source, &store).expect("a value").len(), 1);
}

#[test]
fn a_failed_build_names_recipe_command_log_and_last_lines() {
    let folder = tempfile::tempdir().expect("a value");
    let (source, store) = (folder.path().join("mine"), folder.path().join("store"));
    layer(&source);
    fs::write(source.join("hello-src/Makefile"), "hello:\n\t@echo the reason; false\n").expect("written");
    match build(&source, &store).unwrap_err() {
        ImageError::Build { recipe, command, log, last, .. } => {
            assert_eq!(recipe, "hello");
            assert!(command.starts_with("make ") && log.exists());
            assert!(last.iter().any(|line| line == "the reason"), "{last:?}");
        }
        other => panic!("{other}"),
    }
}
