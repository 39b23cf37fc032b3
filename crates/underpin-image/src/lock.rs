//! Locks of the store: one run makes something, and others wait and find it there.

use crate::ImageError;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use underpin_build::{LOCK_WAIT, WorkLock};
use underpin_sys::end_requests;

/// Time between the first two looks whether another run has ended, doubled from look to look: threads of one run, too,
/// wait for each other, most often for less than this.
const FIRST_LOOK: Duration = Duration::from_millis(1);
/// The most that it grows to.
const LONGEST_LOOK: Duration = Duration::from_millis(50);

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
    let (begun, mut look) = (Instant::now(), FIRST_LOOK);
    loop {
        let holder = match WorkLock::of(path).map_err(ImageError::io(path))? {
            Ok(lock) => return Ok(lock),
            Err(holder) => holder,
        };
        if end_requests() > 0 {
            return Err(ImageError::Interrupted);
        }
        if begun.elapsed() >= patience {
            return Err(ImageError::Locked { path: path.to_owned(), seconds: patience.as_secs(), holder });
        }
        std::thread::sleep(look);
        look = (look * 2).min(LONGEST_LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_waits_for_the_first_and_gets_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("work/lock");
        let first = take(&path).unwrap();
        let second = std::thread::scope(|scope| {
            let second = scope.spawn(|| take(&path));
            std::thread::sleep(FIRST_LOOK * 5);
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
        let told = within(&path, FIRST_LOOK).unwrap_err().to_string();
        assert!(told.contains(&format!("process {}", std::process::id())) && told.contains("lock"), "{told}");
    }
}
