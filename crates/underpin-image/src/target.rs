//! The machines that images are made for.

use std::fmt;
use std::str::FromStr;
use underpin_elf::Machine;

/// A machine, with its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// QEMU's q35 with an x86-64 processor.
    QemuX86_64,
    /// QEMU's virt with an aarch64 processor.
    QemuAarch64,
    /// The Raspberry Pi 4 Model B, started from a card. QEMU has the board from 9 on.
    Rpi4,
}

/// What holds the root file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Memory: the kernel unpacks an archive.
    Initramfs,
    /// A disk of the emulator with an ext4 file system.
    Ext4,
    /// A card with a boot partition (FAT) and a root partition (ext4).
    Sd,
}

impl Format {
    /// What `--format` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Initramfs => "initramfs",
            Format::Ext4 => "ext4",
            Format::Sd => "sd",
        }
    }
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 3] = [Target::QemuX86_64, Target::QemuAarch64, Target::Rpi4];
    /// Machines that exist in an emulator only.
    pub const VIRTUAL: [Target; 2] = [Target::QemuX86_64, Target::QemuAarch64];

    /// What can hold its root file system; the first is the usual one.
    #[must_use]
    pub fn formats(self) -> &'static [Format] {
        match self {
            Target::QemuX86_64 | Target::QemuAarch64 => &[Format::Initramfs, Format::Ext4],
            Target::Rpi4 => &[Format::Sd],
        }
    }

    /// What `--target` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Target::QemuX86_64 => "qemu-x86_64",
            Target::QemuAarch64 => "qemu-aarch64",
            Target::Rpi4 => "rpi4",
        }
    }

    /// What `--target` calls a container for its processor.
    #[must_use]
    pub fn container(self) -> &'static str {
        match self {
            Target::QemuX86_64 => "oci-x86_64",
            Target::QemuAarch64 | Target::Rpi4 => "oci-aarch64",
        }
    }

    /// The kernel's name of its processor.
    #[must_use]
    pub fn processor(self) -> &'static str {
        match self {
            Target::QemuX86_64 => "x86_64",
            Target::QemuAarch64 | Target::Rpi4 => "aarch64",
        }
    }

    /// Debian's name of its processor, which is Go's and so that of images for containers.
    #[must_use]
    pub fn debian(self) -> &'static str {
        match self {
            Target::QemuX86_64 => "amd64",
            Target::QemuAarch64 | Target::Rpi4 => "arm64",
        }
    }

    /// What `e_machine` of its programs is.
    #[must_use]
    pub fn machine(self) -> Machine {
        match self {
            Target::QemuX86_64 => Machine::X86_64,
            Target::QemuAarch64 | Target::Rpi4 => Machine::AARCH64,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no target has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no target is called `{0}`: expected qemu-x86_64, qemu-aarch64 or rpi4")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        let found = Target::ALL.into_iter().find(|target| target.name() == text);
        found.ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}
