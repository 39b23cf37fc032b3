//! `bind --fuse`: the libraries of a program as one file, judged by the real loader and by running the program.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::libraries::{LIBRARIES, at, library, mapped, prints, program};
use common::{json, says};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use underpin_test_support::{Fixture, Output, need};

#[test]
fn a_fused_program_maps_one_file_and_every_byte_comes_back() {
    need!("cc", "readelf");
    let dir = program();
    let (app, before) = (at(&dir, "app"), fs::read(dir.join("app")).unwrap());
    assert_eq!(mapped(&dir.join("app")).len(), LIBRARIES);

    let fused = json(["bind", "--fuse", "--json", &app]);
    let done = &fused["programs"][0];
    assert_eq!((&done["outcome"], done["members"].as_array().unwrap().len()), (&"merged".into(), LIBRARIES), "{fused}");
    assert!(done["compared"].as_u64().unwrap() >= LIBRARIES as u64, "{fused}");
    assert_eq!(prints(&dir.join("app")), "12\n");
    assert_eq!(mapped(&dir.join("app")), ["app.fused.so"]);
    let verified = says(["verify", "--bindings", &app]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert!(verified.stdout.contains("one file stands for its libraries"), "{}", verified.stdout);

    assert_eq!(says(["unbind", &app]).code, Some(0));
    assert!(fs::read(dir.join("app")).unwrap() == before, "every byte is back");
    assert!(!dir.join(".underpin").exists(), "nothing is left");
}

#[test]
fn a_library_that_changed_is_reported_and_taken_when_it_is_fused_again() {
    need!("cc");
    let dir = program();
    let app = at(&dir, "app");
    assert_eq!(says(["bind", "--fuse", &app]).code, Some(0));
    library(&dir, 5, 100);
    assert_eq!(prints(&dir.join("app")), "12\n", "the old one is inside");
    let verified = says(["verify", &app]);
    assert_eq!(verified.code, Some(1), "{}", verified.stdout);
    assert!(verified.stdout.contains("lib5.so") && !verified.stdout.contains("lib4.so"), "{}", verified.stdout);

    assert_eq!(says(["bind", "--fuse", &app]).code, Some(0));
    assert_eq!(prints(&dir.join("app")), "111\n");
    assert_eq!(says(["verify", &app]).code, Some(0));
    let folder = dir.join(".underpin/fused-app");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the file of before is gone");
}

/// The outcome of each program below a folder, by its file name.
fn outcomes(folder: &Fixture, words: &[&str]) -> Vec<(String, String)> {
    let at = folder.text();
    let document = json(["bind", "--fuse", "--json"].iter().chain(words).copied().chain([at]));
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let programs = document["programs"].as_array().unwrap().iter();
    let mut all: Vec<_> = programs
        .map(|program| (text(&program["path"]).rsplit('/').next().unwrap().to_owned(), text(&program["outcome"])))
        .collect();
    all.sort();
    all
}

#[test]
fn each_program_of_a_folder_is_fused_and_only_what_changed_is_fused_again() {
    need!("cc");
    let dir = program();
    dir.write("small.c", "int f11(void); int main(void) { return f11() != 1; }");
    dir.cc(["-o", "small", "small.c", "lib11.so", &format!("-Wl,-rpath,{}", dir.text())]);
    // A program without libraries 0 and 1: too few in common for one file, and a change of library 0 means nothing to it.
    dir.write("other.c", "#include <stdio.h>\nint f2(void); int main(void) { return printf(\"%d\\n\", f2()) < 0; }");
    dir.cc(["-o", "other", "other.c", "lib2.so", &format!("-Wl,-rpath,{}", dir.text())]);
    let expected = |app: &str, other: &str| {
        [("app", app), ("other", other), ("small", "left_alone")].map(|(name, what)| (name.to_owned(), what.to_owned()))
    };
    assert_eq!(outcomes(&dir, &["--dry-run"]), expected("merged", "merged"));
    assert!(!dir.join(".underpin").exists());
    assert_eq!(outcomes(&dir, &[]), expected("merged", "merged"));
    assert_eq!((prints(&dir.join("app")), prints(&dir.join("other"))), ("12\n".into(), "10\n".into()));
    let file = |name: &str| dir.join(format!(".underpin/fused-{name}/1/{name}.fused.so"));
    assert_eq!(
        (mapped(&dir.join("app")), mapped(&dir.join("other"))),
        (vec!["app.fused.so".into()], vec!["other.fused.so".into()])
    );
    let written = || (fs::metadata(file("app")).unwrap().ino(), fs::metadata(dir.join("app")).unwrap().ino());
    let before = written();
    assert_eq!(outcomes(&dir, &[]), expected("unchanged", "unchanged"));
    assert_eq!(written(), before, "nothing is written");
    // Another choice of libraries is a change too.
    assert_eq!(outcomes(&dir, &["--dry-run", "--exclude", "lib11*"]), expected("merged", "left_alone"));

    library(&dir, 0, 100);
    assert_eq!(outcomes(&dir, &[]), expected("merged", "unchanged"));
    assert_eq!((prints(&dir.join("app")), prints(&dir.join("other"))), ("111\n".into(), "10\n".into()));
    // What was damaged is made again.
    fs::write(file("other"), b"").unwrap();
    assert_eq!(outcomes(&dir, &[]), expected("unchanged", "merged"));
    assert_eq!(prints(&dir.join("other")), "10\n");
    let verified = says(["verify", dir.text()]);
    assert_eq!(verified.code, Some(0), "{}", verified.stdout);
    assert_eq!(says(["unbind", dir.text()]).code, Some(0));
    assert!(!dir.join(".underpin").exists(), "nothing is left");
}

/// A Debian package of these control files and files, as `NAME.deb`.
fn package(dir: &Fixture, name: &str, version: u32, control: &[(&str, &str)], files: &[(&str, &Path)]) -> String {
    let (folder, deb) = (dir.join(format!("{name}-{version}")), at(dir, &format!("{name}-{version}.deb")));
    fs::create_dir_all(folder.join("DEBIAN")).unwrap();
    let fields = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\n\
         Description: a fixture\n"
    );
    for (file, text) in [("control", fields.as_str())].iter().chain(control) {
        fs::write(folder.join("DEBIAN").join(file), text).unwrap();
    }
    for script in control.iter().filter(|(_, text)| text.starts_with("#!")) {
        dir.chmod(format!("{name}-{version}/DEBIAN/{}", script.0), 0o755);
    }
    for (to, from) in files {
        let to = folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    dir.must("dpkg-deb", ["--build", "--root-owner-group", folder.to_str().unwrap(), &deb]);
    deb
}

/// A file of `contrib/fuse` with this program, or folder, and this underpin.
fn contributed(name: &str, of: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/fuse").join(name)).unwrap();
    text.replace("/opt/app", of)
        .replace("underpin bind", &format!("{} bind", common::program()))
        .replace("underpin unbind", &format!("{} unbind", common::program()))
}

#[test]
fn the_hooks_of_apt_and_spack_fuse_and_take_what_was_updated() {
    need!("cc", "apt-config", "python3");
    let dir = program();
    fs::create_dir_all(dir.join("prefix/bin")).unwrap();
    fs::copy(dir.join("app"), dir.join("prefix/bin/app")).unwrap();
    let app = dir.join("prefix/bin/app");
    let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/fuse/spack");
    let spec = format!("external, prefix = False, {:?}", at(&dir, "prefix"));
    dir.write("spack.py", format!("import sys\nsys.path.insert(0, {hook:?})\nimport underpin_fuse\n\nclass Spec:\n    {spec}\n\nunderpin_fuse.post_install(Spec, explicit=True)\n"));
    let path = format!("{}:/usr/bin:/bin", Path::new(&common::program()).parent().unwrap().display());
    let mut python = std::process::Command::new("python3");
    let done = Output::of(python.arg("-B").arg(dir.join("spack.py")).env("PATH", path));
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{}", done.stderr);
    assert_eq!(mapped(&app), ["app.fused.so"]);

    library(&dir, 5, 100);
    let snippet = dir.write("apt.conf", contributed("apt/90underpin-fuse", &at(&dir, "prefix")));
    let known =
        dir.must("apt-config", ["-c", snippet.to_str().unwrap(), "dump", "--format", "%v\n", "DPkg::Post-Invoke"]);
    let ours = known.lines().find(|line| line.contains("--refresh")).unwrap().to_owned();
    dir.must("sh", ["-c", &ours]);
    assert_eq!(prints(&app), "111\n");
}

/// The files for packagers, in a root of its own.
#[test]
fn a_trigger_of_dpkg_takes_a_library_that_another_package_updates() {
    need!("cc", "dpkg", "dpkg-deb");
    let dir = program();
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(dir.join("root/var/lib/dpkg").join(folder)).unwrap();
    }
    fs::write(dir.join("root/var/lib/dpkg/status"), "").unwrap();
    let root = format!("--root={}", at(&dir, "root"));
    let dpkg = |words: [&str; 2]| {
        let force = ["--force-script-chrootless", "--force-not-root", "--force-bad-path"];
        dir.must("dpkg", [&[root.as_str()], force.as_slice(), words.as_slice()].concat());
    };
    let install = |deb: &str| dpkg(["--install", deb]);
    let before = fs::read(dir.join("app")).unwrap();
    let five = |version| package(&dir, "libfive", version, &[], &[("usr/lib/lib5.so", &dir.join("lib5.so"))]);
    let (first, second) = (five(1), {
        library(&dir, 5, 100);
        five(2)
    });
    install(&first);
    fs::remove_file(dir.join("lib5.so")).unwrap();
    std::os::unix::fs::symlink(dir.join("root/usr/lib/lib5.so"), dir.join("lib5.so")).unwrap();

    let file = |name: &str| contributed(&format!("debian/{name}"), &at(&dir, "app"));
    let (triggers, script, undo) = (file("triggers"), file("postinst"), file("prerm"));
    let control = [("triggers", triggers.as_str()), ("postinst", script.as_str()), ("prerm", undo.as_str())];
    install(&package(&dir, "app", 1, &control, &[]));
    assert_eq!(mapped(&dir.join("app")), ["app.fused.so"]);
    assert_eq!(prints(&dir.join("app")), "12\n");
    install(&second);
    assert_eq!(prints(&dir.join("app")), "111\n");
    assert_eq!(says(["verify", &at(&dir, "app")]).code, Some(0));
    dpkg(["--remove", "app"]);
    assert!(fs::read(dir.join("app")).unwrap() == before && !dir.join(".underpin").exists(), "as it was");
}

#[test]
fn a_plan_changes_nothing_and_names_what_stays_shared() {
    need!("cc");
    let dir = program();
    let (app, before) = (at(&dir, "app"), fs::read(dir.join("app")).unwrap());
    let planned = says(["bind", "--fuse", "--dry-run", "--exclude", "lib11*", &app]);
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    assert!(planned.stdout.starts_with("Would fuse "), "{}", planned.stdout);
    assert!(planned.stdout.contains("lib11.so: the policy excludes lib11*"), "{}", planned.stdout);
    assert!(planned.stdout.lines().all(|line| line.chars().count() <= 80), "{}", planned.stdout);
    assert!(fs::read(dir.join("app")).unwrap() == before && !dir.join(".underpin").exists());

    assert_eq!(says(["bind", "--fuse", "--exclude", "lib11*", &app]).code, Some(0));
    assert_eq!(mapped(&dir.join("app")), ["app.fused.so", "lib11.so"]);
    assert_eq!(prints(&dir.join("app")), "12\n");
    // It takes another library by the name that stays shared.
    library(&dir, 11, 31);
    assert_eq!(prints(&dir.join("app")), "42\n");
}

#[test]
fn what_cannot_or_need_not_be_fused_stays_as_it_is_and_says_why() {
    need!("cc", "musl-gcc");
    let dir = program();
    dir.write("small.c", "int f11(void); int main(void) { return f11() != 1; }");
    dir.cc(["-o", "small", "small.c", "lib11.so", &format!("-Wl,-rpath,{}", dir.text())]);
    dir.cc(["-static", "-o", "static", "small.c", "11.c"]);
    dir.musl_cc(["-o", "musl", "small.c", "11.c"]);
    dir.copy(dir.join("app"), "setid");
    dir.chmod("setid", 0o4755);
    dir.copy(dir.join("app"), "lost");
    dir.must("patchelf", ["--replace-needed", "lib0.so", "libgone.so", "lost"]);
    fs::create_dir(dir.join("empty")).unwrap();
    for (name, code, reason) in [
        ("small", 0, "1 library could be merged"),
        ("static", 2, "static"),
        ("musl", 2, "not glibc's"),
        ("setid", 2, "set-user-ID"),
        ("lost", 2, "libgone.so is not found"),
        ("lib0.so", 2, "a library"),
        ("empty", 2, "no program"),
    ] {
        let before = fs::read(dir.join(name)).ok();
        let said = says(["bind", "--fuse", &at(&dir, name)]);
        let all = format!("{}{}", said.stdout, said.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.code, Some(code), "{name}: {all}");
        assert!(all.contains(reason), "{name}: {all}");
        assert!(fs::read(dir.join(name)).ok() == before && !dir.join(".underpin").exists(), "{name}");
    }
    let said = says(["bind", "--fuse", &at(&dir, "app"), &at(&dir, "lost")]);
    assert_eq!(said.code, Some(1), "one of two: {}", said.stdout);
    assert_eq!(prints(&dir.join("app")), "12\n");
}

#[test]
fn a_merged_file_that_is_gone_or_damaged_is_found_and_the_program_can_be_restored() {
    need!("cc");
    for damage in ["gone", "cut", "stripped"] {
        let dir = program();
        let (app, before) = (at(&dir, "app"), fs::read(dir.join("app")).unwrap());
        assert_eq!(says(["bind", "--fuse", &app]).code, Some(0));
        let file = dir.join(".underpin/fused-app/1/app.fused.so");
        match damage {
            "gone" => fs::remove_file(&file).unwrap(),
            "cut" => fs::write(&file, &fs::read(&file).unwrap()[..5000]).unwrap(),
            _ => drop(dir.must("strip", [&file])),
        }
        let verified = says(["verify", &app]);
        assert_eq!(verified.code, Some(1), "{damage}: {}", verified.stdout);
        if damage == "stripped" {
            assert_eq!(prints(&dir.join("app")), "12\n");
        }
        let unbound = says(["unbind", &app]);
        assert_eq!(unbound.code, Some(0), "{damage}: {}{}", unbound.stdout, unbound.stderr);
        assert!(fs::read(dir.join("app")).unwrap() == before, "{damage}");
        assert_eq!(prints(&dir.join("app")), "12\n");
    }
}

#[test]
fn binding_a_folder_leaves_fused_programs_and_their_files_alone() {
    need!("cc");
    let dir = program();
    dir.copy(dir.join("app"), "other");
    assert_eq!(says(["bind", "--fuse", &at(&dir, "app")]).code, Some(0));
    let fused = (fs::read(dir.join("app")).unwrap(), fs::read(dir.join(".underpin/fused-app/1/app.fused.so")).unwrap());
    let bound = says(["bind", &at(&dir, "other"), &at(&dir, "app")]);
    assert!(bound.stderr.contains("app: fused, and left as it is"), "{}", bound.stderr);
    assert_eq!(bound.code, Some(0), "{}{}", bound.stdout, bound.stderr);
    assert_eq!(says(["bind", dir.text()]).code, Some(0));
    let now = (fs::read(dir.join("app")).unwrap(), fs::read(dir.join(".underpin/fused-app/1/app.fused.so")).unwrap());
    assert!(now == fused);
    assert_eq!((prints(&dir.join("app")), prints(&dir.join("other"))), ("12\n".to_owned(), "12\n".to_owned()));
    // A bound library has a record of its own, which a merged copy would keep.
    let again = says(["bind", "--fuse", &at(&dir, "other")]);
    assert_eq!(again.code, Some(2), "{}", again.stdout);
    assert!(again.stdout.contains("is bound"), "{}", again.stdout);
}

#[test]
fn a_folder_that_an_ended_run_left_is_not_used_and_not_in_the_way() {
    need!("cc");
    let dir = program();
    dir.write(".underpin/fused-app/1/app.fused.so", "half of a file");
    assert_eq!(says(["bind", "--fuse", &at(&dir, "app")]).code, Some(0));
    assert!(dir.join(".underpin/fused-app/2/app.fused.so").exists());
    assert_eq!(prints(&dir.join("app")), "12\n");
    assert_eq!(says(["unbind", &at(&dir, "app")]).code, Some(0));
    assert_eq!(
        fs::read(dir.join(".underpin/fused-app/1/app.fused.so")).unwrap(),
        b"half of a file",
        "not ours to remove"
    );
}

#[test]
fn bench_measures_a_fused_copy_beside_the_program_and_leaves_neither() {
    need!("cc");
    let dir = program();
    let (app, before) = (at(&dir, "app"), fs::read(dir.join("app")).unwrap());
    let mut command = common::underpin(["bench", "--bind", "fused", "--runs", "3", "-N", "--json", "--", &app]);
    let output = Output::of(command.env("TMPDIR", dir.mkdir("temporary")).current_dir(dir.path()));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let measured: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let named = |name: &str| measured.to_string().contains(&format!("\"{name}\""));
    assert!(named("before") && named("fused"), "{measured}");
    assert!(fs::read(dir.join("app")).unwrap() == before);
    assert_eq!(fs::read_dir(dir.join("temporary")).unwrap().count(), 0);
    let left = fs::read_dir(dir.path()).unwrap().flatten().filter(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.starts_with(".underpin-") || name.contains("fused")
    });
    assert_eq!(left.count(), 0);
}
