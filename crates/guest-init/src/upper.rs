//! What the program wrote: a walk over the overlay's upper layer.
//!
//! A whiteout (character device 0/0) is a deletion; an opaque folder (trusted.overlay.opaque) replaced one. A folder that is
//! there only because something below it was written is not listed. Source: Documentation/filesystems/overlayfs.rst.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::Path;

use crate::error::{Doing, Result};
use crate::protocol::{FileKind, WrittenFile};

/// Everything written, in path order; paths are absolute, as the program saw them.
pub fn written(upper: &Path, lower: &Path) -> Result<Vec<WrittenFile>> {
    let mut files = Vec::new();
    walk(upper, lower, Path::new("/"), &mut files).doing(|| "listing the files written".to_owned())?;
    Ok(files)
}

fn walk(upper: &Path, lower: &Path, folder: &Path, files: &mut Vec<WrittenFile>) -> io::Result<()> {
    let mut names = fs::read_dir(upper)?.map(|e| e.map(|e| e.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        let (here, below, path) = (upper.join(&name), lower.join(&name), folder.join(&name));
        let metadata = here.symlink_metadata()?;
        let kind = kind_of(&metadata);
        let existed = below.symlink_metadata().is_ok_and(|m| m.is_dir());
        if kind != FileKind::Folder || !existed {
            let size = if kind == FileKind::File { metadata.len() } else { 0 };
            files.push(WrittenFile { path: path.as_path().into(), kind, size });
        }
        if kind == FileKind::Folder {
            walk(&here, &below, &path, files)?;
        }
    }
    Ok(())
}

fn kind_of(metadata: &Metadata) -> FileKind {
    let kind = metadata.file_type();
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_symlink() {
        FileKind::Symlink
    } else if kind.is_char_device() && metadata.rdev() == 0 {
        FileKind::Deleted
    } else {
        FileKind::Special
    }
}

/// Copy what was written into `keep`, each file at its own path; deletions and special files have no copy.
pub fn copy(files: &[WrittenFile], upper: &Path, keep: &Path) -> Result<()> {
    for file in files {
        let name = file.path.clone().into_os_string();
        let relative = Path::new(&name).strip_prefix("/").expect("written paths are absolute");
        copy_one(file.kind, &upper.join(relative), &keep.join(relative))
            .doing(|| format!("keeping /{}", relative.display()))?;
    }
    Ok(())
}

fn copy_one(kind: FileKind, from: &Path, to: &Path) -> io::Result<()> {
    if matches!(kind, FileKind::Deleted | FileKind::Special) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    let metadata = from.symlink_metadata()?;
    match kind {
        FileKind::Symlink => symlink(fs::read_link(from)?, to)?,
        FileKind::Folder => fs::create_dir_all(to)?,
        FileKind::File | FileKind::Deleted | FileKind::Special => {
            fs::copy(from, to)?;
            fs::File::options().write(true).open(to)?.set_modified(metadata.modified()?)?;
        }
    }
    // The host gives files to the user who runs QEMU, whatever is asked; root's runs keep their owners.
    let _ = lchown(to, Some(metadata.uid()), Some(metadata.gid()));
    if kind != FileKind::Symlink {
        fs::set_permissions(to, fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[WrittenFile]) -> Vec<(String, FileKind, u64)> {
        files.iter().map(|f| (String::from_utf8(f.path.clone().into_bytes()).unwrap(), f.kind, f.size)).collect()
    }

    /// upper: home/ is on the host too, home/new/ is not.
    fn layers() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
        let layers = tempfile::tempdir().unwrap();
        let (upper, lower) = (layers.path().join("upper"), layers.path().join("lower"));
        fs::create_dir_all(upper.join("home/new")).unwrap();
        fs::create_dir_all(lower.join("home")).unwrap();
        fs::write(upper.join("home/new/data"), [0; 1000]).unwrap();
        fs::write(upper.join("home/a"), "abc").unwrap();
        symlink("a", upper.join("home/link")).unwrap();
        (layers, upper, lower)
    }

    #[test]
    fn files_links_and_new_folders_are_listed_in_order() {
        let (_layers, upper, lower) = layers();
        assert_eq!(
            listed(&written(&upper, &lower).unwrap()),
            [
                ("/home/a".to_owned(), FileKind::File, 3),
                ("/home/link".to_owned(), FileKind::Symlink, 0),
                ("/home/new".to_owned(), FileKind::Folder, 0),
                ("/home/new/data".to_owned(), FileKind::File, 1000),
            ]
        );
    }

    /// Since Linux 5.8 anybody may make a whiteout.
    #[test]
    fn a_whiteout_is_a_deletion() {
        let (_layers, upper, lower) = layers();
        use nix::sys::stat::{Mode, SFlag, mknod};
        mknod(&upper.join("home/gone"), SFlag::S_IFCHR, Mode::from_bits_truncate(0o600), 0).unwrap();
        assert!(listed(&written(&upper, &lower).unwrap()).contains(&("/home/gone".to_owned(), FileKind::Deleted, 0)));
    }

    #[test]
    fn kept_files_have_their_paths_contents_and_times() {
        let (layers, upper, lower) = layers();
        let keep = layers.path().join("keep");
        fs::create_dir(&keep).unwrap();
        copy(&written(&upper, &lower).unwrap(), &upper, &keep).unwrap();
        assert_eq!(fs::read(keep.join("home/a")).unwrap(), b"abc");
        assert_eq!(fs::read_link(keep.join("home/link")).unwrap(), Path::new("a"));
        assert_eq!(
            fs::metadata(keep.join("home/new/data")).unwrap().modified().unwrap(),
            fs::metadata(upper.join("home/new/data")).unwrap().modified().unwrap()
        );
    }
}
