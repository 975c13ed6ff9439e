//! The kernel's log since the program started, for the out-of-memory killer's words.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::{Doing, Result};

/// One record of /dev/kmsg at most (kernel: PRINTK_MESSAGE_MAX).
const RECORD_BYTES: usize = 8192;

/// /dev/kmsg, positioned after what was there when it was opened.
pub struct KernelLog(File);

impl KernelLog {
    pub fn from_now() -> Result<Self> {
        let mut log = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/kmsg")
            .doing(|| "opening /dev/kmsg".to_owned())?;
        log.seek(SeekFrom::End(0)).doing(|| "seeking in /dev/kmsg".to_owned())?;
        Ok(KernelLog(log))
    }

    /// Lines of the out-of-memory killer.
    pub fn oom_lines(&mut self) -> Vec<String> {
        let mut record = vec![0; RECORD_BYTES];
        let mut lines = Vec::new();
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return lines,
                Ok(length) => lines.extend(oom_line(&String::from_utf8_lossy(&record[..length]))),
                // EPIPE: records were overwritten; the next read goes on after them.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => return lines,
            }
        }
    }
}

/// A record is "priority,sequence,time,flags;text\n" and continuation lines (Documentation/ABI/testing/dev-kmsg).
fn oom_line(record: &str) -> Option<String> {
    let (_, text) = record.split_once(';')?;
    let line = text.lines().next()?;
    let said = ["invoked oom-killer", "oom-kill:", "Out of memory", "Killed process"];
    said.iter().any(|word| line.contains(word)).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_oom_killers_records_are_kept() {
        let killed = "3,600,5000000,-;Out of memory: Killed process 70 (python3) total-vm:1kB\n SUBSYSTEM=x\n";
        assert_eq!(oom_line(killed).unwrap(), "Out of memory: Killed process 70 (python3) total-vm:1kB");
        assert_eq!(oom_line("6,1,0,-;Linux version 6.12\n"), None);
        assert_eq!(oom_line("garbage"), None);
    }
}
