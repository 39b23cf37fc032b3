//! `underpin image build NAME --layer DIR` and `image layer`: a layer as a newcomer writes it, from layers/README.md.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::underpin;
use std::fs;
use underpin_test_support::{Fixture, Output, need};

const RECIPE: &str = "version = \"1.0\"\nlicence = \"MIT\"\nbuild = \"make\"\n\n[source]\nfolder = \"hello-src\"\n\n\
                      [take]\n\"usr/bin/hello\" = \"hello\"\n";
const APPEND: &str = "[[change]]\ncause = \"upstream bug\"\nwhy = \"it greets nobody\"\npatches = [\"greet.patch\"]\n\
                      evidence = { file = \"hello.c\", text = \"nobody\" }\n";
const PATCH: &str = "--- a/hello.c\n+++ b/hello.c\n@@ -1,4 +1,4 @@\n #include <stdio.h>\n int main(void) {\n\
                     -    return puts(\"hello, nobody\") < 0;\n+    return puts(\"hello, world\") < 0;\n }\n";
const SOURCE: &str = "#include <stdio.h>\nint main(void) {\n    return puts(\"hello, nobody\") < 0;\n}\n";

fn fixture() -> Fixture {
    let dir = Fixture::new();
    dir.write("my-layer/layer.toml", "order = 100\n");
    dir.write("my-layer/hello.toml", RECIPE);
    dir.write("my-layer/hello_1.*.append.toml", APPEND);
    dir.write("my-layer/greet.patch", PATCH);
    dir.write("my-layer/hello-src/hello.c", SOURCE);
    dir.write("my-layer/hello-src/Makefile", "hello: hello.c\n\t$(CC) -O2 -o hello hello.c\n");
    dir
}

fn image(dir: &Fixture, args: &[&str]) -> Output {
    let mut command = underpin(["image"]);
    command.args(args).args(["--layer", "my-layer"]).current_dir(dir.path());
    Output::of(command.env("XDG_CACHE_HOME", dir.join("cache")))
}

#[test]
fn a_layer_of_ones_own_builds_and_says_what_no_longer_applies() {
    need!("cc", "make", "musl-gcc", "patch");
    let dir = fixture();
    let build = ["build", "hello", "--libc", "musl", "--target", "oci", "-o", "hello.tar", "--toolchain", "gcc"];
    let output = image(&dir, &build);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("hello    1.0"), "{}", output.stdout);
    // What the image starts was made from the patched sources, and the sources are as they were.
    let built = dir.must("find", ["cache", "-path", "*/usr/bin/hello"]);
    assert_eq!(dir.must(dir.join(built.trim()).to_str().unwrap(), [] as [&str; 0]).trim(), "hello, world");
    assert_eq!(fs::read_to_string(dir.join("my-layer/hello-src/hello.c")).unwrap(), SOURCE);

    let shown = image(&dir, &["layer", "show", "hello"]).stdout;
    assert!(shown.contains("my-layer/greet.patch (my-layer/hello_1.*.append.toml:4)"), "{shown}");
    let checked = image(&dir, &["layer", "check", "hello"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);

    // Upstream changed the line: the hunk is named, nothing is built, and the old image stays.
    let before = fs::read(dir.join("hello.tar")).unwrap();
    dir.write("my-layer/hello-src/hello.c", SOURCE.replace("nobody", "all"));
    let checked = image(&dir, &["layer", "check", "hello"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(checked.stdout.contains("Hunk #1 FAILED"), "{}", checked.stdout);
    let output = image(&dir, &build);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stderr.contains("my-layer/greet.patch does not apply"), "{}", output.stderr);
    assert_eq!(fs::read(dir.join("hello.tar")).unwrap(), before);
}
