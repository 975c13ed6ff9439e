//! Memory that is measured. It is mapped, bound to a node and filled. Its node and pages are checked.

use crate::error::{Error, Result};
use crate::isa::LINE;
use crate::page::{self, PageSize};
use crate::{host::Nodes, mempolicy};
use cxlab_kernel::Bytes;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;

/// Pages whose node is looked up, spread over the buffer: the kernel binds by range, so a stray page would be its fault.
const CHECKED_PAGES: usize = 1024;

/// An anonymous mapping, aligned to 2 MiB, each word holding its own address.
#[derive(Debug)]
pub struct Buffer {
    mapping: *mut c_void,
    mapped: usize,
    start: *mut u8,
    length: usize,
}

/// Why memory is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    ByPolicy,
    /// There is one node with memory, and this process may not set a policy.
    ForWantOfChoice,
}

// SAFETY: the mapping belongs to this value alone; who shares it among threads gives each thread lines of its own.
unsafe impl Send for Buffer {}
// SAFETY: as above; the methods only hand out addresses.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `size`, rounded up to whole pages, on `node`.
    pub fn on(node: u32, nodes: &Nodes, size: Bytes, pages: PageSize) -> Result<Buffer> {
        let unit = pages.bytes().get();
        let length = size.get().div_ceil(unit) * unit;
        nodes.require_memory(node)?;
        nodes.require_free(node, Bytes::new(length))?;
        let buffer = Buffer::map(length as usize)?;
        let bound = buffer.bind(node, nodes)?;
        buffer.advise(pages);
        buffer.fill();
        if bound == Bound::ByPolicy {
            buffer.check_node(node)?;
        }
        if pages == PageSize::Huge {
            page::require_huge(buffer.start as usize, buffer.length)?;
        }
        Ok(buffer)
    }

    fn map(length: usize) -> Result<Buffer> {
        let alignment = PageSize::Huge.bytes().get() as usize;
        let mapped = length + alignment;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let mapping = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, access, flags) }
            .map_err(|e| Error::Map { given: Bytes::new(length as u64), source: e.into() })?;
        let start = mapping.cast::<u8>();
        // SAFETY: the mapping is longer than `length` by one alignment.
        let start = unsafe { start.add(start.align_offset(alignment)) };
        Ok(Buffer { mapping, mapped, start, length })
    }

    fn bind(&self, node: u32, nodes: &Nodes) -> Result<Bound> {
        match mempolicy::bind(self.start as usize, self.length, node) {
            Ok(()) => Ok(Bound::ByPolicy),
            // Containers often filter mbind(2), and kernels without NUMA lack it.
            Err(Error::Bind { source, .. })
                if nodes.with_memory().count() == 1
                    && matches!(source.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) =>
            {
                Ok(Bound::ForWantOfChoice)
            }
            Err(error) => Err(error),
        }
    }

    /// Only a wish: [`page::require_huge`] looks at what came of it.
    fn advise(&self, pages: PageSize) {
        let advice = match pages {
            PageSize::Base => Advice::LinuxNoHugepage,
            PageSize::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the range is this mapping's; the advice changes no contents.
        let _ = unsafe { madvise(self.start.cast(), self.length, advice) };
    }

    /// Fills every word with its address: lines of zeroes may be faster than data ([`crate::isa`]), and the pages come to be.
    fn fill(&self) {
        for offset in (0..self.length).step_by(size_of::<usize>()) {
            // SAFETY: inside the mapping, and aligned.
            let word = unsafe { self.start.add(offset).cast::<usize>() };
            // SAFETY: as above.
            unsafe { word.write(word as usize) };
        }
    }

    fn check_node(&self, node: u32) -> Result<()> {
        let step = (self.length / 4096).div_ceil(CHECKED_PAGES).max(1) * 4096;
        let addresses: Vec<usize> = (0..self.length).step_by(step).map(|o| self.start as usize + o).collect();
        let misplaced = |elsewhere, first| Error::Misplaced { node, checked: addresses.len(), elsewhere, first };
        if !mempolicy::is_bound(self.start as usize, node)? {
            return Err(misplaced(addresses.len(), "get_mempolicy(2) shows another policy".into()));
        }
        let found = mempolicy::locate(&addresses, node)?;
        let elsewhere: Vec<i32> = found.into_iter().filter(|&at| at != node as i32).collect();
        match elsewhere.first() {
            None => Ok(()),
            Some(&at) if at < 0 => Err(misplaced(elsewhere.len(), std::io::Error::from_raw_os_error(-at).to_string())),
            Some(at) => Err(misplaced(elsewhere.len(), format!("the first on node {at}"))),
        }
    }

    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Whole lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.length / LINE
    }

    #[must_use]
    pub fn line(&self, index: usize) -> *mut u8 {
        assert!(index < self.lines(), "line {index} of {}", self.lines());
        // SAFETY: asserted to be inside the mapping.
        unsafe { self.start.add(index * LINE) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody holds an address of it any more.
        let _ = unsafe { munmap(self.mapping, self.mapped) };
    }
}
