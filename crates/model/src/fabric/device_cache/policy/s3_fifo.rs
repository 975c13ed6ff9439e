//! S3-FIFO: a small queue of a tenth of the set, a main queue, and the names of pages that have left the small queue.
//!
//! Source: Yang et al., SOSP 2023, algorithm 1. Lines of the small queue that were used twice go to the main queue, and
//! their count is cleared. Lines of the main queue go round as long as their count lasts. One line leaves for each that
//! comes. There are as many names as lines of the main queue. Words: count, then for each way its time, its queue and
//! its count of uses. The names follow, the oldest first, each as page + 1.

use super::names::{recall, remember};
use super::{Set, least};

const SMALL: u32 = 0;
const MAIN: u32 = 1;
/// Greatest count of a line's uses.
const MOST: u32 = 3;

fn small(ways: usize) -> usize {
    (ways / 10).max(1)
}

fn names(ways: usize) -> usize {
    (ways - small(ways)).max(1)
}

pub fn words(ways: usize) -> usize {
    1 + 3 * ways + names(ways)
}

fn time(way: usize) -> usize {
    1 + 3 * way
}

fn queue(way: usize) -> usize {
    2 + 3 * way
}

fn uses(way: usize) -> usize {
    3 + 3 * way
}

/// Puts a line at the head of a queue.
fn push(set: &mut Set<'_>, way: usize, kind: u32) {
    set.words[0] += 1;
    set.words[time(way)] = set.words[0];
    set.words[queue(way)] = kind;
}

fn tail(set: &Set<'_>, kind: u32) -> Option<usize> {
    least(set.ways(), |way| set.words[queue(way)] == kind, |way| (set.words[time(way)], 0))
}

fn length(set: &Set<'_>, kind: u32) -> usize {
    (0..set.ways()).filter(|way| set.words[queue(*way)] == kind).count()
}

pub fn used(set: &mut Set<'_>, way: usize) {
    set.words[uses(way)] = (set.words[uses(way)] + 1).min(MOST);
}

pub fn admit(set: &mut Set<'_>, page: u32) -> usize {
    let first = 1 + 3 * set.ways();
    let known = recall(&mut set.words[first..], page);
    let way = set.empty().unwrap_or_else(|| victim(set, first));
    push(set, way, if known { MAIN } else { SMALL });
    set.words[uses(way)] = 0;
    way
}

fn victim(set: &mut Set<'_>, first: usize) -> usize {
    if length(set, SMALL) >= small(set.ways()) {
        while let Some(way) = tail(set, SMALL) {
            if set.words[uses(way)] <= 1 {
                remember(&mut set.words[first..], set.lines[way].page().expect("the set is full"));
                return way;
            }
            push(set, way, MAIN);
            set.words[uses(way)] = 0;
            if length(set, MAIN) > set.ways() - small(set.ways()) {
                return of_main(set);
            }
        }
    }
    of_main(set)
}

/// The first line of the main queue that has no use left. The lines before it go round.
fn of_main(set: &mut Set<'_>) -> usize {
    loop {
        let way = tail(set, MAIN).expect("what is not in the small queue is in this one");
        if set.words[uses(way)] == 0 {
            return way;
        }
        set.words[uses(way)] -= 1;
        push(set, way, MAIN);
    }
}
