//! The FIPS provider of `image build --fips`, and the plan of `image fips`.

use super::{ContainedRunPlan, ruby, store};
use crate::cli::{ImageBuildArgs, ImageFipsArgs, ImageRunArgs};
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use underpin_image::fips::{self, PACKAGE, Provider, certificates};
use underpin_image::store::Access;
use underpin_image::{Target, oci};

/// A provider for an image, and what is said of it.
pub(super) struct Chosen {
    pub provider: Provider,
    pub labels: Vec<(String, String)>,
    pub remark: String,
}

/// Takes Debian's provider, or a file of the user's, and has its self-test run.
pub(super) fn set_up(file: Option<&Path>, args: &ImageBuildArgs, sysroot: Option<&Path>) -> anyhow::Result<Chosen> {
    if sysroot.is_some() {
        bail!(
            "--fips: the OpenSSL of this machine tests the provider and says where it belongs, and --root has another"
        );
    }
    let target = super::target(args.target.as_deref())?;
    if target.processor() != std::env::consts::ARCH {
        bail!("--fips: the provider's self-test runs on this machine, which is not {}", target.container());
    }
    let (module, origin) = match file {
        Some(file) => (file.canonicalize().with_context(|| format!("--fips={}", file.display()))?, None),
        None => debian(target, args.offline || args.dry_run)?,
    };
    let scratch = tempfile::tempdir()?;
    let provider = fips::set_up(&module, scratch.path())?;
    let Provider { name, version, .. } = &provider;
    let standing = certificates().standing(name, version);
    let from = origin.clone().unwrap_or_else(|| module.display().to_string());
    let remark =
        format!("{name} {version} ({from}): its self-test passed here and runs whenever it is loaded; {standing}");
    let label = |name: &str, value: String| (format!("underpin.fips{name}"), value);
    let mut labels = vec![label("", format!("{name} {version}")), label(".standing", standing)];
    labels.extend(origin.map(|package| label(".package", package)));
    Ok(Chosen { provider, labels, remark })
}

/// The module out of Debian's package, and the package.
fn debian(target: Target, offline: bool) -> anyhow::Result<(PathBuf, Option<String>)> {
    let access = if offline { Access::Offline } else { Access::Online };
    let (package, folder) = store()?.unpacked(target, PACKAGE, access).context("--fips")?;
    let module = folder.join(format!("usr/lib/{}-linux-gnu/ossl-modules/fips.so", target.processor()));
    if !module.is_file() {
        bail!("--fips: {} {} has no {}", package.name, package.version, module.display());
    }
    Ok((module, Some(format!("{} {}", package.name, package.version))))
}

/// What `image fips` looks at.
pub struct ImageFipsPlan {
    /// The image, and the run of the probe in it if a runtime is known.
    pub image: oci::Image,
    /// What asks inside the program's own runtime; none if it is not Ruby.
    pub probe: Option<ContainedRunPlan>,
    /// In how much detail.
    pub verbosity: u8,
    /// JSON instead of a screen.
    pub json: bool,
}

impl ImageFipsPlan {
    /// The plan for an image of containers.
    ///
    /// # Errors
    /// If it is not one, or is damaged, or cannot be run.
    pub fn new(args: ImageFipsArgs) -> anyhow::Result<ImageFipsPlan> {
        if oci::form(&args.image)?.is_none() {
            bail!(
                "{}: not an image for containers: `underpin image build --target oci` makes one",
                args.image.display()
            );
        }
        let image = oci::open(&args.image, oci::Limits::default())?;
        let started = image.config.as_ref().and_then(|config| config.entrypoint.iter().chain(&config.command).next());
        let interpreter = started.map(PathBuf::from).filter(|program| ruby::is_ruby(program));
        let (json, verbosity) = (args.display.json, args.display.verbose);
        let probe = interpreter.map(|program| probe(args, program)).transpose()?.flatten();
        Ok(ImageFipsPlan { image, probe, verbosity, json })
    }
}

/// The run of the probe, its output kept.
fn probe(args: ImageFipsArgs, interpreter: PathBuf) -> anyhow::Result<Option<ContainedRunPlan>> {
    let command: Vec<OsString> = vec![interpreter.into(), "-e".into(), ruby::fips_probe().into()];
    let mut run = ImageRunArgs::of(args.image, command);
    (run.runner, run.timeout, run.display.json) = (args.runner, args.timeout, true);
    ContainedRunPlan::new(&run)
}
