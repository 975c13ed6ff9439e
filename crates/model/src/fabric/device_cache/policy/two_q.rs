//! 2Q: a new line goes to a FIFO of a quarter of the set. If its name is still known when it comes again, it goes to an
//! LRU queue.
//!
//! Source: Johnson and Shasha, VLDB 1994, full version: Kin is a quarter of the lines, Kout (names) half as many as
//! lines. Words: count, then for each way its time and its queue. The names follow, the oldest first, each as page + 1.

use super::names::{recall, remember};
use super::{Set, least};

const FIFO: u32 = 0;
const LRU: u32 = 1;

fn names(ways: usize) -> usize {
    (ways / 2).max(1)
}

pub fn words(ways: usize) -> usize {
    1 + 2 * ways + names(ways)
}

fn time(way: usize) -> usize {
    1 + 2 * way
}

fn queue(way: usize) -> usize {
    2 + 2 * way
}

fn set_time(set: &mut Set<'_>, way: usize) {
    set.words[0] += 1;
    set.words[time(way)] = set.words[0];
}

pub fn used(set: &mut Set<'_>, way: usize) {
    if set.words[queue(way)] == LRU {
        set_time(set, way);
    }
}

pub fn admit(set: &mut Set<'_>, page: u32) -> usize {
    let first = 1 + 2 * set.ways();
    let known = recall(&mut set.words[first..], page);
    let way = set.empty().unwrap_or_else(|| victim(set, first));
    set_time(set, way);
    set.words[queue(way)] = if known { LRU } else { FIFO };
    way
}

fn victim(set: &mut Set<'_>, first: usize) -> usize {
    let of = |kind: u32| least(set.ways(), |way| set.words[queue(way)] == kind, |way| (set.words[time(way)], 0));
    let in_fifo = (0..set.ways()).filter(|way| set.words[queue(*way)] == FIFO).count();
    if in_fifo <= (set.ways() / 4).max(1)
        && let Some(way) = of(LRU)
    {
        return way;
    }
    let way = of(FIFO).expect("it is not empty");
    let page = set.lines[way].page().expect("the set is full");
    remember(&mut set.words[first..], page);
    way
}
