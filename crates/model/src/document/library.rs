//! The library of shipped files, compiled in, and the files of a user.

use std::path::{Path as FilePath, PathBuf};

use include_dir::{Dir, include_dir};

use super::kind::Kind;
use super::place::{Author, Origin};
use crate::error::ModelError;

static DATA: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data");

/// Names of the shipped machines, sorted.
#[must_use]
pub fn machine_names() -> Vec<String> {
    names(Kind::Machine)
}

/// Names of the shipped files of a kind, sorted.
#[must_use]
pub fn names(kind: Kind) -> Vec<String> {
    let files = DATA.get_dir(kind.folder()).into_iter().flat_map(Dir::files);
    let mut names: Vec<_> =
        files.filter_map(|file| Some(file.path().file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

/// The text of a shipped file by its path in `data/`, such as `hosts/xeon-8468v.toml`.
#[must_use]
pub fn shipped_file(path: &str) -> Option<&'static str> {
    DATA.get_file(path)?.contents_utf8()
}

/// A file that was found.
pub struct Found {
    pub text: String,
    pub origin: Origin,
    /// the file's name without `.toml`
    pub stem: String,
}

/// `name` is a shipped file's name, or a path ending in `.toml`, relative to `beside`.
pub fn find(kind: Kind, name: &str, beside: Option<&FilePath>) -> Result<Found, ModelError> {
    if name.ends_with(".toml") {
        let path = beside.map_or_else(|| PathBuf::from(name), |beside| beside.join(name));
        let text =
            std::fs::read_to_string(&path).map_err(|cause| ModelError::Unreadable { path: path.clone(), cause })?;
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let folder = path.parent().map(Into::into);
        let origin = Origin { author: Author::User, file: path.display().to_string(), folder };
        return Ok(Found { text, origin, stem });
    }
    let file = format!("{}/{name}.toml", kind.folder());
    let text = shipped_file(&file).ok_or_else(|| {
        let valid = format!("{}, or a path ending in .toml", names(kind).join(", "));
        ModelError::UnknownName { kind: kind.name(), name: name.into(), valid }
    })?;
    let origin = Origin { author: Author::Shipped, file: format!("data/{file}"), folder: None };
    Ok(Found { text: text.into(), origin, stem: name.into() })
}
