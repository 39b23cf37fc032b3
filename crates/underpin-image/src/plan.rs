//! What an image will hold and why: programs, their closures, what was added; computed before anything is fetched or written.

use crate::installed::{self, Installed};
use crate::root::GuestRoot;
use crate::{Content, Entry, ImageError, Kind, Target, Tree, init};
use bstr::{BStr, BString, ByteSlice};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use underpin_resolve::{Closure, Depth, Environment, Found, LoaderKind, Resolver, Root, Severity};

/// The cache that glibc's loader searches before its own directories.
const LOADER_CACHE: &str = "/etc/ld.so.cache";
/// The directories in which musl's loader searches, if it is not to use its own.
const MUSL_PATHS: [&str; 2] = ["/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path"];

/// What an image is asked to be.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The machine.
    pub target: Target,
    /// What is around the programs.
    pub around: Around,
    /// The programs: files of this host. The first is what the image runs if nothing else is asked for.
    pub programs: Vec<PathBuf>,
    /// More files or folders: of this host, and where they go.
    pub added: Vec<(PathBuf, PathBuf)>,
    /// Where libraries are looked for, if not in this host's root.
    pub sysroot: Option<PathBuf>,
    /// The time of all files.
    pub time: u32,
}

/// What an image has besides its programs and what was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// A machine: a first process of ours, and the directories that it mounts the kernel's file systems on.
    Machine,
    /// A container, whose runtime is all that: an account without rights, and a folder for temporary files.
    Container,
}

/// The account of containers, which has no rights and no shell: the number that distroless images use.
pub const ACCOUNT: u32 = 65532;

/// Why a file is in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// The guest's first process.
    Init,
    /// A directory that the kernel's file systems are mounted on, or that programs expect.
    Usual,
    /// It was named as a program.
    Program,
    /// A program names it as its loader.
    Loader,
    /// An object of a closure needs it.
    Needed {
        /// Which.
        by: BString,
    },
    /// The loader finds libraries by it.
    Search,
    /// It was added by name.
    Added,
    /// A package that was built from a recipe has it.
    Package {
        /// Name and version.
        name: String,
    },
}

impl std::fmt::Display for Because {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Because::Init => f.write_str("underpin's first process of the guest"),
            Because::Usual => f.write_str("every image has it"),
            Because::Program => f.write_str("named as a program"),
            Because::Loader => f.write_str("the loader of a program"),
            Because::Needed { by } => write!(f, "needed by {by}"),
            Because::Search => f.write_str("the loader finds libraries by it"),
            Because::Added => f.write_str("added by name"),
            Because::Package { name } => write!(f, "package {name}"),
        }
    }
}

/// One archive of the initramfs.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What it is called.
    pub name: &'static str,
    /// Its files.
    pub tree: Tree,
}

/// What will be made. Nothing has been written or fetched.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The machine.
    pub target: Target,
    /// The archives, in their order.
    pub layers: Vec<Layer>,
    /// Every file, why it is there, and of which layer: by path.
    pub reasons: Vec<(PathBuf, Because)>,
    /// Where the first program is.
    pub command: PathBuf,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// What was built from recipes.
    pub packages: Vec<crate::image::ManifestPackage>,
    /// Packages of this machine from which files are taken, sorted.
    pub installed: Vec<Installed>,
    /// Name and version of the package that a file is from, if that is known: by path, without a slash in front.
    pub owners: BTreeMap<PathBuf, String>,
}

impl Plan {
    /// Resolves every program against the root in which its libraries are, as the guest will see it.
    ///
    /// # Errors
    /// If a program is missing, for another processor, or needs what is not there.
    pub fn new(recipe: &Recipe, host: &dyn Root) -> Result<Plan, ImageError> {
        let base = base(recipe)?;
        let mut planner = Planner {
            recipe,
            host,
            tree: Tree::new(recipe.time),
            reasons: base.entries().map(|(path, _)| (path.to_owned(), usual(path))).collect(),
            remarks: Vec::new(),
        };
        for (from, to) in &recipe.added {
            planner.added(from, to)?;
        }
        let places = recipe.programs.iter().map(|program| planner.program(program)).collect::<Result<Vec<_>, _>>()?;
        planner.confirm(&places)?;
        let Some(command) = places.into_iter().next() else { return Err(ImageError::NoProgram) };
        let Planner { mut tree, mut reasons, remarks, .. } = planner;
        tree.lie_over(&base);
        reasons.sort_by(|a, b| a.0.cmp(&b.0));
        let layers = vec![Layer { name: "base", tree: base }, Layer { name: "programs", tree }];
        let mut plan = Plan {
            target: recipe.target,
            layers,
            reasons,
            command,
            remarks,
            packages: Vec::new(),
            installed: Vec::new(),
            owners: BTreeMap::new(),
        };
        plan.look_up(recipe.sysroot.as_deref().unwrap_or(Path::new("/")));
        Ok(plan)
    }

    /// Finds the packages of the files that are from a root: this machine's, or a sysroot with a database of packages.
    fn look_up(&mut self, root: &Path) {
        let mut places: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for (path, from) in self.taken() {
            if let Ok(below) = from.strip_prefix(root) {
                places.entry(Path::new("/").join(below)).or_default().push(path.to_owned());
            }
        }
        let files: Vec<PathBuf> = places.keys().cloned().collect();
        let found = installed::owners(root, &files);
        for (file, package) in &found {
            let here = places.remove(file).unwrap_or_default();
            self.owners.extend(here.into_iter().map(|path| (path, package.words())));
        }
        self.installed = found.into_values().collect();
        self.installed.sort();
        self.installed.dedup();
    }

    /// The files that are copied from this machine: where each will be, and where it is.
    pub fn taken(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let entries = self.layers.iter().flat_map(|layer| layer.tree.entries());
        entries.filter_map(|(path, entry)| match &entry.kind {
            Kind::File(Content::Host { path: from, .. }) => Some((path, from.as_path())),
            _ => None,
        })
    }

    /// Name and version of the package that a file is from.
    #[must_use]
    pub fn package(&self, path: &Path) -> Option<&str> {
        match self.reason(path) {
            Because::Package { name } => Some(name),
            _ => self.owners.get(path).map(String::as_str),
        }
    }

    /// The time of all files.
    #[must_use]
    pub fn time(&self) -> u32 {
        self.layers.first().map_or(0, |layer| layer.tree.time())
    }

    /// All layers as one root file system.
    ///
    /// # Errors
    /// If two of them have a file of one name.
    pub fn root(&self) -> Result<Tree, ImageError> {
        let mut root = Tree::new(self.time());
        self.layers.iter().try_for_each(|layer| root.overlay(&layer.tree))?;
        Ok(root)
    }

    /// Why a file is there.
    #[must_use]
    pub fn reason(&self, path: &Path) -> &Because {
        let found = self.reasons.binary_search_by(|(known, _)| known.as_path().cmp(path));
        found.map_or(&Because::Usual, |index| &self.reasons[index].1)
    }
}

/// What every image has.
fn base(recipe: &Recipe) -> Result<Tree, ImageError> {
    let mut tree = Tree::new(recipe.time);
    tree.add("tmp", Entry::directory(0o1777))?;
    match recipe.around {
        Around::Machine => machine(&mut tree, recipe.target.processor())?,
        Around::Container => container(&mut tree)?,
    }
    Ok(tree)
}

/// Directories to mount on, and the first process.
fn machine(tree: &mut Tree, processor: &'static str) -> Result<(), ImageError> {
    let program = init::program(processor).map_err(|reason| ImageError::NoInit { processor, reason })?;
    for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("root", 0o700)] {
        tree.add(name, Entry::directory(mode))?;
    }
    tree.add(init::PATH, Entry::file(program, 0o755))
}

/// Accounts: programs ask who they are, and runtimes for the group of a user.
fn container(tree: &mut Tree) -> Result<(), ImageError> {
    let users = format!("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{ACCOUNT}:{ACCOUNT}:nonroot:/:/sbin/nologin\n");
    let groups = format!("root:x:0:\nnonroot:x:{ACCOUNT}:\n");
    tree.add("etc", Entry::directory(0o755))?;
    tree.add("etc/passwd", Entry::file(users.into_bytes(), 0o644))?;
    tree.add("etc/group", Entry::file(groups.into_bytes(), 0o644))
}

fn usual(path: &Path) -> Because {
    if Path::new("/").join(path) == Path::new(init::PATH) { Because::Init } else { Because::Usual }
}

struct Planner<'a> {
    recipe: &'a Recipe,
    host: &'a dyn Root,
    tree: Tree,
    reasons: Vec<(PathBuf, Because)>,
    remarks: Vec<String>,
}

impl Planner<'_> {
    fn add(&mut self, path: &Path, entry: Entry, because: Because) -> Result<(), ImageError> {
        self.tree.add(path, entry)?;
        self.reasons.push((path.strip_prefix("/").unwrap_or(path).to_owned(), because));
        Ok(())
    }

    fn added(&mut self, from: &Path, to: &Path) -> Result<(), ImageError> {
        let data = std::fs::metadata(from).map_err(ImageError::io(from))?;
        if data.is_dir() {
            let mut folder = Tree::from_folder(from, self.recipe.time)?;
            for (path, entry) in folder.take() {
                self.add(&to.join(path), entry, Because::Added)?;
            }
            return Ok(());
        }
        let entry = crate::tree::host_entry(&from.canonicalize().map_err(ImageError::io(from))?)?;
        self.add(to, entry, Because::Added)
    }

    /// Adds a program with its closure; returns where it is.
    fn program(&mut self, path: &Path) -> Result<PathBuf, ImageError> {
        let file = path.canonicalize().map_err(ImageError::io(path))?;
        let content = Content::host(&file)?;
        let name = path.file_name().unwrap_or_else(|| OsStr::new("program"));
        // Where the system has it; a file of the user's own becomes a program of the system.
        let given = std::path::absolute(path).map_err(ImageError::io(path))?;
        let inside = self.recipe.sysroot.as_deref().and_then(|sysroot| file.strip_prefix(sysroot).ok());
        let given = inside.map_or(given, |inside| Path::new("/").join(inside));
        let stays = ["/usr", "/bin", "/sbin", "/opt", "/lib"].iter().any(|top| given.starts_with(top));
        let place = if stays { given } else { Path::new("/usr/bin").join(name) };
        let missing = match self.place(&place, &content) {
            Err(error @ ImageError::NotClosed { .. }) => error,
            done => return done.map(|()| place),
        };
        // Libraries beside it are found through $ORIGIN, so its folder may matter.
        if self.place(&file, &content).is_ok() { Ok(file) } else { Err(missing) }
    }

    /// Adds a program at a place, with all that its loader will load from there, or nothing.
    fn place(&mut self, place: &Path, content: &Content) -> Result<(), ImageError> {
        let (tree, reasons) = (self.tree.clone(), self.reasons.len());
        let result =
            self.add(place, Entry::file(content.clone(), 0o755), Because::Program).and_then(|()| self.close(place));
        if result.is_err() {
            self.tree = tree;
            self.reasons.truncate(reasons);
        }
        result
    }

    fn close(&mut self, place: &Path) -> Result<(), ImageError> {
        let closure = closure(&self.tree, Some(self.host), place)?;
        let found = closure.objects.first().map(|object| object.ident.machine);
        if found != Some(self.recipe.target.machine()) {
            return Err(ImageError::WrongMachine {
                path: place.to_owned(),
                found: found.and_then(|machine| machine.name()).unwrap_or("another processor"),
                target: match self.recipe.around {
                    Around::Machine => self.recipe.target.name(),
                    Around::Container => self.recipe.target.container(),
                },
            });
        }
        if let Some(reason) = broken(&closure) {
            return Err(ImageError::NotClosed { path: place.to_owned(), reason });
        }
        if closure.loader.kind == LoaderKind::None {
            return Ok(());
        }
        for (index, object) in closure.objects.iter().enumerate() {
            let because = match (&object.found, object.requested_by) {
                _ if index == 0 => continue,
                (Found::Interpreter, _) => Because::Loader,
                (_, Some(by)) => Because::Needed { by: closure.objects[by.0].path.clone() },
                _ => Because::Needed { by: closure.program.clone() },
            };
            self.object(object.path.as_ref(), because)?;
        }
        self.object(closure.loader.path.as_ref(), Because::Loader)?;
        for path in MUSL_PATHS.iter().filter(|_| closure.loader.kind == LoaderKind::Musl) {
            if self.host.stat((*path).into()).is_ok() {
                self.object((*path).into(), Because::Search)?;
            }
        }
        if closure.objects.iter().any(|object| object.found == Found::Cache) && !self.closes(place, &closure) {
            self.object(LOADER_CACHE.into(), Because::Search)?;
        }
        Ok(())
    }

    /// Whether the guest's loader finds the same with what is in the tree.
    fn closes(&self, place: &Path, expected: &Closure) -> bool {
        let paths = |closure: &Closure| closure.objects.iter().map(|object| object.path.clone()).collect::<Vec<_>>();
        closure(&self.tree, None, place).is_ok_and(|found| broken(&found).is_none() && paths(&found) == paths(expected))
    }

    /// Adds a file of the host's root at the same path, unless it is there.
    fn object(&mut self, path: &BStr, because: Because) -> Result<(), ImageError> {
        let place = PathBuf::from(OsStr::from_bytes(path));
        let place = lexical(&place);
        if (GuestRoot { tree: &self.tree, host: None }).stat(place.as_os_str().as_bytes().into()).is_ok() {
            return Ok(());
        }
        let real = self.host.real_path(path).map_err(|error| ImageError::NotClosed {
            path: place.clone(),
            reason: format!("it cannot be read: {error}"),
        })?;
        let real = Path::new(OsStr::from_bytes(&real)).to_owned();
        let file = match &self.recipe.sysroot {
            Some(sysroot) => sysroot.join(real.strip_prefix("/").unwrap_or(&real)),
            None => real,
        };
        let entry = Entry { kind: Kind::File(Content::host(&file)?), ..crate::tree::host_entry(&file)? };
        self.add(&place, entry, because)
    }

    /// What the guest's loaders will find, without the host behind them.
    fn confirm(&mut self, places: &[PathBuf]) -> Result<(), ImageError> {
        for place in places {
            let closure = closure(&self.tree, None, place)?;
            if let Some(reason) = broken(&closure) {
                let reason = format!("{reason}, although this host's root has it: add it with --add HOST:GUEST");
                return Err(ImageError::NotClosed { path: place.clone(), reason });
            }
            let glibc = closure.loader.kind == LoaderKind::Glibc;
            let opens = |kind: &underpin_resolve::FindingKind| *kind == underpin_resolve::FindingKind::ImportsDlopen;
            if glibc && closure.findings.iter().any(|finding| opens(&finding.kind)) {
                self.remarks.push(format!(
                    "{} may open more libraries while it runs (it imports dlopen): add those with --add HOST:GUEST",
                    place.display()
                ));
            }
        }
        Ok(())
    }
}

fn closure(tree: &Tree, host: Option<&dyn Root>, place: &Path) -> Result<Closure, ImageError> {
    let root = GuestRoot { tree, host };
    let resolver = Resolver::new(&root, Environment::empty());
    let path = place.as_os_str().as_bytes().as_bstr();
    resolver.resolve(path, Depth::Findings).map_err(|error| ImageError::NotProgram { reason: error.to_string() })
}

/// What keeps the loader from starting it.
fn broken(closure: &Closure) -> Option<String> {
    use underpin_resolve::FindingKind;
    let errors = closure.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let words = errors.map(|finding| {
        let of = finding.object.map_or(&closure.program, |id| &closure.objects[id.0].path);
        match &finding.kind {
            FindingKind::Missing { name } => format!("{of} needs {name}, which is not found"),
            FindingKind::MissingInterpreter { path } => format!("its loader {path} is not found"),
            FindingKind::MissingVersion { file, version } => format!("{of} needs version {version} of {file}"),
            FindingKind::FatalFile { path, .. } => format!("{path} stops the loader"),
            _ => format!("the loader refuses {of}"),
        }
    });
    let all: Vec<String> = words.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Without `.` and `..`: the loader's paths have them if $ORIGIN is followed by them.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(clean.pop()),
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}
