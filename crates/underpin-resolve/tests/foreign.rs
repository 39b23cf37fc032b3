//! Programs of other machines, judged by their own loaders under qemu's user emulation.
//!
//! `qemu-MACHINE -L SYSROOT` looks every absolute path up below the sysroot first. Each fixture is such a sysroot: a
//! copy of a cross C library with programs and libraries beside it. The program itself is named by its path on this
//! machine, and so are the paths that come from `$ORIGIN`; the sysroot's own path is cut off before comparing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod common;

use common::strace::environment;
use common::{Listing, judged, listing, modelled, read_trace};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_resolve::{Closure, Depth, Environment, HostRoot, ResolveError, Resolver};
use underpin_test_support::{Fixture, Output, missing, need, skip};

const RPATH: &str = "-Wl,--disable-new-dtags";
const RUNPATH: &str = "-Wl,--enable-new-dtags";

/// A machine whose C library and emulator are packages of this system.
#[derive(Clone, Copy)]
struct Machine {
    qemu: &'static str,
    triplet: &'static str,
    /// Path of the loader inside the sysroot.
    loader: &'static str,
    /// Flags that make clang's objects those of the cross library's ABI.
    flags: &'static [&'static str],
    /// Flags that make it another ABI of the same machine, which the loader may refuse.
    other_abi: &'static [&'static str],
}

const MACHINES: [Machine; 4] = [
    Machine {
        qemu: "qemu-aarch64",
        triplet: "aarch64-linux-gnu",
        loader: "/lib/ld-linux-aarch64.so.1",
        flags: &[],
        other_abi: &[],
    },
    Machine {
        qemu: "qemu-arm",
        triplet: "arm-linux-gnueabihf",
        loader: "/lib/ld-linux-armhf.so.3",
        flags: &[],
        other_abi: &["--target=arm-linux-gnueabi", "-mfloat-abi=soft"],
    },
    Machine {
        qemu: "qemu-riscv64",
        triplet: "riscv64-linux-gnu",
        loader: "/lib/ld-linux-riscv64-lp64d.so.1",
        flags: &["-march=rv64gc", "-mabi=lp64d"],
        other_abi: &["-march=rv64imac", "-mabi=lp64"],
    },
    Machine {
        qemu: "qemu-ppc64le",
        triplet: "powerpc64le-linux-gnu",
        loader: "/lib64/ld64.so.2",
        flags: &[],
        other_abi: &[],
    },
];

/// lld 14 links nothing for it: its tests use the cross library's own files.
const S390X: Machine =
    Machine { qemu: "qemu-s390x", triplet: "s390x-linux-gnu", loader: "/lib/ld64.so.1", flags: &[], other_abi: &[] };

impl Machine {
    fn folder(&self) -> PathBuf {
        Path::new("/usr").join(self.triplet)
    }

    /// Whether it can be tested here; prints the reason if not.
    fn is_here(&self) -> bool {
        let lack = missing(&[self.qemu, self.folder().to_str().unwrap()]);
        lack.inspect(|lack| skip(lack)).is_none()
    }
}

/// A sysroot of a machine.
struct Case {
    machine: Machine,
    fixture: Fixture,
}

impl Case {
    fn new(machine: Machine) -> Case {
        let fixture = Fixture::new();
        for name in ["lib", "lib64"] {
            let from = machine.folder().join(name);
            if from.is_dir() {
                fixture.must("cp", ["-rL", from.to_str().unwrap(), name]);
            }
        }
        Case { machine, fixture }
    }

    fn library(&self, path: &str, needs: &[&str], flags: &[&str]) {
        let name = path.rsplit('/').next().unwrap();
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let source = format!("{}.c", path.replace('/', "_"));
        self.fixture.write(&source, format!("int v_{letters} = 1;\n"));
        let soname = format!("-Wl,-soname,{name}");
        self.clang(path, &[&["-shared", source.as_str(), soname.as_str()], flags, needs].concat());
    }

    fn program(&self, path: &str, needs: &[&str], flags: &[&str]) {
        self.fixture.write("program.c", "void _start(void) { __builtin_trap(); }\n");
        let loader = format!("-Wl,--dynamic-linker={}", self.machine.loader);
        self.clang(path, &[&["-pie", "program.c", loader.as_str()], flags, needs, &["lib/libc.so.6"]].concat());
    }

    fn clang(&self, path: &str, arguments: &[&str]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.fixture.mkdir(folder);
        }
        let target = format!("--target={}", self.machine.triplet);
        let fixed =
            [&target, "-nostdlib", "-fuse-ld=lld", "-fPIC", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"];
        self.fixture.must("clang", [&fixed, self.machine.flags, &["-o", path], arguments].concat());
    }

    fn modelled(&self, path: &str, variables: &[(&str, &str)]) -> Result<Closure, ResolveError> {
        let root = HostRoot::sysroot(self.fixture.path());
        let inside = format!("/{path}");
        Resolver::new(&root, environment(variables)).resolve(inside.as_str().into(), Depth::Load)
    }

    /// The real loader's answer, with paths as seen inside the sysroot.
    fn judged(&self, path: &str, is_library: bool, variables: &[(&str, &str)]) -> Listing {
        let mut command = self.fixture.command(self.machine.qemu);
        command.arg("-L").arg(self.fixture.path()).args(["-E", "LD_TRACE_LOADED_OBJECTS=1"]);
        for (name, value) in variables {
            command.arg("-E").arg(format!("{name}={value}"));
        }
        if is_library {
            command.arg(self.fixture.join(self.machine.loader.trim_start_matches('/')));
            // A path without the sysroot: the loader opens it through qemu.
            command.arg(format!("/{path}"));
        } else {
            command.arg(self.fixture.join(path));
        }
        let output = Output::of(&mut command);
        let mut listing = read_trace(&output.stdout);
        for object in &mut listing.objects {
            if let Ok(inside) = object.strip_prefix(self.fixture.path()) {
                *object = Path::new("/").join(inside);
            }
        }
        listing.stopped = output.code != Some(0) && output.stderr.contains("error while loading");
        assert!(listing.stopped || !listing.objects.is_empty(), "{command:?}: {}{}", output.stdout, output.stderr);
        listing
    }

    fn agrees(&self, path: &str, is_library: bool, variables: &[(&str, &str)]) -> Closure {
        let closure = self.modelled(path, variables).unwrap();
        let (model, judge) = (listing(&closure), self.judged(path, is_library, variables));
        assert_eq!(model.stopped, judge.stopped, "{path}\nmodel {model:?}\njudge {judge:?}");
        if !model.stopped {
            assert_eq!(model, judge, "{} {path}: the model (left) and the loader (right)", self.machine.triplet);
        }
        closure
    }
}

/// Runs a test for each machine that clang and lld serve.
fn each(test: impl Fn(&Case)) {
    for machine in MACHINES.into_iter().filter(Machine::is_here) {
        println!("{}", machine.triplet);
        test(&Case::new(machine));
    }
}

#[test]
fn an_rpath_is_inherited_and_a_runpath_is_not() {
    need!("clang", "ld.lld");
    each(|case| {
        case.library("opt/a/libdep.so", &[], &[]);
        case.library("opt/a/libmid.so", &["opt/a/libdep.so"], &[]);
        case.program("opt/p", &["opt/a/libmid.so"], &[RPATH, "-Wl,-rpath,/none:$ORIGIN/a"]);
        assert_eq!(case.agrees("opt/p", false, &[]).objects[2].path, "/lib/libc.so.6");
        case.program("opt/q", &["opt/a/libmid.so"], &[RUNPATH, "-Wl,-rpath,/opt/a"]);
        let closure = case.agrees("opt/q", false, &[]);
        assert_eq!(listing(&closure).missing, ["libdep.so"]);
        case.agrees("opt/q", false, &[("LD_LIBRARY_PATH", "/none:/opt/a")]);
        case.agrees("opt/q", false, &[("LD_PRELOAD", "/opt/a/libdep.so")]);
    });
}

#[test]
fn lib_is_the_loaders_own() {
    need!("clang", "ld.lld");
    each(|case| {
        let folder = format!("opt/lib/{}", case.machine.triplet);
        let path = format!("{folder}/libtoken.so");
        case.library(&path, &[], &[]);
        case.program("opt/p", &[&path], &[RPATH, "-Wl,-rpath,$ORIGIN/$LIB"]);
        assert_eq!(case.agrees("opt/p", false, &[]).objects[1].path, format!("/{path}").as_str());
    });
}

#[test]
fn libraries_of_other_machines_and_abis_are_judged_alike() {
    need!("clang", "ld.lld", "cc");
    each(|case| {
        case.library("opt/good/libt.so", &[], &[]);
        case.library("opt/good/libz.so", &[], &[]);
        let rpath = "-Wl,-rpath,$ORIGIN/host:$ORIGIN/other:$ORIGIN/good";
        case.program("opt/p", &["opt/good/libt.so", "opt/good/libz.so"], &[RPATH, rpath]);
        case.fixture.mkdir("opt/host");
        case.fixture.write("t.c", "int t;\n");
        case.fixture.cc(["-shared", "-fPIC", "-nostdlib", "-o", "opt/host/libt.so", "t.c"]);
        case.agrees("opt/p", false, &[]);
        case.fixture.cc(["-m32", "-shared", "-fPIC", "-nostdlib", "-o", "opt/host/libt.so", "t.c"]);
        case.agrees("opt/p", false, &[]);
        if !case.machine.other_abi.is_empty() {
            case.library("opt/other/libz.so", &[], case.machine.other_abi);
            let closure = case.agrees("opt/p", false, &[]);
            println!("  other ABI: {}", closure.objects[2].path);
        }
    });
}

/// Every file of a cross C library, as the program.
#[test]
fn every_file_of_the_cross_libraries() {
    for machine in MACHINES.into_iter().chain([S390X]).filter(Machine::is_here) {
        let case = Case::new(machine);
        let mut compared = 0;
        for entry in std::fs::read_dir(case.fixture.join("lib")).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_elf = std::fs::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
            if !is_elf || !name.contains(".so") || name.starts_with("ld") {
                continue;
            }
            case.agrees(&format!("lib/{name}"), true, &[]);
            compared += 1;
        }
        println!("{}: {compared} files", machine.triplet);
        assert!(compared > 15, "{}: only {compared}", machine.triplet);
    }
}

/// The resolver can cope with every ELF file of a cross C library, objects included.
#[test]
fn every_file_of_the_cross_libraries_on_this_machine() {
    let mut seen = 0;
    for machine in MACHINES.into_iter().chain([S390X]).filter(Machine::is_here) {
        let root = HostRoot::new();
        let resolver = Resolver::new(&root, Environment::empty());
        for entry in std::fs::read_dir(machine.folder().join("lib")).unwrap().flatten() {
            let path = entry.path();
            // Linker scripts, and empty archives.
            if !std::fs::read(&path).unwrap_or_default().starts_with(b"\x7fELF") {
                continue;
            }
            match resolver.resolve(path.to_str().unwrap().into(), Depth::Findings) {
                Ok(closure) => assert_eq!(closure.objects[0].path, path.to_str().unwrap()),
                Err(ResolveError::NotLoadable { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            seen += 1;
        }
    }
    println!("{seen} files");
}

/// A machine for which nothing can be linked here: copies of its libm with other names, needs and paths.
#[test]
fn a_big_endian_machine() {
    need!("patchelf");
    if !S390X.is_here() {
        return;
    }
    let case = Case::new(S390X);
    for (path, name) in [("opt/a/libone.so", "libone.so"), ("opt/b/libtwo.so", "libtwo.so")] {
        case.fixture.mkdir(path.rsplit_once('/').unwrap().0);
        std::fs::copy(case.fixture.join("lib/libm.so.6"), case.fixture.join(path)).unwrap();
        case.fixture.must("patchelf", ["--set-soname", name, path]);
    }
    case.fixture.must("patchelf", ["--add-needed", "libtwo.so", "opt/a/libone.so"]);
    case.fixture.must("patchelf", ["--add-needed", "libgone.so", "opt/a/libone.so"]);
    let closure = case.agrees("opt/a/libone.so", true, &[]);
    assert_eq!(listing(&closure).missing, ["libgone.so", "libtwo.so"]);
    case.agrees("opt/a/libone.so", true, &[("LD_LIBRARY_PATH", "/none:/opt/b")]);
    case.fixture.must("patchelf", ["--set-rpath", "/none:$ORIGIN/../b", "opt/a/libone.so"]);
    let closure = case.agrees("opt/a/libone.so", true, &[]);
    assert_eq!(listing(&closure).missing, ["libgone.so"]);
    case.fixture.must("patchelf", ["--force-rpath", "--set-rpath", "$ORIGIN/../b", "opt/a/libone.so"]);
    case.agrees("opt/a/libone.so", true, &[]);
}

/// What the foreign loaders report about themselves. armhf's stops in the middle of the list, at an assertion of its
/// own.
#[test]
fn what_is_compiled_into_the_loaders() {
    for machine in MACHINES.into_iter().chain([S390X]).filter(Machine::is_here) {
        let case = Case::new(machine);
        let loader = case.fixture.join(machine.loader.trim_start_matches('/'));
        let mut command = Command::new(machine.qemu);
        let told =
            Output::of(command.env_clear().arg("-L").arg(case.fixture.path()).arg(loader).arg("--list-diagnostics"));
        let values = |start: &str| -> Vec<String> {
            let pairs = told.stdout.lines().filter_map(|line| line.split_once('='));
            pairs.filter(|(name, _)| name.starts_with(start)).map(|(_, v)| v.trim_matches('"').to_owned()).collect()
        };
        let known = case.modelled("lib/libc.so.6", &[]).unwrap().loader;
        assert_eq!([known.lib_token.to_string()], values("dl_dst_lib")[..]);
        if machine.triplet == "arm-linux-gnueabihf" {
            continue;
        }
        assert_eq!(known.system_directories, values("path.system_dirs["));
        assert_eq!([known.version.unwrap().to_string()], values("version.version")[..]);
        assert_eq!([known.path.to_string()], values("path.rtld")[..]);
    }
}

/// 32-bit x86 runs here without an emulator.
#[test]
fn i386() {
    need!("cc", "/lib/ld-linux.so.2", "/lib32/libc.so.6");
    let fixture = Fixture::new();
    fixture.write("l.c", "int f(void) { return 0; }\n");
    fixture.write("p.c", "int f(void); int main(void) { return f(); }\n");
    for folder in ["a", "b"] {
        fixture.mkdir(folder);
    }
    fixture.cc(["-m32", "-shared", "-fPIC", "-o", "b/libdep.so", "l.c", "-Wl,-soname,libdep.so"]);
    let mid = ["-m32", "-shared", "-fPIC", "-o", "a/libmid.so", "l.c", "-Wl,-soname,libmid.so", "-Wl,--no-as-needed"];
    fixture.cc([&mid[..], &["b/libdep.so"]].concat());
    let flags = ["-Wl,-rpath,$ORIGIN/none:$ORIGIN/a:$ORIGIN/b", "-Wl,-rpath,$ORIGIN/a:/nonexistent"];
    for (program, rpath, tags) in [("p", flags[0], RPATH), ("q", flags[0], RUNPATH), ("r", flags[1], RPATH)] {
        fixture.cc(["-m32", "-o", program, "p.c", "a/libmid.so", tags, rpath, "-Wl,-rpath-link,b"]);
        let b = fixture.join("b");
        for variables in [&[][..], &[("LD_LIBRARY_PATH", b.to_str().unwrap())]] {
            let path = fixture.join(program);
            let closure = modelled(&path, environment(variables)).unwrap();
            assert_eq!(listing(&closure), judged(&path, &closure, variables), "{program}");
        }
    }
}
