//! What an image will hold and why: programs, their closures, what was added; computed before anything is fetched or written.

mod base;
mod include;
mod layers;
mod needs;
mod planner;

pub use layers::{LayerPer, layered};
pub use needs::Provision;

use crate::doctor::Known;
use crate::installed::{self, Installed};
use crate::{Content, ImageError, Kind, Target, Tree};
use base::base;
pub use base::machine_base;
use bstr::BString;
use planner::Planner;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use underpin_resolve::Root;

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
    /// Files or folders that come with the libraries of every ELF file in them.
    pub included: Vec<Included>,
    /// Where libraries are looked for, if not in this host's root.
    pub sysroot: Option<PathBuf>,
    /// The time of all files.
    pub time: u32,
}

/// What an image has besides its programs and what was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// A machine: a first process of ours, the directories that it mounts the kernel's file systems on, and what ends programs
    /// if it is missing.
    Machine,
    /// A container, whose runtime is all that: an account without rights, a folder for temporary files, and what the programs
    /// are known to open.
    Container(Surroundings),
}

/// Under what the programs of a container start, by which it is known what they open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `UID`, `UID:GID` or a name.
    pub user: String,
    /// Variables and their values.
    pub environment: Vec<(String, String)>,
    /// What is left out although programs need it.
    pub without: Vec<Provision>,
}

/// A file or folder of this machine, with the libraries that its ELF files need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Where it is, or what.
    pub from: Source,
    /// Where it goes.
    pub to: PathBuf,
    /// Why.
    pub because: Because,
}

/// What is included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file or a folder.
    Host(PathBuf),
    /// A file of these bytes.
    Bytes(Content),
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
    /// It belongs to the application.
    Application,
    /// It was included for what is named here.
    Included {
        /// An option, or what an interpreter said.
        what: String,
    },
    /// A program is known to open it.
    Opened {
        /// What it is, and the byte that shows the need.
        need: String,
    },
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
            Because::Application => f.write_str("the application"),
            Because::Included { what } => f.write_str(what),
            Because::Opened { need } => f.write_str(need),
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
    /// Where the programs are, in the order in which they were named.
    pub programs: Vec<PathBuf>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// What was built from recipes.
    pub packages: Vec<crate::image::ManifestPackage>,
    /// Packages of this machine from which files are taken, sorted.
    pub installed: Vec<Installed>,
    /// Name and version of the package that a file is from, if that is known: by path, without a slash in front.
    pub owners: BTreeMap<PathBuf, String>,
    /// The files of a container that were searched for what they open.
    pub known: Known,
}

impl Plan {
    /// Resolves every program against the root in which its libraries are, as the guest will see it.
    ///
    /// # Errors
    /// If a program is missing, for another processor, or needs what is not there.
    pub fn new(recipe: &Recipe, host: &dyn Root) -> Result<Plan, ImageError> {
        let base = base(recipe)?;
        let mut planner = Planner::new(recipe, host, &base);
        for (from, to) in &recipe.added {
            planner.added(from, to)?;
        }
        let programs = recipe.programs.iter().map(|program| planner.program(program)).collect::<Result<Vec<_>, _>>()?;
        recipe.included.iter().try_for_each(|included| planner.include(included))?;
        planner.close_included()?;
        let known = match &recipe.around {
            Around::Container(surroundings) => needs::provide(&mut planner, &programs, surroundings)?,
            Around::Machine => {
                planner.usual_files()?;
                needs::complete(&mut planner, &programs)?;
                Known::default()
            }
        };
        planner.confirm(&programs)?;
        let Some(command) = programs.first().cloned() else { return Err(ImageError::NoProgram) };
        let (mut tree, mut reasons, remarks) = planner.done();
        tree.lie_over(&base);
        reasons.sort_by(|a, b| a.0.cmp(&b.0));
        let layers = vec![Layer { name: "base", tree: base }, Layer { name: "programs", tree }];
        let mut plan = Plan {
            target: recipe.target,
            layers,
            reasons,
            command,
            programs,
            remarks,
            packages: Vec::new(),
            installed: Vec::new(),
            owners: BTreeMap::new(),
            known,
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
