//! Small fixtures, plans for them, plans carried out, and the real loader's answer about the result.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use underpin_resolve::{Environment, HostRoot};
use underpin_rewrite::bytes::{record, undo};
use underpin_rewrite::plan::{BindPlan, Decision, EdgePlan, LeftAlone, ObjectPlan, Planner, Policy, Scope};
use underpin_test_support::{Fixture, Output, traced_objects};

/// A library to build: `dir/name`, its soname the name unless another is given.
pub struct Library<'a> {
    pub path: &'a str,
    pub soname: Option<&'a str>,
    /// Files to link with, by path below the fixture.
    pub needs: &'a [&'a str],
    pub flags: &'a [&'a str],
}

impl<'a> Library<'a> {
    pub fn new(path: &'a str) -> Library<'a> {
        Library { path, soname: Some(base(path)), needs: &[], flags: &[] }
    }

    pub fn needs(self, needs: &'a [&'a str]) -> Library<'a> {
        Library { needs, ..self }
    }

    pub fn flags(self, flags: &'a [&'a str]) -> Library<'a> {
        Library { flags, ..self }
    }

    pub fn soname(self, soname: Option<&'a str>) -> Library<'a> {
        Library { soname, ..self }
    }

    pub fn build(self, fixture: &Fixture) -> PathBuf {
        self.build_with(fixture, "cc")
    }

    /// Every library has a constructor, and a function that is named after its path.
    pub fn build_with(self, fixture: &Fixture, compiler: &str) -> PathBuf {
        let path = fixture.join(self.path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        let word: String =
            self.path.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
        let code = format!(
            "static int ready; __attribute__((constructor)) static void start(void){{ready=1;}}\n\
             int f_{word}(void){{return ready;}}\n"
        );
        let source = fixture.write(format!("src/{word}.c"), code);
        let mut arguments: Vec<String> = vec!["-shared".into(), "-fPIC".into(), "-o".into(), text(&path)];
        arguments.extend(self.soname.map(|soname| format!("-Wl,-soname,{soname}")));
        arguments.extend([text(&source), "-Wl,--no-as-needed".into(), "-Wl,--allow-shlib-undefined".into()]);
        arguments.extend(self.flags.iter().map(|flag| flag.replace("@", fixture.text())));
        arguments.extend(self.needs.iter().map(|need| text(&fixture.join(need))));
        fixture.must(compiler, arguments);
        path
    }
}

/// Links a program with files; `@` in flags is replaced by the fixture's directory.
pub fn program(fixture: &Fixture, name: &str, needs: &[&str], flags: &[&str]) -> PathBuf {
    program_with(fixture, "cc", name, needs, flags)
}

pub fn program_with(fixture: &Fixture, compiler: &str, name: &str, needs: &[&str], flags: &[&str]) -> PathBuf {
    let path = fixture.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
    let source = fixture.write("src/main.c", "int main(void){return 0;}\n");
    let mut arguments: Vec<String> = vec!["-o".into(), text(&path), text(&source), "-Wl,--no-as-needed".into()];
    arguments.push("-Wl,--allow-shlib-undefined".into());
    arguments.extend(flags.iter().map(|flag| flag.replace("@", fixture.text())));
    arguments.extend(needs.iter().map(|need| text(&fixture.join(need))));
    fixture.must(compiler, arguments);
    path
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("a UTF-8 path").to_owned()
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The plan for the given files and directories, without any environment variables.
pub fn plan_of(paths: &[&Path], policy: &Policy) -> BindPlan {
    plan_in(paths, policy, Environment::empty())
}

pub fn plan_in(paths: &[&Path], policy: &Policy, environment: Environment) -> BindPlan {
    let root = HostRoot::new();
    let named: Vec<bstr::BString> = paths.iter().map(|path| path.as_os_str().as_bytes().into()).collect();
    let scope = Scope::find(&root, &named);
    Planner::new(&root, environment, policy.clone()).plan(&scope)
}

/// The plan for everything below the fixture's directory.
pub fn plan_all(fixture: &Fixture) -> BindPlan {
    plan_of(&[fixture.path()], &Policy::default())
}

pub fn object<'p>(plan: &'p BindPlan, path: &Path) -> &'p ObjectPlan {
    let path = path.canonicalize().expect("the object");
    let found = plan.objects.iter().find(|object| object.path == path.as_os_str().as_bytes());
    found.unwrap_or_else(|| panic!("{} is not in the plan; refused: {:?}", path.display(), plan.refused))
}

pub fn edge<'p>(plan: &'p BindPlan, path: &Path, name: &str) -> &'p EdgePlan {
    let found = object(plan, path).edges.iter().find(|edge| edge.name == name);
    found.unwrap_or_else(|| panic!("{} has no name {name}", path.display()))
}

/// The path that a name becomes.
pub fn becomes(plan: &BindPlan, path: &Path, name: &str) -> PathBuf {
    match &edge(plan, path, name).decision {
        Decision::Becomes { path, .. } => path.into(),
        other => panic!("{name} of {} is not bound: {other:?}", path.display()),
    }
}

/// Why a name is left alone.
pub fn left_alone<'p>(plan: &'p BindPlan, path: &Path, name: &str) -> &'p LeftAlone {
    match &edge(plan, path, name).decision {
        Decision::LeftAlone { reason } => reason,
        other => panic!("{name} of {} is not left alone: {other:?}", path.display()),
    }
}

/// Writes every rewritten file over the old one, and makes the links of farms.
pub fn carry_out(plan: &BindPlan) -> usize {
    let mut count = 0;
    for object in plan.changes() {
        let path = PathBuf::from(object.path.to_string());
        let bytes = fs::read(&path).expect("the file");
        let original = if object.bound_before { undo(&bytes).expect("the original") } else { bytes };
        let made = object.rewrite.as_ref().expect("bytes for what changes").apply(&original);
        let temporary = path.with_extension("underpin-test");
        fs::write(&temporary, made).expect("the new file");
        fs::set_permissions(&temporary, path.metadata().expect("the file").permissions()).expect("its mode");
        fs::rename(&temporary, &path).expect("the rename");
        count += 1;
    }
    for farm in &plan.farms {
        fs::create_dir_all(&farm.directory).expect("the farm");
        for link in &farm.links {
            std::os::unix::fs::symlink(&link.target, Path::new(&farm.directory).join(&link.name)).expect("a link");
        }
    }
    count
}

/// Restores every bound file: the original bytes.
pub fn unbind_all(plan: &BindPlan) {
    for object in plan.changes() {
        let path = PathBuf::from(object.path.to_string());
        let bytes = fs::read(&path).expect("the file");
        assert!(record(&bytes).expect("a readable record").is_some(), "{} is bound", path.display());
        fs::write(&path, undo(&bytes).expect("the original")).expect("the file");
    }
}

/// What the real loader maps, in order, by real path.
pub fn loaded(program: &Path) -> Vec<PathBuf> {
    loaded_in(program, &[])
}

pub fn loaded_in(program: &Path, variables: &[(&str, &str)]) -> Vec<PathBuf> {
    let objects = traced_objects(program, variables).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    objects.into_iter().map(|object| object.path.map_or_else(|| object.name.into(), real)).collect()
}

/// Runs the program: it must end with success.
pub fn runs(program: &Path) {
    let output = Output::of(std::process::Command::new(program).env_remove("LD_LIBRARY_PATH"));
    assert_eq!(output.code, Some(0), "{}: {}{}", program.display(), output.stdout, output.stderr);
}

/// Bytes of every regular file below a directory.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(directory).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("its state");
            if meta.is_dir() {
                ahead.push(path);
            } else if meta.is_file() && meta.size() < 64 << 20 {
                found.insert(path.clone(), fs::read(&path).expect("its bytes"));
            }
        }
    }
    found
}
