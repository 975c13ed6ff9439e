//! Prepares the guest for a placement controller. The controller gets the weights of weighted interleave, its ports
//! by name and a place for its lock. It runs as soon as it wakes, and its weights are in force at once.
//!
//! Linux frees the old weights when every processor has passed a quiescent state (synchronize_rcu in mm/mempolicy.c).
//! That takes 12 ms a write on this busy processor [seen on 6.12]. It is nothing beside a server's seconds, and much
//! beside the milliseconds that stand for them here. Expedited, it is well below one.
//!
//! The controller runs as the user who started it, as every program here does. This machine is the user's own, so
//! these files are given to that user. Source:
//! Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::MsFlags;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, chown};

use crate::error::{Doing, Result};
use crate::port;
use crate::tree;

const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";
/// Folder of ports by name, which udev makes elsewhere. The guest has no udev.
const PORTS_BY_NAME: &str = "/dev/virtio-ports";
/// The machine's counters come in here, the controller's log goes out there.
const PORTS: [&str; 2] = ["cxlab.counters", "cxlab.caption-log"];
/// Documentation/admin-guide/kernel-parameters.txt, rcupdate.rcu_expedited: the same as a boot parameter.
const RCU_EXPEDITED: &str = "/sys/kernel/rcu_expedited";
/// Lock and journal of the controller are kept below (crates/caption/src/lock.rs); they are no files that the program wrote.
const RUN: &str = "/run";

pub fn allow(uid: u32, gid: u32) -> Result<()> {
    let give = |path: &Path| {
        let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        chown(path, owner.0, owner.1).doing(|| format!("giving {} to the user", path.display()))
    };
    for attribute in fs::read_dir(WEIGHTS).doing(|| format!("listing {WEIGHTS}"))? {
        give(&attribute.doing(|| format!("listing {WEIGHTS}"))?.path())?;
    }
    tree::mount_new("tmpfs", Path::new(RUN), "tmpfs", MsFlags::empty(), "")?;
    give(Path::new(RUN))?;
    fs::write(RCU_EXPEDITED, "1").doing(|| format!("writing {RCU_EXPEDITED}"))?;
    // The lowest real-time priority, for what init starts.
    setrlimit(Resource::RLIMIT_RTPRIO, 1, 1).doing(|| "allowing a real-time priority".to_owned())?;
    fs::create_dir_all(PORTS_BY_NAME).doing(|| format!("making {PORTS_BY_NAME}"))?;
    for name in PORTS {
        let device = port::device(name)?;
        give(&device)?;
        let link = Path::new(PORTS_BY_NAME).join(name);
        symlink(&device, &link).doing(|| format!("making {}", link.display()))?;
    }
    Ok(())
}
