//! Shared by the tests of bundles: making one, and roots with an older C library, with only musl, with nothing at all.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_elf::Machine;
use underpin_resolve::{Environment, HostRoot, IsaLevel, Processor, Resolver};
use underpin_rewrite::bundle::{self, BundleError, BundlePlan, Form, Wish, Written};
use underpin_rewrite::plan::Pattern;
use underpin_sys::LauncherMachine;
use underpin_test_support::{Fixture, Output, skip};

pub const FORMS: [Form; 2] = [Form::Directory, Form::File];

pub fn launcher(machine: Machine) -> Option<&'static [u8]> {
    underpin_sys::launcher(launcher_machine(machine)?)
}

pub fn locale_library(machine: Machine) -> Option<&'static [u8]> {
    underpin_sys::locale_library(launcher_machine(machine)?)
}

fn launcher_machine(machine: Machine) -> Option<LauncherMachine> {
    match machine {
        Machine::X86_64 => Some(LauncherMachine::X86_64),
        Machine::AARCH64 => Some(LauncherMachine::Aarch64),
        _ => None,
    }
}

/// One bundle to make.
pub struct Making<'a> {
    pub program: &'a Path,
    pub form: Form,
    pub target: PathBuf,
    pub include: Vec<String>,
    pub exclude: Vec<&'a str>,
    pub locales: Vec<&'a str>,
    /// A directory used as `/`.
    pub sysroot: Option<PathBuf>,
    pub library_path: Option<PathBuf>,
    pub replace: bool,
}

impl<'a> Making<'a> {
    /// The plain bundle of a program in a form, below a directory, under its own name.
    pub fn new(program: &'a Path, form: Form, below: &Path) -> Making<'a> {
        let name = program.file_name().and_then(OsStr::to_str).expect("a name");
        let target = below.join(format!("{name}.{}", if form == Form::File { "one" } else { "dir" }));
        Making {
            program,
            form,
            target,
            include: Vec::new(),
            exclude: Vec::new(),
            locales: Vec::new(),
            sysroot: None,
            library_path: None,
            replace: false,
        }
    }

    fn with<T>(
        &self,
        use_it: impl FnOnce(&HostRoot, Result<BundlePlan, BundleError>) -> Result<T, BundleError>,
    ) -> Result<T, BundleError> {
        let root = self.sysroot.as_ref().map_or_else(HostRoot::new, HostRoot::sysroot);
        let mut environment = Environment::empty();
        environment.processor = Processor::of_level(IsaLevel::Baseline);
        environment.library_path = self.library_path.as_ref().map(|path| path.as_os_str().as_bytes().into());
        let resolver = Resolver::new(&root, environment);
        let wish = Wish {
            program: self.program.as_os_str().as_bytes().into(),
            name: self.program.file_name().expect("a name").as_bytes().into(),
            form: self.form,
            include: self.include.iter().map(|text| text.as_str().into()).collect(),
            exclude: self.exclude.iter().map(|&text| Pattern(text.to_owned())).collect(),
            locales: self.locales.iter().map(|&name| name.into()).collect(),
            launcher: &launcher,
            locale_library: &locale_library,
            merge: None,
        };
        let plan = bundle::plan(&resolver, &root, &wish);
        use_it(&root, plan)
    }

    pub fn plan(&self) -> Result<BundlePlan, BundleError> {
        self.with(|_, plan| plan)
    }

    pub fn write(&self) -> Result<Written, BundleError> {
        self.with(|root, plan| bundle::write(&plan?, root, &self.target, self.replace))
    }

    /// Makes it and returns what to start.
    pub fn entry(&self) -> PathBuf {
        self.write().unwrap_or_else(|error| panic!("{}: {error}", self.program.display())).entry
    }
}

/// Another system: a directory used as `/`.
pub struct Root {
    pub dir: Fixture,
    pub name: &'static str,
}

/// Skips if no other root can be entered: that needs root, chroot(2) and a mount namespace of its own.
pub fn can_enter() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    let enters = root && Output::of(Command::new("unshare").args(["--mount", "true"])).code == Some(0);
    if !enters {
        skip("entering another root takes root and mount namespaces (`sudo cargo test`)");
    }
    enters
}

impl Root {
    /// Nothing but a user database.
    pub fn empty() -> Root {
        let dir = Fixture::new();
        dir.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nprobe:x:4711:4711:Probe:/home/probe:/bin/sh\n");
        for folder in ["proc", "tmp", "dev", "bin"] {
            dir.mkdir(folder);
        }
        Root { dir, name: "empty" }
    }

    /// musl and nothing else: its loader, and one program to prove that the root works on its own.
    pub fn musl() -> Root {
        let root = Root { name: "musl only", ..Root::empty() };
        root.dir.copy("/lib/ld-musl-x86_64.so.1", "lib/ld-musl-x86_64.so.1");
        root.dir.write("own.c", "#include <stdio.h>\nint main(void){puts(\"musl's own\");return 0;}");
        root.dir.musl_cc(["-o", "bin/own", "own.c"]);
        assert_eq!(root.run(true, &["/bin/own"]).stdout, "musl's own\n");
        root
    }

    /// A Debian release with an older glibc, with its own shell as a program of the host.
    pub fn older(libraries: &Path) -> Root {
        let root = Root { name: "older glibc", ..Root::empty() };
        let release = libraries.ancestors().find(|path| path.join("etc").is_dir() && path.join("usr").is_dir());
        let release = release.expect("the unpacked release");
        for part in ["lib", "lib64", "usr", "bin"] {
            let from = release.join(part);
            if std::fs::symlink_metadata(&from).is_ok() {
                let mut copy = Command::new("cp");
                copy.args(["-a", "--no-target-directory"]).arg(&from).arg(root.dir.join(part));
                assert_eq!(Output::of(&mut copy).code, Some(0));
            }
        }
        assert_eq!(root.run(true, &["/bin/dash", "-c", "echo shell of the host"]).stdout, "shell of the host\n");
        root
    }

    /// Runs a command inside, with or without `/proc`. Mounts belong to a namespace that ends with the command.
    pub fn run(&self, with_proc: bool, command: &[&str]) -> Output {
        self.run_with(with_proc, &[], command)
    }

    pub fn run_with(&self, with_proc: bool, environment: &[(&str, &str)], command: &[&str]) -> Output {
        let mount = if with_proc { "mount -t proc proc \"$1/proc\" && " } else { "" };
        let script = format!("{mount}exec chroot \"$@\"");
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "sh", "-c", &script, "sh"]).arg(self.dir.path()).args(command);
        let path = std::env::var_os("PATH").unwrap_or_default();
        unshare.env_clear().env("PATH", path).envs(environment.iter().copied());
        Output::of(&mut unshare)
    }

    /// The directory for bundles, and its path inside.
    pub fn place(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub fn inside(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.dir.path()).expect("a path below the root");
        format!("/{}", below.display())
    }
}
