//! Loaders of other glibc releases than this machine's: what they list, the calls they make, what is compiled in.
//!
//! Programs name the other release's loader in PT_INTERP and find its libc.so.6 by RPATH, RUNPATH or LD_LIBRARY_PATH,
//! because a loader and a libc of different releases do not work together. They have no start-up file: this machine's
//! requires a newer libc than an older release has.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::release::Release;
use common::strace::{agrees, environment};
use common::{judged, listing, modelled};
use std::path::Path;
use underpin_resolve::{Environment, Loader};
use underpin_test_support::{Fixture, Output, need};

const RPATH: &str = "-Wl,--disable-new-dtags";
const RUNPATH: &str = "-Wl,--enable-new-dtags";

/// The releases: 2.31 before glibc-hwcaps and with the old calls, 2.36, 2.41 after the legacy subdirectories.
const SUITES: [&str; 3] = ["bullseye", "bookworm", "trixie"];

type Variables<'a> = [(&'a str, &'a str)];

/// A folder with libraries and programs for the loader of one release.
struct Case {
    fixture: Fixture,
    release: Release,
}

impl Case {
    fn new(suite: &str) -> Option<Case> {
        Release::get(suite).map(|release| Case { fixture: Fixture::new(), release })
    }

    fn libraries(&self) -> &str {
        self.release.libraries.to_str().unwrap()
    }

    /// A library of one variable, with bss of its own.
    fn library(&self, path: &str, needs: &[&str], flags: &[&str]) {
        let name = path.rsplit('/').next().unwrap();
        let soname = format!("-Wl,-soname,{name}");
        let source = format!("{}.c", path.replace('/', "_"));
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        self.fixture.write(
            &source,
            format!("int v_{letters} = 1; static char b[9999]; char *f_{letters}(void) {{ return b; }}\n"),
        );
        self.link(path, &[&["-shared", "-fPIC", &source, &soname], flags, needs].concat());
    }

    fn program(&self, path: &str, needs: &[&str], flags: &[&str]) -> std::path::PathBuf {
        let source = "#include <unistd.h>\nvoid _start(void) { _exit(0); }\n";
        self.fixture.write("program.c", source);
        let loader = format!("-Wl,--dynamic-linker={}", self.release.loader().display());
        self.link(path, &[&["-nostartfiles", "program.c", &loader], flags, needs].concat());
        self.fixture.join(path)
    }

    fn link(&self, path: &str, arguments: &[&str]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.fixture.mkdir(folder);
        }
        let fixed = ["-o", path, "-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-in-shared-libs"];
        self.fixture.cc([&fixed, arguments].concat());
    }

    /// Both sides list the same.
    fn lists(&self, program: &Path, variables: &Variables<'_>) {
        let closure = modelled(program, environment(variables)).unwrap();
        let (model, judge) = (listing(&closure), judged(program, &closure, variables));
        assert_eq!(model.stopped, judge.stopped, "model {model:?}\njudge {judge:?}");
        if !model.stopped {
            assert_eq!(model, judge, "the model (left) and the loader (right)");
        }
    }

    /// Both sides list the same and make the same calls.
    fn agrees(&self, program: &Path, variables: &Variables<'_>) {
        self.lists(program, variables);
        agrees(program, &[], variables);
    }
}

/// Runs a test for each release.
fn each(test: impl Fn(&Case)) {
    for suite in SUITES {
        if let Some(case) = Case::new(suite) {
            println!("{suite}");
            test(&case);
        }
    }
}

#[test]
fn rpaths_with_missing_empty_and_repeated_directories() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("a/libdep.so", &[], &[]);
        case.library("a/libmid.so", &["a/libdep.so"], &[]);
        case.fixture.mkdir("empty");
        let rpath =
            format!("-Wl,-rpath,$ORIGIN/none:$ORIGIN/empty:{0}/a:{0}/a/:{1}", case.fixture.text(), case.libraries());
        let program = case.program("p", &["a/libmid.so"], &[RPATH, &rpath]);
        case.agrees(&program, &[]);
    });
}

#[test]
fn runpaths_of_each_object() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        let own = format!("-Wl,-rpath,$ORIGIN/none:$ORIGIN:$ORIGIN/../b:{}", case.libraries());
        case.library("b/libdep.so", &[], &[RUNPATH, &own]);
        case.library("a/libmid.so", &["b/libdep.so"], &[RUNPATH, &own]);
        let flag = format!("-Wl,-rpath,$ORIGIN/a:{}", case.libraries());
        let program = case.program("p", &["a/libmid.so"], &[RUNPATH, &flag]);
        case.agrees(&program, &[]);
    });
}

#[test]
fn the_library_path_and_a_preload() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("a/libdep.so", &[], &[]);
        case.library("x/libpre.so", &[], &[]);
        let program = case.program("p", &["a/libdep.so"], &[]);
        let path = format!("{0}/none:{0}/a;{1}", case.fixture.text(), case.libraries());
        case.agrees(&program, &[("LD_LIBRARY_PATH", &path)]);
        let preload = format!("{}/x/libpre.so", case.fixture.text());
        case.agrees(&program, &[("LD_LIBRARY_PATH", &path), ("LD_PRELOAD", &preload)]);
        let mask = ("GLIBC_TUNABLES", "glibc.cpu.hwcap_mask=0");
        case.agrees(&program, &[("LD_LIBRARY_PATH", &path), mask]);
    });
}

#[test]
fn capability_subdirectories_are_searched_where_the_release_knows_them() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        let folders = ["glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "haswell", "x86_64", "tls", "tls/x86_64"];
        for (index, folder) in folders.iter().enumerate() {
            // The plain copy alone has each name; every capability directory has one of its own.
            let name = format!("libh{index}.so");
            case.library(&format!("l/{name}"), &[], &[]);
            case.library(&format!("l/{folder}/{name}"), &[], &[]);
        }
        let needs: Vec<String> = (0..folders.len()).map(|index| format!("l/libh{index}.so")).collect();
        let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
        let rpath = format!("-Wl,-rpath,$ORIGIN/l:{}", case.libraries());
        let program = case.program("p", &needs, &[RPATH, &rpath]);
        case.agrees(&program, &[]);
    });
}

#[test]
fn tokens_are_the_releases_own() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("a/libdep.so", &[], &[]);
        let rpath = format!("-Wl,-rpath,$ORIGIN/$LIB:$ORIGIN/${{PLATFORM}}:$ORIGIN/a:{}", case.libraries());
        let program = case.program("p", &["a/libdep.so"], &[RPATH, &rpath]);
        case.agrees(&program, &[]);
    });
}

#[test]
fn a_file_in_the_place_of_a_directory() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("a/libdep.so", &[], &[]);
        case.fixture.write("file", "no directory\n");
        for tags in [RPATH, RUNPATH] {
            let rpath = format!("-Wl,-rpath,$ORIGIN/file:$ORIGIN/a:{}", case.libraries());
            let program = case.program("p", &["a/libdep.so"], &[tags, &rpath]);
            case.lists(&program, &[]);
            let rpath = format!("-Wl,-rpath,$ORIGIN/a:{}:$ORIGIN/file", case.libraries());
            let program = case.program("q", &["a/libdep.so"], &[tags, &rpath]);
            case.agrees(&program, &[]);
        }
    });
}

#[test]
fn what_is_no_library_stops_every_release() {
    need!("cc", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("good/libt.so", &[], &[]);
        let rpath = format!("-Wl,-rpath,$ORIGIN/bad:$ORIGIN/good:{}", case.libraries());
        let program = case.program("p", &["good/libt.so"], &[RPATH, &rpath]);
        for text in ["", "short", "INPUT(libreal.so) and some more text so that it is longer than a header of ELF\n"] {
            case.fixture.write("bad/libt.so", text);
            case.lists(&program, &[]);
        }
    });
}

#[test]
fn a_missing_library_is_listed() {
    need!("cc", "apt-get", "dpkg-deb");
    each(|case| {
        case.library("a/libdep.so", &[], &[]);
        case.library("gone/libgone.so", &[], &[]);
        case.library("a/libmid.so", &["gone/libgone.so", "a/libdep.so"], &[]);
        let rpath = format!("-Wl,-rpath,$ORIGIN/a:{}", case.libraries());
        let program = case.program("p", &["a/libmid.so"], &[RPATH, &rpath]);
        case.lists(&program, &[]);
    });
}

#[test]
fn layouts_of_segments() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        let variants: [&[&str]; 7] = [
            &[],
            &["-Wl,-z,noseparate-code"],
            &["-Wl,-z,norelro"],
            &["-Wl,-z,max-page-size=0x10000"],
            &["-Wl,-z,max-page-size=0x200000"],
            &["-Wl,-z,now"],
            &["-Wl,-z,execstack"],
        ];
        for (index, flags) in variants.iter().enumerate() {
            let library = format!("l/libl{index}.so");
            case.library(&library, &[], flags);
            let rpath = format!("-Wl,-rpath,$ORIGIN/l:{}", case.libraries());
            let program = case.program(&format!("p{index}"), &[&library], &[RPATH, &rpath]);
            println!("  {flags:?}");
            case.agrees(&program, &[]);
        }
    });
}

/// Until 2.35 open_verify reads each PT_NOTE for the ABI tag, and looks at the kernel it names.
#[test]
fn notes_near_and_far() {
    need!("cc", "strace", "apt-get", "dpkg-deb");
    each(|case| {
        let note = |kernel: u32| {
            format!(
                ".section .note.ABI-tag,\"a\",@note\n.align 4\n.long 4,16,1\n.asciz \"GNU\"\n.long 0,{kernel},2,0\n\
                 .section .note.GNU-stack,\"\",@progbits\n"
            )
        };
        case.fixture.write("tag.s", note(3));
        case.fixture.write("future.s", note(99));
        let header = "-Wl,-z,noseparate-code";
        let variants: [(&str, &[&str]); 5] = [
            ("tagged", &["tag.s"]),
            ("tagged-far", &["tag.s", header, "-Wl,--section-start=.note.ABI-tag=0x8000"]),
            ("build-id", &["-Wl,--build-id"]),
            ("both", &["tag.s", "-Wl,--build-id=sha1"]),
            ("future", &["future.s"]),
        ];
        for (name, flags) in variants {
            let library = format!("l/lib{name}.so");
            case.library(&library, &[], flags);
            let rpath = format!("-Wl,-rpath,$ORIGIN/l:{}", case.libraries());
            let program = case.program(name, &[&library], &[RPATH, &rpath]);
            println!("  {name}");
            case.lists(&program, &[]);
            if name != "future" {
                agrees(&program, &[], &[]);
            }
        }
    });
}

/// All libraries of a release, each under its own loader.
#[test]
fn every_library_of_a_release() {
    need!("apt-get", "dpkg-deb");
    for suite in SUITES {
        let Some(case) = Case::new(suite) else { continue };
        let mut compared = 0;
        for entry in std::fs::read_dir(&case.release.libraries).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.contains(".so") || name.starts_with("ld-") || !path.is_file() {
                continue;
            }
            let flags = [RPATH, &format!("-Wl,-rpath,{}", case.libraries())];
            let program = case.program(&format!("p-{name}"), &[path.to_str().unwrap()], &flags);
            case.lists(&program, &[]);
            compared += 1;
        }
        println!("{suite}: {compared} libraries");
        assert!(compared > 15, "{suite}: only {compared}");
    }
}

/// `--list-diagnostics` of a loader (2.33 on) as pairs of name and value.
fn diagnostics(loader: &Path) -> Vec<(String, String)> {
    let output = Output::of(std::process::Command::new(loader).arg("--list-diagnostics").env_clear());
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let pairs = output.stdout.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

fn compiled_in_agrees(path: &Path, loader: &Loader) {
    let told = diagnostics(path);
    let value = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let system: Vec<&str> =
        told.iter().filter(|(name, _)| name.starts_with("path.system_dirs[")).map(|(_, v)| v.as_str()).collect();
    assert!(!system.is_empty());
    assert_eq!(loader.system_directories, system);
    assert_eq!(loader.version.unwrap().to_string(), value("version.version").unwrap());
    assert_eq!(loader.lib_token, value("dl_dst_lib").unwrap());
    assert_eq!(loader.platform.as_ref().unwrap(), value("dl_platform").unwrap());
    let configuration = format!("{}/ld.so.cache", value("path.sysconfdir").unwrap());
    assert_eq!(loader.configuration.as_ref().unwrap(), configuration.as_str());
    // One bit for each active name, the best first; names that are not active come before those that are.
    let names: Vec<&str> = value("dl_hwcaps_subdirs").unwrap().split(':').collect();
    let active = u32::from_str_radix(value("dl_hwcaps_subdirs_active").unwrap().trim_start_matches("0x"), 16).unwrap();
    let active = names.iter().enumerate().filter(|(bit, _)| active & (1 << bit) != 0);
    let active: Vec<String> = active.map(|(_, name)| format!("glibc-hwcaps/{name}/")).collect();
    let modelled = loader.subdirectories.iter().filter(|name| name.starts_with(b"glibc-hwcaps"));
    assert_eq!(modelled.map(ToString::to_string).collect::<Vec<_>>(), active);
}

#[test]
fn what_is_compiled_into_this_machines_loader() {
    need!("cc");
    let closure = modelled(Path::new("/bin/sh"), Environment::empty()).unwrap();
    if closure.loader.version.is_none_or(|version| (version.major, version.minor) < (2, 33)) {
        return underpin_test_support::skip("the C library of this machine is no glibc with --list-diagnostics");
    }
    compiled_in_agrees(Path::new(&closure.loader.path.to_string()), &closure.loader);
}

#[test]
fn what_is_compiled_into_the_loader_of_a_release() {
    need!("cc", "apt-get", "dpkg-deb");
    each(|case| {
        let closure = modelled(&case.program("p", &[], &[]), Environment::empty()).unwrap();
        let version = closure.loader.version.unwrap();
        if (version.major, version.minor) >= (2, 33) {
            compiled_in_agrees(&case.release.loader(), &closure.loader);
        } else {
            // Without the option the loader still states its release in libc.so.6, and the calls show the rest.
            let mut command = std::process::Command::new(case.release.loader());
            let libc = Output::of(command.arg(case.release.libraries.join("libc.so.6")));
            assert!(libc.stdout.contains(&format!("release version {version}.")), "{}", libc.stdout);
        }
    });
}
