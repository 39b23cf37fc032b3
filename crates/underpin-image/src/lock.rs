//! Locks of the store: one run makes something, and others wait and find it there.

use crate::ImageError;
use std::fs;
use std::path::Path;
use std::time::Duration;
use underpin_build::{LOCK_WAIT, Waited, WorkLock};

/// Locks the file at a path, if need be after another run has ended; its folder is made if it is not there.
///
/// # Errors
/// If the file cannot be written to, this process is asked to end, or the other run takes longer than [`LOCK_WAIT`].
pub(crate) fn take(path: &Path) -> Result<WorkLock, ImageError> {
    within(path, LOCK_WAIT)
}

fn within(path: &Path, patience: Duration) -> Result<WorkLock, ImageError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(ImageError::io(folder))?;
    }
    match Waited::for_lock(patience, || WorkLock::of(path), |_| {}).map_err(ImageError::io(path))? {
        Waited::Locked(lock) => Ok(lock),
        Waited::Ended => Err(ImageError::Interrupted),
        Waited::Late(holder) => Err(ImageError::Locked { path: path.to_owned(), seconds: patience.as_secs(), holder }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);

    #[test]
    fn a_second_run_waits_for_the_first_and_gets_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work/lock");
        let first = take(&path).unwrap();
        let second = std::thread::scope(|scope| {
            let second = scope.spawn(|| take(&path));
            std::thread::sleep(MOMENT * 5);
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap()
        });
        second.unwrap();
    }

    #[test]
    fn a_run_that_does_not_end_is_named_at_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _first = take(&path).unwrap();
        let told = within(&path, MOMENT).unwrap_err().to_string();
        assert!(told.contains(&format!("process {}", std::process::id())) && told.contains("lock"), "{told}");
    }
}
