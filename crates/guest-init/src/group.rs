//! The control group that holds the program and all that it starts: frozen as a whole, and given its memory nodes.
//!
//! Source: Linux 6.12 Documentation/admin-guide/cgroup-v2.rst (cgroup.freeze, cpuset.mems).

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::detached::Detached;
use crate::error::{Doing, Error, Result};

/// The guest's time that a program may take to come to a halt, in steps of a millisecond.
const STEPS: u32 = 10_000;

/// The program's group; no path of the tree leads to it.
pub struct Group(Detached);

impl Group {
    /// An empty group.
    pub fn new() -> Result<Group> {
        let group = Group(Detached::mount(c"cgroup2", &[])?);
        group.write("cgroup.subtree_control", "+cpuset")?;
        fs::create_dir(group.0.path("program")).doing(|| "making the program's control group".to_owned())?;
        Ok(group)
    }

    /// A process becomes a member, and so does what it starts from now on.
    pub fn take(&self, pid: i32) -> Result<()> {
        self.write("program/cgroup.procs", &pid.to_string())
    }

    /// Stop every member; returns when all stand still.
    pub fn freeze(&self) -> Result<()> {
        self.write("program/cgroup.freeze", "1")?;
        for _ in 0..STEPS {
            let events = fs::read_to_string(self.0.path("program/cgroup.events"));
            if events.doing(|| "reading cgroup.events".to_owned())?.lines().any(|line| line == "frozen 1") {
                return Ok(());
            }
            sleep(Duration::from_millis(1));
        }
        Err(Error::NotFrozen)
    }

    /// Every member goes on.
    pub fn thaw(&self) -> Result<()> {
        self.write("program/cgroup.freeze", "0")
    }

    /// Bind all members to these nodes: Linux moves the pages that they have, and takes new ones there.
    pub fn bind(&self, nodes: &[u32]) -> Result<()> {
        let list: Vec<String> = nodes.iter().map(u32::to_string).collect();
        self.write("program/cpuset.mems", &list.join(","))
    }

    fn write(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.0.path(file), value).doing(|| format!("writing {value:?} to {file} of the control group"))
    }
}
