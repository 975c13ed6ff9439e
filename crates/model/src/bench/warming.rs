//! Warming: caches, page tables and devices are left as the kernels leave them after a long time, in no time.
//!
//! Warming does not depend on how long a thread waits between its accesses. With each delay a thread touches the same lines in
//! the same order.

use cxlab_kernel::Stream;

use super::Threads;
use super::kernels::Thread;
use super::round::Round;
use super::traffic::Traffic;
use crate::addr::{Hpa, LINES_PER_PAGE};
use crate::feed::{Action, Kernel, Synthetic};
use crate::machine::Machine;
use crate::translation::AddressSpace;

/// Arrays of more than so many LLCs leave nothing in it for the next round. With 15 ways and a mean of 30 lines a
/// set, one set in 1,700 keeps its lines (Poisson).
const MOST_ARRAYS: u64 = 2;

/// Rounds through arrays after which the LLC keeps the same share of them in each round. Under QLRU the share of hits
/// rises from 34 % in the second round to 57 % in the 13th, and stays there. Source:
/// crates/model/src/cache/replacement/qlru.rs, with 15 ways and a mean of 16.7 lines a set.
const ROUNDS: u32 = 13;

/// Leave the page tables where accesses all over the buffers leave them after a long time, with lines of data between.
pub fn warm_tables(machine: &mut Machine, threads: &Threads, space: &AddressSpace, seed: u64) {
    let mut random = Stream::new(seed, "page tables");
    for (core, thread) in threads.iter().enumerate() {
        // Each line of entries is met four times in the mean: one in fifty (e^-4) never.
        for _ in 0..4 * space.tables.lines_for(thread.kernel.lines()) {
            let line = thread.kernel.anywhere(&mut random);
            for entry in space.entries(line) {
                machine.warm(core, entry.line(), false);
            }
            machine.warm(core, line, false);
        }
    }
}

/// Leave the devices' caches as the threads do after two rounds over their buffers, all at one speed.
pub fn warm_device_caches(machine: &mut Machine, threads: &Threads) {
    let rounds: Vec<Round<'_>> = threads.iter().flat_map(|thread| thread.kernel.rounds()).collect();
    let pages = rounds.iter().map(|round| round.lines / LINES_PER_PAGE).max().unwrap_or(0);
    for page in 0..2 * pages {
        for round in &rounds {
            let line = round.page(page);
            let logged = machine.warm_device_cache(line, round.stores);
            if logged && round.reads {
                // The log has the line; its page came when the store read it.
                machine.warm_device_cache(line, false);
            }
        }
    }
}

/// A load thread whose lines come into the caches.
fn cached(kernel: &Thread) -> Option<&Traffic> {
    match kernel {
        Thread::Traffic(traffic) if traffic.loads() || traffic.stores() => Some(traffic),
        _ => None,
    }
}

/// Leaves the caches as the kernels do after a long time. They are full of the lines that the kernels have stored to.
/// If the LLC keeps some loaded lines until their thread comes round, they hold those too.
pub fn warm(machine: &mut Machine, threads: &mut Threads) {
    let host = &machine.spec().host;
    let lines = |bytes: u64| bytes / crate::addr::LINE_BYTES;
    if let [Synthetic { kernel: Thread::Walk(walk), .. }] = &mut threads[..] {
        // Each line drawn twelve times on average (one of 160,000 is not), or the LLC filled thrice.
        let held = lines(host.l2.capacity.get()) + lines(host.llc.capacity().get());
        for _ in 0..(walk.lines() * 12).min(held * 3) {
            machine.warm(0, walk.draw(), false);
        }
        return;
    }
    let (near, held) = (lines(host.l2.capacity.get()), lines(host.llc.capacity().get()));
    let arrays: u64 = threads.iter().filter_map(|thread| cached(&thread.kernel)).map(Traffic::lines).sum();
    let kept = (1..=MOST_ARRAYS * held).contains(&arrays);
    let fills = |kernel: &Thread| kernel.stores() || (kept && cached(kernel).is_some());
    warm_l2(machine, threads, near, fills);
    let filling: Vec<usize> = (0..threads.len()).filter(|thread| fills(&threads[*thread].kernel)).collect();
    let Some(count) = std::num::NonZeroU64::new(filling.len() as u64) else { return };
    // Half as much again as the LLC holds: by then nearly every set of its hash is full (Poisson).
    let far = if kept { arrays } else { held * 3 / 2 } / count;
    let next = |threads: &mut Threads, thread: usize| {
        std::iter::repeat_with(|| touched(threads[thread].kernel.act())).flatten().next().expect("a kernel goes on")
    };
    if kept {
        let round = (0..far).flat_map(|_| &filling).map(|&thread| next(threads, thread)).collect();
        machine.warm_llc_in_rounds(round, ROUNDS);
    } else {
        for &thread in (0..far).flat_map(|_| &filling) {
            let (line, store) = next(threads, thread);
            machine.warm_llc(line, store);
        }
    }
    for &thread in (0..near).flat_map(|_| &filling) {
        let (line, store) = next(threads, thread);
        machine.warm(thread, line, store);
    }
}

/// Fill L2 of load threads that only load, so that each line they bring has a victim; `fills` says who fills the LLC too.
fn warm_l2(machine: &mut Machine, threads: &mut Threads, lines: u64, fills: impl Fn(&Thread) -> bool) {
    for (core, thread) in threads.iter_mut().enumerate() {
        let Thread::Traffic(traffic) = &thread.kernel else { continue };
        if fills(&thread.kernel) {
            continue;
        }
        let mut left = lines * traffic.accesses();
        while left > 0 {
            let action = thread.kernel.act();
            if let Some((line, store)) = touched(action) {
                machine.warm(core, line, store);
            }
            left -= u64::from(!matches!(action, Action::Delay(_)));
        }
    }
}

/// The line that an access is the first one to.
fn touched(action: Action) -> Option<(Hpa, bool)> {
    let first = |address: Hpa| address == address.line();
    match action {
        Action::Load(line) | Action::Chase(line) => first(line).then_some((line, false)),
        Action::Store(line) => first(line).then_some((line, true)),
        Action::NonTemporal(_)
        | Action::NonTemporalHalf(_)
        | Action::Flush(_)
        | Action::Delay(_)
        | Action::Fence
        | Action::Settle
        | Action::End => None,
    }
}
