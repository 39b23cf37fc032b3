//! Packages that are really built: a small program in a local folder, with an append's configuration and patch.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use underpin_image::layer::{Layers, Selection};
use underpin_image::package::{Package, RustTools, Tools, beside, build_all, kept_root, root};
use underpin_image::plan::{Around, Plan, Recipe, Surroundings};
use underpin_image::recipe::{Given, Origin};
use underpin_image::store::{Access, Store};
use underpin_image::{ImageError, Target};

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
    let recipes = layers.closure(&[named("hello")], &selection())?;
    build_all(&Store::new(store), &recipes, &tools(), Access::Offline, 2, &|_| {})
}

fn selection() -> Selection {
    Selection {
        libc: "glibc".to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        toolchain: "gcc".to_owned(),
        board: "oci".to_owned(),
    }
}

fn tools() -> Tools {
    Tools {
        libc: "glibc".to_owned(),
        processor: std::env::consts::ARCH.to_owned(),
        debian: "amd64".to_owned(),
        identity: "this machine's".to_owned(),
        environment: vec![("CC".to_owned(), "cc".to_owned())],
        triple: format!("{}-linux-gnu", std::env::consts::ARCH),
        starts_here: true,
        is_static: false,
        rust: Some(RustTools { identity: "rustc".to_owned(), environment: Vec::new() }),
    }
}

fn named(name: &str) -> Given<String> {
    let origin = Origin { layer: String::new(), file: "here".into(), line: 1 };
    Given { value: name.to_owned(), origin }
}

/// A layer with recipes and their sources: path and text of each file.
fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("written");
        fs::write(path, text).expect("written");
    }
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
fn after_a_change_of_one_recipe_only_that_and_what_needs_it_is_built_again() {
    let folder = tempfile::tempdir().expect("a value");
    let (layer, store) = (folder.path().join("mine"), folder.path().join("store"));
    let recipe = |needs: &str, name: &str| {
        format!(
            "version = \"1\"\nlicence = \"MIT\"\nbuild = \"make\"\nneeds = [{needs}]\nmake = [\"{name}\"]\n\n\
             [source]\nfolder = \"{name}-src\"\n\n[take]\n\"usr/share/{name}\" = \"{name}\"\n"
        )
    };
    write(&layer, &[("layer.toml", "order = 100\n")]);
    // base <- middle <- top, and beside beside them.
    for (name, needs) in [("base", ""), ("middle", "\"base\""), ("top", "\"middle\""), ("beside", "")] {
        let makefile = format!("{name}:\n\techo {name} >{name}\n");
        let source = format!("{name}-src/Makefile");
        write(&layer, &[(&format!("{name}.toml"), &recipe(needs, name)), (&source, &makefile)]);
    }
    let build = || -> Vec<(String, bool)> {
        let layers = Layers::read(&[&layer]).expect("layers");
        let recipes = layers.closure(&[named("top"), named("beside")], &selection()).expect("recipes");
        let built = build_all(&Store::new(&store), &recipes, &tools(), Access::Offline, 2, &|_| {}).expect("built");
        let mut all: Vec<_> = built.iter().map(|package| (package.record.name.clone(), !package.cached)).collect();
        all.sort();
        all
    };
    let rebuilt = |names: &[&str]| -> Vec<(String, bool)> {
        ["base", "beside", "middle", "top"].map(|name| (name.to_owned(), names.contains(&name))).into()
    };
    assert_eq!(build(), rebuilt(&["base", "beside", "middle", "top"]));
    assert_eq!(build(), rebuilt(&[]));
    write(&layer, &[("middle-src/Makefile", "middle:\n\techo other >middle\n")]);
    assert_eq!(build(), rebuilt(&["middle", "top"]));
    write(&layer, &[("beside.toml", &recipe("", "beside").replace("version = \"1\"", "version = \"2\""))]);
    assert_eq!(build(), rebuilt(&["beside"]));
    assert_eq!(build(), rebuilt(&[]));
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

/// Everything below a folder with what a change of it changes: inode, links, and the times of contents and of the inode.
fn state(folder: &Path) -> Vec<String> {
    let (mut folders, mut all) = (vec![folder.to_owned()], Vec::new());
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current).expect("a folder") {
            let path = entry.expect("an entry").path();
            let data = path.symlink_metadata().expect("a file");
            let times = (data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec());
            all.push(format!("{} {} {} {times:?}", path.display(), data.ino(), data.nlink()));
            if data.is_dir() {
                folders.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_root_of_many_files_is_made_once_and_a_second_time_nothing_is_linked_or_removed() {
    let folder = tempfile::tempdir().expect("a value");
    let (source, store) = (folder.path().join("mine"), folder.path().join("store"));
    layer(&source);
    let links: String = (0..300).map(|number| format!("\"usr/bin/hello{number}\" = \"hello\"\n")).collect();
    fs::write(source.join("hello.toml"), format!("{RECIPE}\n[links]\n{links}")).expect("written");
    let built = build(&source, &store).expect("a value");
    let packages: Vec<&Package> = built.iter().collect();
    let kept = || kept_root(&Store::new(&store), &packages, &[]).expect("a root");
    let (first, place) = kept();
    let before = state(&store);
    assert!(before.len() > 900, "{}", before.len());
    let (second, again) = kept();
    assert_eq!((second, again), (first.clone(), place.clone()));
    assert_eq!(state(&store), before);

    // It is what is made elsewhere, and of other packages another one.
    let (all, rest) = (folder.path().join("all"), folder.path().join("rest"));
    assert_eq!(root(&packages, &all, &rest).expect("a root"), first);
    for (name, other) in [("all", all), ("rest", rest)] {
        let names = |folder: &Path| {
            let below = |line: &String| line.split(' ').next().map(|path| path[folder.as_os_str().len()..].to_owned());
            state(folder).iter().filter_map(below).collect::<Vec<_>>()
        };
        assert_eq!(names(&place.join(name)), names(&other), "{name}");
    }
    fs::write(source.join("hello_1.append.toml"), APPEND.replace("world", "moon")).expect("written");
    let changed = build(&source, &store).expect("a value");
    let (_, other) = kept_root(&Store::new(&store), &changed.iter().collect::<Vec<_>>(), &[]).expect("a root");
    assert_ne!(other, place);
}

#[test]
fn a_shared_library_of_a_need_is_in_the_image_where_the_loader_finds_it() {
    if !cfg!(all(target_arch = "x86_64", target_env = "gnu")) {
        return;
    }
    let folder = tempfile::tempdir().expect("a value");
    let (layer, store) = (folder.path().join("mine"), folder.path().join("store"));
    let recipe = |name: &str, more: &str, take: &str| {
        format!(
            "version = \"1\"\nlicence = \"MIT\"\nbuild = \"make\"\n{more}\n[source]\nfolder = \"{name}-src\"\n\n[take]\n{take}\n"
        )
    };
    let library = "\"usr/lib/libgreet.so.1\" = \"libgreet.so.1\"\n\"usr/include/greet.h\" = \"greet.h\"\n\n[links]\n\"usr/lib/libgreet.so\" = \"libgreet.so.1\"";
    write(
        &layer,
        &[
            ("layer.toml", "order = 100\n"),
            ("greet.toml", &recipe("greet", "", library)),
            ("greet-src/greet.h", "const char *greeting(void);\n"),
            ("greet-src/greet.c", "const char *greeting(void) { return \"from the library\"; }\n"),
            (
                "greet-src/Makefile",
                "libgreet.so.1: greet.c\n\t$(CC) -shared -fPIC -Wl,-soname,libgreet.so.1 -o $@ greet.c\n",
            ),
            ("app.toml", &recipe("app", "needs = [\"greet\"]\n", "\"usr/bin/app\" = \"app\"")),
            (
                "app-src/app.c",
                "#include <stdio.h>\n#include <greet.h>\nint main(void) { return puts(greeting()) < 0; }\n",
            ),
            ("app-src/Makefile", "app: app.c\n\t$(CC) -o app app.c -lgreet\n"),
        ],
    );
    let recipes = Layers::read(&[&layer]).expect("a value").closure(&[named("app")], &selection()).expect("a value");
    let built = build_all(&Store::new(&store), &recipes, &tools(), Access::Offline, 2, &|_| {}).expect("a value");
    let of = |name: &str| built.iter().find(|package| package.recipe.name == name).expect("built");
    let (all, rest) = (folder.path().join("all"), folder.path().join("rest"));
    let rooted = root(&[of("app")], &all, &rest).expect("a value");
    beside(of("greet"), &all).expect("a value");
    // The C library of this machine stands for the recipe's.
    fs::create_dir_all(all.join("lib64")).expect("a folder");
    fs::copy("/lib64/ld-linux-x86-64.so.2", all.join("lib64/ld-linux-x86-64.so.2")).expect("copied");
    fs::copy("/lib/x86_64-linux-gnu/libc.so.6", all.join("usr/lib/libc.so.6")).expect("copied");
    let wanted = Recipe {
        target: Target::QemuX86_64,
        around: Around::Container(Surroundings::default()),
        programs: vec![all.join(&rooted.programs[0])],
        added: Vec::new(),
        included: Vec::new(),
        sysroot: Some(all.clone()),
        time: 0,
    };
    let plan = Plan::new(&wanted, &underpin_resolve::HostRoot::sysroot(all.clone())).expect("a value");
    let image = folder.path().join("image");
    for (path, from) in plan.taken() {
        let to = image.join(path.strip_prefix("/").unwrap_or(path));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(from, to).expect("copied");
    }
    // The loader has nothing but the image's own libraries, and a header is in no image.
    let libraries = [image.join("lib"), image.join("usr/lib")].map(|path| path.display().to_string()).join(":");
    let said = std::process::Command::new(image.join("lib64/ld-linux-x86-64.so.2"))
        .args(["--inhibit-cache", "--library-path", &libraries])
        .arg(image.join("usr/bin/app"))
        .output()
        .expect("a value");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "from the library\n", "{said:?}");
    assert!(!plan.taken().any(|(path, _)| path.ends_with("greet.h")));
}

#[test]
fn a_crate_of_a_local_workspace_is_built_with_the_variables_of_its_recipe() {
    let folder = tempfile::tempdir().expect("a value");
    let (layer, store) = (folder.path().join("mine"), folder.path().join("store"));
    write(
        &layer,
        &[
            ("layer.toml", "order = 100\n"),
            (
                "tried.toml",
                "version = \"0.1.0\"\nlicence = \"MIT\"\nbuild = \"cargo\"\nmake = [\"--path=inner\"]\n\n[source]\nfolder = \"tried-src\"\n\n[config]\nGREETING = \"hello\"\n",
            ),
            ("tried-src/Cargo.toml", "[workspace]\nmembers = [\"inner\"]\nresolver = \"2\"\n"),
            ("tried-src/inner/Cargo.toml", "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("tried-src/Cargo.lock", "version = 3\n\n[[package]]\nname = \"tried\"\nversion = \"0.1.0\"\n"),
            ("tried-src/inner/src/main.rs", "fn main() { println!(\"{} from {}\", env!(\"GREETING\"), file!()); }\n"),
        ],
    );
    let recipes = Layers::read(&[&layer]).expect("a value").closure(&[named("tried")], &selection()).expect("a value");
    let build = |tools: &Tools| build_all(&Store::new(&store), &recipes, tools, Access::Offline, 2, &|_| {});
    let built = build(&tools()).expect("a value");
    let said = std::process::Command::new(built[0].stage.join("usr/bin/tried")).output().expect("a value");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "hello from inner/src/main.rs\n");
    let files: Vec<_> = fs::read_dir(built[0].stage.join("usr")).expect("a value").flatten().collect();
    assert_eq!(files.len(), 1, "only its programs");
    // Another compiler makes another package.
    let other =
        Tools { rust: Some(RustTools { identity: "a newer rustc".to_owned(), ..RustTools::default() }), ..tools() };
    assert_ne!(underpin_image::package::keys(&recipes, &other).expect("a value")[0], built[0].key);
}
