//! `underpin image`.

mod compare;
mod container;
mod doctor;
mod fips;
mod layer;
mod sdk;
mod size;
mod sources;

pub use compare::ImageCompareArgs;
pub use container::{LayerPerName, Network, ProvisionName, Runner};
pub use doctor::ImageDoctorArgs;
pub use fips::ImageFipsArgs;
pub use layer::{ImageLayerAction, ImageLayerArgs, LibcName};
pub use sdk::ImageSdkArgs;
pub use size::ImageSizeArgs;
pub use sources::ImageSourcesArgs;

use super::DisplayArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use underpin_image::{Format, Target};

/// Make a bootable image of a few programs and run commands in it; find what an image lacks.
///
/// An image is a folder: a kernel of Debian's, and an initramfs with the programs, the libraries that their loader will load,
/// and a first process of underpin's own. `run` starts it, passes the command's output and exit status through, and
/// ends it. `doctor` reads images of containers, in any of the forms that tools leave: a folder in OCI's layout, an OCI
/// archive, what `docker save` writes, a tar of a root file system (gzip or zstd or neither), or a folder; it unpacks,
/// runs and fetches nothing.
#[derive(Debug, Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  \
    underpin image build ./app -o app-image   an image of one program\n  \
    underpin image run app-image -- app -v    its output and exit code\n  \
    underpin image compare busybox --quick    musl beside glibc, in guests\n  \
    underpin image sdk app-image -o sdk       compilers and C library for it\n  \
    underpin image size app-image             which package takes how much of it\n  \
    underpin image doctor app.tar             what its program needs that is not in it\n  \
    underpin image fips app.tar               which FIPS provider is in effect in it\n\
    \n\
    Next: `underpin image build --help`, `underpin image run --help`, `underpin image doctor --help`."
)]
pub struct ImageArgs {
    /// What to do
    #[command(subcommand)]
    pub verb: ImageVerb,
}

/// One verb of `underpin image`; described by its arguments, as those of [`super::Verb`].
#[derive(Debug, Subcommand)]
pub enum ImageVerb {
    Build(Box<ImageBuildArgs>),
    Run(Box<ImageRunArgs>),
    Compare(Box<ImageCompareArgs>),
    Sdk(Box<ImageSdkArgs>),
    Size(Box<ImageSizeArgs>),
    Sources(Box<ImageSourcesArgs>),
    Doctor(Box<ImageDoctorArgs>),
    Fips(Box<ImageFipsArgs>),
    Layer(Box<ImageLayerArgs>),
}

/// Make an image of programs, their libraries and a kernel.
///
/// Each program comes with what its loader will load, resolved as `underpin tree` does it, from inside the image. The
/// kernel is Debian's for virtual machines, fetched once through apt into underpin's cache and checked by the suite's
/// signed index; image.lock in the folder names its version and SHA-256. The same input makes the same bytes: no owner,
/// time, umask or order of this machine gets in (SOURCE_DATE_EPOCH sets the time of all files). If nothing has changed,
/// nothing is written. image.json lists every file, with its checksum and why it is there; image.spdx.json lists the packages with
/// versions, licences and checksums for others (SPDX 2.3).
///
/// `--format ext4` puts the root file system on a disk, which the guest finds by its UUID. `--target rpi4` makes sd.img for a
/// Raspberry Pi 4: a boot partition with Debian's kernel and device tree and the board's firmware (Debian's package
/// raspi-firmware, non-free), and an ext4 partition with the programs. `image run` starts it in QEMU 9 or later; on
/// real hardware it is untested.
///
/// With `--target oci` it is an image for containers, in the layout of the Open Container Initiative: the programs with
/// their libraries, /tmp and an account without rights; no kernel, no shell. The first program is its entrypoint. What the
/// programs are known to open comes too (roots of certificates, zones of time, the name service, charsets, the locale that is
/// set), by the evidence that `image doctor` shows; `--without` leaves it out. What is still missing is told.
///
/// `--app DIR` puts an application's folder at /app and starts there. If the first program is Ruby, the interpreter is run once, to
/// ask for the folders of its library and for the gems that the application's files require; those come from vendor/bundle of
/// the application if it is there, and otherwise from this machine. Bundler takes no part when the service runs.
///
/// `--fips` adds OpenSSL's FIPS provider (a package of Debian trixie, or a file of your own) and the configuration that lets OpenSSL use
/// nothing else. Its self-test runs here once, and whenever it is loaded. `image fips` tells what is in effect, and what bypasses it.
///
/// With `--libc` the names are recipes, or an image's list of them, from the layers that underpin carries and those of
/// `--layer`: their sources are fetched through apt by version and checksum, and built with the tools of `underpin build`,
/// once for each content of recipe, appends, tools and needed packages. `underpin image layer show` lists them.
#[derive(Debug, Args)]
#[command(after_help = "The kernel is Debian's, through apt; where apt has another archive,\n\
    UNDERPIN_DEBIAN_ARCHIVE names a mirror of Debian.\n\
    \n\
    Examples:\n  \
    underpin image build ./app -o app-image\n  \
    underpin image build sqlite3 -o db --add schema.sql:/srv/schema.sql\n  \
    underpin image build app-arm64 --target qemu-aarch64 -o arm\n  \
    underpin image build app --root sysroot --target qemu-aarch64 -o arm\n  \
    underpin image build ./app -o app-image --dry-run   what would be in it\n  \
    underpin image build ./app -o app-disk --format ext4\n  \
    underpin image build app-arm64 --target rpi4 -o pi   then write pi/sd.img to a card\n  \
    underpin image build ./app --target oci -o app.tar   for podman and docker\n  \
    underpin image build ruby --app shop --malloc jemalloc --target oci \\\n  \
    -o shop.tar -- ruby -S puma                        a Ruby service\n  \
    underpin image build busybox --libc musl -o bb       built from source\n\
    \n\
    Next: `underpin image run app-image`, `underpin image doctor app.tar`.")]
pub struct ImageBuildArgs {
    /// The programs: paths, or names that are searched for in PATH; with --libc names of recipes or images. The first is
    /// what `run` starts
    #[arg(value_name = "PROG", required = true)]
    pub programs: Vec<PathBuf>,

    /// The machine, or a container (`oci`); for this processor if it is not given
    #[arg(
        long,
        value_name = "NAME",
        value_parser = ["qemu-x86_64", "qemu-aarch64", "rpi4", "oci", "oci-x86_64", "oci-aarch64"]
    )]
    pub target: Option<String>,

    /// Build recipes from source for this C library
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "root")]
    pub libc: Option<LibcName>,

    /// Use the recipes and appends of this folder too (may be repeated)
    #[arg(long, value_name = "DIR", requires = "libc")]
    pub layer: Vec<PathBuf>,

    /// Build recipes with this compiler
    #[arg(long, value_enum, value_name = "NAME", requires = "libc")]
    pub toolchain: Option<super::CompilerName>,

    /// What holds the root file system: the initramfs, or a disk with ext4; rpi4 has a card (sd)
    #[arg(long, value_name = "FORM", value_parser = ["initramfs", "ext4", "sd"])]
    pub format: Option<String>,

    /// The size of the disk or card in MiB; if it is not given, what the files take and some room
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub size: Option<u32>,

    /// The folder of the image; one of a machine that is there is brought up to date. A container's name that ends in
    /// .tar becomes one file instead of a folder
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,

    /// Add a file or folder of this machine at a path of the image (may be repeated)
    #[arg(long, value_name = "HOST:GUEST")]
    pub add: Vec<OsString>,

    /// Add a file or folder of this machine at its own path, with the libraries of every ELF file in it: extension modules,
    /// plugins, data (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub include: Vec<PathBuf>,

    /// Put an application's folder at /app of a container, and start there
    #[arg(long, value_name = "DIR")]
    pub app: Option<PathBuf>,

    /// The allocator of a container's programs, preloaded: as for `underpin run --malloc`
    #[arg(long, value_name = "NAME[:SETTINGS]")]
    pub malloc: Option<underpin_malloc::Malloc>,

    /// Put OpenSSL's FIPS provider into a container and into effect: Debian's, or the fips.so that is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub fips: Option<Option<PathBuf>>,

    /// Leave out what programs are known to open (may be repeated)
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub without: Vec<ProvisionName>,

    /// How a container's files are divided into layers [default: closure]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub layer_per: Option<LayerPerName>,

    /// Look for libraries, and for programs by path, inside this folder as if it were `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Use this kernel instead of Debian's; virtio and the console must be built in
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// As whom a container starts: UID, UID:GID, or a name of its /etc/passwd [default: 65532]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,

    /// Set a variable in a container (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,

    /// Replace what is at the place of a container's image
    #[arg(long)]
    pub force: bool,

    /// Take the suite's newest kernel and renew the lock
    #[arg(long, conflicts_with_all = ["kernel", "offline"])]
    pub update: bool,

    /// Fail if something would have to be fetched
    #[arg(long)]
    pub offline: bool,

    /// Show what would be in the image; nothing is fetched or written
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// What a container starts: one of the programs and its arguments, which may be replaced when it is run
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// Whether the processor itself may run the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kvm {
    /// If a trial boot under it worked.
    Auto,
    /// Never.
    Off,
}

/// Start an image, run a command in it, and bring its result back.
///
/// An image for containers (a folder in OCI's layout, or an archive of it or of `docker save`) runs in runc or crun, if one is there
/// and works and this is root: as its user, without rights and without network, its root read-only and /tmp in memory. Otherwise its
/// files are started in a guest, as root. -v says which it was, and why.
///
/// The command gets this machine's output and error streams, in the guest an empty standard input, and the directory /.
/// Its output comes over a virtio port, so that the kernel's messages do not mix with it. QEMU emulates the processor
/// unless a trial boot under KVM worked; -v says which it was, and what the command used.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exit codes: the command's own (128 and the signal's number if a signal ended\n\
    it, 126 and 127 if it could not be started); 124 at the deadline; 125 if the\n\
    guest did not come up or went down, with the last lines of its console.\n\
    \n\
    Examples:\n  \
    underpin image run app-image            the program that it was built for\n  \
    underpin image run db -- sqlite3 :memory: 'select 1'\n  \
    underpin image run app-image --get /tmp/out:out.bin -- app -o /tmp/out\n  \
    underpin image run app-image --icount -v   instructions instead of time\n  \
    underpin image run app.tar -- app --version   in a container\n\
    \n\
    Next: `underpin image run IMAGE --json` has figures of time and memory.")]
pub struct ImageRunArgs {
    /// The folder of the image, or the folder or file of one for containers
    #[arg(value_name = "IMAGE")]
    pub image: PathBuf,

    /// What runs an image for containers
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Runner::Auto)]
    pub runner: Runner,

    /// The network of a container: none, or this machine's (host)
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Network::None)]
    pub network: Network,

    /// End the command after this many seconds in the guest
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    pub timeout: f64,

    /// Bring a file back when the command has ended, to its own name here or to another place (may be repeated)
    #[arg(long, value_name = "PATH[:HOST]")]
    pub get: Vec<OsString>,

    /// Set a variable for the command; it gets PATH, HOME and TERM, and none of this machine (may be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<OsString>,

    /// Whether KVM may be used
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Kvm::Auto)]
    pub kvm: Kvm,

    /// Let the guest's clock count instructions: figures repeat on a busy machine, but are not times
    #[arg(long)]
    pub icount: bool,

    /// The guest's memory in MiB; if it is not given, 256 and four times the initramfs
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    pub memory: Option<u32>,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// The command and its arguments; if there is none, the image's first program, or what a container starts
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

impl ImageRunArgs {
    /// A command in an image, with the usual choices.
    pub fn of(image: PathBuf, command: Vec<OsString>) -> ImageRunArgs {
        ImageRunArgs {
            image,
            runner: Runner::Auto,
            network: Network::None,
            timeout: 120.0,
            get: Vec::new(),
            env: Vec::new(),
            kvm: Kvm::Auto,
            icount: false,
            memory: None,
            display: DisplayArgs::default(),
            command,
        }
    }
}

impl ImageBuildArgs {
    /// An image of these programs for a machine, with the usual choices.
    pub fn of(programs: Vec<PathBuf>, target: Target, output: PathBuf) -> ImageBuildArgs {
        ImageBuildArgs {
            programs,
            target: Some(target.name().to_owned()),
            libc: None,
            layer: Vec::new(),
            toolchain: None,
            format: None,
            size: None,
            output,
            add: Vec::new(),
            root: None,
            kernel: None,
            user: None,
            env: Vec::new(),
            include: Vec::new(),
            app: None,
            malloc: None,
            fips: None,
            without: Vec::new(),
            layer_per: None,
            command: Vec::new(),
            force: false,
            update: false,
            offline: false,
            dry_run: false,
            display: DisplayArgs::default(),
        }
    }

    /// What was named to hold the root file system, or the target's usual one; `None` if the target takes no such.
    pub fn format(&self, target: Target) -> Option<Format> {
        let named = |format: &&Format| self.format.as_deref().is_none_or(|name| name == format.name());
        target.formats().iter().find(named).copied()
    }

    /// Whether a program of the user's or a compiler may be started for it.
    pub fn starts_processes(&self) -> bool {
        let only_files = self.is_container() && self.libc.is_none();
        !only_files || self.app.is_some() || self.malloc.is_some() || self.fips.is_some()
    }

    /// Whether it is for containers.
    pub fn is_container(&self) -> bool {
        self.target.as_ref().is_some_and(|name| name.starts_with("oci"))
    }
}

/// The machine of a name, or the one for this processor.
pub fn target(name: Option<&str>) -> Option<Target> {
    let mut all = Target::ALL.into_iter();
    match name {
        None | Some("oci") => all.find(|target| target.processor() == std::env::consts::ARCH),
        Some(name) => all.find(|target| name == target.name() || name == target.container()),
    }
}
