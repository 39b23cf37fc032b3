//! The plan of `underpin image run` for an image of containers: the process, and what will run it.

use super::{ImageRunPlan, environment, store, timeout};
use crate::cli::{ImageRunArgs, Network, Runner};
use anyhow::bail;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use underpin_image::container::{self, NoCommand, Process, Runtime};
use underpin_image::image::Material;
use underpin_image::protocol::Request;
use underpin_image::store::{Access, Parts};
use underpin_image::{Format, Image, Target, oci};

/// A container to run.
pub struct ContainedRunPlan {
    /// The image.
    pub image: oci::Image,
    /// The machine for its programs.
    pub target: Target,
    /// What is started.
    pub process: Process,
    /// What runs it.
    pub means: Means,
    /// Whether the process shares this machine's network.
    pub host_network: bool,
    /// Its time.
    pub timeout: Duration,
    /// The arguments as they were given.
    pub args: ImageRunArgs,
}

/// What runs a container.
#[derive(Clone, Debug)]
pub enum Means {
    /// A runtime; if it cannot start containers here, a guest may.
    Runtime(Runtime, MayFail),
    /// A guest, and why.
    Guest(String),
}

/// Whether something else is tried if a runtime does not work here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayFail {
    /// Yes.
    Yes,
    /// The user named the runtime.
    No,
}

impl ContainedRunPlan {
    /// The plan for an image of containers; `None` if it is another.
    ///
    /// # Errors
    /// If the image is damaged or cannot be run, or what was asked for excludes each other.
    pub fn new(args: &ImageRunArgs) -> anyhow::Result<Option<ContainedRunPlan>> {
        if oci::form(&args.image)?.is_none() {
            return Ok(None);
        }
        let image = oci::open(&args.image, oci::Limits::default())?;
        let target = container::target(&image)?;
        let process = Process::new(&image, &args.command, &environment(&args.env, &[])?)?;
        let host_network = args.network == Network::Host;
        let means = means(args, target)?;
        if let (Means::Guest(why), true) = (&means, host_network) {
            bail!("--network host: a guest has no network, and a guest it would be, since {why}");
        }
        let args = args.clone();
        Ok(Some(ContainedRunPlan {
            image,
            target,
            process,
            means,
            host_network,
            timeout: timeout(args.timeout)?,
            args,
        }))
    }

    /// Why the command cannot be started, if it cannot.
    pub fn obstacle(&self) -> Option<NoCommand> {
        self.process.locate(&self.image).err()
    }

    /// The same in a guest, whose image is written into a folder; the kernel is fetched if it has to be.
    ///
    /// # Errors
    /// If there is no kernel or no emulator.
    pub fn guest(&self, reason: &str, folder: &Path) -> anyhow::Result<ImageRunPlan> {
        let plan = container::plan(&self.image, self.target)?;
        let kernel = store()?.kernel(self.target, None, Access::Online)?;
        let parts = Parts::default();
        let material = Material { kernel: &kernel, parts: &parts, format: Format::Initramfs, size: None };
        let image = Image::build(&plan, &material, folder)?.image;
        let Process { arguments, mut environment, directory, .. } = self.process.clone();
        for (name, value) in [("HOME", "/"), ("TERM", "dumb")] {
            if !environment.iter().any(|(known, _)| known == name) {
                environment.push((name.into(), value.into()));
            }
        }
        let request = Request { arguments, environment, directory, files: Vec::new() };
        let plan = ImageRunPlan::of(self.args.clone(), image, request)?;
        Ok(ImageRunPlan { runner_reason: Some(reason.to_owned()), ..plan })
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// A runtime, if this is root and nothing was asked for that only a guest can do.
fn means(args: &ImageRunArgs, target: Target) -> anyhow::Result<Means> {
    let runtime = Runtime::find(std::env::var_os("PATH").as_deref());
    let obstacle = if !args.get.is_empty() || args.icount || args.memory.is_some() {
        Some("--get, --icount and --memory are for guests".to_owned())
    } else if target.processor() != std::env::consts::ARCH {
        Some(format!("this machine is {}", std::env::consts::ARCH))
    } else if !is_root() {
        Some("a runtime needs root here".to_owned())
    } else if runtime.is_none() {
        Some("neither runc nor crun is in PATH".to_owned())
    } else {
        None
    };
    Ok(match (args.runner, runtime, obstacle) {
        (Runner::Guest, _, _) => Means::Guest("--runner guest".to_owned()),
        (Runner::Auto, Some(runtime), None) => Means::Runtime(runtime, MayFail::Yes),
        (Runner::Runtime, Some(runtime), None) => Means::Runtime(runtime, MayFail::No),
        (Runner::Runtime, _, obstacle) => bail!("--runner runtime: {}", obstacle.unwrap_or_default()),
        (Runner::Auto, _, obstacle) => Means::Guest(obstacle.unwrap_or_default()),
    })
}
