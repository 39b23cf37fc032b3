//! A Spack-like tree at the path that its files name: on the disk, or behind the delay file system.

use crate::run;
use anyhow::{Context, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The programs of this workspace that the benchmark runs.
pub struct Binaries {
    pub underpin: PathBuf,
    slowfs: PathBuf,
    spacktree: PathBuf,
}

impl Binaries {
    /// Builds them as a user would get them.
    ///
    /// # Errors
    /// If one does not build.
    pub fn build() -> anyhow::Result<Binaries> {
        let underpin = run::release_binary()?;
        let folder = underpin.parent().context("a folder of binaries")?.to_owned();
        let cargo = run::cargo();
        run::must(&cargo, &["build", "--quiet", "--release", "-p", "underpin-slowfs", "-p", "underpin-spacktree"])?;
        Ok(Binaries { slowfs: folder.join("underpin-slowfs"), spacktree: folder.join("underpin-spacktree"), underpin })
    }
}

/// The tree and the program in it.
pub struct Place {
    /// The path that the tree's files name.
    pub tree: PathBuf,
    /// Where its files are while it is mounted.
    source: PathBuf,
    counts: PathBuf,
    /// The program, by the path under which it is started.
    pub program: PathBuf,
}

impl Place {
    /// Lays a program out.
    ///
    /// # Errors
    /// If the tree cannot be made.
    pub fn new(binaries: &Binaries, program: &str) -> anyhow::Result<Place> {
        let folder = Path::new("target/bench/storm");
        if folder.exists() {
            fs::remove_dir_all(folder).context("cannot remove the trees of the last run")?;
        }
        let tree = folder.join("tree");
        fs::create_dir_all(&tree)?;
        let folder = folder.canonicalize()?;
        let tree = folder.join("tree");
        let mut command = Command::new(&binaries.spacktree);
        let output = command.arg("--folder").arg(&tree).arg(program).output().context("cannot start spacktree")?;
        if !output.status.success() {
            bail!("underpin-spacktree: {}", String::from_utf8_lossy(&output.stderr));
        }
        let printed = String::from_utf8(output.stdout)?;
        let program = printed.lines().next().context("no program in the tree")?.into();
        Ok(Place { tree, source: folder.join("source"), counts: folder.join("counts.json"), program })
    }

    /// Binds every object of the tree, where it is.
    ///
    /// # Errors
    /// If underpin refuses or fails.
    pub fn bind(&self, binaries: &Binaries) -> anyhow::Result<()> {
        let mut command = Command::new(&binaries.underpin);
        let output = command.arg("bind").arg(&self.tree).output()?;
        if !output.status.success() {
            bail!("underpin bind: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Makes room for a mount: the files go elsewhere.
    pub fn away(&self) -> anyhow::Result<()> {
        fs::rename(&self.tree, &self.source)?;
        Ok(fs::create_dir(&self.tree)?)
    }

    /// Puts the files back.
    pub fn back(&self) -> anyhow::Result<()> {
        fs::remove_dir(&self.tree)?;
        Ok(fs::rename(&self.source, &self.tree)?)
    }

    /// Mounts the delay file system in the tree's place.
    ///
    /// # Errors
    /// If it cannot be mounted.
    pub fn mount(&self, binaries: &Binaries, delay_us: u32, rate: u32) -> anyhow::Result<Mount> {
        let mut command = Command::new(&binaries.slowfs);
        command.arg(&self.source).arg(&self.tree).arg("--counts").arg(&self.counts);
        command.args(["--delay", &delay_us.to_string()]);
        if rate > 0 {
            command.args(["--rate", &rate.to_string()]);
        }
        let mut daemon = command.stdout(Stdio::piped()).spawn().context("cannot start underpin-slowfs")?;
        let mut line = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.trim() != "mounted" {
            bail!("underpin-slowfs did not mount: {}", daemon.wait()?);
        }
        Ok(Mount { daemon, counts: self.counts.clone() })
    }
}

/// A mount that lasts until it is dropped.
pub struct Mount {
    daemon: Child,
    counts: PathBuf,
}

impl Mount {
    fn pid(&self) -> Pid {
        // A process id is an i32 to the kernel; `Child` only shows it otherwise.
        Pid::from_raw(i32::try_from(self.daemon.id()).unwrap_or(0))
    }

    /// Operations that clients waited for since the mount.
    ///
    /// # Errors
    /// If the daemon does not answer.
    pub fn counts(&self) -> anyhow::Result<f64> {
        let _ = fs::remove_file(&self.counts);
        kill(self.pid(), Signal::SIGUSR1)?;
        for _ in 0..500 {
            if let Ok(text) = fs::read_to_string(&self.counts) {
                let figure = |name: &str| {
                    let after = text.split(&format!("\"{name}\":")).nth(1)?;
                    after.split([',', '}']).next()?.trim().parse::<f64>().ok()
                };
                let names = ["lookups", "opens", "getattrs", "reads", "readlinks", "directories"];
                let figures = names.map(|name| figure(name).with_context(|| format!("no {name} in {text}")));
                return figures.into_iter().sum();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("underpin-slowfs does not write its counts")
    }

    /// Seconds of processor time of the daemon.
    ///
    /// # Errors
    /// If it is gone.
    pub fn processor(&self) -> anyhow::Result<f64> {
        let mut nanoseconds = 0.0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.daemon.id()))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            let field = text.split_whitespace().next().context("an empty schedstat")?;
            nanoseconds += field.parse::<f64>()?;
        }
        Ok(nanoseconds / 1e9)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // The daemon unmounts and ends; if it is gone already there is nothing to do.
        let _ = kill(self.pid(), Signal::SIGTERM);
        let _ = self.daemon.wait();
    }
}
