//! Nodes and buffers for tests of memory.
#![allow(dead_code)] // each test program uses some of it

use cxlab_kernel::Bytes;
use cxlab_memo::buffer::Buffer;
use cxlab_memo::host::{Nodes, Tree};
use cxlab_memo::page::PageSize;

pub fn nodes() -> Nodes {
    Nodes::read(&Tree::real()).expect("this machine has nodes")
}

/// Memory in base pages on the first node that has some.
pub fn buffer(size: Bytes) -> Buffer {
    let nodes = nodes();
    let node = nodes.with_memory().next().expect("a node with memory").id;
    Buffer::on(node, &nodes, size, PageSize::Base).expect("memory")
}
