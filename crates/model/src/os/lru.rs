//! LRU by age: an active and an inactive list for each node, moved by accessed bits.
//!
//! ```text
//!   new -> inactive --accessed when looked at--> active
//!            | not accessed                        | more active than inactive pages
//!            v victim                              v its oldest goes to inactive
//! ```
//! Source: Linux, mm/vmscan.c before MGLRU (shrink_active_list, shrink_inactive_list), anonymous pages. A page that
//! has left a list leaves a stale entry there, told by its stamp. Not modelled: file pages, refaults.

use std::collections::VecDeque;

use super::page_table::PageTable;
use super::{Mapping, PageNumber};
use crate::request::NodeId;

type List = VecDeque<(PageNumber, u32)>;

#[derive(Default)]
struct Lists {
    active: List,
    inactive: List,
    /// valid entries of the active list
    active_count: usize,
    inactive_count: usize,
}

pub(super) struct Lru {
    nodes: Vec<Lists>,
}

impl Lru {
    pub fn new(nodes: usize) -> Lru {
        Lru { nodes: (0..nodes).map(|_| Lists::default()).collect() }
    }

    /// Put a page at the head of a list of its node.
    pub fn add(&mut self, table: &mut PageTable, number: PageNumber, node: NodeId, active: bool) {
        let page = table.page_mut(number);
        (page.stamp, page.active) = (page.stamp.wrapping_add(1), active);
        let lists = &mut self.nodes[usize::from(node.0)];
        let (list, count) = lists.of(active);
        *count += 1;
        list.push_front((number, page.stamp));
    }

    /// Take a page off its list.
    pub fn remove(&mut self, table: &mut PageTable, number: PageNumber, node: NodeId) {
        let page = table.page_mut(number);
        page.stamp = page.stamp.wrapping_add(1);
        *self.nodes[usize::from(node.0)].of(page.active).1 -= 1;
    }

    /// Have an inactive page active.
    pub fn activate(&mut self, table: &mut PageTable, number: PageNumber, node: NodeId) {
        self.remove(table, number, node);
        self.add(table, number, node, true);
    }

    /// A page of the node that was not accessed since it was looked at last, within so many looks; and the looks.
    pub fn victim(&mut self, table: &mut PageTable, node: NodeId, most_looks: u32) -> (Option<PageNumber>, u32) {
        let mut looks = 0;
        while looks < most_looks {
            looks += 1;
            let lists = &self.nodes[usize::from(node.0)];
            if lists.active_count > lists.inactive_count {
                self.deactivate_oldest(table, node);
            }
            let Some(number) = self.oldest(table, node, false) else { continue };
            let page = table.page_mut(number);
            let accessed = std::mem::replace(&mut page.accessed, false);
            if accessed || !matches!(page.mapping, Mapping::Present(_)) {
                self.add(table, number, node, accessed);
            } else {
                return (Some(number), looks);
            }
        }
        (None, looks)
    }

    fn deactivate_oldest(&mut self, table: &mut PageTable, node: NodeId) {
        if let Some(number) = self.oldest(table, node, true) {
            table.page_mut(number).accessed = false;
            self.add(table, number, node, false);
        }
    }

    /// Take the oldest page off a list.
    fn oldest(&mut self, table: &mut PageTable, node: NodeId, active: bool) -> Option<PageNumber> {
        let (list, count) = self.nodes[usize::from(node.0)].of(active);
        while let Some((number, stamp)) = list.pop_back() {
            if table.page(number).stamp == stamp {
                *count -= 1;
                return Some(number);
            }
        }
        None
    }
}

impl Lists {
    fn of(&mut self, active: bool) -> (&mut List, &mut usize) {
        if active { (&mut self.active, &mut self.active_count) } else { (&mut self.inactive, &mut self.inactive_count) }
    }
}
