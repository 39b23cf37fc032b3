//! `underpin build`.

use super::DisplayArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use underpin_build::project::BuildSystem;
use underpin_build::toolchain::CompilerFamily;
use underpin_build::{Allocator, CLibrary, Goal, LOCK_WAIT, Linkage, Processor, STEP_LIMIT, SpecText};

/// Build a project with a C library, linkage and allocator of your choice.
///
/// Without options: a static PIE on musl for this processor, which starts on any Linux. The project's own build tool does
/// the work; underpin stands between it and the compilers and puts the allocator first on the link line. One allocator
/// serves everything: malloc and its relatives, what the C library calls inside, and Rust's.
///
/// Built are, by the first of these files: Cargo.toml; a configure made by Autoconf; CMakeLists.txt; meson.build; any other
/// configure; a makefile. Words behind `--` go to cargo, to configure, to cmake and meson where they configure, or to make.
///
/// The sources are not written to: CMake and meson build beside them, configure and make in a copy. The result goes to the
/// current folder, or where -o says. If the current folder is part of the project it goes to `target/underpin` of a Cargo
/// project, of any other to a folder of the cache; the last lines name it.
///
/// Before the command ends the file is read as `underpin check` reads it: anything other than what was asked for is an error
/// that shows both. A note in the file (`underpin check` shows it) says how it was built.
///
/// A build that is stopped or killed at any moment leaves the earlier result as it was, and no process. Two builds of the same
/// project wait for each other.
///
/// A build is also written in one word: `musl`, `musl+jemalloc`, `musl:static`, `musl:dynamic`, `glibc`, `glibc:2.28`,
/// `musl+mimalloc-overlay` (without the overlay).
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin build                          the project in this folder\n  \
    underpin build ~/ripgrep -o bin/        the result goes to bin/rg\n  \
    underpin build -- -p server --features tls   words for cargo\n  \
    underpin build hello.c                  one file of C or C++\n  \
    underpin build jq-1.6 -- --disable-docs   words for configure\n  \
    underpin build --crate ripgrep@14.1.1   a published crate\n  \
    eval \"$(underpin build --print-env)\" && ./build.sh   anything else\n  \
    underpin build --libc glibc:2.28        dynamic, starts on glibc 2.28\n  \
    underpin build --malloc jemalloc --target aarch64\n  \
    underpin build --goal memory            musl's own malloc: small, not fast\n  \
    underpin build --dry-run                what would be run\n\
    \n\
    Next: `underpin check FILE --on rhel8`, `underpin bench ./old ./new`.")]
pub struct BuildArgs {
    /// The project: a folder (the current one), a makefile or the like in it, or a file of C or C++
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,

    /// A published crate instead: NAME or NAME@VERSION, with its own Cargo.lock
    #[arg(long = "crate", value_name = "NAME", conflicts_with = "path")]
    pub published: Option<String>,

    /// The build system, if the folder has files of several
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "published")]
    pub build_system: Option<BuildSystemName>,

    /// The whole choice in one word, such as musl+jemalloc or glibc:2.28
    #[arg(long = "as", value_name = "BUILD", conflicts_with_all = ["libc", "linkage", "malloc", "overlay"])]
    pub text: Option<SpecText>,

    /// The C library: musl (the default), glibc, or glibc:VERSION for the oldest that it is to start on
    #[arg(long, value_name = "NAME")]
    pub libc: Option<CLibrary>,

    /// How it is linked: static, static-pie (the default with musl) or dynamic (the default with glibc)
    #[arg(long, value_name = "KIND")]
    pub linkage: Option<Linkage>,

    /// The allocator: system, jemalloc, mimalloc or snmalloc; without it --goal chooses
    #[arg(long, value_name = "NAME")]
    pub malloc: Option<Allocator>,

    /// What the allocator is chosen and set for
    #[arg(long, value_enum, value_name = "GOAL", default_value_t = GoalName::Balanced)]
    pub goal: GoalName,

    /// Replace musl's string functions by faster ones (on in static musl builds)
    #[arg(long, value_enum, value_name = "WHEN")]
    pub overlay: Option<Switch>,

    /// The processor: x86_64, aarch64 or riscv64; this machine's without it
    #[arg(long, value_name = "PROCESSOR")]
    pub target: Option<Processor>,

    /// The C compiler, if there is a choice
    #[arg(long, value_enum, value_name = "NAME")]
    pub cc: Option<CompilerName>,

    /// Where the program goes: a file, or a folder
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The program that is wanted, if several are built (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,

    /// Build nothing: print variables (CC, AR, ...) for a build that you start, as a shell takes them
    #[arg(long, conflicts_with_all = ["published", "bin", "output", "print_link_args"])]
    pub print_env: bool,

    /// Build nothing: print the words to put first on a program's link line
    #[arg(long, conflicts_with_all = ["published", "bin", "output"])]
    pub print_link_args: bool,

    /// Build nothing: show which compilers would be used for each processor and C library, and how to install what is missing
    #[arg(long, conflicts_with_all = ["published", "bin", "output", "print_env", "print_link_args", "dry_run"])]
    pub toolchains: bool,

    /// Replace a file that underpin did not build
    #[arg(long)]
    pub force: bool,

    /// How long to wait for another build of the same project, in seconds (0: not at all)
    #[arg(long, value_name = "SECONDS", default_value_t = LOCK_WAIT.as_secs())]
    pub wait: u64,

    /// How long each command of the project's build tool may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = STEP_LIMIT.as_secs())]
    pub timeout: u64,

    /// Show what would be run and build nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub display: DisplayArgs,

    /// For the project's own build tool: package, features, profile
    #[arg(last = true, value_name = "WORDS")]
    pub words: Vec<String>,
}

impl BuildArgs {
    /// The programs `bin` of a project, built as `text`, into the folder `output`.
    pub fn of(path: PathBuf, text: SpecText, bin: Vec<String>, output: PathBuf) -> BuildArgs {
        BuildArgs {
            path,
            published: None,
            build_system: None,
            text: Some(text),
            libc: None,
            linkage: None,
            malloc: None,
            goal: GoalName::Balanced,
            overlay: None,
            target: None,
            cc: None,
            output: Some(output),
            bin,
            print_env: false,
            print_link_args: false,
            toolchains: false,
            force: false,
            wait: LOCK_WAIT.as_secs(),
            timeout: STEP_LIMIT.as_secs(),
            dry_run: false,
            display: DisplayArgs::default(),
            words: Vec::new(),
        }
    }
}

/// A build system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BuildSystemName {
    /// A `configure` of Autoconf or of another make, then make
    Autoconf,
    /// CMake
    Cmake,
    /// meson
    Meson,
    /// make alone
    Make,
}

impl From<BuildSystemName> for BuildSystem {
    fn from(name: BuildSystemName) -> BuildSystem {
        match name {
            BuildSystemName::Autoconf => BuildSystem::Autoconf,
            BuildSystemName::Cmake => BuildSystem::Cmake,
            BuildSystemName::Meson => BuildSystem::Meson,
            BuildSystemName::Make => BuildSystem::Make,
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

/// What an allocator is chosen and set for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GoalName {
    /// Large caches, and huge pages for large heaps
    Speed,
    /// The C library's own malloc: the least memory
    Memory,
    /// Fast, with small caches
    #[default]
    Balanced,
}

impl From<GoalName> for Goal {
    fn from(name: GoalName) -> Goal {
        match name {
            GoalName::Speed => Goal::Speed,
            GoalName::Memory => Goal::Memory,
            GoalName::Balanced => Goal::Balanced,
        }
    }
}

/// A kind of C compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompilerName {
    /// zig, with a C library for every processor
    Zig,
    /// gcc, musl's wrapper of it, or a cross gcc
    Gcc,
    /// clang with lld
    Clang,
}

impl From<CompilerName> for CompilerFamily {
    fn from(name: CompilerName) -> CompilerFamily {
        match name {
            CompilerName::Zig => CompilerFamily::Zig,
            CompilerName::Gcc => CompilerFamily::Gcc,
            CompilerName::Clang => CompilerFamily::Clang,
        }
    }
}
