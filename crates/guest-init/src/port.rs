//! The virtio-serial ports between guest and host, found by name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use crate::error::{Doing, Error, Result};

const PORTS: &str = "/sys/class/virtio-ports";
/// A port's name arrives in a control message after the driver's probe; init may be earlier.
const ATTEMPTS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(1);

/// The ports of init and supervisor: python/cxlab/run/host/qemu.py.
pub struct Ports {
    pub control: File,
    pub stdin: File,
    pub stdout: File,
    pub stderr: File,
}

impl Ports {
    pub fn open() -> Result<Self> {
        Ok(Ports {
            control: open("cxlab.control")?,
            stdin: open("cxlab.stdin")?,
            stdout: open("cxlab.stdout")?,
            stderr: open("cxlab.stderr")?,
        })
    }
}

fn open(name: &'static str) -> Result<File> {
    let device = device(name)?;
    OpenOptions::new().read(true).write(true).open(&device).doing(|| format!("opening {}", device.display()))
}

/// The device file of a port.
pub fn device(name: &'static str) -> Result<PathBuf> {
    for _ in 0..ATTEMPTS {
        if let Some(device) = find(name).doing(|| format!("listing {PORTS}"))? {
            return Ok(device);
        }
        sleep(PAUSE);
    }
    Err(Error::PortMissing { name })
}

fn find(name: &str) -> io::Result<Option<PathBuf>> {
    let ports = match fs::read_dir(PORTS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        ports => ports?,
    };
    for port in ports {
        let port = port?;
        // Absent until the name has arrived.
        let found = fs::read_to_string(port.path().join("name")).unwrap_or_default();
        if found.trim_end() == name {
            return Ok(Some(PathBuf::from("/dev").join(port.file_name())));
        }
    }
    Ok(None)
}
