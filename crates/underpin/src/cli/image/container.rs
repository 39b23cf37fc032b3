//! Words of `underpin image build --target oci`, and of `image run` for what it makes.

use clap::ValueEnum;
use underpin_image::plan::{LayerPer, Provision};

/// What can be left out of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProvisionName {
    /// Roots of certificates.
    CaRoots,
    /// Zones of time.
    Zoneinfo,
    /// /etc/nsswitch.conf and glibc's modules of the name service.
    NameService,
    /// Charset modules of glibc.
    Charsets,
    /// The locale that a variable names.
    Locale,
    /// libgcc_s.so.1, which glibc opens for pthread_exit, pthread_cancel and backtrace.
    Unwinder,
}

impl From<ProvisionName> for Provision {
    fn from(name: ProvisionName) -> Provision {
        match name {
            ProvisionName::CaRoots => Provision::CaRoots,
            ProvisionName::Zoneinfo => Provision::Zoneinfo,
            ProvisionName::NameService => Provision::NameService,
            ProvisionName::Charsets => Provision::Charsets,
            ProvisionName::Locale => Provision::Locale,
            ProvisionName::Unwinder => Provision::Unwinder,
        }
    }
}

/// How files are divided into layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayerPerName {
    /// One for each package.
    Package,
    /// Common files, libraries, programs.
    Closure,
    /// One for all.
    One,
}

impl From<LayerPerName> for LayerPer {
    fn from(name: LayerPerName) -> LayerPer {
        match name {
            LayerPerName::Package => LayerPer::Package,
            LayerPerName::Closure => LayerPer::Closure,
            LayerPerName::One => LayerPer::One,
        }
    }
}

/// What runs an image for containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Runner {
    /// A runtime if it works, or else a guest.
    Auto,
    /// runc or crun, or an error.
    Runtime,
    /// A guest in QEMU.
    Guest,
}

/// The network of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Network {
    /// None.
    None,
    /// This machine's.
    Host,
}
