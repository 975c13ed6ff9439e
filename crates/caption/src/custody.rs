//! Holds the weights while a controller changes them, and gives them back however it ends.
//!
//! ```text
//!   lock (flock) -> journal (old values, on disk) -> guardian (a process) -> ... writes ... -> restore
//!
//!   exit, ctrl-C, panic    Drop restores, the guardian finds nothing to do
//!   SIGKILL, crash         the guardian's pipe closes: it restores, holding the inherited lock meanwhile
//!   both killed            the next start (or `cxlab-caption restore`) finds the journal
//! ```

use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::lock::Lock;
use crate::root::{Attribute, Root};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Debug)]
pub struct Custody {
    journal: PathBuf,
    guardian: Child,
    _lock: Lock,
}

impl Custody {
    /// `before` reads what is to be kept, once an earlier crash has been put right.
    /// The second value is what such a crash had left behind.
    pub fn begin(
        root: &Root,
        program: &Path,
        before: impl FnOnce() -> Result<Vec<Attribute>>,
    ) -> Result<(Custody, Option<Journal>)> {
        let lock = Lock::take(root)?;
        let journal = Journal::path(root);
        let left_behind = Journal::restore(&journal)?;
        Journal::new(before()?).save(&journal)?;
        let guardian = spawn_guardian(program, &lock, &journal).inspect_err(|_| {
            let _ = std::fs::remove_file(&journal);
        })?;
        Ok((Custody { journal, guardian, _lock: lock }, left_behind))
    }

    /// Gives the old values back and says what they were.
    pub fn end(mut self) -> Result<Option<Journal>> {
        self.restore()
    }

    fn restore(&mut self) -> Result<Option<Journal>> {
        let restored = Journal::restore(&self.journal);
        // Closing its pipe ends the guardian; waiting leaves no zombie.
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
        restored
    }
}

impl Drop for Custody {
    fn drop(&mut self) {
        // `end` was not reached: a panic or an error on the way. The guardian tries again where this fails.
        let _ = self.restore();
    }
}

/// This program again, as `guard`: its input is the pipe that we hold open, its output the lock.
fn spawn_guardian(program: &Path, lock: &Lock, journal: &Path) -> Result<Child> {
    let locked = lock.share().map_err(Error::io("share", "the lock"))?;
    Command::new(program)
        .arg0("cxlab-caption")
        .arg("guard")
        .arg(journal)
        .stdin(Stdio::piped())
        .stdout(Stdio::from(locked))
        .process_group(0)
        .spawn()
        .map_err(|source| Error::Program { program: program.display().to_string(), source })
}

/// The guardian's whole life: wait for the controller's end, then put back what it left.
pub fn guard(journal: &Path) -> Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // A flag that no one reads: the signal meant for the controller must not end its guardian.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
            .map_err(Error::io("handle", "signals"))?;
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(Error::io("read", "the controller's pipe"))?;
    if let Some(journal) = Journal::restore(journal)? {
        let _ =
            writeln_stderr(&format!("cxlab-caption: process {} ended without restoring; restored", journal.process));
    }
    Ok(())
}

/// Like eprintln, but a closed terminal is no panic.
fn writeln_stderr(text: &str) -> std::io::Result<()> {
    use std::io::Write;
    writeln!(std::io::stderr(), "{text}")
}
