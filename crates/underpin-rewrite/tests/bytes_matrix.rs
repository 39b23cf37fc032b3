//! Files rewritten by patchelf, bound in every place, then given to every tool: each starts, or was refused before.
//!
//! Users of Spack, Nix and Conda have files that patchelf has rewritten. Checked by the loader and the program's
//! answer. A tool that breaks the file even without a binding is not underpin's fault.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "in a test a panic is the failing assertion")]

mod bytes_support;

use bytes_support::{ANSWER, STRATEGIES, absolute, bind, library, only, program, works};
use std::path::Path;
use underpin_rewrite::{Caution, Edits, Refusal, record};
use underpin_test_support::{Fixture, Output, need, patchelfs, skip};

/// Tools that remove symbols or sections, or write the file again.
const TOOLS: [&[&str]; 8] = [
    &["strip"],
    &["strip", "-g"],
    &["eu-strip"],
    &["eu-strip", "-g"],
    &["objcopy"],
    &["llvm-strip"],
    &["llvm-strip", "-g"],
    &["llvm-objcopy"],
];

/// What is bound and started.
struct Subject {
    dir: Fixture,
    /// The file.
    name: &'static str,
    edits: Edits,
    /// The program that loads it, if it is a library.
    user: Option<&'static str>,
}

impl Subject {
    /// Whether the file "bound" does what the original did, with the names of `edits`.
    fn works(&self, edits: &Edits) -> Result<(), String> {
        let Some(user) = self.user else { return works(&self.dir, "bound", edits) };
        let folder = self.dir.mkdir("used");
        std::fs::copy(self.dir.join("bound"), folder.join(self.name)).unwrap();
        let output = Output::of(self.dir.command(self.dir.join(user)).env("LD_LIBRARY_PATH", &folder));
        if output.code != ANSWER || !output.stderr.is_empty() {
            return Err(format!("it ends with {output:?}"));
        }
        let mut command = self.dir.command(self.dir.join(user));
        let listed = Output::of(command.env("LD_LIBRARY_PATH", &folder).env("LD_TRACE_LOADED_OBJECTS", "1"));
        let lost = edits.renames.iter().find(|rename| !listed.stdout.contains(&rename.to.to_string()));
        lost.map_or(Ok(()), |rename| Err(format!("{} is not loaded: {}", rename.to, listed.stdout)))
    }

    fn put(&self, bytes: &[u8]) {
        self.dir.write("bound", bytes);
        self.dir.chmod("bound", 0o755);
    }

    fn run(&self, tool: &[&str]) -> bool {
        Output::of(self.dir.command(tool[0]).args(&tool[1..]).arg(self.dir.join("bound"))).code == Some(0)
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All places and tools for one file rewritten by patchelf. Returns what is wrong.
fn all_places(subject: &Subject, made_by: &str, again: &[(String, std::path::PathBuf)]) -> (usize, Vec<String>) {
    let path = "/another/path/that/is/longer/than/the/one/before:/and/one/more";
    let patch = again.iter().map(|(_, patchelf)| vec![text(patchelf), "--set-rpath", path]);
    let tools: Vec<Vec<&str>> = TOOLS.iter().map(|tool| tool.to_vec()).chain(patch).collect();
    let original = std::fs::read(subject.dir.join(subject.name)).unwrap();
    let nothing = Edits::default();
    // A search path that is no longer needed stays unless a name needs its bytes.
    let sound: Vec<&Vec<&str>> = tools
        .iter()
        .filter(|tool| {
            subject.put(&original);
            subject.run(tool) && subject.user.map_or_else(|| unbound(subject), |_| subject.works(&nothing).is_ok())
        })
        .collect();
    let (mut placed, mut wrong) = (0, Vec::new());
    for place in STRATEGIES {
        let rewrite = match bind(&subject.dir, subject.name, &subject.edits, &only(place)) {
            Ok(rewrite) => rewrite,
            Err(Refusal::NoRoom { .. } | Refusal::DynamicFull { .. }) => continue,
            Err(refusal) => panic!("{made_by} {place:?}: {refusal}"),
        };
        placed += 1;
        assert!(!rewrite.cautions.contains(&Caution::TableMoved), "{made_by} {place:?}: {:?}", rewrite.cautions);
        let bound = std::fs::read(subject.dir.join("bound")).unwrap();
        let mut judge = |tool: &str| {
            if let Err(error) = subject.works(&subject.edits) {
                wrong.push(format!("{made_by}, {place:?}, {tool}: {error}"));
            }
        };
        judge("nothing");
        for tool in &sound {
            subject.put(&bound);
            assert!(subject.run(tool), "{made_by} {place:?} {tool:?} fails");
            judge(&tool.join(" "));
            let kept = record(&std::fs::read(subject.dir.join("bound")).unwrap()).unwrap().is_some();
            assert!(kept || tool[0] == "llvm-strip", "{made_by} {place:?} {tool:?}: the record is lost");
        }
    }
    (placed, wrong)
}

/// Whether an unbound program starts.
fn unbound(subject: &Subject) -> bool {
    let mut command = subject.dir.command(subject.dir.join("bound"));
    Output::of(command.env("LD_LIBRARY_PATH", subject.dir.path())).code == ANSWER
}

/// Makes a subject for each patchelf, and for none, and tries all places and tools.
fn matrix(make: impl Fn() -> Subject, least: usize) {
    need!("cc", "ld.lld", "strip", "eu-strip", "objcopy", "llvm-strip", "llvm-objcopy", "patchelf");
    let versions = patchelfs();
    if versions.is_empty() {
        return skip("the versions of patchelf are not below target/patchelf");
    }
    let (mut placed, mut wrong) = (0, Vec::new());
    for version in std::iter::once(None).chain(versions.iter().map(Some)) {
        let subject = make();
        if let Some((name, patchelf)) = version {
            let path = format!("/opt/{}/lib:{}", "prefix/".repeat(9), subject.dir.text());
            subject.dir.must(text(patchelf), ["--force-rpath", "--set-rpath", &path, subject.name]);
            println!("{name}: {:?}", std::fs::metadata(subject.dir.join(subject.name)).unwrap().len());
        }
        let made_by = version.map_or("the linker", |(name, _)| name.as_str());
        let (more, found) = all_places(&subject, made_by, &versions);
        assert!(more > 0, "{made_by}: no place at all");
        placed += more;
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{} of {placed} places:\n{}", wrong.len(), wrong.join("\n"));
    assert!(placed >= least, "only {placed} places had room");
}

fn a_program(flags: &[&str]) -> Subject {
    let dir = Fixture::new();
    program(&dir, "cc", flags);
    let edits = absolute(&dir, "main");
    Subject { dir, name: "main", edits, user: None }
}

#[test]
fn a_position_independent_program_outlives_every_tool() {
    matrix(|| a_program(&["-pie", "-g"]), 12);
}

#[test]
fn a_program_at_a_fixed_address_outlives_every_tool() {
    matrix(|| a_program(&["-no-pie", "-g"]), 8);
}

#[test]
fn a_program_of_lld_outlives_every_tool() {
    matrix(|| a_program(&["-fuse-ld=lld", "-g"]), 8);
}

#[test]
fn a_library_with_many_symbols_outlives_every_tool() {
    let make = |linker: &'static str| {
        move || {
            let dir = Fixture::new();
            let edits = library(&dir, linker);
            Subject { dir, name: "libentry.so", edits, user: Some("user") }
        }
    };
    matrix(make("-fuse-ld=bfd"), 12);
    matrix(make("-fuse-ld=lld"), 8);
}
