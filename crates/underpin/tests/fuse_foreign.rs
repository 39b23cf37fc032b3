//! `bind --fuse` on programs of another processor: the real loader judges them, under the emulator that was named.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::{json, says};
use std::fs;
use underpin_test_support::{Fixture, Output, need};

const LOADER: &str = "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1";

/// `app` prints in which order its twelve libraries start and end, and what they add up to.
fn program(dir: &Fixture) -> String {
    let search =
        format!("-Wl,--disable-new-dtags,-rpath,{}:/usr/aarch64-linux-gnu/lib,--dynamic-linker,{LOADER}", dir.text());
    let cc = |words: &[&str]| drop(dir.must("aarch64-linux-gnu-gcc", [words, &[search.as_str()]].concat()));
    for number in (0..12).rev() {
        let (next, name) = (number + 1, format!("lib{number}.so"));
        let more = if next < 12 { format!("f{next}()") } else { "0".into() };
        dir.write(
            "lib.c",
            format!(
                "#include <stdio.h>\n__thread int t{number} = {number}; int f{next}(void);\n\
                 __attribute__((constructor)) static void up(void) {{ puts(\"{number} starts\"); }}\n\
                 __attribute__((destructor)) static void down(void) {{ puts(\"{number} ends\"); }}\n\
                 int f{number}(void) {{ return t{number}++ + {more}; }}\n"
            ),
        );
        let (soname, below) = (format!("-Wl,-soname,{name}"), format!("lib{next}.so"));
        let words = ["-shared", "-fPIC", &soname, "-o", &name, "lib.c", &below];
        cc(if next < 12 { &words } else { &words[..6] });
    }
    dir.write("app.c", "#include <stdio.h>\nint f0(void); int main(void) { return printf(\"%d\\n\", f0()) < 0; }");
    cc(&["-no-pie", "-o", "app", "app.c", "lib0.so"]);
    dir.join("app").to_str().unwrap().to_owned()
}

fn prints(dir: &Fixture) -> String {
    let output = Output::of(dir.command("qemu-aarch64").arg(dir.join("app")));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout
}

#[test]
fn a_program_for_aarch64_is_fused_if_its_emulator_is_named_and_refused_if_not() {
    need!("aarch64-linux-gnu-gcc", "qemu-aarch64", LOADER);
    let dir = Fixture::new();
    let app = program(&dir);
    let (before, printed) = (fs::read(&app).unwrap(), prints(&dir));
    assert!(printed.starts_with("11 starts\n10 starts\n") && printed.contains("\n66\n"), "{printed}");
    // The plan needs no loader.
    assert_eq!(says(["bind", "--fuse", "--dry-run", &app]).code, Some(0));
    if !fs::read_dir("/proc/sys/fs/binfmt_misc").is_ok_and(|mut all| all.next().is_some()) {
        let refused = says(["bind", "--fuse", &app]);
        let said = refused.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(refused.code, Some(2), "{said}");
        assert!(said.contains("it is for aarch64") && said.contains("--emulator qemu-aarch64"), "{said}");
        assert!(fs::read(&app).unwrap() == before && !dir.join(".underpin").exists(), "nothing is written");
    }

    let fused = json(["bind", "--fuse", "--json", "--emulator", "qemu-aarch64", &app]);
    let done = &fused["programs"][0];
    assert_eq!((&done["outcome"], done["members"].as_array().unwrap().len()), (&"merged".into(), 12), "{fused}");
    assert!(done["compared"].as_u64().unwrap() >= 12, "{fused}");
    assert_eq!(prints(&dir), printed);
    let verified = says(["verify", "--bindings", "--emulator", "qemu-aarch64", &app]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    // Without it the model's word holds, and is said to be that.
    let verified = says(["verify", &app]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert!(verified.stdout.contains("asked for 0 of 1"), "{}", verified.stdout);

    // The loader has the last word for it too.
    dir.write(".underpin/fused-app/1/app.fused.so", "no library");
    assert_eq!(says(["verify", "--emulator", "qemu-aarch64", &app]).code, Some(1));
    assert_eq!(says(["unbind", &app]).code, Some(0));
    assert!(fs::read(&app).unwrap() == before && !dir.join(".underpin").exists());
}
