//! A profile: the instructions that wait for lines of a memory, their callers, and the data of these lines.
//!
//! ```text
//!   dispatch: address of the instruction, calls and returns --> row of the window        '
//!   fill:     a line of a memory comes for a load           --> its row, its data: lines, latency
//!   commit:   the oldest instruction waits for such a line  --> its row, its data: stall
//! ```
//!
//! Data are virtual addresses, which a page's walk gives. The number of entries is bounded. If there are too many, data
//! are told apart less finely. If a thread is taken off its core, a return may find the calls of another thread above
//! it. That lasts until a return fits again. Not modelled: lines that only stores wait for.

use cxlab_kernel::Time;
use rustc_hash::FxHashMap;

use super::order::Sequence;
use super::window::{Waiter, Waiters};
use super::{Core, Uncore};
use crate::addr::Hpa;
use crate::feed::{Branch, LineAccess, Outcome};
use crate::request::{NodeId, Request};
use crate::translation::PageId;

/// Most entries of a profile: about 40 MB.
const MOST_ENTRIES: usize = 1 << 19;
/// Most chains of calls that are told apart, and most calls in a chain.
const MOST_CONTEXTS: usize = 1 << 20;
const DEEPEST: u32 = 192;
/// A chain of no calls.
const OUTERMOST: u32 = 0;

/// An instruction and the chain of calls that led to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// virtual address
    pub instruction: u64,
    /// place in [`Profile::contexts`]
    pub context: u32,
}

/// Key of an entry: the site, the data and the node of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    pub site: Site,
    /// virtual address of the data, in granules
    pub granule: u64,
    pub node: NodeId,
}

/// Counts of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// lines that came from the memory for loads
    pub lines: u64,
    /// their total latency
    pub latency: Time,
    /// time for which the core's oldest instruction waited for one of these lines
    pub stall: Time,
}

/// The first access to a page.
#[derive(Clone, Copy, Debug)]
pub struct FirstTouch {
    pub at: Time,
    pub site: Site,
}

/// Pages of one size at one virtual address, whichever processes they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pages {
    /// virtual address
    pub address: u64,
    /// size of a page `[B]`
    pub bytes: u64,
}

/// A call that has not returned yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub caller: u32,
    /// address that it returns to
    pub returns_to: u64,
    depth: u32,
}

/// The profile of a core.
#[derive(Clone, Debug)]
pub struct Profile {
    /// granules are 2^this bytes
    granule_log2: u32,
    entries: FxHashMap<Subject, Counted>,
    /// chains of calls, each with its caller; the first stands for no call
    contexts: Vec<Context>,
    calls: FxHashMap<(u32, u64), u32>,
    touched: FxHashMap<Pages, FirstTouch>,
    /// a bit for each page that has been touched, by the page's id
    seen: Vec<u64>,
    /// sites of the window's rows, by their places
    sites: Box<[(Sequence, Site)]>,
    now: Site,
    in_kernel: bool,
    /// context of the program, while the kernel runs
    of_user: u32,
}

impl Profile {
    fn new(rows: usize) -> Profile {
        Profile {
            granule_log2: 6,
            entries: FxHashMap::default(),
            contexts: vec![Context::default()],
            calls: FxHashMap::default(),
            touched: FxHashMap::default(),
            seen: Vec::new(),
            sites: vec![(Sequence::MAX, Site::default()); rows].into(),
            now: Site::default(),
            in_kernel: false,
            of_user: OUTERMOST,
        }
    }

    /// Size of a granule. Data within one granule are not told apart `[B]`.
    #[must_use]
    pub fn granule_bytes(&self) -> u64 {
        1 << self.granule_log2
    }

    pub fn entries(&self) -> impl Iterator<Item = (&Subject, &Counted)> {
        self.entries.iter()
    }

    #[must_use]
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    pub fn touched(&self) -> impl Iterator<Item = (&Pages, &FirstTouch)> {
        self.touched.iter()
    }

    /// Gives a row to the instruction at this address. If the instruction repeats, it gets the following rows too.
    pub fn begin(&mut self, row: Sequence, instruction: u64) {
        let in_kernel = instruction >> 63 == 1;
        if in_kernel != self.in_kernel {
            if in_kernel {
                self.of_user = self.now.context;
            } else {
                self.now.context = self.of_user;
            }
            self.in_kernel = in_kernel;
        }
        self.now.instruction = instruction;
        self.fill(row, row + 1);
    }

    /// Gives the rows from `first` to before `end` to the present instruction.
    #[cold]
    #[inline(never)]
    pub fn fill(&mut self, first: Sequence, end: Sequence) {
        let places = self.sites.len() as u64;
        for row in first.max(end.saturating_sub(places))..end {
            self.sites[(row % places) as usize] = (row, self.now);
        }
    }

    /// The site of a row. A row without a site belongs to an instruction that still repeats.
    fn site(&self, row: Sequence) -> Site {
        let (of, site) = self.sites[(row % self.sites.len() as u64) as usize];
        if of == row { site } else { self.now }
    }

    /// Follows a branch: a call adds to the chain, a return takes from it.
    #[cold]
    #[inline(never)]
    pub fn branched(&mut self, branch: Branch, outcome: Outcome) {
        match branch {
            Branch::Call | Branch::IndirectCall => self.now.context = self.called(outcome.next),
            Branch::Return => self.now.context = self.returned(outcome.target),
            Branch::Direct | Branch::Conditional | Branch::Indirect => {}
        }
    }

    fn called(&mut self, returns_to: u64) -> u32 {
        let caller = self.now.context;
        let depth = self.contexts[caller as usize].depth + 1;
        if let Some(context) = self.calls.get(&(caller, returns_to)) {
            return *context;
        }
        if depth > DEEPEST || self.contexts.len() == MOST_CONTEXTS {
            return caller;
        }
        let context = self.contexts.len() as u32;
        self.contexts.push(Context { caller, returns_to, depth });
        self.calls.insert((caller, returns_to), context);
        context
    }

    fn returned(&self, target: u64) -> u32 {
        let mut context = self.now.context;
        while context != OUTERMOST {
            let Context { caller, returns_to, .. } = self.contexts[context as usize];
            if returns_to == target {
                return caller;
            }
            context = caller;
        }
        // The call was not seen, or one call too many was made. The calls above it are not known.
        if self.contexts[self.now.context as usize].depth >= DEEPEST { self.now.context } else { OUTERMOST }
    }

    /// Whether the page was untouched before. It counts as touched from now on.
    fn is_new(&mut self, page: PageId) -> bool {
        let (word, bit) = (page.0.get() as usize / 64, page.0.get() % 64);
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        let new = self.seen[word] >> bit & 1 == 0;
        self.seen[word] |= 1 << bit;
        new
    }

    fn count(&mut self, site: Site, address: u64, node: NodeId, counted: Counted) {
        let subject = Subject { site, granule: address >> self.granule_log2, node };
        self.entries.entry(subject).or_default().add(counted);
        while self.entries.len() > MOST_ENTRIES {
            self.granule_log2 += 1;
            for (subject, counted) in std::mem::take(&mut self.entries) {
                let coarser = Subject { granule: subject.granule >> 1, ..subject };
                self.entries.entry(coarser).or_default().add(counted);
            }
        }
    }
}

impl Counted {
    pub fn add(&mut self, other: Counted) {
        self.lines += other.lines;
        self.latency += other.latency;
        self.stall += other.stall;
    }
}

impl Core {
    /// Starts a profile.
    pub(crate) fn keep_profile(&mut self) {
        self.profile = Some(Box::new(Profile::new(self.window.rows())));
    }

    /// The profile, if one was requested.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_deref()
    }

    /// Notes an instruction that touches these lines and is about to be dispatched.
    #[cold]
    #[inline(never)]
    pub(super) fn profile_begins<U: Uncore>(&mut self, instruction: u64, accesses: &[LineAccess], uncore: &U) {
        let (row, at) = (self.window.next(), self.front.now());
        let Some(profile) = &mut self.profile else { return };
        profile.begin(row, instruction);
        for page in accesses.iter().filter_map(|access| access.page) {
            // A page without a mapping is an error, which the translation reports.
            if profile.is_new(page.id)
                && let Some(mapping) = uncore.mapping(page.id)
            {
                let pages = Pages { address: mapping.address(), bytes: 1 << mapping.size.shift() };
                profile.touched.entry(pages).or_insert(FirstTouch { at, site: profile.now });
            }
        }
    }

    /// Counts a line that has come from a memory, for the load that requested it first.
    #[cold]
    #[inline(never)]
    pub(super) fn profile_line<U: Uncore>(&mut self, request: &Request, latency: Time, waiters: Waiters, uncore: &U) {
        let loads = self.window.each(waiters).filter_map(|waiter| match waiter {
            Waiter::Data(row) => Some(row),
            _ => None,
        });
        let Some(row) = loads.last() else { return };
        let Some(address) = self.address_in(row, |access| access.line() == request.line, uncore) else { return };
        let counted = Counted { lines: 1, latency, stall: Time::ZERO };
        if let Some(profile) = &mut self.profile {
            profile.count(profile.site(row), address, request.node, counted);
        }
    }

    /// Counts the time for which the oldest instruction waited for a line of a memory.
    #[cold]
    #[inline(never)]
    pub(super) fn profile_stall<U: Uncore>(&mut self, row: Sequence, node: NodeId, stall: Time, uncore: &U) {
        let Some(address) = self.address_in(row, |access| !access.store, uncore) else { return };
        let counted = Counted { lines: 0, latency: Time::ZERO, stall };
        if let Some(profile) = &mut self.profile {
            profile.count(profile.site(row), address, node, counted);
        }
    }

    /// The virtual address of the first line of a row that `wanted` accepts.
    fn address_in<U: Uncore>(
        &mut self,
        row: Sequence,
        wanted: impl Fn(&LineAccess) -> bool,
        uncore: &U,
    ) -> Option<u64> {
        if !self.window.entry(row).touches {
            return None;
        }
        let span = self.window.touched(row).lines;
        let access = (0..).map_while(|index| self.lines.get(span, index)).find(wanted)?;
        let page = access.page?;
        Some(uncore.mapping(page.id)?.address() | within(access.address, page.size().shift()))
    }
}

fn within(address: Hpa, shift: u32) -> u64 {
    address.get() & ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(profile: &mut Profile, returns_to: u64) {
        profile.branched(Branch::Call, Outcome { next: returns_to, target: 0 });
    }

    fn returns(profile: &mut Profile, target: u64) {
        profile.branched(Branch::Return, Outcome { next: 0, target });
    }

    fn chain(profile: &Profile, row: Sequence) -> Vec<u64> {
        let mut context = profile.site(row).context;
        let mut chain = Vec::new();
        while context != OUTERMOST {
            chain.push(profile.contexts[context as usize].returns_to);
            context = profile.contexts[context as usize].caller;
        }
        chain
    }

    #[test]
    fn a_row_has_the_calls_that_had_not_returned_at_its_dispatch() {
        let mut profile = Profile::new(64);
        call(&mut profile, 10);
        call(&mut profile, 20);
        profile.begin(0, 0x1000);
        returns(&mut profile, 20);
        profile.begin(1, 0x2000);
        call(&mut profile, 20);
        profile.begin(2, 0x1000);
        assert_eq!((chain(&profile, 0), chain(&profile, 1)), (vec![20, 10], vec![10]));
        assert_eq!(profile.site(0), profile.site(2), "the same calls are one context");
        // longjmp ends two calls at once.
        returns(&mut profile, 10);
        profile.begin(3, 0x3000);
        assert_eq!(chain(&profile, 3), Vec::<u64>::new());
    }

    #[test]
    fn the_kernel_is_above_the_program_and_leaves_its_calls_as_they_were() {
        let mut profile = Profile::new(64);
        call(&mut profile, 10);
        profile.begin(0, 0x1000);
        profile.begin(1, 0xffff_ffff_8100_0000);
        call(&mut profile, 0xffff_ffff_8100_0005);
        profile.begin(2, 0xffff_ffff_8200_0000);
        assert_eq!(chain(&profile, 2), [0xffff_ffff_8100_0005, 10]);
        profile.begin(3, 0x1002);
        assert_eq!(chain(&profile, 3), [10]);
    }

    #[test]
    fn an_instruction_that_repeats_has_all_its_rows() {
        let mut profile = Profile::new(8);
        profile.begin(3, 0x1000);
        profile.fill(3, 6);
        profile.begin(6, 0x2000);
        let instructions = [3, 4, 5, 6].map(|row| profile.site(row).instruction);
        assert_eq!(instructions, [0x1000, 0x1000, 0x1000, 0x2000]);
    }

    #[test]
    fn too_many_places_are_told_apart_less_finely_and_none_is_lost() {
        let mut profile = Profile::new(8);
        let counted = Counted { lines: 1, latency: Time::from_ps(2), stall: Time::from_ps(3) };
        let lines = MOST_ENTRIES as u64 + 1000;
        for line in 0..lines {
            profile.count(Site::default(), line * 64, NodeId(1), counted);
        }
        let mut all = Counted::default();
        profile.entries().for_each(|(_, counted)| all.add(*counted));
        assert!(profile.entries.len() <= MOST_ENTRIES && profile.granule_bytes() == 128);
        assert_eq!((all.lines, all.stall), (lines, Time::from_ps(3 * lines)));
    }
}
