//! The arguments of `underpin image sdk`.

use crate::cli::{CompilerName, DisplayArgs, GoalName, Switch};
use clap::Args;
use std::path::PathBuf;
use underpin_build::{Allocator, CLibrary, Linkage};
use underpin_image::Target;

/// Write the compilers of an image and its C library into a folder that can be moved.
///
/// The folder has what `underpin build --print-env` hands over: names for cc, c++, ar, ranlib and ld that stand for a
/// compiler of this machine with the chosen C library, linkage and allocator; files that tell CMake, meson and cargo of
/// them; and environment.sh. sysroot/ has the C library of Debian's release that images have their kernel from, fetched
/// through apt as the kernel is, if the compiler has none or the programs are dynamic; give it to `image build --root`.
/// Programs are run here by qemu-user or by that library's loader (meson's probes too). README.md in the folder says what
/// must be on the machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    underpin image sdk --target qemu-aarch64 --libc musl --toolchain zig -o sdk\n  \
    underpin image sdk --target qemu-aarch64 --libc glibc --toolchain gcc -o sdk\n  \
    underpin image sdk app-image -o sdk           for the machine and C library of an image\n  \
    . sdk/environment.sh && $CC app.c -o app\n  \
    underpin image build app --root sdk/sysroot --target qemu-aarch64 -o app-image\n\
    \n\
    Next: README.md in the folder.")]
pub struct ImageSdkArgs {
    /// The folder of an image, whose machine and C library are taken
    #[arg(value_name = "IMAGE")]
    pub image: Option<PathBuf>,

    /// The machine; the image's, or one with this processor, if it is not given
    #[arg(long, value_name = "NAME")]
    pub target: Option<Target>,

    /// The C library: musl or glibc; the image's if it is not given, else musl
    #[arg(long, value_name = "NAME")]
    pub libc: Option<CLibrary>,

    /// How programs are linked: static, static-pie (the default with musl) or dynamic (the default with glibc)
    #[arg(long, value_name = "KIND")]
    pub linkage: Option<Linkage>,

    /// The compiler
    #[arg(long, value_enum, value_name = "NAME", default_value_t = CompilerName::Zig)]
    pub toolchain: CompilerName,

    /// The allocator: system, jemalloc, mimalloc or snmalloc; without it --goal chooses
    #[arg(long, value_name = "NAME")]
    pub malloc: Option<Allocator>,

    /// What the allocator is chosen and set for
    #[arg(long, value_enum, value_name = "GOAL", default_value_t = GoalName::Balanced)]
    pub goal: GoalName,

    /// Replace musl's string functions by faster ones (on in static musl programs)
    #[arg(long, value_enum, value_name = "WHEN")]
    pub overlay: Option<Switch>,

    /// The folder; an SDK that is there is replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Fail if something would have to be fetched
    #[arg(long)]
    pub offline: bool,

    #[command(flatten)]
    pub display: DisplayArgs,
}
