//! Allows one controller at a time, by flock(2) on a file. The kernel frees the lock when its holder ends.
//!
//! The lock belongs to the open file: the guardian, which inherits it, holds it until the weights are back.

use crate::error::{Error, Result};
use crate::root::Root;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest time that a dying controller's guardian needs to put the weights back.
const PATIENCE: Duration = Duration::from_millis(1000);

/// Folder of the lock and the journal.
pub fn directory(root: &Root) -> PathBuf {
    root.path("run/cxlab-caption")
}

#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// CAP040 where another controller holds it, with its process id.
    pub fn take(root: &Root) -> Result<Lock> {
        let directory = directory(root);
        std::fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
        let path = directory.join("lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(Error::io("open", &path))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let holder = holder(&mut file);
            match take(&file, &path, &holder) {
                Ok(()) => break,
                Err(refused) if Instant::now() >= deadline => return Err(refused),
                Err(_) => {}
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let named = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        named.map_err(Error::io("write", &path))?;
        Ok(Lock { file })
    }

    /// Shares this lock with the guardian.
    pub fn share(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.rewind().and_then(|()| file.read_to_string(&mut text)) {
        Ok(_) if !text.is_empty() => text,
        _ => "unknown".into(),
    }
}

/// Locks a file without waiting.
pub fn take(file: &File, path: &Path, holder: &str) -> Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| Error::Locked { holder: holder.to_string(), path: path.to_path_buf() })
}
