//! The guest's disk: swap and a file system, which the host has prepared (python/cxlab/run/host/disk.py).

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::PathBuf;

use nix::mount::MsFlags;

use crate::error::{Doing, Result};
use crate::protocol::{FileKind, Files, Run, WrittenFile};
use crate::tree;

/// The folder that mke2fs makes for what e2fsck finds.
const LOST_AND_FOUND: &str = "lost+found";

impl Files {
    fn folder(&self) -> PathBuf {
        PathBuf::from(self.at.clone().into_os_string())
    }
}

/// Load what drives the disk, and begin to swap: in the initramfs.
pub fn start(run: &Run) -> Result<()> {
    if run.swap.is_some() || run.files.is_some() {
        tree::load_modules("/modules/disk")?;
    }
    if run.files.is_some() {
        tree::load_modules("/modules/files")?;
    }
    run.swap.as_deref().map_or(Ok(()), swap_on)
}

fn swap_on(device: &str) -> Result<()> {
    let path = CString::new(device).map_err(io::Error::from).doing(|| format!("swap on {device}"))?;
    // SAFETY: a path and no flags.
    let result = unsafe { libc::swapon(path.as_ptr(), 0) };
    if result < 0 { Err(io::Error::last_os_error()).doing(|| format!("swap on {device}")) } else { Ok(()) }
}

/// Mount the file system, if there is one: in the program's tree. Programs that want a folder of their own to be
/// empty (initdb, say) take it for one.
pub fn mount_files(run: &Run) -> Result<()> {
    let Some(files) = &run.files else { return Ok(()) };
    let folder = files.folder();
    tree::mount_new(&files.device, &folder, "ext4", MsFlags::MS_NODEV, "")?;
    match fs::remove_dir(folder.join(LOST_AND_FOUND)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).doing(|| format!("removing {LOST_AND_FOUND} from {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Drops the folders that were made to mount on: the program wrote none of them.
pub fn forget_mount_point(run: &Run, files: &mut Vec<WrittenFile>) {
    let Some(mounted) = &run.files else { return };
    let folder = mounted.folder();
    files.retain(|file| file.kind != FileKind::Folder || !folder.starts_with(file.path.clone().into_os_string()));
}
