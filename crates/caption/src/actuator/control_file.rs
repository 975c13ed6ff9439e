//! The controller's side of the control page: one application's own ratio, which the system-wide weights cannot give.
//!
//! On exit the application is told to go back to the system's default policy; pages that it has stay where they are.

use super::Applied;
use super::control::{Control, SIZE, Wish};
use crate::error::{Error, Result};
use crate::share::CxlShare;
use crate::topology::{NodeSet, Topology};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

#[derive(Debug)]
pub struct ControlFile {
    path: PathBuf,
    /// Absent in a dry run.
    page: Option<Page>,
    wish: Wish,
}

/// A shared mapping of the file, and the lock that makes this the one writer.
#[derive(Debug)]
struct Page {
    control: NonNull<Control>,
    _locked: File,
}

impl ControlFile {
    /// Creates the file where there is none. CAP040 where another controller writes it.
    pub fn open(path: &Path, topology: &Topology, dry: bool) -> Result<ControlFile> {
        let wish = Wish { ddr_nodes: mask(&topology.ddr)?, cxl_nodes: mask(&topology.cxl)?, cxl_millionths: 0 };
        let page = if dry { None } else { Some(Page::open(path)?) };
        Ok(ControlFile { path: path.to_path_buf(), page, wish })
    }

    pub fn apply(&mut self, share: CxlShare) -> Result<Applied> {
        let millionths = (share.fraction() * 1e6).round();
        self.wish.cxl_millionths = millionths as u64;
        if let Some(page) = &self.page {
            page.control().write(self.wish);
        }
        Ok(Applied {
            share,
            placement: format!("{share} of new pages"),
            writes: vec![format!("{} <- CXL share {share}", self.path.display())],
        })
    }
}

impl Drop for ControlFile {
    fn drop(&mut self) {
        if let Some(page) = &self.page {
            page.control().write(Wish { ddr_nodes: 0, cxl_nodes: 0, cxl_millionths: 0 });
        }
    }
}

impl Page {
    fn open(path: &Path) -> Result<Page> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(Error::io("open", path))?;
        crate::lock::take(&file, path, "unknown")?;
        file.set_len(SIZE as u64).map_err(Error::io("size", path))?;
        // SAFETY: a new shared mapping of a file of SIZE bytes that nothing in this process refers to.
        let address = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        match NonNull::new(address.cast::<Control>()) {
            Some(control) if address != libc::MAP_FAILED => Ok(Page { control, _locked: file }),
            _ => Err(Error::io("map", path)(std::io::Error::last_os_error())),
        }
    }

    fn control(&self) -> &Control {
        // SAFETY: the mapping is page-aligned, larger than Control, lives as long as self, and holds only atomics.
        unsafe { self.control.as_ref() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping that `open` made, which nothing refers to any more.
        unsafe { libc::munmap(self.control.as_ptr().cast(), SIZE) };
    }
}

fn mask(nodes: &NodeSet) -> Result<u64> {
    match nodes.mask()[..] {
        [mask] => Ok(mask),
        _ => Err(Error::Parameter {
            parameter: "nodes",
            given: nodes.to_string(),
            valid: "nodes below 64 with --control",
        }),
    }
}
