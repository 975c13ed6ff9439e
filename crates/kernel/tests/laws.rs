//! Laws that hold for any simulation, whatever is simulated.

use cxlab_kernel::{Credits, EventQueue, Grant, Server, Slab, Stream, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// How far ahead an event is scheduled `[ps]`, at the edges of slots and laps too; or the next one is taken.
fn step() -> impl Strategy<Value = Option<u64>> {
    let edges = [0, 1, 511, 512, 513, 1_024, 2_096_640, 2_097_151, 2_097_152, 2_097_153, 4_194_304, 1_000_000_000];
    prop_oneof![
        3 => prop::sample::select(edges.to_vec()).prop_map(Some),
        3 => (0u64..4_000).prop_map(Some),
        2 => (0u64..5_000_000).prop_map(Some),
        6 => Just(None),
    ]
}

proptest! {
    #[test]
    fn events_come_in_time_order_and_in_the_order_scheduled_at_one_instant(times in prop::collection::vec(0u64..50, 1..200)) {
        let mut queue = EventQueue::new();
        for (index, at) in times.iter().enumerate() {
            queue.schedule(Time::from_ns(*at), index);
        }
        let mut expected: Vec<_> = times.iter().copied().enumerate().collect();
        expected.sort_by_key(|(_, at)| *at); // stable: ties keep their order
        for (index, at) in expected {
            prop_assert_eq!(queue.pop(), Some((Time::from_ns(at), index)));
        }
        prop_assert!(queue.is_empty());
    }

    #[test]
    fn events_that_are_scheduled_while_others_pass_keep_the_order(steps in prop::collection::vec(step(), 1..400)) {
        // An ordered map is the reference: it knows nothing of laps, slots and heaps.
        let (mut queue, mut reference) = (EventQueue::new(), BTreeMap::new());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Some(ahead) => {
                    let at = queue.now() + Time::from_ps(ahead);
                    queue.schedule(at, number);
                    reference.insert((at, number), ());
                }
                None => {
                    let wanted = reference.pop_first().map(|((at, number), ())| (at, number));
                    prop_assert_eq!(queue.pop(), wanted);
                }
            }
            prop_assert_eq!(queue.len(), reference.len());
            let (mut shown, mut wanted): (Vec<_>, Vec<_>) =
                (queue.iter().copied().collect(), reference.keys().map(|(_, number)| *number).collect());
            shown.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(shown, wanted);
            let next = reference.first_key_value().map(|(key, ())| *key);
            prop_assert_eq!((queue.next_at(), queue.next()), (next.map(|(at, _)| at), next.map(|(_, number)| number)));
        }
        while let Some(((at, number), ())) = reference.pop_first() {
            prop_assert_eq!(queue.pop(), Some((at, number)));
        }
        prop_assert!(queue.is_empty() && queue.pop().is_none());
    }

    #[test]
    fn a_server_is_never_in_two_places(arrivals in prop::collection::vec((0u64..20, 1u64..10), 1..100)) {
        let (mut server, mut now, mut free, mut total) = (Server::default(), 0, 0, 0);
        for (gap, busy) in arrivals {
            now += gap;
            let start = server.reserve(Time::from_ns(now), Time::from_ns(busy));
            prop_assert_eq!(start, Time::from_ns(now.max(free))); // Lindley's recursion
            free = now.max(free) + busy;
            total += busy;
        }
        prop_assert_eq!(server.busy(), Time::from_ns(total));
    }

    #[test]
    fn credits_are_conserved_and_waiters_woken_in_order(total in 1u32..5, takes in prop::collection::vec(any::<bool>(), 1..200)) {
        let mut credits = Credits::new(total);
        let (mut held, mut queue, mut name) = (0u32, std::collections::VecDeque::new(), 0u32);
        for take in takes {
            if take {
                name += 1;
                match credits.take(name) {
                    Grant::Now => held += 1,
                    Grant::Queued => { prop_assert_eq!(held, total); queue.push_back(name); }
                }
            } else if held > 0 {
                let woken = credits.give_back();
                prop_assert_eq!(woken, queue.pop_front());
                held -= u32::from(woken.is_none());
            }
            prop_assert_eq!(credits.held(), held);
            prop_assert_eq!(credits.waiting(), queue.len());
        }
    }
}

#[test]
#[should_panic(expected = "scheduled when")]
fn the_past_cannot_be_scheduled() {
    let mut queue = EventQueue::new();
    queue.schedule(Time::from_ns(2), ());
    queue.pop();
    queue.schedule(Time::from_ns(1), ());
}

#[test]
fn a_slab_gives_a_row_back_and_uses_its_place_again() {
    let mut slab = Slab::new();
    let (a, b) = (slab.insert("a"), slab.insert("b"));
    assert_eq!((slab[a], slab[b], slab.len()), ("a", "b", 2));
    assert_eq!(slab.remove(a), "a");
    assert_eq!(slab.insert("c"), a);
    assert_eq!(slab.iter().copied().collect::<Vec<_>>(), ["c", "b"]);
}

#[test]
fn a_stream_depends_on_its_name_and_seed_alone() {
    let numbers = |seed, name| {
        let mut s = Stream::new(seed, name);
        [s.next_u64(), s.next_u64()]
    };
    assert_eq!(numbers(1, "media"), numbers(1, "media"));
    assert_ne!(numbers(1, "media"), numbers(1, "link"));
    assert_ne!(numbers(1, "media"), numbers(2, "media"));
    let mut stream = Stream::new(7, "uniform");
    let mean = (0..10_000).map(|_| stream.below(100) as f64).sum::<f64>() / 10_000.0;
    assert!((mean - 49.5).abs() < 1.5, "{mean}"); // 5 standard errors of the mean of a uniform 0..100
}
