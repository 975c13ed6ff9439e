//! Requests that are under way, and when each would be done by a drive, or by the host's files, that have only these.
//!
//! ```text
//!   read:   ask --die, for each page--> controller --link--> done     write:  ask --link--> controller, write buffer --> done
//! ```
//!
//! In detail the model says what is done, and the estimate lies idle. Between windows of a sampled run the model's time
//! stands still. There the estimate answers: what was asked there, and what a window has left. What is still under way
//! when detail begins keeps its estimate. A die reads one page at a time, and the link serves requests one after the
//! other, each way.
//! Not modelled between windows: buses of channels, a full write buffer, programs, garbage collection.

use crate::arguments::Drive;
use crate::disk::{self, Asked, Direction};
use crate::host_files;
use crate::qemu::BigLock;

const PS_PER_NS: u64 = 1000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// A die reads so much at once: `UNIT_BYTES` of the model's drive `[bytes]`.
const PAGE_BYTES: u64 = 4096;

/// Whether a device holds answers back.
pub fn holds() -> bool {
    disk::held() > 0 || host_files::held() > 0
}

/// Answer these requests.
pub fn answer(numbers: &[u32], lock: &BigLock) {
    disk::answer(numbers, lock);
    host_files::answer(numbers, lock);
}

/// Answer all that is held.
pub fn answer_all(lock: &BigLock) {
    disk::answer_all(lock);
    host_files::answer_all(lock);
}

/// Source of the word that a request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    Model,
    Estimate,
}

struct Request {
    number: u32,
    /// by the guest's clock, in whole nanoseconds `[ps]`
    done_ps: u64,
    teller: Teller,
}

#[derive(Default)]
pub struct UnderWay {
    drive: Option<Drive>,
    /// each die is busy until then `[ps]`
    dies_ps: Vec<u64>,
    /// and the link: to the host, and to the drive `[ps]`
    to_host_ps: u64,
    to_drive_ps: u64,
    /// the same of the host's files `[ps]`
    from_files_ps: u64,
    to_files_ps: u64,
    requests: Vec<Request>,
}

impl UnderWay {
    pub fn new(drive: Option<Drive>) -> UnderWay {
        let dies = drive.map_or(0, |drive| drive.dies as usize);
        UnderWay { drive, dies_ps: vec![0; dies], ..UnderWay::default() }
    }

    /// The guest asks at `now_ps` of its clock.
    pub fn ask(&mut self, asked: &Asked, now_ps: u64, teller: Teller) {
        let Some(drive) = self.drive else { return };
        let bytes: u64 = asked.segments.iter().map(|segment| segment.length).sum();
        let link_ps = link_ps(bytes, drive.bytes_per_second);
        let done_ps = match asked.direction {
            Direction::Read => self.read(drive, asked.from, bytes, now_ps).max(self.take_link(drive, link_ps, now_ps)),
            Direction::Write => {
                self.to_drive_ps = self.to_drive_ps.max(now_ps) + link_ps;
                self.to_drive_ps + drive.controller_ps
            }
        };
        self.push(asked.number, done_ps, teller);
    }

    /// The guest asks for something of a file of the host at `now_ps` of its clock. What it writes crosses the link before
    /// the request is served, and what it reads then, each behind what was asked before. Returns how long it takes `[ps]`.
    pub fn ask_file(&mut self, asked: host_files::Asked, now_ps: u64, teller: Teller) -> u64 {
        let of_bytes_ps = |bytes| link_ps(bytes, host_files::BYTES_PER_SECOND);
        self.to_files_ps = self.to_files_ps.max(now_ps) + of_bytes_ps(asked.moved.from_guest);
        let served_ps = self.to_files_ps + host_files::SERVICE_PS;
        self.from_files_ps = self.from_files_ps.max(served_ps) + of_bytes_ps(asked.moved.to_guest);
        self.push(asked.number, self.from_files_ps, teller);
        self.from_files_ps - now_ps
    }

    fn push(&mut self, number: u32, done_ps: u64, teller: Teller) {
        self.requests.push(Request { number, done_ps: done_ps.next_multiple_of(PS_PER_NS), teller });
    }

    /// Reads pages from their dies. Returns when the last of them has crossed a link that nobody else uses `[ps]`.
    fn read(&mut self, drive: Drive, from: u64, bytes: u64, now_ps: u64) -> u64 {
        let pages = from / PAGE_BYTES..(from + bytes).div_ceil(PAGE_BYTES);
        let read = pages.map(|page| {
            let die_ps = &mut self.dies_ps[(page % drive.dies) as usize];
            *die_ps = (*die_ps).max(now_ps) + drive.die_ps;
            *die_ps
        });
        let last_ps = read.max().unwrap_or(now_ps);
        last_ps + drive.controller_ps + link_ps(bytes.min(PAGE_BYTES), drive.bytes_per_second)
    }

    /// Takes the link to the host behind those that have asked before. A read that waits for a die does not keep it from
    /// others. Returns when the link is free `[ps]`.
    fn take_link(&mut self, drive: Drive, link_ps: u64, now_ps: u64) -> u64 {
        self.to_host_ps = self.to_host_ps.max(now_ps + drive.die_ps + drive.controller_ps) + link_ps;
        self.to_host_ps
    }

    /// The model's time stands still from here on: the estimate tells of all.
    pub fn leave_model(&mut self) {
        self.requests.iter_mut().for_each(|request| request.teller = Teller::Estimate);
    }

    /// When the next request is done that the estimate tells of, by the guest's clock `[ps]`.
    pub fn next_ps(&self) -> Option<u64> {
        let told = self.requests.iter().filter(|request| request.teller == Teller::Estimate);
        told.map(|request| request.done_ps).min()
    }

    /// Whether the estimate tells of one that is done by now.
    #[inline]
    pub fn has_news(&self, now_ps: u64) -> bool {
        !self.requests.is_empty() && self.next_ps().is_some_and(|at_ps| at_ps <= now_ps)
    }

    /// The numbers that the estimate tells of as done by now, in the order of their ends.
    pub fn take_done(&mut self, now_ps: u64) -> Vec<u32> {
        let is_done = |request: &Request| request.teller == Teller::Estimate && request.done_ps <= now_ps;
        let (mut done, rest): (Vec<_>, Vec<_>) = self.requests.drain(..).partition(is_done);
        self.requests = rest;
        done.sort_by_key(|request| (request.done_ps, request.number));
        done.into_iter().map(|request| request.number).collect()
    }

    /// The model has told of these.
    pub fn forget(&mut self, numbers: &[u32]) {
        self.requests.retain(|request| !numbers.contains(&request.number));
    }

    /// All are answered.
    pub fn forget_all(&mut self) {
        self.requests.clear();
    }
}

/// Time of these bytes on a link `[ps]`.
fn link_ps(bytes: u64, bytes_per_second: u64) -> u64 {
    (u128::from(bytes) * PS_PER_SECOND / u128::from(bytes_per_second)) as u64
}

#[cfg(test)]
mod tests {
    use cxlab_access::Segment;

    use super::*;
    use crate::used_ring::Moved;

    /// A page takes 1.024 us on the link, 40 us of its die and 20 us of the controller.
    const DRIVE: Drive =
        Drive { bytes_per_second: 4_000_000_000, dies: 32, die_ps: 40_000_000, controller_ps: 20_000_000 };

    fn asked(number: u32, direction: Direction) -> Asked {
        let segments = vec![Segment { physical: 0, length: PAGE_BYTES }];
        Asked { number, direction, from: u64::from(number) * PAGE_BYTES, segments }
    }

    fn of_drive() -> UnderWay {
        UnderWay::new(Some(DRIVE))
    }

    #[test]
    fn a_page_takes_the_link_its_size_over_the_bandwidth() {
        // 4096 B / 3.2 GB/s = 1.28 us
        assert_eq!(link_ps(4096, 3_200_000_000), 1_280_000);
        // The product with 10^12 does not fit into 64 bits.
        assert_eq!(link_ps(1 << 40, 1 << 20), (1 << 20) * 1_000_000_000_000);
    }

    #[test]
    fn reads_overlap_but_for_the_link_and_writes_have_a_way_of_their_own() {
        let mut under_way = of_drive();
        under_way.ask(&asked(1, Direction::Read), 0, Teller::Estimate);
        under_way.ask(&asked(2, Direction::Read), 500_000, Teller::Estimate);
        under_way.ask(&asked(3, Direction::Write), 1_000_000, Teller::Estimate);
        // 1 + 1.024 + 20 us, 60 + 1.024 us, and the second behind the first on the link.
        assert_eq!(under_way.next_ps(), Some(22_024_000));
        assert_eq!(under_way.take_done(22_023_999), []);
        assert_eq!(under_way.take_done(61_024_000), [3, 1]);
        assert_eq!(under_way.next_ps(), Some(62_048_000));
    }

    #[test]
    fn reads_of_one_die_follow_each_other_and_keep_no_other_waiting() {
        let mut under_way = of_drive();
        for number in [1, 1 + 32, 2] {
            under_way.ask(&asked(number, Direction::Read), 0, Teller::Estimate);
        }
        // Behind two others on the link: 60 + 3 x 1.024 us.
        assert_eq!(under_way.take_done(63_072_000), [1, 2]);
        // Behind the first on the die: 2 x 40 + 20 + 1.024 us.
        assert_eq!(under_way.next_ps(), Some(101_024_000));
    }

    #[test]
    fn pages_in_a_row_are_read_side_by_side() {
        let mut under_way = of_drive();
        let segments = vec![Segment { physical: 0, length: 16 * PAGE_BYTES }];
        under_way.ask(&Asked { number: 1, direction: Direction::Read, from: 0, segments }, 0, Teller::Estimate);
        assert_eq!(under_way.next_ps(), Some(60_000_000 + 16 * 1_024_000));
    }

    #[test]
    fn what_the_model_times_is_estimated_once_its_time_stands_still() {
        let mut under_way = of_drive();
        under_way.ask(&asked(1, Direction::Read), 0, Teller::Model);
        under_way.ask(&asked(2, Direction::Read), 0, Teller::Model);
        assert!(!under_way.has_news(u64::MAX) && under_way.next_ps().is_none());
        under_way.forget(&[1]);
        under_way.leave_model();
        // The first had the link before.
        assert!(!under_way.has_news(62_047_999) && under_way.has_news(62_048_000));
        assert_eq!(under_way.take_done(u64::MAX), [2]);
        assert!(!under_way.has_news(u64::MAX));
    }

    /// 3,200 bytes take 1 us on the link of the host's files.
    fn of_file(number: u32, to_guest: u64, from_guest: u64) -> host_files::Asked {
        host_files::Asked { number, moved: Moved { to_guest, from_guest } }
    }

    #[test]
    fn files_of_the_host_need_no_drive_and_overlap_but_for_the_link() {
        let mut under_way = UnderWay::new(None);
        // 80 us and 1 us of its bytes.
        assert_eq!(under_way.ask_file(of_file(1, 3200, 0), 0, Teller::Estimate), 81_000_000);
        assert_eq!(under_way.ask_file(of_file(2, 3200, 0), 30_000_000, Teller::Estimate), 81_000_000);
        // Behind the other on the link.
        assert_eq!(under_way.ask_file(of_file(3, 3200, 0), 30_500_000, Teller::Estimate), 81_500_000);
        assert_eq!(under_way.take_done(110_999_999), [1]);
        assert_eq!(under_way.next_ps(), Some(111_000_000));
    }

    #[test]
    fn what_is_written_to_files_of_the_host_crosses_the_link_first_and_the_other_way() {
        let mut under_way = UnderWay::new(None);
        assert_eq!(under_way.ask_file(of_file(1, 0, 320_000), 0, Teller::Estimate), 180_000_000);
        // Its request is behind that one, and its bytes have their way for themselves.
        assert_eq!(under_way.ask_file(of_file(2, 3200, 0), 0, Teller::Estimate), 181_000_000);
    }

    #[test]
    fn an_idle_clock_of_whole_nanoseconds_comes_to_every_end() {
        let mut under_way = of_drive();
        under_way.ask(&asked(1, Direction::Read), 1, Teller::Estimate);
        assert_eq!(under_way.next_ps().unwrap() % 1000, 0);
    }
}
