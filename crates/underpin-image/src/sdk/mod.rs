//! An SDK: the tools of [`underpin_build`] in a folder that may be moved, with the C library that its programs run on.
//!
//! ```text
//! Request -> sysroot (Debian's packages) -> Kit (wrappers) -> folder
//! ```
//!
//! The names of tools are links to a copy of underpin in the folder, which reads beside itself what they stand for. Compilers
//! are those of the machine, at the path where they were found or else by name.

pub mod sysroot;
mod texts;

use crate::store::{Access, Package, Store};
use crate::{ImageError, Target};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use underpin_build::tool::{PLAN_FILE, Tool};
use underpin_build::toolchain::{CompilerFamily, Finder, Toolchains};
use underpin_build::{BuildError, Kit, Linkage, Processor, Request, Step, TOOLS};

/// The file that says what an SDK is.
pub const MANIFEST: &str = "sdk.json";

/// What an SDK is asked to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The machine that its programs are for.
    pub target: Target,
    /// What is built, with what, and what is linked in.
    pub request: Request,
    /// The compiler.
    pub family: CompilerFamily,
}

/// What an SDK is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of this file.
    pub format: u32,
    /// The machine.
    pub target: String,
    /// C library, linkage and allocator, as `build` writes them.
    pub build: String,
    /// Names and versions of the compilers.
    pub toolchain: String,
    /// What the names of its tools begin with.
    pub prefix: String,
    /// Debian's packages that the sysroot is from.
    pub packages: Vec<Package>,
    /// Files of the machine that the tools use.
    pub needs: Vec<String>,
    /// What a person should know.
    pub remarks: Vec<String>,
}

/// An SDK that is whole except for the commands that end it.
#[derive(Debug)]
pub struct Begun {
    /// Commands to be run in its folder, before [`Begun::finish`].
    pub steps: Vec<Step>,
    /// What it is.
    pub manifest: Manifest,
    staged: PathBuf,
    folder: PathBuf,
}

/// Why there is no SDK.
#[derive(Debug, thiserror::Error)]
pub enum SdkError {
    /// Something is in the way.
    #[error("{} is not empty and holds no SDK: choose another folder with -o", .0.display())]
    NotSdk(PathBuf),
    /// No compiler builds it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The sysroot cannot be made.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Writes an SDK beside its folder. Nothing is in the folder itself before [`Begun::finish`].
///
/// # Errors
/// If nothing here compiles for it, or a package cannot be fetched.
pub fn begin(wanted: &Wanted, folder: &Path, store: &Store, access: Access) -> Result<Begun, SdkError> {
    let folder = std::path::absolute(folder).map_err(ImageError::io(folder))?;
    refuse(&folder)?;
    let staged = beside(&folder);
    if staged.exists() {
        fs::remove_dir_all(&staged).map_err(ImageError::io(&staged))?;
    }
    let mut begun = Begun { steps: Vec::new(), manifest: Manifest::default(), staged: staged.clone(), folder };
    let (request, target) = (&wanted.request, wanted.target);
    let finder = Finder::here(&request.places.current);
    let found = Toolchains::find(&finder).with_rust(&finder);
    let wants = sysroot::For { target, spec: &request.spec, family: wanted.family };
    let made = sysroot::make(wants, &staged, store, access)?;
    let run = run(wanted, &finder, &staged);
    let kit = Kit::new(request, &found, &staged, made.sysroot, run)?;
    begun.manifest = Manifest {
        format: 1,
        target: target.name().to_owned(),
        build: request.spec.to_string(),
        toolchain: kit.toolchain.words.clone(),
        prefix: request.spec.prefix(),
        packages: made.packages,
        needs: kit.tools.outside().into_iter().filter(|path| Path::new(path).exists()).collect(),
        remarks: remarks(wanted, &kit),
    };
    write(wanted, &kit, &begun.manifest, &staged)?;
    begun.steps = kit.steps;
    Ok(begun)
}

impl Begun {
    /// Gives it its name.
    ///
    /// # Errors
    /// If a folder cannot be removed or renamed.
    pub fn finish(self) -> Result<Manifest, SdkError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(ImageError::io(&self.folder))?;
        }
        fs::rename(&self.staged, &self.folder).map_err(ImageError::io(&self.folder))?;
        Ok(self.manifest.clone())
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // Half of an SDK is worse than none; a finished one has another name.
        let _ = fs::remove_dir_all(&self.staged);
    }
}

fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".underpin-new");
    name.into()
}

/// Refuses to replace what is not an SDK.
fn refuse(folder: &Path) -> Result<(), SdkError> {
    let is_empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(source) => return Err(ImageError::Io { path: folder.to_owned(), source }.into()),
    };
    if is_empty || folder.join(MANIFEST).is_file() { Ok(()) } else { Err(SdkError::NotSdk(folder.to_owned())) }
}

/// What starts a program of the target here.
fn run(wanted: &Wanted, finder: &Finder, folder: &Path) -> Vec<String> {
    let (spec, root) = (&wanted.request.spec, folder.join(sysroot::FOLDER));
    let is_static = spec.linkage.is_static();
    let at = |path: &str| root.join(path.trim_start_matches('/')).display().to_string();
    if Processor::host() == Some(spec.processor) {
        let libraries = format!("{}:{}", at("lib"), at("usr/lib"));
        let words = [at(&spec.loader()), "--library-path".to_owned(), libraries];
        return if is_static { Vec::new() } else { words.to_vec() };
    }
    let name = format!("qemu-{}", spec.processor);
    let found = finder.program(&format!("{name}-static")).or_else(|| finder.program(&name));
    let mut words = vec![found.map_or(name, |path| path.display().to_string())];
    if !is_static {
        words.extend(["-L".to_owned(), at("")]);
    }
    words
}

fn remarks(wanted: &Wanted, kit: &Kit) -> Vec<String> {
    let spec = &wanted.request.spec;
    let portable = kit.tools.portable.as_ref();
    let mut remarks: Vec<String> = kit.tools.without_cxx.clone().into_iter().collect();
    if kit.tools.rust.is_none() {
        remarks
            .push(format!("no Rust for this target: `rustup target add {}`, then make it again", spec.rust_triple()));
    }
    let runs = portable.and_then(|portable| portable.run.first());
    if runs.is_some_and(|program| !program.contains('/')) {
        remarks.push(
            "no user emulation is installed, which runs its programs here: `apt-get install qemu-user`".to_owned(),
        );
    }
    if spec.linkage == Linkage::Static {
        remarks.push("programs are static and at fixed addresses".to_owned());
    }
    remarks
}

fn write(wanted: &Wanted, kit: &Kit, manifest: &Manifest, folder: &Path) -> Result<(), SdkError> {
    let (names, bin) = (folder.join(TOOLS), folder.join("bin"));
    let failed = |path: &Path| ImageError::io(path.to_owned());
    for path in [&names, &bin, &folder.join("cargo"), &folder.join(sysroot::FOLDER)] {
        fs::create_dir_all(path).map_err(failed(path))?;
    }
    let executable = names.join("underpin");
    fs::copy(&wanted.request.places.executable, &executable).map_err(failed(&executable))?;
    for tool in Tool::ALL {
        let own = names.join(tool.name());
        std::os::unix::fs::symlink("underpin", &own).map_err(failed(&own))?;
        let prefixed = bin.join(format!("{}-{}", manifest.prefix, tool.name()));
        std::os::unix::fs::symlink(Path::new("..").join(TOOLS).join("underpin"), &prefixed)
            .map_err(failed(&prefixed))?;
    }
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for object in &kit.objects {
        files.push((names.join(object.file_name()), object.bytes.clone()));
    }
    files.extend(kit.archive.iter().map(|(name, bytes)| (names.join(name), bytes.clone())));
    // With the mark; the commands that end the SDK do not use it.
    files.push((names.join(PLAN_FILE), serde_json::to_vec_pretty(&kit.tools).unwrap_or_default()));
    files.extend(kit.sources.iter().map(|(name, text)| (folder.join(name), text.as_bytes().to_vec())));
    files.extend(
        kit.headers
            .iter()
            .map(|header| (names.join(header.folder).join(header.name), header.text.clone().into_bytes())),
    );
    // What a crate's C++ is asked for with (`cxx_library` of the tools).
    files.push((folder.join("empty.c"), b"int main(void) { return 0; }\n".to_vec()));
    let mut texts = texts::all(wanted, kit, manifest);
    texts.push((MANIFEST, serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n"));
    files.extend(texts.into_iter().map(|(name, text)| (folder.join(name), text.into_bytes())));
    for (path, bytes) in files {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    Ok(())
}
