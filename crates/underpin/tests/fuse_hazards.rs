//! What `bind --fuse` refuses or keeps shared because a file is more than its bytes, and what holds when it is ended, copied
//! or when tools change its file.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::libraries::{LIBRARIES, at, mapped, prints, program};
use common::{json, says};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use underpin_test_support::{Fixture, need, skip};

/// What `bind --fuse` says of `app`, which it must refuse, on one line.
fn refusal(dir: &Fixture) -> String {
    let before = fs::read(dir.join("app")).unwrap();
    let said = says(["bind", "--fuse", &at(dir, "app")]);
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    assert!(fs::read(dir.join("app")).unwrap() == before && !dir.join(".underpin").exists());
    said.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn programs_with_capabilities_and_signed_ones_are_refused() {
    need!("cc", "setcap", "setfattr");
    let dir = program();
    if !dir.command("setcap").args(["cap_net_raw=ep", "app"]).output().unwrap().status.success() {
        return skip("setting capabilities takes root");
    }
    assert!(refusal(&dir).contains("file capabilities"));
    assert_eq!(says(["bind", "--fuse", "--dry-run", &at(&dir, "app")]).code, Some(2), "the plan says it too");
    dir.must("setcap", ["-r", "app"]);
    dir.must("setfattr", ["-n", "security.ima", "-v", "0x0404deadbeef", "app"]);
    assert!(refusal(&dir).contains("signed"));
}

#[test]
fn libraries_that_check_their_own_file_stay_shared() {
    need!("cc");
    let dir = program();
    // As Fedora has FIPS modules, an older way of it, and NSS.
    for name in [".lib10.so.hmac", "lib11.chk", "fipscheck/lib9.so.hmac"] {
        dir.write(name, "00");
    }
    let left = json(["bind", "--fuse", "--json", &at(&dir, "app")]);
    assert_eq!(left["programs"][0]["members"], LIBRARIES - 3, "too few are left: {left}");
    fs::remove_file(dir.join("fipscheck/lib9.so.hmac")).unwrap();
    let fused = json(["bind", "--fuse", "--json", &at(&dir, "app")]);
    let shared: Vec<&str> = fused["programs"][0]["shared"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["reason"].as_str().unwrap().starts_with("checks its own file"))
        .map(|one| one["path"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(shared, ["lib10.so", "lib11.so"], "{fused}");
    assert_eq!(prints(&dir.join("app")), "12\n");
}

#[test]
fn the_plan_tells_what_will_be_different() {
    need!("cc");
    let dir = program();
    let planned = says(["bind", "--fuse", "--dry-run", &at(&dir, "app")]).stdout;
    for hazard in ["LD_PRELOAD no longer", "A library that is updated", "absolute path"] {
        assert!(planned.contains(hazard), "{planned}");
    }
}

#[test]
fn the_file_goes_with_the_last_program_of_the_folder_that_names_it() {
    need!("cc");
    let dir = program();
    let before = fs::read(dir.join("app")).unwrap();
    assert_eq!(says(["bind", "--fuse", &at(&dir, "app")]).code, Some(0));
    dir.copy(dir.join("app"), "copy");
    let unbound = says(["unbind", &at(&dir, "app")]);
    assert_eq!(unbound.code, Some(0), "{}", unbound.stdout);
    assert!(unbound.stderr.contains("copy names it"), "{}", unbound.stderr);
    assert_eq!((prints(&dir.join("app")), prints(&dir.join("copy"))), ("12\n".into(), "12\n".into()));
    assert_eq!(mapped(&dir.join("copy")), ["app.fused.so"]);
    assert_eq!(says(["verify", &at(&dir, "copy")]).code, Some(0));
    assert_eq!(says(["unbind", &at(&dir, "copy")]).code, Some(0));
    assert!(fs::read(dir.join("copy")).unwrap() == before && !dir.join(".underpin").exists());
}

/// Kernel calls that change files, and at which of them the binary is killed.
const DEATHS: [(&str, &[u32]); 7] = [
    ("mkdir", &[1, 2, 4, 5]),
    ("symlink", &[1, 7, 12]),
    ("write", &[1, 2, 3]),
    ("chmod,fchmod", &[1, 2]),
    ("fsync,fdatasync", &[1, 2, 3]),
    ("rename,renameat,renameat2,link,linkat", &[1, 2]),
    ("unlink,unlinkat,rmdir", &[1, 2]),
];

#[test]
fn killed_at_any_point_the_program_is_the_old_or_the_new_one_and_starts() {
    need!("cc", "strace");
    let dir = program();
    let (app, before) = (at(&dir, "app"), fs::read(dir.join("app")).unwrap());
    let mut killed = 0;
    for (calls, numbers) in DEATHS {
        for number in numbers {
            let inject = format!("inject={calls}:signal=SIGKILL:when={number}");
            let words = ["-qq", "-o", "/dev/null", "-e", &inject, common::program(), "bind", "--fuse", &app];
            let ended = dir.command("strace").args(words).output().unwrap().status;
            let is_new = fs::read(dir.join("app")).unwrap() != before;
            assert_eq!(prints(&dir.join("app")), "12\n", "killed at {calls} {number}");
            assert_eq!(
                mapped(&dir.join("app")).len(),
                if is_new { 1 } else { LIBRARIES },
                "killed at {calls} {number}"
            );
            killed += usize::from(!ended.success());
            assert!(ended.success() || ended.signal() == Some(9), "{calls} {number}: {ended:?}");
            assert!(is_new || !ended.success(), "{calls} {number}");
            if is_new {
                assert_eq!(says(["unbind", &app]).code, Some(0), "killed at {calls} {number}");
                assert!(fs::read(dir.join("app")).unwrap() == before, "killed at {calls} {number}");
            }
            if ended.success() {
                break;
            }
        }
    }
    assert!(killed > 10, "{killed}");
    // What killed runs left is in nobody's way.
    assert_eq!(says(["bind", "--fuse", &app]).code, Some(0));
    assert_eq!(says(["verify", &app]).code, Some(0));
}

#[test]
fn what_tools_do_to_the_merged_file_is_found_and_it_still_starts() {
    need!("cc", "strip", "patchelf");
    let dir = program();
    let app = at(&dir, "app");
    assert_eq!(says(["bind", "--fuse", &app]).code, Some(0));
    let file = dir.join(".underpin/fused-app/1/app.fused.so");
    let whole = fs::read(&file).unwrap();
    for tool in
        [&["strip", "-g"][..], &["patchelf", "--set-rpath", "/nowhere"], &["patchelf", "--add-needed", "libm.so.6"]]
    {
        fs::write(&file, &whole).unwrap();
        dir.must(tool[0], tool[1..].iter().map(|word| word.as_ref()).chain([file.as_os_str()]));
        let verified = says(["verify", &app]);
        assert_eq!(verified.code, Some(1), "{tool:?}: {}", verified.stdout);
        assert_eq!(prints(&dir.join("app")), "12\n", "{tool:?}");
    }
    fs::write(&file, &whole).unwrap();
    fs::remove_file(dir.join(".underpin/fused-app/1/links/lib3.so")).unwrap();
    let verified = says(["verify", &app]);
    assert!(verified.code == Some(1) && verified.stdout.contains("links/lib3.so"), "{}", verified.stdout);
}
