//! The words of FUSE: what the kernel asks of a file system, and what it is answered.
//!
//! Source: Linux 6.12 include/uapi/linux/fuse.h, protocol 7.41. All numbers are little endian here.

use std::os::unix::fs::MetadataExt;

/// A question of the kernel, as far as a read-only tree answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// how far the kernel reads ahead, and the features that it offers
    Init {
        readahead: u32,
        features: u32,
    },
    Lookup {
        name: &'a [u8],
    },
    Attributes,
    Target,
    Read {
        offset: u64,
        size: u32,
    },
    /// from this entry on
    Entries {
        offset: u64,
        size: u32,
    },
    Room,
    /// no answer is wanted
    Note,
    /// the kernel does it itself, once it has been told so
    Other,
}

/// A question and who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    pub unique: u64,
    pub node: u64,
    pub question: Question<'a>,
}

/// Largest size of a question: it has names, and no data to write `[bytes]`.
pub const MOST_ASKED: usize = 128 << 10;
/// The kernel may keep what it has been told.
const FOR_EVER: u64 = 1_000_000_000;

const VERSION: (u32, u32) = (7, 31);
const ASYNC_READ: u32 = 1;
const NO_OPEN: u32 = 1 << 17;
const PARALLEL_FOLDERS: u32 = 1 << 18;
const MOST_PAGES: u32 = 1 << 22;
const KEEP_TARGETS: u32 = 1 << 23;
const NO_OPEN_FOLDER: u32 = 1 << 24;
const WANTED: u32 = ASYNC_READ | NO_OPEN | PARALLEL_FOLDERS | MOST_PAGES | KEEP_TARGETS | NO_OPEN_FOLDER;

const HEADER: usize = 40;

impl Asked<'_> {
    /// Reads a message of the kernel. None: it is too short to be one.
    pub fn parse(message: &[u8]) -> Option<Asked<'_>> {
        let (opcode, unique, node) = (u32_at(message, 4)?, u64_at(message, 8)?, u64_at(message, 16)?);
        let body = message.get(HEADER..)?;
        let question = match opcode {
            26 => Question::Init { readahead: u32_at(body, 8)?, features: u32_at(body, 12)? },
            1 => Question::Lookup { name: body.split(|&byte| byte == 0).next()? },
            3 => Question::Attributes,
            5 => Question::Target,
            15 => Question::Read { offset: u64_at(body, 8)?, size: u32_at(body, 16)? },
            28 => Question::Entries { offset: u64_at(body, 8)?, size: u32_at(body, 16)? },
            17 => Question::Room,
            // FORGET, BATCH_FORGET, INTERRUPT
            2 | 42 | 36 => Question::Note,
            _ => Question::Other,
        };
        Some(Asked { unique, node, question })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// A message to the kernel: an error number, or what it asked for.
pub fn message(unique: u64, answer: Result<&[u8], i32>) -> Vec<u8> {
    let (error, body) = answer.map_or_else(|errno| (-errno, &[][..]), |body| (0, body));
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend_from_slice(&(16 + body.len() as u32).to_le_bytes());
    message.extend_from_slice(&error.to_le_bytes());
    message.extend_from_slice(&unique.to_le_bytes());
    message.extend_from_slice(body);
    message
}

/// Bytes in the order of a structure.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn u16(mut self, values: &[u16]) -> Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn u32(mut self, values: &[u32]) -> Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn u64(mut self, values: &[u64]) -> Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }
}

/// `fuse_init_out`. The kernel need not ask before it opens a file or a folder, and reads at most 1 MiB at a time.
pub fn init(readahead: u32, features: u32) -> Vec<u8> {
    let (major, minor) = VERSION;
    let words = Words::default().u32(&[major, minor, readahead, WANTED & features]).u16(&[16, 12]);
    words.u32(&[4096, 1]).u16(&[256, 0]).u32(&[0; 8]).0
}

/// `fuse_attr`.
fn attributes(of: &std::fs::Metadata) -> Vec<u8> {
    let words = Words::default().u64(&[of.ino(), of.size(), of.blocks()]);
    let words = words.u64(&[of.atime() as u64, of.mtime() as u64, of.ctime() as u64]);
    let words = words.u32(&[of.atime_nsec() as u32, of.mtime_nsec() as u32, of.ctime_nsec() as u32]);
    words.u32(&[of.mode(), of.nlink() as u32, of.uid(), of.gid(), of.rdev() as u32, 4096, 0]).0
}

/// `fuse_attr_out`.
pub fn known(of: &std::fs::Metadata) -> Vec<u8> {
    [Words::default().u64(&[FOR_EVER]).u32(&[0, 0]).0, attributes(of)].concat()
}

/// `fuse_entry_out` of a name that is there.
pub fn entry(node: u64, of: &std::fs::Metadata) -> Vec<u8> {
    [Words::default().u64(&[node, 0, FOR_EVER, FOR_EVER]).u32(&[0, 0]).0, attributes(of)].concat()
}

/// `fuse_entry_out` of a name that is not there, which the kernel may keep as well.
pub fn no_entry() -> Vec<u8> {
    Words::default().u64(&[0, 0, FOR_EVER, 0]).u32(&[0; 2]).u64(&[0; 11]).0
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Named {
    pub ino: u64,
    /// DT_REG and the like
    pub kind: u8,
    pub name: Vec<u8>,
}

/// `fuse_dirent`s from `offset` on, as many as fit.
pub fn entries(all: &[Named], offset: u64, size: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (position, named) in all.iter().enumerate().skip(offset as usize) {
        let length = (24 + named.name.len()).next_multiple_of(8);
        if bytes.len() + length > size as usize {
            break;
        }
        let end = bytes.len() + length;
        let head = Words::default()
            .u64(&[named.ino, position as u64 + 1])
            .u32(&[named.name.len() as u32, u32::from(named.kind)]);
        bytes.extend_from_slice(&head.0);
        bytes.extend_from_slice(&named.name);
        bytes.resize(end, 0);
    }
    bytes
}

/// `fuse_statfs_out`: a tree of which no room is known.
pub fn room() -> Vec<u8> {
    Words::default().u64(&[0; 5]).u32(&[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(opcode: u32, body: &[u8]) -> Vec<u8> {
        let header = Words::default().u32(&[(HEADER + body.len()) as u32, opcode]).u64(&[7, 1]).u32(&[0; 4]).0;
        [header, body.to_vec()].concat()
    }

    /// Sizes of the structures in linux/fuse.h.
    #[test]
    fn answers_have_the_size_that_the_kernel_wants() {
        let file = std::fs::metadata("/").unwrap();
        assert_eq!(init(0, u32::MAX).len(), 64);
        assert_eq!((attributes(&file).len(), known(&file).len(), entry(1, &file).len()), (88, 104, 128));
        assert_eq!((no_entry().len(), room().len()), (128, 80));
        assert_eq!(message(7, Err(2)), [16, 0, 0, 0, 254, 255, 255, 255, 7, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn questions_are_read_where_the_kernel_writes_them() {
        let read = Words::default().u64(&[0, 4096]).u32(&[512, 0]).0;
        let message = asked(15, &read);
        let wanted = Asked { unique: 7, node: 1, question: Question::Read { offset: 4096, size: 512 } };
        assert_eq!(Asked::parse(&message), Some(wanted));
        let message = asked(1, b"name\0");
        assert_eq!(Asked::parse(&message).unwrap().question, Question::Lookup { name: b"name" });
        assert_eq!(Asked::parse(&asked(14, &[])).unwrap().question, Question::Other);
        assert_eq!(Asked::parse(&[0; 20]), None);
    }

    #[test]
    fn a_folder_is_told_in_pieces_that_fit() {
        let named = |name: &str| Named { ino: 5, kind: libc::DT_REG, name: name.as_bytes().to_vec() };
        let all = [named("a"), named("long-name")];
        assert_eq!(entries(&all, 0, 4096).len(), 32 + 40);
        assert_eq!(entries(&all, 0, 50).len(), 32);
        assert_eq!(entries(&all, 1, 4096)[24..33], *b"long-name");
        assert!(entries(&all, 2, 4096).is_empty());
    }
}
