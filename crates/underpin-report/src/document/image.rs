//! `underpin.image-build/1` and `underpin.image-run/1`: what an image holds and why, and what came of a command in it. The facts
//! are gathered by the caller.

use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image build`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageBuildDocument {
    /// Always `underpin.image-build/1`.
    pub schema: SchemaTag<ImageBuildDocument>,
    /// The machine, or the container's processor.
    pub target: String,
    /// The folder of the image, or its file.
    pub folder: Raw,
    /// Whether this is a plan only: nothing was fetched or written.
    pub dry_run: bool,
    /// Whether the same image was there, so that nothing was written.
    pub unchanged: bool,
    /// What `image run` starts if no command is given.
    pub command: Raw,
    /// The kernel; a container has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<ImageKernel>,
    /// What was written for containers; absent in a plan and for a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<ImageContainer>,
    /// What holds a machine's root file system: `initramfs`, `ext4` (a disk) or `sd` (a card); absent for a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The disk or card; absent in a plan, and if the root file system is in the initramfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<ImageDisk>,
    /// Size of the initramfs; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initramfs_bytes: Option<u64>,
    /// SHA-256 of the initramfs; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initramfs_sha256: Option<String>,
    /// The packages that were built for it from recipes, each after what it needs; in a plan those that would be.
    pub packages: Vec<ImagePackage>,
    /// Its files, by layer and path; directories are left out.
    pub files: Vec<ImageFile>,
    /// What a person should know.
    pub remarks: Vec<String>,
}

impl Document for ImageBuildDocument {
    const VERB: Verb = Verb::ImageBuild;
}

/// The disk of an image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageDisk {
    /// Its name in the folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Of its content.
    pub sha256: String,
    /// Identifier of the root file system.
    pub uuid: String,
    /// The package with the board's firmware and its version, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
}

/// An image for containers, as it was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageContainer {
    /// Digest of its manifest: the image's name by its bytes.
    pub manifest: String,
    /// Of the layers' tars, the lowest first: by these images are compared, since encoders of gzip differ.
    pub diff_ids: Vec<String>,
    /// Bytes of all blobs.
    pub bytes: u64,
    /// As whom it starts.
    pub user: String,
}

/// The kernel of an image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageKernel {
    /// Where it is from: a package, a file, or what would be looked up.
    pub from: Raw,
    /// Its package's version, if it is from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its source package with the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// SHA-256 of the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_sha256: Option<String>,
    /// The kernel that the lock named before `--update`, if another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Size of the kernel's file; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A package that was built from a recipe.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImagePackage {
    /// The recipe.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, an SPDX expression.
    pub licence: String,
    /// Where its sources are from.
    pub source: String,
    /// The checksum of everything that it is made from; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether it was in the store already.
    pub cached: bool,
    /// Seconds that it took, if it was built by this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The files of the layers that changed the recipe.
    pub appends: Vec<String>,
}

/// One file of an image.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageFile {
    /// Where it is in the guest.
    pub path: Raw,
    /// Its archive.
    pub layer: String,
    /// Its size.
    pub bytes: u64,
    /// Where it was taken from; absent for what is underpin's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Raw>,
    /// Why it is there.
    pub because: String,
}

/// The document of `underpin image run`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageRunDocument {
    /// Always `underpin.image-run/1`.
    pub schema: SchemaTag<ImageRunDocument>,
    /// The folder or file of the image.
    pub folder: Raw,
    /// The machine, or the container's processor.
    pub target: String,
    /// The command and its arguments.
    pub command: Vec<Raw>,
    /// What ran it: `qemu` (a guest), or the runtime of a container (`runc`, `crun`).
    pub runner: String,
    /// Why a container's image ran in a guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_reason: Option<String>,
    /// What ran the guest's instructions: `tcg` (QEMU's translation) or `kvm`; absent without a guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<String>,
    /// Why that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator_reason: Option<String>,
    /// QEMU's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qemu: Option<String>,
    /// Whether the guest's clock counted instructions: its seconds are then nanoseconds of one instruction each, not time.
    pub icount: bool,
    /// How it ended.
    pub outcome: ImageOutcome,
    /// The exit status, if the command ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The signal, if one ended the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why the command could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// From the start of QEMU until the guest asked for its command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_seconds: Option<f64>,
    /// From the start of QEMU or the runtime to its end.
    pub wall_seconds: f64,
    /// What the guest's kernel accounted to the command and the children that it waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<ImageUsage>,
    /// What the command wrote to its standard output.
    pub output: Raw,
    /// What the command wrote to its standard error.
    pub errors: Raw,
    /// The files that were asked for.
    pub files: Vec<ImageFetched>,
    /// The last lines of the guest's console, if there is no result.
    pub console: Vec<String>,
}

impl Document for ImageRunDocument {
    const VERB: Verb = Verb::ImageRun;
}

/// How a command in an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageOutcome {
    /// By itself.
    Exited,
    /// By a signal.
    Signalled,
    /// It could not be started.
    NotStarted,
    /// At the deadline.
    TimedOut,
    /// The guest did not come up, or went down.
    NoResult,
}

/// Figures of a command, by the guest's clock.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ImageUsage {
    /// From its start to its end.
    pub wall_seconds: f64,
    /// In user space.
    pub user_seconds: f64,
    /// In the kernel.
    pub system_seconds: f64,
    /// Most memory that was resident.
    pub max_rss_bytes: u64,
    /// Page faults without input from a disk.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
}

/// A file that was brought back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageFetched {
    /// Where it is in the guest.
    pub path: Raw,
    /// Where it was put.
    pub place: Raw,
    /// How many bytes came.
    pub bytes: u64,
    /// Why it is missing or not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
