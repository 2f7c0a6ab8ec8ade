//! One commit at a time in a folder: what was judged must not change before the manifest is there.
//!
//! The lock is the system's own on the folder itself. It leaves no file behind, and goes with the process that holds it.

use std::fs;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use std::time::Instant;

use rustix::fs::FlockOperation;
use rustix::fs::flock;
use rustix::io::Errno;

/// How long another run's commit is waited for: it moves files and syncs them.
const WAIT_MAX: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(5);

/// What comes of asking for a lock.
#[must_use]
pub(super) enum Lock {
    /// It is ours until this is dropped.
    Held { _folder: File },
    /// There is no folder, or its file system has no locks: what is judged right before the commit has to do.
    None,
    /// Another run has had it all the time.
    Taken,
}

/// Waits for the lock of a folder.
pub(super) fn lock(folder: &Path) -> Lock {
    let since = Instant::now();
    loop {
        let Ok(open) = File::open(folder) else { return Lock::None };
        match flock(&open, FlockOperation::NonBlockingLockExclusive) {
            // Whoever had it may have put another folder in its place.
            Ok(()) if is_still(&open, folder) => return Lock::Held { _folder: open },
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Lock::None,
        }
        if since.elapsed() > WAIT_MAX {
            return Lock::Taken;
        }
        sleep(PAUSE);
    }
}

fn is_still(open: &File, folder: &Path) -> bool {
    match (open.metadata(), fs::metadata(folder)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_found_again_where_the_folder_was_swapped() {
        let root = tempfile::tempdir().unwrap();
        let (folder, other) = (root.path().join("t"), root.path().join("other"));
        assert!(matches!(lock(&folder), Lock::None));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&other).unwrap();
        let held = lock(&folder);
        assert!(matches!(held, Lock::Held { .. }));
        let is_released = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let got = lock(&folder);
                assert!(is_released.load(Ordering::SeqCst), "nobody has it twice");
                let Lock::Held { _folder } = got else { panic!() };
                is_still(&_folder, &folder)
            });
            sleep(PAUSE * 4);
            fs::rename(&folder, root.path().join("old")).unwrap();
            fs::rename(&other, &folder).unwrap();
            is_released.store(true, Ordering::SeqCst);
            drop(held);
            assert!(waiting.join().unwrap(), "it is the new folder's");
        });
    }
}
