//! What is not bundled, and the reason; a failed bundle leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the failing assertion")]

mod bundle_support;

use bundle_support::{FORMS, Making};
use std::path::Path;
use underpin_rewrite::bundle::{BundleError, Form, Launcher, Notice};
use underpin_test_support::{Fixture, Output, need};

const HELLO: &str = "#include <stdio.h>\nint main(void){puts(\"hello\");return 0;}";

fn hello(flags: &[&str]) -> Fixture {
    let dir = Fixture::new();
    dir.write("main.c", HELLO);
    dir.cc(["-o", "hello", "main.c"].iter().chain(flags));
    dir
}

fn refused(dir: &Fixture, making: &Making<'_>) -> BundleError {
    let before = listing(dir);
    let error = making.write().expect_err("a refusal");
    assert_eq!(listing(dir), before, "something was left behind");
    error
}

fn listing(dir: &Fixture) -> String {
    dir.must("find", [dir.text(), "-printf", "%p %s\n"])
}

#[test]
fn a_static_program_has_no_loader_to_carry() {
    need!("cc");
    for flag in ["-static", "-static-pie"] {
        let dir = hello(&[flag]);
        let program = dir.join("hello");
        let error = refused(&dir, &Making::new(&program, Form::Directory, dir.path()));
        assert!(matches!(error, BundleError::Static(_)), "{flag}: {error}");
    }
}

#[test]
fn a_machine_without_a_launcher_is_named() {
    let dir = Fixture::new();
    let program = Path::new("/prog");
    dir.mkdir("sysroot/lib");
    // Only the file header and three program headers of a program for 32-bit ARM are read.
    dir.write("sysroot/prog", arm_program());
    let mut making = Making::new(program, Form::Directory, dir.path());
    making.sysroot = Some(dir.join("sysroot"));
    let error = refused(&dir, &making);
    assert!(matches!(&error, BundleError::Machine { machine, .. } if machine == "arm"), "{error}");
}

/// A 32-bit little-endian ET_EXEC for ARM with PT_INTERP, PT_DYNAMIC (DT_NULL alone) and one PT_LOAD.
fn arm_program() -> Vec<u8> {
    let word = |value: u32| value.to_le_bytes().to_vec();
    let half = |value: u16| value.to_le_bytes().to_vec();
    let header = |kind, offset: u32, size: u32| [kind, offset, 0x1_0000 + offset, 0x1_0000 + offset, size, size, 4, 4];
    let interpreter = b"/lib/ld-linux-armhf.so.3\0";
    let (interpreter_at, dynamic_at) = (52 + 3 * 32, 52 + 3 * 32 + 28);
    let end = dynamic_at + 8;
    let mut bytes = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend([half(2), half(40), word(1), word(0x1_0000), word(52), word(0), word(0x0500_0000)].concat());
    bytes.extend([half(52), half(32), half(3), half(40), half(0), half(0)].concat());
    for fields in [header(3, interpreter_at, interpreter.len() as u32), header(1, 0, end), header(2, dynamic_at, 8)] {
        bytes.extend(fields.into_iter().flat_map(u32::to_le_bytes));
    }
    bytes.extend(interpreter);
    bytes.resize(end as usize, 0);
    bytes
}

#[test]
fn a_program_that_does_not_start_here_is_not_bundled() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("x.c", "int x(void){return 0;}");
    dir.write("main.c", "int x(void);int main(void){return x();}");
    dir.cc(["-shared", "-fPIC", "-o", "libx.so", "x.c"]);
    dir.cc(["-o", "hello", "main.c", "-L.", "-lx"]);
    let program = dir.join("hello");
    let error = refused(&dir, &Making::new(&program, Form::Directory, dir.path()));
    assert!(matches!(&error, BundleError::Missing { name, .. } if name == "libx.so"), "{error}");
}

#[test]
fn the_closure_cannot_be_left_out() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    let making = Making { exclude: vec!["libc.so.*"], ..Making::new(&program, Form::Directory, dir.path()) };
    let error = refused(&dir, &making);
    assert!(matches!(&error, BundleError::Excluded { name, .. } if name == "libc.so.6"), "{error}");
}

#[test]
fn only_a_bundle_is_replaced_and_only_when_asked() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    for form in FORMS {
        let mut making = Making::new(&program, form, dir.path());
        making.entry();
        assert!(matches!(refused(&dir, &making), BundleError::Exists(_)));
        making.replace = true;
        let entry = making.entry();
        assert_eq!(Output::of(&mut dir.command(entry)).stdout, "hello\n", "{form:?}");
        making.target = if form == Form::File { dir.write("own", "mine") } else { dir.mkdir("folder") };
        assert!(matches!(refused(&dir, &making), BundleError::NoBundle(_)));
    }
}

#[test]
fn what_is_not_there_is_not_included() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    for name in ["libnowhere.so.9", "/nowhere/at/all", "/etc/no*such"] {
        let making = Making { include: vec![name.to_owned()], ..Making::new(&program, Form::Directory, dir.path()) };
        let error = refused(&dir, &making);
        assert!(matches!(&error, BundleError::NotIncluded(what) if what == name), "{error}");
    }
}

#[test]
fn data_needs_a_directory() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    let data = dir.write("share/data", "data").display().to_string();
    let making = Making { include: vec![data.clone()], ..Making::new(&program, Form::File, dir.path()) };
    let error = refused(&dir, &making);
    assert!(matches!(&error, BundleError::NeedsDirectory { .. }), "{error}");
    let making = Making { include: vec![data], ..Making::new(&program, Form::Directory, dir.path()) };
    making.entry();
    assert_eq!(std::fs::read(making.target.join("bin/share/data")).expect("beside the program"), b"data");
}

#[test]
fn an_incomplete_bundle_says_so() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    let making = Making::new(&program, Form::Directory, dir.path());
    let entry = making.entry();
    std::fs::rename(making.target.join("lib"), dir.join("lost")).expect("its libraries");
    let output = Output::of(&mut dir.command(&entry));
    assert_eq!(output.code, Some(126));
    assert!(output.stderr.contains("/lib/ld-") && output.stderr.contains("not complete"), "{}", output.stderr);
    dir.write("hello.dir/lib/.keep", "");
    let name = std::fs::read_dir(dir.join("lost")).unwrap().map(|entry| entry.unwrap().file_name());
    let loader = name.into_iter().find(|name| name.to_string_lossy().starts_with("ld-")).expect("a loader");
    std::fs::write(making.target.join("lib").join(loader), "no loader").expect("a damaged loader");
    let output = Output::of(&mut dir.command(&entry));
    assert_eq!(output.code, Some(126));
    assert!(output.stderr.contains("not for this machine"), "{}", output.stderr);
}

#[test]
fn programs_that_look_at_themselves_and_carry_data_are_told_about() {
    need!("cc");
    let dir = Fixture::new();
    dir.write(
        "main.c",
        "#include <unistd.h>\nint main(void){char b[99];return readlink(\"/proc/self/exe\",b,sizeof b)<0;}",
    );
    dir.cc(["-o", "hello", "main.c"]);
    let program = dir.join("hello");
    let mut bytes = std::fs::read(&program).expect("the program");
    let plan = Making::new(&program, Form::Directory, dir.path()).plan().expect("a plan");
    assert!(plan.notices.contains(&Notice::OwnFile) && !plan.notices.contains(&Notice::SetUser), "{:?}", plan.notices);
    bytes.extend([7; 1000]);
    std::fs::write(&program, bytes).expect("a payload");
    dir.chmod("hello", 0o4755);
    let plan = Making::new(&program, Form::Directory, dir.path()).plan().expect("a plan");
    assert!(plan.notices.contains(&Notice::Payload { size: 1000 }), "{:?}", plan.notices);
    assert!(plan.notices.contains(&Notice::SetUser), "{:?}", plan.notices);
}

#[test]
fn an_image_that_is_no_launcher_is_refused() {
    need!("cc");
    let dir = hello(&["-static"]);
    let no_launcher = std::fs::read(dir.join("hello")).expect("a program");
    for image in [&b"nothing"[..], &no_launcher, &[]] {
        assert!(matches!(Launcher::new(image), Err(BundleError::Launcher(_))));
    }
    let own = bundle_support::launcher(underpin_elf::Machine::host().expect("a machine")).expect("a launcher");
    let whole = Launcher::new(own).expect("the launcher of this build");
    for end in (0..own.len()).step_by(97) {
        // What follows its read-only segments is for tools.
        assert!(
            Launcher::new(&own[..end]).is_ok_and(|cut| cut == whole) || Launcher::new(&own[..end]).is_err(),
            "{end}"
        );
    }
    assert!(Launcher::new(&own[..own.len() / 2]).is_err());
}

/// A library that opens its plug-ins beside itself, as VLC's does, and contains the path that it was built for.
const OPENER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
const char *built_for(void) { return "/opt/app/lib/plugins"; }
int work(void) {
    Dl_info info;
    char path[4096];
    char *own = getenv("APP_PLUGIN_PATH");
    dladdr((void *)built_for, &info);
    snprintf(path, sizeof path, "%s", info.dli_fname);
    strcpy(strrchr(path, '/'), "/plugins/one.so");
    void *plugin = dlopen(own ? own : path, RTLD_NOW);
    int (*answer)(void) = plugin ? (int (*)(void))dlsym(plugin, "answer") : 0;
    return answer ? answer() : 1;
}
"#;

#[test]
fn plug_ins_of_compiled_in_paths_are_told_and_found_beside_their_library_when_included() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("opener.c", OPENER);
    dir.write("main.c", "#include <stdio.h>\nint work(void);\nint main(void){printf(\"%d\\n\", work());return 0;}");
    dir.write("one.c", "int answer(void){return 42;}");
    for folder in ["system/opt/app/lib/plugins", "system/opt/app/tools", "system/usr/bin"] {
        dir.mkdir(folder);
    }
    dir.cc(["-shared", "-fPIC", "-o", "system/opt/app/lib/plugins/one.so", "one.c"]);
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,libopener.so.1", "-o", "system/opt/app/lib/libopener.so.1", "opener.c"]);
    dir.cc([
        "-o",
        "system/opt/app/tools/app",
        "main.c",
        "system/opt/app/lib/libopener.so.1",
        "-Wl,-rpath,/opt/app/lib",
    ]);
    dir.write(
        "system/usr/bin/app",
        "#!/bin/sh\nAPP_HOME=/opt/app/lib/plugins\nexport APP_HOME\nexec /opt/app/tools/app\n",
    );
    for path in [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/aarch64-linux-gnu/libc.so.6",
    ] {
        let copy = dir.join("system").join(&path[1..]);
        if Path::new(path).is_file() {
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(path, copy).unwrap();
        }
    }
    let plain = Making {
        sysroot: Some(dir.join("system")),
        ..Making::new(Path::new("/opt/app/tools/app"), Form::Directory, dir.path())
    };
    let notices = plain.plan().expect("a plan").notices;
    let size = std::fs::metadata(dir.join("system/opt/app/lib/plugins/one.so")).unwrap().len();
    let told = Notice::Compiled {
        path: "/opt/app/lib/plugins".into(),
        by: vec!["libopener.so.1".into()],
        size,
        objects: 1,
        place: None,
        variables: vec!["APP_PLUGIN_PATH".into()],
    };
    assert!(notices.contains(&told), "{notices:?}");
    assert!(told.to_string().contains("--include /opt/app/lib/plugins"), "{told}");
    let script = Notice::Wrapper {
        script: "/usr/bin/app".into(),
        variables: vec![("APP_HOME".into(), "/opt/app/lib/plugins".into())],
        places: vec!["lib/plugins".into()],
    };
    assert!(notices.contains(&script), "{notices:?}");
    let with = Making { include: vec!["/opt/app/lib/plugins".to_owned()], ..plain };
    let place =
        |notice: &Notice| matches!(notice, Notice::Compiled { place: Some(place), .. } if place == "lib/plugins");
    assert!(with.plan().expect("a plan").notices.iter().any(place));
    assert_eq!(Output::of(&mut dir.command(with.entry())).stdout, "42\n");
}

/// The contents of a directory of libraries are found by the libraries from `lib` and by the program along the old
/// path.
#[test]
fn a_folder_of_libraries_is_found_from_the_program_and_from_the_libraries() {
    need!("cc");
    let dir = Fixture::new();
    dir.write("built/lib/deep/data/file", "read");
    dir.write("answer.c", "int answer(void){return 42;}");
    dir.write("main.c", "int answer(void);\nint main(void){return answer() != 42;}");
    dir.cc(["-shared", "-fPIC", "-Wl,-soname,liba.so.1", "-o", "built/lib/deep/liba.so.1", "answer.c"]);
    dir.mkdir("built/bin");
    dir.cc(["-o", "built/bin/app", "main.c", "built/lib/deep/liba.so.1", "-Wl,-rpath,$ORIGIN/../lib/deep"]);
    let data = dir.join("built/lib/deep/data").display().to_string();
    let program = dir.join("built/bin/app");
    let making = Making { include: vec![data], ..Making::new(&program, Form::Directory, dir.path()) };
    let entry = making.entry();
    for place in ["lib/deep/data/file", "lib/data/file", "bin/../lib/deep/data/file"] {
        assert_eq!(std::fs::read_to_string(making.target.join(place)).expect(place), "read", "{place}");
    }
    assert_eq!(Output::of(&mut dir.command(entry)).code, Some(0));
}

/// The directory is the one that OpenSSL's own tool prints.
#[test]
fn where_certificates_are_looked_for_is_told() {
    need!("openssl");
    let openssl = Path::new("/usr/bin/openssl");
    let dir = Fixture::new();
    let said = Output::of(dir.command(openssl).args(["version", "-d"])).stdout;
    let directory = said.split('"').nth(1).expect("a directory").to_owned();
    let notices = Making::new(openssl, Form::Directory, dir.path()).plan().expect("a plan").notices;
    let told = notices.iter().find_map(|notice| match notice {
        Notice::Certificates { by, paths, variables, place: None } if by.starts_with(b"libcrypto.so") => {
            Some((paths, variables))
        }
        _ => None,
    });
    let (paths, variables) = told.expect("a notice");
    assert!(paths.contains(&format!("{directory}/certs").into()), "{paths:?}");
    assert!(variables.contains(&"SSL_CERT_DIR".into()) && variables.contains(&"SSL_CERT_FILE".into()), "{variables:?}");
}

#[test]
fn a_place_that_cannot_be_written_to_is_named_as_it_was_given() {
    need!("cc");
    let dir = hello(&[]);
    let program = dir.join("hello");
    for form in FORMS {
        // No user can make files there, not even root.
        let making = Making { target: "/proc/bundle".into(), ..Making::new(&program, form, dir.path()) };
        let error = making.write().unwrap_err().to_string();
        assert!(error.starts_with("cannot write /proc/bundle"), "{form:?}: {error}");
    }
}
