//! The launcher of bundles: an ELF image that `build.rs` made of `launcher/`, to be put into a bundled program.
//!
//! What it does and how it is told about a bundle: `launcher/main.rs` and `launcher/head.rs`.

/// The machines for which there may be a launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherMachine {
    /// x86-64.
    X86_64,
    /// AArch64, little-endian.
    Aarch64,
}

/// The launcher's ELF image for a machine. `None` if this build of underpin has none: the compiler that built it had
/// no core library for that machine.
#[must_use]
pub fn launcher(machine: LauncherMachine) -> Option<&'static [u8]> {
    let image: &'static [u8] = match machine {
        LauncherMachine::X86_64 => include_bytes!(concat!(env!("OUT_DIR"), "/launcher-x86_64")),
        LauncherMachine::Aarch64 => include_bytes!(concat!(env!("OUT_DIR"), "/launcher-aarch64")),
    };
    (!image.is_empty()).then_some(image)
}

/// The library by which a bundle for a machine finds its locales: a shared object for glibc, `libunderpin-locale.so`
/// (`locales/main.rs`). `None` if this build of underpin has none.
#[must_use]
pub fn locale_library(machine: LauncherMachine) -> Option<&'static [u8]> {
    let image: &'static [u8] = match machine {
        LauncherMachine::X86_64 => include_bytes!(concat!(env!("OUT_DIR"), "/locales-x86_64")),
        LauncherMachine::Aarch64 => include_bytes!(concat!(env!("OUT_DIR"), "/locales-aarch64")),
    };
    (!image.is_empty()).then_some(image)
}
