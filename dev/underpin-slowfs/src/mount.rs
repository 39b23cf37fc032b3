//! Mounting, and unmounting when the mount is not used any more.

use crate::counts::{Counters, Counts};
use crate::mirror::Mirror;
use crate::options::Options;
use fuser::{BackgroundSession, Config, MountOption, Session};
use nix::mount::{MntFlags, umount2};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Why it could not be mounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The folder to mirror cannot be used.
    #[error("{path}: cannot mirror it: {error}", path = path.display())]
    Source {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The kernel or fusermount3 refuses.
    #[error("{path}: cannot mount there: {error} (it takes an empty folder, /dev/fuse, and root or fusermount3)", path = path.display())]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The file system; see [`SlowFs::mount`].
#[derive(Clone, Copy, Debug)]
pub struct SlowFs;

/// A mount that lasts until it is dropped.
#[derive(Debug)]
pub struct Mounted {
    session: Option<BackgroundSession>,
    mountpoint: PathBuf,
    counters: Arc<Counters>,
}

impl SlowFs {
    /// Mirrors the folder `source` at the folder `mountpoint`.
    ///
    /// # Errors
    /// [`MountError`] if either cannot be used, or FUSE is not available on this machine.
    pub fn mount(source: &Path, mountpoint: &Path, options: &Options) -> Result<Mounted, MountError> {
        let counters = Arc::new(Counters::default());
        let source_error = |error| MountError::Source { path: source.to_owned(), error };
        let mirror = Mirror::new(source, *options, Arc::clone(&counters)).map_err(source_error)?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoSuid,
            MountOption::FSName("slowfs".to_owned()),
            MountOption::Subtype("slowfs".to_owned()),
        ];
        config.n_threads = Some(options.threads.max(1));
        let mount_error = |error| MountError::Mount { path: mountpoint.to_owned(), error };
        let mountpoint_path = mountpoint.canonicalize().map_err(mount_error)?;
        let session = Session::new(mirror, mountpoint, &config).and_then(Session::spawn).map_err(mount_error)?;
        Ok(Mounted { session: Some(session), mountpoint: mountpoint_path, counters })
    }
}

impl Mounted {
    /// Requests since the mount.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counters.snapshot()
    }

    /// Where it is mounted.
    #[must_use]
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Whether it was unmounted from outside.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        if session.guard.is_finished() {
            return;
        }
        // A program that just ended may hold it for a moment longer.
        for _ in 0..50 {
            if umount2(&self.mountpoint, MntFlags::empty()) != Err(nix::errno::Errno::EBUSY) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // A program that still uses it keeps it until it ends; the path is free either way. There is nowhere to report
        // errors.
        let _ = umount2(&self.mountpoint, MntFlags::MNT_DETACH);
        drop(session);
    }
}
