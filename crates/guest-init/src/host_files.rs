//! The host's tree for a program with a checkpoint. It is a file system of init's own, which can close the host's
//! files and open them again.
//!
//! ```text
//!   program --> overlay --> FUSE, /host --> this thread of init --> virtio-9p (detached)
//!                           keeps what it knows                     unmounted while the state is saved
//! ```
//!
//! QEMU saves no guest with a mounted 9p. Names, attributes and pages stay with the kernel; what it has not seen before is asked of
//! the host, before the checkpoint and after it. A file that has changed on the host since the checkpoint cannot be read any more.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::mount::MsFlags;
use nix::sys::stat::Mode;

use crate::detached::{Detached, c_path};
use crate::error::{Doing, Result};
use crate::fuse::{self, Asked, MOST_ASKED, Named, Question};
use crate::tree;

/// Names and attributes are kept (CACHE_META and CACHE_LOOSE of fs/9p/v9fs.h), pages are not: they are kept once, above.
const NINEP: [(&std::ffi::CStr, &std::ffi::CStr); 5] =
    [(c"source", c"host"), (c"trans", c"virtio"), (c"version", c"9p2000.L"), (c"cache", c"0xa"), (c"msize", c"512000")];
const ROOT: u64 = 1;
/// Files that stay open for the next read.
const MOST_OPEN: usize = 64;

/// A file by which a later one of the same name is told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Likeness {
    ino: u64,
    size: u64,
    modified: (i64, i64),
}

impl Likeness {
    fn of(file: &Metadata) -> Likeness {
        Likeness { ino: file.ino(), size: file.size(), modified: (file.mtime(), file.mtime_nsec()) }
    }
}

/// A name that the kernel knows.
struct Node {
    /// from the root of the tree, without a first '/'
    path: Vec<u8>,
    likeness: Likeness,
    /// it was looked up before the host was let go of
    old: bool,
}

/// The tree, and what is open of it.
pub struct HostFiles {
    /// None: the machine's state is saved
    share: Option<Detached>,
    nodes: HashMap<u64, Node>,
    ids: HashMap<(u64, Vec<u8>), u64>,
    open: VecDeque<(u64, File)>,
    listing: Option<(u64, Vec<Named>)>,
}

type Answer = std::result::Result<Vec<u8>, Errno>;

/// Mount the host's tree at this place, served by a thread of init.
pub fn serve(place: &Path) -> Result<Arc<Mutex<HostFiles>>> {
    let device = File::options().read(true).write(true).open("/dev/fuse").doing(|| "/dev/fuse".to_owned())?;
    let files = Arc::new(Mutex::new(HostFiles::new()?));
    let options = format!(
        "fd={},rootmode=40755,user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576",
        device.as_raw_fd()
    );
    tree::mount_new("host", place, "fuse", MsFlags::MS_RDONLY, &options)?;
    let served = Arc::clone(&files);
    thread::spawn(move || answer_all(device, &served));
    Ok(files)
}

/// Nobody panics while it is held.
pub fn held(files: &Mutex<HostFiles>) -> MutexGuard<'_, HostFiles> {
    files.lock().expect("nobody panics with it")
}

fn answer_all(mut device: File, files: &Mutex<HostFiles>) {
    let mut buffer = vec![0; MOST_ASKED];
    loop {
        match device.read(&mut buffer) {
            Ok(length) => {
                if let Some(message) = held(files).answer(&buffer[..length]) {
                    // ENOENT: who asked was interrupted, and has gone.
                    let _ = device.write(&message);
                }
            }
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return,
            Err(_) => {}
        }
    }
}

impl HostFiles {
    fn new() -> Result<HostFiles> {
        let share = Detached::mount(c"9p", &NINEP)?;
        let root = File::from(share.root().try_clone_to_owned().doing(|| "the host's root".to_owned())?);
        let likeness = Likeness::of(&root.metadata().doing(|| "the host's root".to_owned())?);
        let nodes = HashMap::from([(ROOT, Node { path: Vec::new(), likeness, old: false })]);
        Ok(HostFiles { share: Some(share), nodes, ids: HashMap::new(), open: VecDeque::new(), listing: None })
    }

    /// Unmount the host's tree. Nobody asks until `take_hold`: the program is frozen.
    pub fn let_go(&mut self) {
        self.open.clear();
        self.listing = None;
        self.share = None;
        self.nodes.values_mut().for_each(|node| node.old = true);
    }

    /// Mount it again.
    pub fn take_hold(&mut self) -> Result<()> {
        self.share = Some(Detached::mount(c"9p", &NINEP)?);
        Ok(())
    }

    fn answer(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let asked = Asked::parse(message)?;
        let answer = match asked.question {
            Question::Init { readahead, features } => Ok(fuse::init(readahead, features)),
            Question::Lookup { name } => self.look_up(asked.node, name),
            Question::Attributes => self.attributes(asked.node),
            Question::Target => self.target(asked.node),
            Question::Read { offset, size } => self.read(asked.node, offset, size),
            Question::Entries { offset, size } => self.entries(asked.node, offset, size),
            Question::Room => Ok(fuse::room()),
            Question::Note => return None,
            Question::Other => Err(Errno::ENOSYS),
        };
        Some(fuse::message(asked.unique, answer.as_deref().map_err(|errno| *errno as i32)))
    }

    fn node(&self, node: u64) -> std::result::Result<&Node, Errno> {
        self.nodes.get(&node).ok_or(Errno::ESTALE)
    }

    fn opened(&self, path: &[u8], flags: OFlag) -> std::result::Result<File, Errno> {
        let share = self.share.as_ref().ok_or(Errno::EIO)?;
        let name = c_path(if path.is_empty() { b"." } else { path }).map_err(|_| Errno::EINVAL)?;
        openat(share.root(), name.as_c_str(), flags | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())
            .map(File::from)
    }

    fn described(&self, path: &[u8]) -> std::result::Result<Metadata, Errno> {
        self.opened(path, OFlag::O_PATH)?.metadata().map_err(|error| errno(&error))
    }

    fn look_up(&mut self, folder: u64, name: &[u8]) -> Answer {
        let parent = &self.node(folder)?.path;
        let path = if parent.is_empty() { name.to_vec() } else { [parent, name].join(&b'/') };
        let described = match self.described(&path) {
            Err(Errno::ENOENT) => return Ok(fuse::no_entry()),
            described => described?,
        };
        let next = ROOT + 1 + self.ids.len() as u64;
        let node = *self.ids.entry((folder, name.to_vec())).or_insert(next);
        let fresh = Node { path, likeness: Likeness::of(&described), old: false };
        let known = self.nodes.entry(node).or_insert(fresh);
        // The kernel may still have pages of it: they are of the file that it was.
        if known.old && known.likeness != Likeness::of(&described) && !described.is_dir() {
            return Err(changed(&known.path));
        }
        Ok(fuse::entry(node, &described))
    }

    fn attributes(&self, node: u64) -> Answer {
        Ok(fuse::known(&self.described(&self.node(node)?.path)?))
    }

    fn target(&self, node: u64) -> Answer {
        let link = self.opened(&self.node(node)?.path, OFlag::O_PATH)?;
        Ok(readlinkat(link.as_fd(), c"")?.as_bytes().to_vec())
    }

    fn read(&mut self, node: u64, offset: u64, size: u32) -> Answer {
        let position = match self.open.iter().position(|(open, _)| *open == node) {
            Some(position) => position,
            None => self.open(node)?,
        };
        let file = &self.open[position].1;
        let (mut data, mut length) = (vec![0; size as usize], 0);
        while length < data.len() {
            match file.read_at(&mut data[length..], offset + length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) => return Err(errno(&error)),
            }
        }
        data.truncate(length);
        Ok(data)
    }

    /// Opens a file. Returns its place among the open files.
    fn open(&mut self, node: u64) -> std::result::Result<usize, Errno> {
        let known = self.node(node)?;
        let file = self.opened(&known.path, OFlag::O_RDONLY)?;
        if known.old && known.likeness != Likeness::of(&file.metadata().map_err(|error| errno(&error))?) {
            return Err(changed(&known.path));
        }
        if self.open.len() == MOST_OPEN {
            self.open.pop_front();
        }
        self.open.push_back((node, file));
        Ok(self.open.len() - 1)
    }

    fn entries(&mut self, node: u64, offset: u64, size: u32) -> Answer {
        if offset == 0 || self.listing.as_ref().is_none_or(|(listed, _)| *listed != node) {
            let folder = self.opened(&self.node(node)?.path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
            self.listing = Some((node, list(folder)?));
        }
        let (_, all) = self.listing.as_ref().expect("listed above");
        Ok(fuse::entries(all, offset, size))
    }
}

fn list(folder: File) -> std::result::Result<Vec<Named>, Errno> {
    let entries = Dir::from_fd(folder.into())?.into_iter();
    entries
        .map(|entry| {
            let entry = entry?;
            let kind = match entry.file_type() {
                None => libc::DT_UNKNOWN,
                Some(Type::Fifo) => libc::DT_FIFO,
                Some(Type::CharacterDevice) => libc::DT_CHR,
                Some(Type::Directory) => libc::DT_DIR,
                Some(Type::BlockDevice) => libc::DT_BLK,
                Some(Type::File) => libc::DT_REG,
                Some(Type::Symlink) => libc::DT_LNK,
                Some(Type::Socket) => libc::DT_SOCK,
            };
            Ok(Named { ino: entry.ino(), kind, name: entry.file_name().to_bytes().to_vec() })
        })
        .collect()
}

/// On the console: an error number alone would not say why.
fn changed(path: &[u8]) -> Errno {
    let path = Path::new(std::ffi::OsStr::from_bytes(path)).display();
    eprintln!(
        "cxlab-guest-init: /{path} has changed on the host since the checkpoint: it cannot be read; make the checkpoint anew"
    );
    Errno::EIO
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}
