//! Replacement policies of one set, written anew with plain lists of pages. No line of it comes from the model.

use std::collections::VecDeque;

/// A page and what a policy may know of it.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub number: u32,
    pub changed: bool,
    pub count: u32,
    /// when it was used last
    pub used: u64,
}

/// A set of so many ways: says whether an access hits.
pub trait Reference {
    fn access(&mut self, number: u32, changes: bool) -> bool;
}

fn new(number: u32, changed: bool) -> Page {
    Page { number, changed, count: 0, used: 0 }
}

fn place(list: &VecDeque<Page>, number: u32) -> Option<usize> {
    list.iter().position(|page| page.number == number)
}

/// The list from the oldest to the newest use.
pub struct Lru(pub usize, pub VecDeque<Page>);

impl Reference for Lru {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        let found = place(&self.1, number).map(|at| self.1.remove(at).unwrap());
        let hit = found.is_some();
        if !hit && self.1.len() == self.0 {
            self.1.pop_front();
        }
        self.1.push_back(found.unwrap_or(new(number, changes)));
        hit
    }
}

pub struct Fifo(pub usize, pub VecDeque<Page>);

impl Reference for Fifo {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        if place(&self.1, number).is_some() {
            return true;
        }
        if self.1.len() == self.0 {
            self.1.pop_front();
        }
        self.1.push_back(new(number, changes));
        false
    }
}

/// The list in the order in which the hand will come.
pub struct Clock(pub usize, pub VecDeque<Page>);

impl Reference for Clock {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        if let Some(at) = place(&self.1, number) {
            self.1[at].count = 1;
            return true;
        }
        if self.1.len() == self.0 {
            while self.1[0].count == 1 {
                self.1[0].count = 0;
                self.1.rotate_left(1);
            }
            self.1.pop_front();
        }
        self.1.push_back(new(number, changes));
        false
    }
}

/// LRU that spares changed pages among the older half.
pub struct Cflru(pub usize, pub VecDeque<Page>);

impl Reference for Cflru {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        let found = place(&self.1, number).map(|at| self.1.remove(at).unwrap());
        let hit = found.is_some();
        if !hit && self.1.len() == self.0 {
            let window = self.0.div_ceil(2);
            let victim = (0..window).find(|at| !self.1[*at].changed).unwrap_or(0);
            self.1.remove(victim);
        }
        let mut page = found.unwrap_or(new(number, false));
        page.changed |= changes;
        self.1.push_back(page);
        hit
    }
}

/// Privileged pages in the order of their use; the least used of the others leaves, of equals the one unused longest.
pub struct Lfru {
    pub ways: usize,
    pub privileged: VecDeque<Page>,
    pub others: Vec<Page>,
    pub time: u64,
}

impl Reference for Lfru {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        self.time += 1;
        let found = match place(&self.privileged, number) {
            Some(at) => self.privileged.remove(at),
            None => {
                let at = self.others.iter().position(|page| page.number == number);
                at.map(|at| self.others.remove(at))
            }
        };
        if let Some(page) = found {
            self.privileged.push_back(Page { count: page.count + 1, used: self.time, ..page });
            if self.privileged.len() > self.ways / 2 {
                self.others.extend(self.privileged.pop_front());
            }
            return true;
        }
        if self.privileged.len() + self.others.len() == self.ways {
            self.others.sort_by_key(|page| (page.count, page.used));
            self.others.remove(0);
        }
        self.others.push(Page { count: 1, used: self.time, ..new(number, changes) });
        false
    }
}

/// Johnson and Shasha's three queues.
pub struct TwoQ {
    pub ways: usize,
    pub fifo: VecDeque<Page>,
    pub lru: VecDeque<Page>,
    pub names: VecDeque<u32>,
}

impl Reference for TwoQ {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        if let Some(at) = place(&self.lru, number) {
            let page = self.lru.remove(at).unwrap();
            self.lru.push_back(page);
            return true;
        }
        if place(&self.fifo, number).is_some() {
            return true;
        }
        let known = self.names.iter().position(|name| *name == number);
        if let Some(at) = known {
            self.names.remove(at);
        }
        if self.fifo.len() + self.lru.len() == self.ways {
            if self.fifo.len() > (self.ways / 4).max(1) || self.lru.is_empty() {
                let left = self.fifo.pop_front().unwrap();
                self.names.push_back(left.number);
                if self.names.len() > (self.ways / 2).max(1) {
                    self.names.pop_front();
                }
            } else {
                self.lru.pop_front();
            }
        }
        let queue = if known.is_some() { &mut self.lru } else { &mut self.fifo };
        queue.push_back(new(number, changes));
        false
    }
}

/// Yang's small and main queue.
pub struct S3Fifo {
    pub ways: usize,
    pub small: VecDeque<Page>,
    pub main: VecDeque<Page>,
    pub names: VecDeque<u32>,
}

impl S3Fifo {
    fn of_main(&mut self) {
        while let Some(mut page) = self.main.pop_front() {
            if page.count == 0 {
                return;
            }
            page.count -= 1;
            self.main.push_back(page);
        }
    }

    fn evict(&mut self) {
        let room = (self.ways / 10).max(1);
        if self.small.len() < room {
            return self.of_main();
        }
        while let Some(mut page) = self.small.pop_front() {
            if page.count <= 1 {
                self.names.push_back(page.number);
                if self.names.len() > (self.ways - room).max(1) {
                    self.names.pop_front();
                }
                return;
            }
            page.count = 0;
            self.main.push_back(page);
            if self.main.len() > self.ways - room {
                return self.of_main();
            }
        }
        self.of_main();
    }
}

impl Reference for S3Fifo {
    fn access(&mut self, number: u32, changes: bool) -> bool {
        for list in [&mut self.small, &mut self.main] {
            if let Some(at) = place(list, number) {
                list[at].count = (list[at].count + 1).min(3);
                return true;
            }
        }
        let known = self.names.iter().position(|name| *name == number);
        if let Some(at) = known {
            self.names.remove(at);
        }
        if self.small.len() + self.main.len() == self.ways {
            self.evict();
        }
        let queue = if known.is_some() { &mut self.main } else { &mut self.small };
        queue.push_back(new(number, changes));
        false
    }
}
