//! The plans of `underpin image`.

mod compare;
mod contained_run;
mod container;
mod fips;
mod ruby;
mod sdk;
mod size;
mod sources;

pub use compare::{ImageComparePlan, libc_of};
pub use contained_run::{ContainedRunPlan, MayFail, Means};
pub use container::Container;
pub use fips::ImageFipsPlan;
pub use sdk::ImageSdkPlan;
pub use size::ImageSizePlan;
pub use sources::ImageSourcesPlan;

use crate::cli::{ImageBuildArgs, ImageRunArgs, Kvm};
use crate::input;
use anyhow::{Context, bail};
use bstr::ByteSlice;
use container::Contents;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use underpin_image::boot::{Accelerator, Chosen, Machine, Qemu, choose};
use underpin_image::image::{Locked, ManifestPackage};
use underpin_image::oci::Ahead;
use underpin_image::plan::{Around, Because, Included, Plan, Recipe, Source};
use underpin_image::protocol::Request;
use underpin_image::store::{Access, Kernel, Parts, Store};
use underpin_image::tree::source_date_epoch;
use underpin_image::{Format, Image, Target};
use underpin_report::document::image::ImagePackage;
use underpin_resolve::HostRoot;

/// Where programs are looked for in a guest or a container.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What a command in a guest has.
const GUEST: [(&str, &str); 3] = [("PATH", PATH), ("HOME", "/root"), ("TERM", "dumb")];
/// A guest without the initramfs.
const MEMORY_MIB: u64 = 256;
/// The archive, what is unpacked from it, and room for the programs.
const TIMES_INITRAMFS: u64 = 4;

/// An image to build.
pub struct ImageBuildPlan {
    /// What will be in it.
    pub plan: Plan,
    /// Its folder.
    pub folder: PathBuf,
    /// What holds the root file system.
    pub format: Format,
    /// The disk's size in bytes, if it was given.
    pub size: Option<u64>,
    /// The packages that the folder's lock names.
    pub locked: Locked,
    /// The user's own kernel.
    pub kernel: Option<PathBuf>,
    /// Whether the newest kernel is taken.
    pub update: bool,
    /// Whether something may be fetched.
    pub access: Access,
    /// How an image for containers is written; `None` for a machine.
    pub container: Option<Container>,
    /// Only show the plan.
    pub dry_run: bool,
    /// JSON instead of a screen.
    pub json: bool,
    /// In how much detail.
    pub verbosity: u8,
    /// The packages in it that were built from recipes.
    pub packages: Vec<ImagePackage>,
    /// Its programs, on their way into a layer.
    pub ahead: Cell<Ahead>,
}

/// Packages that were built from recipes, as an image takes them.
pub struct Built {
    /// The programs, the first of which the image starts.
    pub programs: Vec<PathBuf>,
    /// A folder in which all files are as in the image, and what loaders find besides.
    pub sysroot: PathBuf,
    /// A folder with the files that are no programs.
    pub rest: PathBuf,
    /// Which package each file is from, by its path without a slash in front.
    pub owners: BTreeMap<PathBuf, String>,
    /// Folders of packages whose files are taken as programs need them, with name and version: libraries.
    pub needed: Vec<(PathBuf, String)>,
    /// The path that the image names as its program.
    pub command: Option<PathBuf>,
    /// For the manifest.
    pub manifest: Vec<ManifestPackage>,
    /// For the document.
    pub packages: Vec<ImagePackage>,
}

/// The machine of a name, or the one for this processor.
///
/// # Errors
/// If there is none.
pub fn target(name: Option<&str>) -> anyhow::Result<Target> {
    crate::cli::image_target(name)
        .with_context(|| format!("no image is for this processor ({}): name a --target", std::env::consts::ARCH))
}

impl ImageBuildPlan {
    /// # Errors
    /// If a program cannot be in the image, with the reason.
    pub fn new(args: ImageBuildArgs, built: Option<Built>) -> anyhow::Result<ImageBuildPlan> {
        let is_container = args.is_container();
        if !is_container {
            refuse_options_of_containers(&args)?;
        }
        let target = target(args.target.as_deref())?;
        let format = format(&args, target)?;
        let root = built.as_ref().map(|built| built.sysroot.as_path()).or(args.root.as_deref());
        let sysroot = root.map(folder).transpose()?;
        let programs = built.as_ref().map_or(&args.programs, |built| &built.programs);
        let mut added_files = args.add.iter().map(|pair| added(pair)).collect::<anyhow::Result<Vec<_>>>()?;
        added_files.extend(built.as_ref().map(|built| (built.rest.clone(), PathBuf::from("/"))));
        let root = sysroot.clone().map_or_else(HostRoot::new, HostRoot::sysroot);
        let below = sysroot.as_deref().map(|folder| (folder, &root));
        let found = programs.iter().map(|name| program(name, below)).collect::<anyhow::Result<Vec<_>>>()?;
        let (programs, files): (Vec<PathBuf>, Vec<PathBuf>) = found.into_iter().unzip();
        let ahead = files.iter().filter(|_| is_container && !args.dry_run).map(PathBuf::as_path);
        let ahead = Cell::new(Ahead::begin(ahead));
        let contents = is_container.then(|| Contents::new(&args, &files, sysroot.as_deref())).transpose()?;
        let mut included_files = included(&args.include, below)?;
        included_files.extend(contents.iter().flat_map(|contents| contents.included.iter().cloned()));
        let around = contents.as_ref().map(|contents| Around::Container(contents.surroundings.clone()));
        let recipe = Recipe {
            target,
            around: around.unwrap_or(Around::Machine),
            programs,
            added: added_files,
            included: included_files,
            time: source_date_epoch(std::env::var_os("SOURCE_DATE_EPOCH").as_deref())?,
            sysroot,
        };
        let mut plan = Plan::new(&recipe, &root)?;
        let packages = built.map(|built| packaged(&mut plan, built)).unwrap_or_default();
        plan.remarks.extend(contents.iter().flat_map(|contents| contents.remarks.iter().cloned()));
        Ok(ImageBuildPlan {
            container: contents.map(|contents| Container::new(&args, &plan, contents, recipe.time)).transpose()?,
            plan,
            format,
            size: args.size.map(|mib| u64::from(mib) << 20),
            locked: if is_container { Locked::default() } else { underpin_image::image::locked(&args.output)? },
            folder: args.output,
            kernel: args.kernel,
            update: args.update,
            access: if args.offline { Access::Offline } else { Access::Online },
            dry_run: args.dry_run,
            json: args.display.json,
            verbosity: args.display.verbose,
            packages,
            ahead,
        })
    }

    /// The kernel, fetched if it has to be.
    ///
    /// # Errors
    /// If it is missing and cannot be fetched.
    pub fn kernel(&self) -> anyhow::Result<Kernel> {
        if let Some(path) = &self.kernel {
            underpin_image::Content::host(path)?;
            return Ok(Kernel { path: path.clone(), package: None });
        }
        let store = store()?;
        let newest = if self.update { Some(store.newest_kernel(self.plan.target)?) } else { None };
        Ok(store.kernel(self.plan.target, newest.as_ref().or(self.locked.kernel.as_ref()), self.access)?)
    }

    /// What a disk or card needs besides the kernel.
    ///
    /// # Errors
    /// As for [`ImageBuildPlan::kernel`].
    pub fn parts(&self, kernel: &Kernel) -> anyhow::Result<Parts> {
        if self.format == Format::Initramfs {
            return Ok(Parts::default());
        }
        let locked = self.locked.firmware.as_ref().filter(|_| !self.update);
        Ok(store()?.parts(self.plan.target, kernel, locked, self.access)?)
    }
}

/// What holds the root file system.
fn format(args: &ImageBuildArgs, target: Target) -> anyhow::Result<Format> {
    let known: Vec<&str> = target.formats().iter().map(|format| format.name()).collect();
    let named = args.format.as_deref().unwrap_or_default();
    let format =
        args.format(target).with_context(|| format!("--format {named}: {target} takes {}", known.join(" or ")))?;
    match (format, args.size) {
        (Format::Initramfs, Some(_)) => bail!("--size: only a disk has one: add --format ext4"),
        (Format::Sd, Some(mib)) if !mib.is_power_of_two() => {
            bail!("--size {mib}: expected a power of two: QEMU starts no other cards")
        }
        _ => Ok(format),
    }
}

/// Tells the plan which package each file is from.
fn packaged(plan: &mut Plan, built: Built) -> Vec<ImagePackage> {
    for (path, because) in &mut plan.reasons {
        if let Some(name) = built.owners.get(path) {
            *because = Because::Package { name: name.clone() };
        }
    }
    // A library that a program needs is where its loader looks, under the name that was asked for.
    let below = |from: &Path| {
        let (from, sysroot) = (from.canonicalize().ok()?, built.sysroot.canonicalize().ok()?);
        built.owners.get(from.strip_prefix(sysroot).ok()?).cloned()
    };
    let needed: Vec<(PathBuf, String)> =
        plan.taken().filter_map(|(path, from)| Some((path.to_owned(), below(from)?))).collect();
    plan.owners.extend(needed);
    for (folder, name) in &built.needed {
        let all = plan.reasons.iter().map(|(path, _)| path).filter(|path| !built.owners.contains_key(*path));
        let own: Vec<PathBuf> = all.filter(|path| is_from(folder, path)).cloned().collect();
        plan.owners.extend(own.into_iter().map(|path| (path, name.clone())));
    }
    plan.packages = built.manifest;
    if let Some(command) = built.command {
        plan.command = command;
    }
    built.packages
}

/// Whether a package has a file: `/lib` may be `/usr/lib` in an image.
fn is_from(folder: &Path, path: &Path) -> bool {
    [folder.to_owned(), folder.join("usr")].iter().any(|folder| folder.join(path).is_file())
}

/// The store below underpin's cache.
///
/// # Errors
/// If there is no cache.
pub fn store() -> anyhow::Result<Store> {
    Ok(Store::new(super::cache()?.join("image")))
}

fn folder(path: &Path) -> anyhow::Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("--root {}", path.display()))?;
    if !found.is_dir() {
        bail!("--root {} is not a folder", path.display());
    }
    Ok(found)
}

/// A system below a folder: the folder, and its files.
type Below<'a> = (&'a Path, &'a HostRoot);

/// Where a path of a system is on this machine, its links followed within the system; `None` if it is not there.
fn find(root: &HostRoot, path: &Path) -> Option<PathBuf> {
    let inside = Path::new("/").join(path);
    root.locate(inside.as_os_str().as_bytes().into()).ok().filter(|file| file.exists())
}

/// A program as it was given, and its file: with a sysroot, a path inside it (`/usr/bin/app`) or one from here.
fn program(name: &Path, below: Option<Below<'_>>) -> anyhow::Result<(PathBuf, PathBuf)> {
    let inside = below.and_then(|(folder, root)| {
        let given = folder.join(name.strip_prefix("/").unwrap_or(name));
        find(root, name).filter(|file| file.is_file()).map(|file| (given, file))
    });
    let (given, file) = match inside {
        Some(found) => found,
        None => input::locate(name).map(|path| (path.clone(), path))?,
    };
    input::require_elf(&file, "image build")?;
    Ok((given, file))
}

/// What only a container has.
fn refuse_options_of_containers(args: &ImageBuildArgs) -> anyhow::Result<()> {
    let given = [
        (args.user.is_some(), "--user"),
        (!args.env.is_empty(), "--env"),
        (args.force, "--force"),
        (args.app.is_some(), "--app"),
        (args.malloc.is_some(), "--malloc"),
        (args.fips.is_some(), "--fips"),
        (!args.without.is_empty(), "--without"),
        (args.layer_per.is_some(), "--layer-per"),
        (!args.command.is_empty(), "a command after `--`"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, name)) => bail!("{name} is for containers: add --target oci"),
        None => Ok(()),
    }
}

/// Files and folders at their own paths: of this machine's system, or of the sysroot's.
fn included(paths: &[PathBuf], below: Option<Below<'_>>) -> anyhow::Result<Vec<Included>> {
    let one = |path: &PathBuf| {
        let place = std::path::absolute(path).with_context(|| format!("--include {}", path.display()))?;
        let from = match below {
            Some((folder, root)) => find(root, &place)
                .with_context(|| format!("--include {}: not in {}", path.display(), folder.display()))?,
            None => place.clone(),
        };
        from.metadata().with_context(|| format!("--include {}", from.display()))?;
        let because = Because::Included { what: format!("--include {}", path.display()) };
        Ok(Included { from: Source::Host(from), to: place, because })
    };
    paths.iter().map(one).collect()
}

/// `HOST:GUEST`, of which the last colon is the one between them.
fn added(pair: &OsStr) -> anyhow::Result<(PathBuf, PathBuf)> {
    let bytes = pair.as_bytes();
    let split = bytes.rfind_byte(b':').filter(|&at| at > 0 && bytes.get(at + 1) == Some(&b'/'));
    let Some(at) = split else {
        bail!("--add {}: expected HOST:GUEST, where GUEST begins with a slash", pair.display());
    };
    Ok((PathBuf::from(OsStr::from_bytes(&bytes[..at])), PathBuf::from(OsStr::from_bytes(&bytes[at + 1..]))))
}

/// A command to run in an image.
pub struct ImageRunPlan {
    /// The image.
    pub image: Image,
    /// Its folder, as it was given.
    pub folder: PathBuf,
    /// Its machine.
    pub target: Target,
    /// The emulator.
    pub qemu: Qemu,
    /// What runs the instructions.
    pub chosen: Chosen,
    /// The guest's memory.
    pub memory_mib: u32,
    /// Count instructions.
    pub icount: bool,
    /// What the guest is asked to do.
    pub request: Request,
    /// Where each of the request's files goes.
    pub places: Vec<PathBuf>,
    /// The command's time.
    pub timeout: Duration,
    /// JSON instead of the command's streams.
    pub json: bool,
    /// Why a container's image is started in a guest.
    pub runner_reason: Option<String>,
    /// In how much detail.
    pub verbosity: u8,
}

impl ImageRunPlan {
    /// May start QEMU once, to try KVM.
    ///
    /// # Errors
    /// If there is no image, or no emulator for it.
    pub fn new(args: ImageRunArgs) -> anyhow::Result<ImageRunPlan> {
        let image = Image::open(&args.image)?;
        let arguments =
            if args.command.is_empty() { vec![image.manifest.command.clone().into()] } else { args.command.clone() };
        let environment = environment(&args.env, &GUEST)?;
        let request = Request { arguments, environment, directory: "/".into(), files: Vec::new() };
        ImageRunPlan::of(args, image, request)
    }

    /// For an image, and what is to be done in it; the arguments say which files are brought back.
    ///
    /// # Errors
    /// If there is no emulator for it.
    pub fn of(args: ImageRunArgs, image: Image, request: Request) -> anyhow::Result<ImageRunPlan> {
        let target = image.target()?;
        let timeout = timeout(args.timeout)?;
        let gets = args.get.iter().map(|pair| fetched(pair)).collect::<anyhow::Result<Vec<_>>>()?;
        let (files, places) = gets.into_iter().unzip();
        let request = Request { files, ..request };
        let qemu = Qemu::find(target, std::env::var_os("PATH").as_deref())?;
        let memory_mib = args.memory.unwrap_or_else(|| guest_memory(&image));
        let mut plan = ImageRunPlan {
            folder: args.image,
            target,
            qemu,
            chosen: Chosen { accelerator: Accelerator::Tcg, because: "--kvm off".to_owned() },
            memory_mib,
            icount: args.icount,
            request,
            places,
            timeout,
            json: args.display.json,
            verbosity: args.display.verbose,
            runner_reason: None,
            image,
        };
        if args.kvm == Kvm::Auto {
            let files = MachineFiles::of(&plan.image);
            plan.chosen = choose(&plan.qemu, &plan.machine(&files), &super::cache()?.join("image"))?;
        }
        Ok(plan)
    }

    /// What is started.
    pub fn machine<'a>(&self, files: &'a MachineFiles) -> Machine<'a> {
        Machine {
            target: self.target,
            kernel: &files.kernel,
            initramfs: &files.initramfs,
            disk: files.disk.as_deref(),
            device_tree: files.device_tree.as_deref(),
            accelerator: self.chosen.accelerator,
            icount: self.icount,
            memory_mib: self.memory_mib,
        }
    }
}

/// The files that an emulator starts with.
pub struct MachineFiles {
    /// The kernel.
    pub kernel: PathBuf,
    /// The first root file system.
    pub initramfs: PathBuf,
    disk: Option<PathBuf>,
    device_tree: Option<PathBuf>,
}

impl MachineFiles {
    /// Those of an image.
    pub fn of(image: &Image) -> MachineFiles {
        MachineFiles {
            kernel: image.kernel(),
            initramfs: image.initramfs(),
            disk: image.disk(),
            device_tree: image.device_tree(),
        }
    }
}

fn timeout(seconds: f64) -> anyhow::Result<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.with_context(|| format!("--timeout {seconds}: expected a number of seconds above 0"))
}

/// `PATH` or `PATH:HOST`; without a place here the file keeps its name.
fn fetched(pair: &OsStr) -> anyhow::Result<(OsString, PathBuf)> {
    let bytes = pair.as_bytes();
    let (guest, host) = match bytes.find_byte(b':') {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    let guest = OsStr::from_bytes(guest);
    let place = match host {
        Some(host) => Some(OsStr::from_bytes(host)).filter(|host| !host.is_empty()),
        None => Path::new(guest).file_name(),
    };
    let place = place.with_context(|| format!("--get {}: expected PATH or PATH:HOST of a file", pair.display()))?;
    Ok((guest.to_owned(), PathBuf::from(place)))
}

/// What a command in a guest has if nothing else is asked for.
pub fn guest_environment() -> Vec<(OsString, OsString)> {
    GUEST.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// The memory in MiB of a guest with an image, if none is asked for.
pub fn guest_memory(image: &Image) -> u32 {
    let mib = image.manifest.initramfs.bytes.div_ceil(1 << 20) * TIMES_INITRAMFS + MEMORY_MIB;
    u32::try_from(mib).unwrap_or(u32::MAX)
}

/// The usual variables, of which given ones replace those of their name.
fn environment(given: &[OsString], usual: &[(&str, &str)]) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let mut all: Vec<(OsString, OsString)> = usual.iter().map(|(name, value)| (name.into(), value.into())).collect();
    for pair in given {
        let Some((name, value)) = pair.as_bytes().split_once_str("=").filter(|(name, _)| !name.is_empty()) else {
            bail!("--env {}: expected NAME=VALUE", pair.display());
        };
        let name = OsStr::from_bytes(name);
        all.retain(|(known, _)| known != name);
        all.push((name.to_owned(), OsStr::from_bytes(value).to_owned()));
    }
    Ok(all)
}
