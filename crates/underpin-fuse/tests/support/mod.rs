//! A program of a fixture, fused: the copy of it that uses the one library, and what the loader says of both.
#![allow(dead_code, reason = "each test file uses a part")]

use bstr::{BString, ByteSlice};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use underpin_fuse::{Binding, Closure, Content, Kept, Names};
use underpin_resolve::{Depth, Environment, HostRoot, Resolver};
use underpin_rewrite::{Edits, RewriteOptions};
use underpin_test_support::{Fixture, Output};

/// What became of a program.
pub struct Trial {
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
    let resolved = Resolver::new(&root, Environment::empty()).resolve(path.into(), Depth::Load).expect("a closure");
    let read = |object: &underpin_resolve::Object| Content {
        bytes: std::fs::read(object.path.to_path().expect("a path")).expect("an object"),
        modified: 7,
    };
    let contents = resolved.objects.iter().map(read).collect();
    (resolved, contents)
}

/// Fuses a program of the fixture.
pub fn fuse(fixture: &Fixture, program: &Path) -> Trial {
    let (resolved, contents) = contents(program);
    let closure = Closure::new(&resolved, &contents);
    let plan = underpin_fuse::plan(&closure).expect("a plan");
    let links = fixture.mkdir("links");
    let names = Names { soname: "fused.so".into(), links: links.to_str().expect("UTF-8").into() };
    let fused = underpin_fuse::fuse(&closure, &plan, &names).expect("a fused library");
    let file = fixture.write("fused.so", &fused.bytes);
    for name in &fused.links {
        fixture.symlink(&file, Path::new("links").join(name.to_path().expect("a name")));
    }
    let mut needed: Vec<BString> = vec![file.to_str().expect("UTF-8").into()];
    needed.extend(fused.program_needs.iter().cloned());
    let edits = Edits { needed: Some(needed), ..Edits::default() };
    let rewrite = underpin_rewrite::rewrite(&contents[0].bytes, &edits, &RewriteOptions::default()).expect("a rewrite");
    let name = program.file_name().expect("a name").to_str().expect("UTF-8");
    let copy = fixture.write(format!("{name}-fused"), rewrite.apply(&contents[0].bytes));
    fixture.chmod(format!("{name}-fused"), 0o755);
    let path = |index: usize| closure.objects[index].path.to_string();
    Trial {
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
        let run = |program: &Path| Output::of(fixture.command(program).args(arguments));
        let (before, after) = (run(&self.program), run(&self.copy));
        let own = |text: &str| text.replace(self.copy.to_str().expect("UTF-8"), self.program.to_str().expect("UTF-8"));
        assert_eq!((before.code, &before.stdout), (after.code, &own(&after.stdout)), "{}", after.stderr);
        assert_eq!(before.stderr, own(&after.stderr));
        assert_eq!(before.code, Some(0), "{}", before.stderr);
        after.stdout
    }

    /// Compares what every reference of a member is bound to with the loader's own account; returns how many.
    pub fn bindings_as_the_loader(&self, fixture: &Fixture) -> usize {
        let mut command = fixture.command(&self.program);
        command.envs([("LD_DEBUG", "bindings"), ("LD_BIND_NOW", "1")]);
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

/// Builds `libNAME.so` from C.
pub fn library(fixture: &Fixture, name: &str, source: &str, flags: &[&str]) {
    let file = format!("{name}.c");
    fixture.write(&file, source);
    let (output, soname) = (format!("lib{name}.so"), format!("-Wl,-soname,lib{name}.so"));
    let rpath = format!("-Wl,-rpath,{}", fixture.text());
    let mut arguments = vec!["-shared", "-fPIC", "-O1", "-o", &output, &file, &soname, &rpath, "-L."];
    arguments.extend(flags);
    fixture.cc(arguments);
}

/// Builds a program from C.
pub fn program(fixture: &Fixture, source: &str, flags: &[&str]) -> PathBuf {
    fixture.write("program.c", source);
    let rpath = format!("-Wl,-rpath,{}", fixture.text());
    let mut arguments = vec!["-O1", "-o", "program", "program.c", &rpath, "-L."];
    arguments.extend(flags);
    fixture.cc(arguments);
    fixture.join("program")
}
