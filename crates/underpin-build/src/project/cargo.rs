//! A folder with `Cargo.toml`.
//!
//! cargo does the work. It calls rustc through the plan's `rustc`, which appends the linker; C in build scripts is
//! compiled by the plan's `cc` and `c++` (variables of the crate `cc`). Results go to a target folder of underpin's
//! own. If cargo would write `Cargo.lock` into the sources, a copy of them is built instead.

use super::{Context, Copy, Planned, Program, outside, subcommands};
use crate::tool::Tool;
use crate::toolchain::RustChoice;
use crate::{BuildError, Outputs, Processor, Step};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use underpin_sys::{CHORE_LIMIT, QUESTION_LIMIT, answer};

/// The file that marks such a project.
pub const MARK: &str = "Cargo.toml";

/// A Cargo project.
#[derive(Clone, Debug)]
pub struct Cargo {
    folder: PathBuf,
}

/// What of `cargo metadata` is used (cargo-metadata(1)).
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    rust_version: Option<String>,
}

/// A message of `cargo build --message-format=json` (cargo's external-tools reference).
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Cargo {
    pub(super) fn new(folder: &Path) -> Cargo {
        Cargo { folder: folder.to_owned() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn plan(&self, context: &Context<'_>) -> Result<Planned, BuildError> {
        let Some(choice) = &context.toolchain.rust else {
            return Ok(Planned::default());
        };
        let metadata = self.metadata(choice)?;
        is_new_enough(&metadata, choice, &self.folder)?;
        let locked = metadata.workspace_root.join("Cargo.lock").is_file() && self.is_locked(choice);
        let mut planned = Planned { inside: metadata.target_directory.join("underpin"), ..Planned::default() };
        let mut folder = self.folder.clone();
        let mut arguments: Vec<String> = Vec::new();
        if !locked {
            let mirror = context.work.join("mirror");
            let copy = outside::mirrored(&mirror, &metadata.workspace_root);
            planned.links = outside::links(&metadata.workspace_root, &mirror);
            folder = copy.join(self.folder.strip_prefix(&metadata.workspace_root).unwrap_or(Path::new("")));
            planned.remarks.push(
                "Cargo.lock is missing or out of date: a copy of the sources is built, so that cargo writes it there"
                    .to_owned(),
            );
            for file in outer_configurations(&metadata.workspace_root) {
                arguments.extend(["--config".to_owned(), file.display().to_string()]);
            }
            planned.copy = Some(Copy { from: metadata.workspace_root.clone(), to: copy, with_results: true });
        }
        arguments.extend(build_arguments(context, choice, locked));
        let step = Step::new("build", choice.rust.cargo.clone(), arguments, &folder);
        planned.steps.push(step.with(environment(context, choice)).captured());
        Ok(planned)
    }

    fn ask(&self, choice: &RustChoice, arguments: &[&str]) -> Result<Vec<u8>, BuildError> {
        let mut command = Command::new(&choice.rust.cargo);
        command.args(arguments).current_dir(&self.folder);
        let output = answer(&mut command, CHORE_LIMIT).map_err(BuildError::io(&choice.rust.cargo))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        Err(BuildError::Metadata { folder: self.folder.clone(), said })
    }

    /// What the project is; writes nothing (`--no-deps` resolves nothing).
    fn metadata(&self, choice: &RustChoice) -> Result<Metadata, BuildError> {
        let text = self.ask(choice, &["metadata", "--format-version", "1", "--no-deps"])?;
        serde_json::from_slice(&text)
            .map_err(|error| BuildError::Metadata { folder: self.folder.clone(), said: error.to_string() })
    }

    /// Whether cargo would leave `Cargo.lock` unchanged.
    fn is_locked(&self, choice: &RustChoice) -> bool {
        self.ask(choice, &["metadata", "--format-version", "1", "--locked"]).is_ok()
    }

    /// The binaries, and as helpers the examples, unless the user names examples, and the chores of the repository
    /// (`cargo xtask`); not the binaries' tests, which have their names.
    pub(super) fn programs(&self, outputs: &Outputs, words: &[String]) -> Result<Vec<Program>, BuildError> {
        programs(outputs, words, &subcommands::packages(&self.folder))
    }
}

/// The programs that cargo's messages name. `chores`: packages that the repository's configuration makes subcommands of cargo.
///
/// # Errors
/// If there is none.
pub(super) fn programs(outputs: &Outputs, words: &[String], chores: &[String]) -> Result<Vec<Program>, BuildError> {
    let names_examples = words.iter().any(|word| word.starts_with("--example"));
    let mut programs: Vec<Program> = Vec::new();
    for line in outputs.text().lines().filter(|line| line.starts_with('{')) {
        let Ok(message) = serde_json::from_str::<Message>(line) else { continue };
        let (Some(path), Some(target)) = (message.executable, message.target) else { continue };
        let is = |wanted: &str| target.kind.iter().any(|kind| kind == wanted);
        let is_test = message.profile.is_some_and(|profile| profile.test);
        if message.reason == "compiler-artifact" && (is("bin") || is("example")) && !is_test {
            let is_chore = chores.iter().any(|chore| *chore == target.name || chore == package(&message.package_id));
            let helper = if is("example") { !names_examples } else { is_chore };
            programs.push(Program { name: target.name, path, helper });
        }
    }
    if programs.iter().all(|program| program.helper) {
        programs.iter_mut().for_each(|program| program.helper = false);
    }
    if programs.is_empty() {
        let hint = "the package has no binary; name one of the workspace's packages (`-- -p NAME`)".to_owned();
        return Err(BuildError::NoProgram { tool: "cargo", hint });
    }
    Ok(programs)
}

/// The name of a package, by its identifier: `path+file:///project/tool#0.1.0`, `path+file:///project/tool#name@0.1.0`,
/// `registry+...#name@1.0.0` (the package ID specifications of the Cargo book).
fn package(id: &str) -> &str {
    let (place, rest) = id.rsplit_once('#').unwrap_or((id, ""));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

/// The packages of the workspace say which compiler they need; cargo would refuse only after it fetched everything.
fn is_new_enough(metadata: &Metadata, choice: &RustChoice, folder: &Path) -> Result<(), BuildError> {
    let found = parts(&choice.rust.version);
    let members = metadata.packages.iter().filter(|package| metadata.workspace_members.contains(&package.id));
    let newer = members
        .filter_map(|package| Some((package, package.rust_version.as_ref()?)))
        .find(|(_, wanted)| parts(wanted) > found);
    let Some((package, wanted)) = newer else { return Ok(()) };
    let newer = other_toolchain(choice, wanted);
    let update = if let Some(name) = &newer {
        &format!("RUSTUP_TOOLCHAIN={name} underpin build ...")
    } else if choice.rust.by_rustup {
        "rustup update"
    } else {
        "install a newer one, for example with rustup"
    };
    Err(BuildError::RustVersion {
        package: package.name.clone(),
        wanted: wanted.clone(),
        found: choice.rust.version.clone(),
        advice: format!("`{update}`, or build an older version of the project ({})", folder.display()),
    })
}

/// A toolchain of rustup's that is installed and new enough.
fn other_toolchain(choice: &RustChoice, wanted: &str) -> Option<String> {
    let folder = choice.rust.sysroot.parent().filter(|_| choice.rust.by_rustup)?;
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    names.sort();
    let version = |path: &Path| {
        let output = answer(Command::new(path.join("bin/rustc")).arg("--version"), QUESTION_LIMIT).ok()?;
        String::from_utf8(output.stdout).ok()?.split(' ').nth(1).map(parts)
    };
    let found = names.into_iter().find(|path| version(path).is_some_and(|version| version >= parts(wanted)))?;
    Some(found.file_name()?.to_str()?.to_owned())
}

/// A version as numbers: `1.96`, `1.96.0-nightly`.
fn parts(version: &str) -> [u32; 3] {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    [0; 3].map(|_| parts.next().unwrap_or(0))
}

/// cargo's configuration above the project, which a copy elsewhere would not see, the nearest last: it wins.
fn outer_configurations(root: &Path) -> Vec<PathBuf> {
    let above = root.ancestors().skip(1);
    let files = above.flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(".cargo").join(name)));
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.reverse();
    files
}

/// The arguments of cargo after its configuration.
fn build_arguments(context: &Context<'_>, choice: &RustChoice, locked: bool) -> Vec<String> {
    let mut arguments: Vec<String> = vec!["build".to_owned()];
    let words = context.words;
    let chooses_profile =
        |word: &String| word == "--release" || word == "-r" || word.starts_with("--profile") || word == "--dev";
    if !words.iter().any(chooses_profile) {
        arguments.push("--release".to_owned());
    }
    arguments.extend(["--target".to_owned(), context.spec.rust_triple()]);
    arguments.extend(["--target-dir".to_owned(), context.work.join("target").display().to_string()]);
    arguments.push("--message-format=json-render-diagnostics".to_owned());
    if locked && !words.iter().any(|word| word == "--locked" || word == "--frozen") {
        arguments.push("--locked".to_owned());
    }
    if choice.from_source {
        arguments.push("-Zbuild-std=std,panic_abort".to_owned());
    }
    arguments.extend(words.iter().cloned());
    arguments
}

/// Variables for cargo, rustc and build scripts.
pub(super) fn environment(context: &Context<'_>, choice: &RustChoice) -> Vec<(String, String)> {
    let triple = context.spec.rust_triple().replace('-', "_");
    let mut variables = vec![("RUSTC_WRAPPER".to_owned(), context.tool(Tool::Rustc))];
    let compilers = [
        ("CC", Tool::Cc, context.toolchain.cc.is_some()),
        // Our tool reports that there is none, and how to get one; build scripts would look for a name that does not
        // exist.
        ("CXX", Tool::Cxx, true),
        ("AR", Tool::Ar, !context.toolchain.ar.is_empty()),
        ("RANLIB", Tool::Ranlib, !context.toolchain.ranlib.is_empty()),
    ];
    for (name, tool, is_there) in compilers {
        let own = format!("{name}_{triple}");
        // What the user set for this particular target is kept.
        if is_there && std::env::var_os(&own).is_none() {
            variables.push((own, context.tool(tool)));
        }
    }
    // jemalloc is built for one size of pages and aborts on larger ones; ARM machines have 4, 16 or 64 kB.
    const PAGE: &str = "JEMALLOC_SYS_WITH_LG_PAGE";
    if context.spec.processor == Processor::Aarch64 && std::env::var_os(PAGE).is_none() {
        variables.push((PAGE.to_owned(), "16".to_owned()));
    }
    // Without a lock file, dependency versions that this compiler is too old for are skipped.
    variables.push(("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS".to_owned(), "fallback".to_owned()));
    if choice.from_source {
        variables.push(("RUSTC_BOOTSTRAP".to_owned(), "1".to_owned()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::{Outputs, package, parts, programs};

    #[test]
    fn versions_of_rust_are_compared_as_numbers() {
        assert!(parts("1.100") > parts("1.95.0"));
        assert!(parts("1.95") <= parts("1.95.0"));
        assert!(parts("1.97.0-nightly") > parts("1.96.1"));
    }

    #[test]
    fn tests_are_not_programs_and_examples_are_only_if_the_user_names_them() {
        let line = |kind: &str, name: &str, test: bool, executable: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"{name}\"}},\
                 \"profile\":{{\"test\":{test}}},\"executable\":{executable}}}\n"
            )
        };
        let mut outputs = Outputs::default();
        outputs.add(&line("custom-build", "build-script-build", false, "null"), None);
        outputs.add(&line("bin", "prog", true, "\"/t/deps/prog-1\""), None);
        outputs.add(&line("test", "rules", true, "\"/t/deps/rules-1\""), None);
        outputs.add(&line("example", "shown", false, "\"/t/examples/shown\""), None);
        outputs.add(&line("bin", "prog", false, "\"/t/prog\""), None);
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let programs = programs(&outputs, &words, &[]).unwrap();
            programs.into_iter().map(|one| (one.path.display().to_string(), one.helper)).collect::<Vec<_>>()
        };
        let (example, program) = ("/t/examples/shown".to_owned(), "/t/prog".to_owned());
        assert_eq!(found(&["--all-targets"]), [(example.clone(), true), (program.clone(), false)]);
        assert_eq!(found(&["--bins", "--example=shown"]), [(example, false), (program, false)]);
    }

    #[test]
    fn a_package_is_named_by_its_identifier() {
        assert_eq!(package("path+file:///p/xtask#0.1.0"), "xtask");
        assert_eq!(package("path+file:///p/tools/x#xtask@0.1.0"), "xtask");
        assert_eq!(package("registry+https://example.org/index#ripgrep@14.1.1"), "ripgrep");
    }

    #[test]
    fn a_subcommand_of_the_repository_is_a_helper_where_something_else_is_built() {
        let line = |id: &str, name: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\",\"target\":{{\"kind\":[\"bin\"],\
                 \"name\":\"{name}\"}},\"profile\":{{\"test\":false}},\"executable\":\"/t/{name}\"}}\n"
            )
        };
        let of = |lines: &[String]| {
            let mut outputs = Outputs::default();
            outputs.add(&lines.concat(), None);
            let found = programs(&outputs, &[], &["xtask".to_owned()]).unwrap();
            found.into_iter().map(|one| (one.name, one.helper)).collect::<Vec<_>>()
        };
        let chore = line("path+file:///p/xtask#0.1.0", "chores");
        let product = line("path+file:///p/server#0.1.0", "server");
        assert_eq!(of(&[chore.clone(), product]), [("chores".to_owned(), true), ("server".to_owned(), false)]);
        assert_eq!(of(&[chore]), [("chores".to_owned(), false)]);
    }
}
