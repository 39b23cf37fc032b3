//! A program of a fixture, fused: the copy of it that uses the one library, and what the loader says of both.
#![allow(dead_code, reason = "each test file uses a part")]

use bstr::{BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_fuse::{Binding, Closure, Content, Kept, Names};
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::{Edits, Rename, RewriteOptions};
use underpin_test_support::{Fixture, Output, missing, skip};

/// The processor that a fixture is built for, and how it runs here.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub cc: &'static str,
    pub cxx: &'static str,
    /// The loader and its libraries where they are on this system, and what emulates the processor; `None` for this
    /// machine's own.
    foreign: Option<(&'static str, &'static str)>,
    /// The flag by which thread-local variables are reached through descriptors, and the one by which they are not.
    pub descriptors: [&'static str; 2],
}

/// What this machine's compiler builds. Its tests that look into machine code are of x86-64.
pub const NATIVE: Target =
    Target { cc: "cc", cxx: "c++", foreign: None, descriptors: ["-mtls-dialect=gnu2", "-mtls-dialect=gnu"] };
const AARCH64: Target = Target {
    cc: "aarch64-linux-gnu-gcc",
    cxx: "aarch64-linux-gnu-g++",
    foreign: Some(("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", "qemu-aarch64")),
    descriptors: ["-mtls-dialect=desc", "-mtls-dialect=trad"],
};

impl Target {
    /// Each processor that can be tested here.
    pub fn all() -> Vec<Target> {
        let usable = |target: &Target| {
            let lack = target.foreign.and_then(|(loader, emulator)| missing(&[target.cxx, loader, emulator]));
            lack.iter().for_each(|lack| skip(lack));
            lack.is_none()
        };
        [NATIVE, AARCH64].into_iter().filter(usable).collect()
    }

    /// The processor whose files this machine's emulator runs.
    pub fn emulated() -> Option<Target> {
        Target::all().into_iter().find(|target| target.foreign.is_some())
    }

    /// Whether that is aarch64, which has flags of its own.
    pub fn is_aarch64(&self) -> bool {
        self.cc.starts_with("aarch64") || self.foreign.is_none() && cfg!(target_arch = "aarch64")
    }

    /// Where the libraries of a fixture and the C library are found, for the linker. Absolute paths alone, so that emulator
    /// and model need no root of their own.
    pub fn search(&self, fixture: &Fixture) -> String {
        match self.foreign {
            None => format!("-Wl,-rpath,{}", fixture.text()),
            Some((loader, _)) => {
                let system = Path::new(loader).parent().expect("a folder").display();
                format!("-Wl,--disable-new-dtags,-rpath,{}:{system},--dynamic-linker,{loader}", fixture.text())
            }
        }
    }

    /// The command that runs a program under these variables.
    pub fn run(&self, fixture: &Fixture, program: &Path, variables: &[(&str, &str)]) -> Command {
        let Some((_, emulator)) = self.foreign else {
            let mut command = fixture.command(program);
            command.envs(variables.iter().copied());
            return command;
        };
        // By -E: the emulator is a program with a loader of its own.
        let mut command = fixture.command(emulator);
        command.args(variables.iter().flat_map(|(name, value)| ["-E".to_owned(), format!("{name}={value}")]));
        command.arg(program);
        command
    }

    /// Builds `libNAME.so` from C.
    pub fn library(&self, fixture: &Fixture, name: &str, source: &str, flags: &[&str]) {
        let file = format!("{name}.c");
        fixture.write(&file, source);
        self.shared(fixture, self.cc, name, &file, flags);
    }

    /// Builds `libNAME.so` from a file.
    pub fn shared(&self, fixture: &Fixture, compiler: &str, name: &str, file: &str, flags: &[&str]) {
        let (output, soname) = (format!("lib{name}.so"), format!("-Wl,-soname,lib{name}.so"));
        let search = self.search(fixture);
        let mut arguments = vec!["-shared", "-fPIC", "-O1", "-o", &output, file, &soname, &search, "-L."];
        arguments.extend(flags);
        fixture.must(compiler, arguments);
    }

    /// Builds a program from C.
    pub fn program(&self, fixture: &Fixture, source: &str, flags: &[&str]) -> PathBuf {
        fixture.write("program.c", source);
        let search = self.search(fixture);
        let mut arguments = vec!["-O1", "-o", "program", "program.c", &search, "-L."];
        arguments.extend(flags);
        fixture.must(self.cc, arguments);
        fixture.join("program")
    }
}

/// What became of a program.
pub struct Trial {
    target: Target,
    pub program: PathBuf,
    pub copy: PathBuf,
    pub file: PathBuf,
    pub kept: Vec<(String, Kept)>,
    pub members: Vec<String>,
    pub bindings: Vec<(String, Binding, Option<String>)>,
}

/// The contents of a program's closure.
pub fn contents(program: &Path) -> (underpin_resolve::Closure, Vec<Content>) {
    let root = HostRoot::new();
    let path = program.to_str().expect("UTF-8");
    let resolved = Resolver::new(&root, Environment::empty()).resolve(path.into(), Depth::Paths).expect("a closure");
    let read = |object: &underpin_resolve::Object| Content {
        bytes: std::fs::read(object.path.to_path().expect("a path")).expect("an object"),
        modified: 7,
    };
    let contents = resolved.objects.iter().map(read).collect();
    (resolved, contents)
}

/// Fuses a program of the fixture.
pub fn fuse(target: Target, fixture: &Fixture, program: &Path) -> Trial {
    fuse_with(target, fixture, program, |_| ())
}

/// The same, with something of the closure changed.
pub fn fuse_with(target: Target, fixture: &Fixture, program: &Path, change: impl FnOnce(&mut Closure)) -> Trial {
    let (resolved, contents) = contents(program);
    let mut closure = Closure::new(&resolved, &contents);
    change(&mut closure);
    let plan = underpin_fuse::plan(&closure).expect("a plan");
    let links = fixture.mkdir("links");
    let names = Names { soname: "fused.so".into(), links: links.to_str().expect("UTF-8").into(), only_links: false };
    let fused = underpin_fuse::fuse(&closure, &plan, &names).expect("a fused library");
    let file = fixture.write("fused.so", &fused.bytes);
    for name in &fused.links {
        fixture.symlink(&file, Path::new("links").join(name.to_path().expect("a name")));
    }
    let mut needed: Vec<BString> = vec![file.to_str().expect("UTF-8").into()];
    needed.extend(fused.program_needs.iter().cloned());
    let renames = fused.renames(&needed[0]).into_iter().map(|(from, to)| Rename { from, to }).collect();
    let edits = Edits { needed: Some(needed), renames, ..Edits::default() };
    let rewrite = underpin_rewrite::rewrite(&contents[0].bytes, &edits, &RewriteOptions::default()).expect("a rewrite");
    let name = program.file_name().expect("a name").to_str().expect("UTF-8");
    let copy = fixture.write(format!("{name}-fused"), rewrite.apply(&contents[0].bytes));
    fixture.chmod(format!("{name}-fused"), 0o755);
    let path = |index: usize| closure.objects[index].path.to_string();
    Trial {
        target,
        program: program.to_owned(),
        copy,
        file,
        kept: plan.kept.iter().map(|kept| (path(kept.object), kept.clone())).collect(),
        members: plan.members.iter().map(|&member| path(member)).collect(),
        bindings: fused.bindings.iter().map(|b| (path(b.from), b.clone(), b.to.map(path))).collect(),
    }
}

impl Trial {
    /// Runs both programs: the same output, errors and exit code, which are returned.
    pub fn same(&self, fixture: &Fixture, arguments: &[&str]) -> String {
        let run = |program: &Path| Output::of(self.target.run(fixture, program, &[]).args(arguments));
        let (before, after) = (run(&self.program), run(&self.copy));
        let own = |text: &str| text.replace(self.copy.to_str().expect("UTF-8"), self.program.to_str().expect("UTF-8"));
        assert_eq!((before.code, &before.stdout), (after.code, &own(&after.stdout)), "{}", after.stderr);
        assert_eq!(before.stderr, own(&after.stderr));
        assert_eq!(before.code, Some(0), "{}", before.stderr);
        after.stdout
    }

    /// The names that the loader searches for at a start of the copy.
    pub fn searched(&self, fixture: &Fixture) -> BTreeSet<String> {
        self.searched_with(fixture, &[])
    }

    /// The names that the loader searches for in a run of the copy.
    pub fn searched_with(&self, fixture: &Fixture, arguments: &[&str]) -> BTreeSet<String> {
        let mut command = self.target.run(fixture, &self.copy, &[("LD_DEBUG", "libs")]);
        let account = Output::of(command.args(arguments)).stderr;
        let names = account.lines().filter_map(|line| line.split_once("find library=")?.1.split(' ').next());
        names.map(str::to_owned).collect()
    }

    /// Compares what every reference of a member is bound to with the loader's own account; returns how many.
    pub fn bindings_as_the_loader(&self, fixture: &Fixture) -> usize {
        let mut command = self.target.run(fixture, &self.program, &[("LD_DEBUG", "bindings"), ("LD_BIND_NOW", "1")]);
        let account = Output::of(&mut command).stderr;
        let mut loader: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
        for line in account.lines().filter(|line| line.contains("binding file ")) {
            let (from, to, name, version) = parts(line);
            loader.entry((from, name, version)).or_default().insert(to);
        }
        let mut ours: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
        for (from, binding, to) in &self.bindings {
            let key = (from.clone(), binding.name.to_string(), binding.version.to_string());
            ours.entry(key).or_default().extend(to.clone());
        }
        ours.retain(|_, to| !to.is_empty());
        for (key, to) in &ours {
            assert_eq!(loader.get(key), Some(to), "{key:?}");
        }
        ours.len()
    }
}

/// `binding file A [0] to B [0]: normal symbol `x' [V]`.
fn parts(line: &str) -> (String, String, String, String) {
    let rest = line.split_once("binding file ").expect("a binding").1;
    let (from, rest) = rest.split_once(" [0] to ").expect("two files");
    let (to, rest) = rest.split_once(" [0]: ").expect("two files");
    let name = rest.split_once('`').and_then(|(_, name)| name.split_once('\'')).expect("a symbol");
    let version = name.1.trim().trim_matches(['[', ']']);
    (from.into(), to.into(), name.0.into(), version.into())
}
