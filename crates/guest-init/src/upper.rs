//! Finds what the program wrote, by a walk over the overlay's upper layer.
//!
//! A whiteout (character device 0/0) is a deletion. The overlay copies a folder up if something below it is written.
//! Such a folder has the attribute `trusted.overlay.origin`, and is not listed. One that the program made has no such
//! attribute. Sources: Documentation/filesystems/overlayfs.rst; Linux 6.12, fs/overlayfs/copy_up.c
//! (`ovl_set_origin_fh`: the attribute is there, if empty, also where the lower file system has no file handles).

use std::ffi::CString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::Path;

use crate::protocol::{FileKind, WrittenFile};

/// Permission bits that a kept file may have.
const PERMISSIONS: u32 = 0o777;

/// Everything written, in path order; paths are absolute, as the program saw them.
pub fn written(upper: &Path) -> Vec<WrittenFile> {
    let mut files = Vec::new();
    walk(upper, Path::new("/"), &copied_up, &mut files);
    files
}

/// A folder that cannot be listed is named, with the reason; the walk goes on beside it.
fn walk(upper: &Path, folder: &Path, was_there: &impl Fn(&Path) -> bool, files: &mut Vec<WrittenFile>) {
    let listed = fs::read_dir(upper).and_then(|names| names.map(|e| e.map(|e| e.file_name())).collect());
    let mut names: Vec<_> = match listed {
        Ok(names) => names,
        Err(error) => {
            files.push(unreadable(folder, &error));
            return;
        }
    };
    names.sort();
    for name in names {
        let (here, path) = (upper.join(&name), folder.join(&name));
        let metadata = match here.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                files.push(unreadable(&path, &error));
                continue;
            }
        };
        let kind = kind_of(&metadata);
        if kind != FileKind::Folder || !was_there(&here) {
            let size = if kind == FileKind::File { metadata.len() } else { 0 };
            let mode = metadata.mode() & PERMISSIONS;
            files.push(WrittenFile { path: path.as_path().into(), kind, size, mode, lost: None });
        }
        if kind == FileKind::Folder {
            walk(&here, &path, was_there, files);
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> WrittenFile {
    WrittenFile { path: path.into(), kind: FileKind::Folder, size: 0, mode: 0, lost: Some(error.to_string()) }
}

/// Whether the overlay has put the folder here because the host has it.
fn copied_up(folder: &Path) -> bool {
    let Ok(path) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: two strings; a size of 0 asks for the attribute's length alone.
    let length = unsafe { libc::lgetxattr(path.as_ptr(), c"trusted.overlay.origin".as_ptr(), std::ptr::null_mut(), 0) };
    length >= 0
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

/// Copy what was written into `keep`, each file at its own path, for the host to check and to give its permissions. What
/// cannot be copied is named in its file's entry, and nothing of it stays. Deletions and special files have no copy.
pub fn copy(files: &mut [WrittenFile], upper: &Path, keep: &Path) {
    for file in files.iter_mut().filter(|file| file.lost.is_none()) {
        let name = file.path.clone().into_os_string();
        let relative = Path::new(&name).strip_prefix("/").expect("written paths are absolute");
        let to = keep.join(relative);
        if let Err(error) = copy_one(file.kind, &upper.join(relative), &to) {
            file.lost = Some(error.to_string());
            // Half a file is none, and its room may be enough for the next one. If even that fails, the host drops it.
            let _ = fs::remove_file(&to);
        }
    }
}

fn copy_one(kind: FileKind, from: &Path, to: &Path) -> io::Result<()> {
    if matches!(kind, FileKind::Deleted | FileKind::Special) {
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    match kind {
        FileKind::Symlink => symlink(fs::read_link(from)?, to),
        FileKind::Folder => fs::create_dir_all(to),
        FileKind::File | FileKind::Deleted | FileKind::Special => {
            let mut source = File::open(from)?;
            let mut copy = File::options().write(true).create_new(true).mode(0o600).open(to)?;
            io::copy(&mut source, &mut copy)?;
            copy.set_modified(source.metadata()?.modified()?)?;
            copy.sync_all()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn listed(files: &[WrittenFile]) -> Vec<(String, FileKind, u64)> {
        files.iter().map(|f| (String::from_utf8(f.path.clone().into_bytes()).unwrap(), f.kind, f.size)).collect()
    }

    /// Only root may set the overlay's own attribute.
    fn all_but_home(upper: &Path) -> Vec<WrittenFile> {
        let mut files = Vec::new();
        walk(upper, Path::new("/"), &|folder| folder.ends_with("home"), &mut files);
        files
    }

    /// home/ is on the host too, home/new/ is not.
    fn layer() -> (tempfile::TempDir, std::path::PathBuf) {
        let layers = tempfile::tempdir().unwrap();
        let upper = layers.path().join("upper");
        fs::create_dir_all(upper.join("home/new")).unwrap();
        fs::write(upper.join("home/new/data"), [0; 1000]).unwrap();
        fs::write(upper.join("home/a"), "abc").unwrap();
        symlink("a", upper.join("home/link")).unwrap();
        (layers, upper)
    }

    #[test]
    fn files_links_and_new_folders_are_listed_in_order() {
        let (_layers, upper) = layer();
        assert_eq!(
            listed(&all_but_home(&upper)),
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
        let (_layers, upper) = layer();
        use nix::sys::stat::{Mode, SFlag, mknod};
        mknod(&upper.join("home/gone"), SFlag::S_IFCHR, Mode::from_bits_truncate(0o600), 0).unwrap();
        assert!(listed(&all_but_home(&upper)).contains(&("/home/gone".to_owned(), FileKind::Deleted, 0)));
    }

    #[test]
    fn kept_files_have_their_paths_contents_and_times() {
        let (layers, upper) = layer();
        let keep = layers.path().join("keep");
        fs::create_dir(&keep).unwrap();
        fs::set_permissions(upper.join("home/a"), fs::Permissions::from_mode(0o6751)).unwrap();
        let mut files = all_but_home(&upper);
        copy(&mut files, &upper, &keep);
        assert!(files.iter().all(|file| file.lost.is_none()));
        assert_eq!(files[0].mode, 0o751);
        assert_eq!(fs::metadata(keep.join("home/a")).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read(keep.join("home/a")).unwrap(), b"abc");
        assert_eq!(fs::read_link(keep.join("home/link")).unwrap(), Path::new("a"));
        assert_eq!(
            fs::metadata(keep.join("home/new/data")).unwrap().modified().unwrap(),
            fs::metadata(upper.join("home/new/data")).unwrap().modified().unwrap()
        );
    }

    #[test]
    fn what_cannot_be_copied_is_named_and_leaves_nothing() {
        let (layers, upper) = layer();
        let keep = layers.path().join("keep");
        fs::create_dir_all(keep.join("home/a/in the way")).unwrap();
        let mut files = all_but_home(&upper);
        copy(&mut files, &upper, &keep);
        let lost: Vec<_> = files.iter().filter(|file| file.lost.is_some()).map(|file| file.size).collect();
        assert_eq!(lost, [3]);
        assert!(keep.join("home/new/data").exists());
    }
}
