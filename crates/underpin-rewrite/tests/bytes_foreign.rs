//! Files of other machines, checked by their own loaders under qemu's user emulation: 64 kB pages, 32 bit, big-endian.
//!
//! Each fixture is a sysroot: a copy of a cross C library, with bound copies of its libraries and of what clang with
//! lld or the cross gcc link. `qemu-MACHINE -L SYSROOT` looks up every absolute path below the sysroot first.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{STRATEGIES, only};
use std::path::Path;
use underpin_rewrite::{Edits, Refusal, Rename, Strategy, rewrite, undo};
use underpin_test_support::{Fixture, Output, missing, need, skip};

/// A machine whose C library and emulator are packages of this system.
#[derive(Clone, Copy)]
struct Machine {
    qemu: &'static str,
    triplet: &'static str,
    /// Path of the loader inside the sysroot.
    loader: &'static str,
    /// Flags that make clang's objects match the cross library's ABI.
    flags: &'static [&'static str],
}

const S390X: Machine = Machine { qemu: "qemu-s390x", triplet: "s390x-linux-gnu", loader: "/lib/ld64.so.1", flags: &[] };
const AARCH64: Machine =
    Machine { qemu: "qemu-aarch64", triplet: "aarch64-linux-gnu", loader: "/lib/ld-linux-aarch64.so.1", flags: &[] };
const MACHINES: [Machine; 4] = [
    AARCH64,
    Machine { qemu: "qemu-arm", triplet: "arm-linux-gnueabihf", loader: "/lib/ld-linux-armhf.so.3", flags: &[] },
    Machine {
        qemu: "qemu-riscv64",
        triplet: "riscv64-linux-gnu",
        loader: "/lib/ld-linux-riscv64-lp64d.so.1",
        flags: &["-march=rv64gc", "-mabi=lp64d"],
    },
    Machine { qemu: "qemu-ppc64le", triplet: "powerpc64le-linux-gnu", loader: "/lib64/ld64.so.2", flags: &[] },
];

/// Libraries of glibc that need `libc.so.6` and have versions.
const LIBRARIES: [&str; 3] = ["libm.so.6", "libresolv.so.2", "libthread_db.so.1"];

struct Case {
    machine: Machine,
    fixture: Fixture,
}

impl Case {
    /// The sysroot of a machine; `None`, with the reason printed, if it cannot be tested here.
    fn new(machine: Machine) -> Option<Case> {
        let folder = Path::new("/usr").join(machine.triplet);
        if let Some(lack) = missing(&[machine.qemu, folder.to_str().unwrap()]) {
            skip(&lack);
            return None;
        }
        let fixture = Fixture::new();
        for name in ["lib", "lib64"] {
            let from = folder.join(name);
            if from.is_dir() {
                fixture.must("cp", ["-rL", from.to_str().unwrap(), name]);
            }
        }
        fixture.mkdir("opt");
        Some(Case { machine, fixture })
    }

    fn qemu(&self) -> std::process::Command {
        let mut command = self.fixture.command(self.machine.qemu);
        command.arg("-L").arg(self.fixture.path());
        command
    }

    /// What the loader lists for a file of the sysroot.
    fn listed(&self, path: &str) -> Output {
        let mut command = self.qemu();
        command.arg(self.fixture.join(self.machine.loader.trim_start_matches('/'))).args(["--list", path]);
        Output::of(&mut command)
    }

    /// Binds `file` with each strategy that has room into `opt/bound`: the loader must list every new name.
    fn binds(&self, file: &Path, edits: &Edits) -> Vec<Strategy> {
        let original = std::fs::read(file).unwrap();
        let mut found = Vec::new();
        for strategy in STRATEGIES {
            let rewrite = match rewrite(&original, edits, &only(strategy)) {
                Ok(rewrite) => rewrite,
                Err(Refusal::NoRoom { .. }) => continue,
                Err(refusal) => panic!("{} {strategy:?}: {refusal}", file.display()),
            };
            let bound = rewrite.apply(&original);
            assert!(undo(&bound).unwrap() == original, "{} {strategy:?}", file.display());
            self.fixture.write("opt/bound", &bound);
            self.fixture.chmod("opt/bound", 0o755);
            let output = self.listed("/opt/bound");
            for rename in &edits.renames {
                let line = format!("{} (0x", rename.to);
                let said = format!("{} {}: {strategy:?}: {output:?}", self.machine.triplet, file.display());
                assert!(output.stdout.lines().any(|listed| listed.trim().starts_with(&line)), "{said}");
            }
            assert!(output.stderr.is_empty(), "{} {}: {strategy:?}: {output:?}", self.machine.triplet, file.display());
            found.push(strategy);
        }
        println!("{} {}: {found:?}", self.machine.triplet, file.file_name().unwrap().to_str().unwrap());
        found
    }
}

fn renames(pairs: &[(&str, &str)]) -> Edits {
    let renames = pairs.iter().map(|(from, to)| Rename { from: (*from).into(), to: (*to).into() });
    Edits { renames: renames.collect(), ..Edits::default() }
}

/// Where the C library is in a sysroot; glibc's own path will do.
const LIBC: (&str, &str) = ("libc.so.6", "/lib/libc.so.6");

#[test]
fn libraries_of_glibc_are_bound_on_every_machine() {
    for machine in MACHINES.into_iter().chain([S390X]) {
        let Some(case) = Case::new(machine) else { continue };
        for library in LIBRARIES {
            let found = case.binds(&case.fixture.join("lib").join(library), &renames(&[LIBC]));
            let expected = [Strategy::PagePadding, Strategy::DataTail, Strategy::NewSegment];
            assert!(expected.iter().filter(|strategy| found.contains(strategy)).count() >= 2, "{found:?}");
            assert!(found.contains(&Strategy::NewSegment), "{found:?}");
        }
    }
}

#[test]
fn what_lld_links_for_other_machines_is_bound() {
    need!("clang", "ld.lld");
    for machine in MACHINES {
        let Some(case) = Case::new(machine) else { continue };
        let dir = &case.fixture;
        let target = format!("--target={}", machine.triplet);
        let fixed = [&target, "-nostdlib", "-fuse-ld=lld", "-fPIC", "-Wl,--no-as-needed", "-shared"];
        let clang = |rest: &[&str]| dir.must("clang", [&fixed[..], machine.flags, rest].concat());
        dir.write("dep.c", "int dep = 1;\n");
        dir.write("dep.map", "DEP_1 { global: dep; };\n");
        clang(&["-o", "opt/libdep.so", "dep.c", "-Wl,-soname,libdep.so", "-Wl,--version-script=dep.map"]);
        dir.write("lib.c", "extern int dep; int zeros[4]; int *entry = &dep;\n");
        clang(&["-o", "opt/liblib.so", "lib.c", "opt/libdep.so", "lib/libc.so.6", "-Wl,-rpath,/a/path/of/some/length"]);
        let edits = Edits {
            search_path: underpin_rewrite::SearchPathEdit::Dead,
            ..renames(&[LIBC, ("libdep.so", "/opt/libdep.so")])
        };
        let found = case.binds(&dir.join("opt/liblib.so"), &edits);
        assert!(found.contains(&Strategy::DataTail) && found.contains(&Strategy::NewSegment), "{found:?}");
    }
}

#[test]
fn an_aarch64_program_with_64_kb_pages_runs_bound() {
    need!("aarch64-linux-gnu-gcc", "readelf");
    let Some(case) = Case::new(AARCH64) else { return };
    let dir = &case.fixture;
    dir.write("dep.c", "int dep(void) { return 40; }\n");
    dir.must("aarch64-linux-gnu-gcc", ["-shared", "-fPIC", "-o", "opt/libdep.so", "-Wl,-soname,libdep.so", "dep.c"]);
    dir.write("main.c", "#include <stdio.h>\nint dep(void); static int zeros[9];\nint main(int n, char **v) { puts(v[n]? \"\" : \"here\"); return dep() + n + 1 + zeros[n]; }\n");
    for flag in ["-pie", "-no-pie"] {
        dir.must("aarch64-linux-gnu-gcc", [flag, "-o", "opt/main", "main.c", "opt/libdep.so"]);
        assert!(dir.must("readelf", ["-lW", "opt/main"]).contains("0x10000"), "64 kB pages");
        let edits = renames(&[LIBC, ("libdep.so", "/opt/libdep.so")]);
        let original = std::fs::read(dir.join("opt/main")).unwrap();
        let found = case.binds(&dir.join("opt/main"), &edits);
        assert!(found.len() >= 3, "{found:?}");
        for strategy in found {
            dir.write("opt/bound", rewrite(&original, &edits, &only(strategy)).unwrap().apply(&original));
            let output = Output::of(case.qemu().arg(dir.join("opt/bound")));
            assert_eq!((output.code, output.stdout.as_str()), (Some(42), "here\n"), "{flag} {strategy:?}: {output:?}");
        }
    }
}

#[test]
fn mips_files_are_refused() {
    need!("clang", "ld.lld");
    let dir = Fixture::new();
    dir.write("lib.c", "int entry(void) { return 1; }\n");
    let fixed = ["-nostdlib", "-fuse-ld=lld", "-fPIC", "-shared", "-Wl,-soname,libx.so", "-o", "libx.so", "lib.c"];
    dir.must("clang", [&["--target=mips-linux-gnu"][..], &fixed].concat());
    let original = std::fs::read(dir.join("libx.so")).unwrap();
    let edits = renames(&[LIBC]);
    assert_eq!(rewrite(&original, &edits, &Default::default()), Err(Refusal::Mips));
}
