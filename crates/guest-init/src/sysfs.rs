//! Files of sysfs: read, written, and waited for, because drivers probe in threads of their own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::error::{Doing, Error, Result};

/// Number of looks for a file that a driver makes.
const ATTEMPTS: u32 = 10_000;
const PAUSE: Duration = Duration::from_millis(1);

/// Entries of a folder whose names begin with `kind`.
pub fn entries(folder: &str, kind: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(kind) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The first entry of a bus's folder that begins with `kind` and whose device lies below `parent`.
pub fn below(parent: &Path, folder: &str, kind: &str) -> io::Result<Option<PathBuf>> {
    let all = match entries(folder, kind) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        all => all?,
    };
    let parent = fs::canonicalize(parent)?;
    Ok(all.into_iter().find(|entry| fs::canonicalize(entry).is_ok_and(|path| path.starts_with(&parent))))
}

pub fn wait_for(what: &str, path: &Path) -> Result<()> {
    poll(|| Ok(path.exists().then_some(())))?
        .ok_or_else(|| Error::Cxl { what: format!("the {what} {} did not appear", path.display()) })
}

/// Looks again and again, for ten seconds of the guest's time.
pub fn poll<T>(mut look: impl FnMut() -> io::Result<Option<T>>) -> Result<Option<T>> {
    for _ in 0..ATTEMPTS {
        if let Some(found) = look().doing(|| "looking for a device in sysfs".to_owned())? {
            return Ok(Some(found));
        }
        sleep(PAUSE);
    }
    Ok(None)
}

pub fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).doing(|| format!("reading {}", path.display()))?;
    Ok(text.trim_end().to_owned())
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).doing(|| format!("writing {text} to {}", path.display()))
}

pub fn number(path: &Path) -> Result<u64> {
    let text = read(path)?;
    parse(&text).ok_or_else(|| Error::Cxl { what: format!("{} is `{text}`, no number", path.display()) })
}

/// sysfs writes addresses and sizes in hexadecimal, counts in decimal.
pub fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The last part of a path, as text.
pub fn name(path: &Path) -> String {
    path.file_name().expect("a device has a name").to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_sysfs_writes_them() {
        assert_eq!(parse("0x110000000"), Some(0x1_1000_0000));
        assert_eq!(parse("256"), Some(256));
        assert_eq!(parse("ram"), None);
    }
}
