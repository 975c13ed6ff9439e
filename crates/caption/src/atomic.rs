//! A file that is there whole, or not at all.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes beside `path`, syncs, renames.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&name);
    let written = File::create(part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(part, path)).map_err(|source| {
        let _ = std::fs::remove_file(part);
        Error::io("write", path)(source)
    })
}
