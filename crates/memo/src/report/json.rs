//! JSON, and writing a file whole or not at all.

use super::Report;
use crate::error::{Error, Result};
use std::io::Write;
use std::path::Path;

pub fn write(report: &Report, path: &Path) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(report).expect("a report has string keys and finite numbers");
    text.push(b'\n');
    write_whole(path, &text)
}

/// MEM090 if `path` cannot be a new file: said before anything is measured, not after.
pub fn check_writable(path: &Path) -> Result<()> {
    tempfile::NamedTempFile::new_in(folder(path)).map(drop).map_err(Error::io("write", path))
}

/// Through a neighbour that is renamed: a reader never sees half a file.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<()> {
    let failed = || Error::io("write", path);
    let mut file = tempfile::NamedTempFile::new_in(folder(path)).map_err(failed())?;
    file.write_all(contents).map_err(failed())?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(failed())?;
    file.persist(path).map_err(|e| failed()(e.error))?;
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
