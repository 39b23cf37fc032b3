//! One program in all its forms: as Debian has it, as Spack has it, and as each tool leaves it.

use crate::fuse_trials::copies::{self, Made};
use crate::run;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that starts.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its path on this system.
    pub path: &'static str,
    /// The argument that makes it print its version and end.
    pub argument: &'static str,
    /// A folder that it finds relative to its own path: its source, and its place below the prefix.
    pub data: Option<(&'static str, &'static str)>,
}

/// A form of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Spack-like, as it was installed.
    Unbound,
    /// `patchelf --replace-needed` on every object, the C library's included.
    Patchelf,
    /// shrinkwrap's method, with patchelf as the writer.
    Shrinkwrap,
    /// `underpin bind` on the tree.
    Bind,
    /// `underpin bind --fuse` on the program.
    Fused,
    /// `underpin bind --flatten` on the program.
    Flatten,
    /// `underpin bundle` as a folder.
    BundleFolder,
    /// `underpin bundle` as a file.
    BundleFile,
}

impl Kind {
    /// Those of docs/bench/storm.md; the one that the others are compared with is the first.
    pub const ALL: [Kind; 7] = [
        Kind::Unbound,
        Kind::Patchelf,
        Kind::Shrinkwrap,
        Kind::Bind,
        Kind::Flatten,
        Kind::BundleFolder,
        Kind::BundleFile,
    ];

    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unbound => "Spack-like, unbound",
            Kind::Patchelf => "patchelf --replace-needed, every object",
            Kind::Shrinkwrap => "shrinkwrap's method (patchelf), the program alone",
            Kind::Bind => "underpin bind, in place",
            Kind::Fused => "underpin bind --fuse",
            Kind::Flatten => "underpin bind --flatten",
            Kind::BundleFolder => "underpin bundle, a folder",
            Kind::BundleFile => "underpin bundle, a file",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Kind::Unbound => "unbound",
            Kind::Patchelf => "patchelf",
            Kind::Shrinkwrap => "shrinkwrap",
            Kind::Bind => "bind",
            Kind::Fused => "fused",
            Kind::Flatten => "flatten",
            Kind::BundleFolder => "bundle-folder",
            Kind::BundleFile => "bundle-file",
        }
    }
}

/// A program in one of its forms, on disk.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Which.
    pub kind: Kind,
    /// All of it is below this folder.
    pub folder: PathBuf,
    /// The program.
    pub program: PathBuf,
}

/// A form that could not be made, and why.
pub type Refused = (Kind, String);

/// The programs that this benchmark builds.
pub struct Tools {
    /// `underpin`.
    pub underpin: PathBuf,
    /// `underpin-spacktree`.
    pub spacktree: PathBuf,
    /// `underpin-slowfs`.
    pub slowfs: PathBuf,
}

impl Tools {
    /// Builds them.
    ///
    /// # Errors
    /// If one does not build.
    pub fn build() -> anyhow::Result<Tools> {
        Ok(Tools {
            underpin: run::release_binary()?,
            spacktree: run::release_tool("underpin-spacktree")?,
            slowfs: run::release_tool("underpin-slowfs")?,
        })
    }

    /// The same where only files are made and the slow file system answers: a debug build writes the same files.
    ///
    /// # Errors
    /// If one does not build.
    pub fn build_for_files() -> anyhow::Result<Tools> {
        Ok(Tools {
            underpin: run::debug_binary()?,
            spacktree: run::debug_tool("underpin-spacktree")?,
            slowfs: run::release_tool("underpin-slowfs")?,
        })
    }

    /// A subject in these forms below a folder, of which the unbound one is the first, and the forms that were refused, with
    /// the reason.
    ///
    /// # Errors
    /// If a tool fails, or what it made does not start.
    pub fn variants(
        &self,
        base: &Path,
        subject: Subject,
        kinds: &[Kind],
    ) -> anyhow::Result<(Vec<Variant>, Vec<Refused>)> {
        let mut variants: Vec<Variant> = Vec::new();
        let mut refused = Vec::new();
        for &kind in kinds {
            println!("{}: {}", subject.path, kind.name());
            let unbound = variants.first().map(|variant| variant.program.as_path());
            let variant = match self.variant(base, subject, kind, unbound) {
                Ok(variant) => variant,
                // Not every closure can be flattened or fused; the rest must succeed.
                Err(error) if matches!(kind, Kind::Flatten | Kind::Fused) => {
                    refused.push((kind, error.to_string()));
                    continue;
                }
                Err(error) => return Err(error.context(kind.name())),
            };
            must(Command::new(&variant.program).arg(subject.argument))?;
            variants.push(variant);
        }
        Ok((variants, refused))
    }

    fn variant(&self, base: &Path, subject: Subject, kind: Kind, unbound: Option<&Path>) -> anyhow::Result<Variant> {
        let folder = base.join(kind.folder());
        let program = match (kind, unbound) {
            (Kind::BundleFolder | Kind::BundleFile, Some(unbound)) => self.bundle(&folder, kind, unbound, subject)?,
            _ => self.tree(&folder, subject)?,
        };
        let path = program.as_path();
        match kind {
            Kind::Unbound | Kind::BundleFolder | Kind::BundleFile => {}
            Kind::Patchelf => replace_needed(path)?,
            Kind::Shrinkwrap => shrinkwrap(path)?,
            Kind::Bind => self.bind(&["bind"], base, &folder)?,
            Kind::Fused => self.fuse(path)?,
            Kind::Flatten => self.bind(&["bind", "--flatten"], base, path)?,
        }
        Ok(Variant { kind, folder, program })
    }

    /// patchelf binds libraries of graphics drivers as well, so underpin is told not to leave them out.
    fn bind(&self, verb: &[&str], base: &Path, target: &Path) -> anyhow::Result<()> {
        let policy = base.join("policy.toml");
        fs::write(&policy, "[built_in]\ndrivers = false\n")?;
        let mut command = Command::new(&self.underpin);
        let output = command.args(verb).arg("--policy").arg(&policy).arg(target).output()?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            bail!("{}", String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" "));
        }
        Ok(())
    }

    /// With the policy of users: drivers stay shared.
    fn fuse(&self, program: &Path) -> anyhow::Result<()> {
        match copies::fuse(&self.underpin, program, &[])? {
            Made::Merged(_) => Ok(()),
            Made::LeftAlone(members) => bail!("left alone: {members} of its libraries could be merged"),
            Made::Refused(reason) => bail!("{reason}"),
        }
    }

    fn tree(&self, folder: &Path, subject: Subject) -> anyhow::Result<PathBuf> {
        let printed = must(Command::new(&self.spacktree).arg("--folder").arg(folder).arg(subject.path))?;
        let program = PathBuf::from(printed.trim());
        let prefix = program.parent().and_then(Path::parent).context("a program below a prefix")?;
        copy_data(subject, prefix)?;
        Ok(program)
    }

    fn bundle(&self, folder: &Path, kind: Kind, unbound: &Path, subject: Subject) -> anyhow::Result<PathBuf> {
        let name = unbound.file_name().context("a program's name")?;
        let program = folder.join("bin").join(name);
        let target = if kind == Kind::BundleFolder { folder.to_owned() } else { program.clone() };
        fs::create_dir_all(target.parent().context("a parent")?)?;
        let mut command = Command::new(&self.underpin);
        command.arg("bundle").arg(unbound).arg("-o").arg(&target);
        if kind == Kind::BundleFile {
            command.arg("--file");
        }
        must(&mut command)?;
        copy_data(subject, folder)?;
        Ok(program)
    }
}

fn copy_data(subject: Subject, prefix: &Path) -> anyhow::Result<()> {
    let Some((from, to)) = subject.data else { return Ok(()) };
    let to = prefix.join(to);
    if to.exists() {
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("a parent")?)?;
    must(Command::new("cp").arg("-rL").arg(from).arg(&to)).map(drop)
}

/// What the loader maps for a program: the name asked for, and the path. The loader itself is not searched for and is
/// left out.
///
/// # Errors
/// If the program does not start.
pub fn loaded(program: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let text = must(Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1"))?;
    let pairs = text.lines().filter_map(|line| line.trim().split_once(" => ")).map(|(name, rest)| {
        let path = rest.rsplit_once(" (0x").map_or(rest, |(path, _)| path);
        (name.to_owned(), path.to_owned())
    });
    Ok(pairs.filter(|(name, _)| !name.contains('/') && !name.starts_with("ld-linux")).collect())
}

/// Every name that an object needs, in every object, becomes the path that the loader finds for it.
fn replace_needed(program: &Path) -> anyhow::Result<()> {
    let loaded = loaded(program)?;
    let objects = loaded.iter().map(|(_, path)| Path::new(path)).chain([program]);
    for object in objects {
        let object = object.canonicalize()?;
        let needed = must(Command::new("patchelf").arg("--print-needed").arg(&object))?;
        let mut command = Command::new("patchelf");
        let mut any = false;
        for (name, path) in loaded.iter().filter(|(name, _)| needed.lines().any(|line| line == name)) {
            command.args(["--replace-needed", name, path]);
            any = true;
        }
        if any {
            must(command.arg(object))?;
        }
    }
    Ok(())
}

/// The whole closure by path in the program alone, in the loader's order.
///
/// patchelf sorts what it adds, and each of its runs may add a segment; so stand-ins that sort as wanted are added in one
/// run, and become the paths in another. Before that, the names are replaced, so that those in the version records follow.
fn shrinkwrap(program: &Path) -> anyhow::Result<()> {
    let loaded = loaded(program)?;
    let needed = || must(Command::new("patchelf").arg("--print-needed").arg(program));
    let own = needed()?;
    let mut direct = Command::new("patchelf");
    let mut renewed = Command::new("patchelf");
    let mut whole = Command::new("patchelf");
    for (at, (name, path)) in loaded.iter().enumerate() {
        if own.lines().any(|line| line == name) {
            direct.args(["--replace-needed", name, path]);
            renewed.args(["--remove-needed", path]);
        }
        let stand_in = format!("stand-in-{at:05}");
        renewed.args(["--add-needed", &stand_in]);
        whole.args(["--replace-needed", &stand_in, path]);
    }
    for command in [&mut direct, &mut renewed, &mut whole] {
        must(command.arg(program))?;
    }
    let needed = needed()?;
    if !needed.lines().filter(|name| name.contains('/')).eq(loaded.iter().map(|(_, path)| path.as_str())) {
        bail!("patchelf left the names of {} in another order", program.display());
    }
    Ok(())
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// If it fails, with what it said.
pub fn must(command: &mut Command) -> anyhow::Result<String> {
    command.stdin(std::process::Stdio::null());
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed ({}): {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
