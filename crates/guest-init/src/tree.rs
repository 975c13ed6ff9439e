//! The file tree that the program sees: the host's, read-only over virtio-9p, under a writable layer that is gone
//! when the guest ends.
//!
//! ```text
//!   initramfs                      overlay, becomes /
//!   /host   9p "host", ro  ------>  lower        + proc, sysfs, devtmpfs, devpts, tmpfs on /dev/shm and /run
//!   /layer  tmpfs          ------>  upper
//!   /keep   9p "keep", rw (only with --keep)
//! ```
//!
//! The host's jail leaves /dev, /proc, /sys and /run of the share empty (python/cxlab/run/host/jail.py): these are the guest's own.
//! No descriptor of the share stays open.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::unistd::{chdir, chroot};

use crate::error::{Doing, Error, Result};

/// msize: 512,000 bytes is what QEMU's 9p server serves without extra copies of its descriptors.
const NINEP: &str = "trans=virtio,version=9p2000.L,cache=loose,msize=512000";
/// In the initramfs.
pub const HOST: &str = "/host";
/// No cache: a full disk of the host's is told by the write that finds it full.
const KEEP: &str = "trans=virtio,version=9p2000.L,cache=none,msize=512000";

/// The writable layer, which stays reachable behind the new root.
pub struct Layer(OwnedFd);

impl Layer {
    /// Files that the program wrote: the name of a mount that no path from the new root leads to.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

/// The kernel's own file systems, in the initramfs: ports and the ACPI tables are found there.
pub fn mount_kernel_file_systems(root: &Path) -> Result<()> {
    mount_new("proc", &root.join("proc"), "proc", MsFlags::empty(), "")?;
    mount_new("sysfs", &root.join("sys"), "sysfs", MsFlags::empty(), "")?;
    mount_new("devtmpfs", &root.join("dev"), "devtmpfs", MsFlags::empty(), "mode=755")
}

/// Load the modules of a folder in the order of their names; the host decompressed and numbered them.
pub fn load_modules(folder: &str) -> Result<()> {
    let mut modules: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|e| e.path())).collect())
        .doing(|| format!("listing {folder}"))?;
    modules.sort();
    for module in modules {
        let failed = |source| Error::Module { module: module.display().to_string(), source };
        let file = File::open(&module).map_err(failed)?;
        finit_module(&file, c"", ModuleInitFlags::empty()).map_err(|errno| failed(errno.into()))?;
    }
    Ok(())
}

/// Mount the host's tree.
pub fn mount_host() -> Result<()> {
    mount_new("host", Path::new(HOST), "9p", MsFlags::MS_RDONLY, NINEP)
}

/// Lay the writable layer over the host's tree, and make both this process's root.
pub fn enter() -> Result<Layer> {
    mount_new("layer", Path::new("/layer"), "tmpfs", MsFlags::empty(), "mode=755")?;
    for folder in ["/layer/upper", "/layer/work"] {
        fs::create_dir(folder).doing(|| format!("creating {folder}"))?;
    }
    let root = Path::new("/root");
    mount_new("root", root, "overlay", MsFlags::empty(), "lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work")?;

    mount_kernel_file_systems(root)?;
    mount_new("devpts", &root.join("dev/pts"), "devpts", MsFlags::empty(), "mode=620,ptmxmode=666,gid=5")?;
    mount_new("shm", &root.join("dev/shm"), "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=1777")?;
    mount_new("run", &root.join("run"), "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=755")?;
    for (target, link) in [
        ("/proc/self/fd", "dev/fd"),
        ("/proc/self/fd/0", "dev/stdin"),
        ("/proc/self/fd/1", "dev/stdout"),
        ("/proc/self/fd/2", "dev/stderr"),
    ] {
        symlink(target, root.join(link)).doing(|| format!("linking {link}"))?;
    }

    let upper = "/layer/upper";
    let layer = Layer(File::open(upper).map(OwnedFd::from).doing(|| format!("opening {upper}"))?);

    // As switch_root(8): a moved mount, not a bare chroot, or programs could not make user namespaces.
    let entering = || "entering the host's tree".to_owned();
    chdir(root).doing(entering)?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>).doing(entering)?;
    chroot(".").doing(entering)?;
    chdir("/").doing(entering)?;
    Ok(layer)
}

/// The host's folder for kept files; mounted only when the program has ended.
pub fn mount_keep() -> Result<PathBuf> {
    let keep = Path::new("/run/cxlab-keep");
    mount_new("keep", keep, "9p", MsFlags::empty(), KEEP)?;
    Ok(keep.to_owned())
}

/// Mount something on a folder, which is made if it is not there.
pub fn mount_new(what: &str, target: &Path, kind: &str, flags: MsFlags, options: &str) -> Result<()> {
    let failed = |errno| Error::Mount { what: what.to_owned(), target: target.display().to_string(), errno };
    if !target.is_dir() {
        fs::create_dir_all(target).doing(|| format!("creating {}", target.display()))?;
    }
    mount(Some(what), target, Some(kind), flags, Some(options)).map_err(failed)
}
