//! Tests of sets by hand: policies, the closed form of LRU, and the example that SRRIP's paper prints.

use super::*;
use crate::addr::LINE_BYTES;
use crate::cache::{CoreId, ReferenceKind};

/// A load that no instruction asks for.
const LOAD: Reference = Reference { kind: ReferenceKind::Load, core: CoreId(0), instruction: None };

fn line(number: u64) -> Hpa {
    Hpa::new(number * LINE_BYTES)
}

/// Touch the line in its set, or let it in: whether it was there.
fn hit(tags: &mut Tags, set: usize, number: u64) -> bool {
    let hit = tags.touch(set, line(number), LOAD).is_some();
    if !hit {
        tags.insert(set, line(number), LineState::Exclusive, LOAD);
    }
    hit
}

#[test]
fn the_line_unused_longest_leaves() {
    // Two ways, one set: a b a c evicts b (LRU by hand).
    let mut tags = Tags::new(1, 2, Replacement::Lru);
    assert_eq!(tags.insert(0, line(1), LineState::Exclusive, LOAD), None);
    assert_eq!(tags.insert(0, line(2), LineState::Modified, LOAD), None);
    assert!(tags.touch(0, line(1), LOAD).is_some());
    let victim = Victim { line: line(2), changed: true };
    assert_eq!(tags.insert(0, line(3), LineState::Shared, LOAD), Some(victim));
    assert!(tags.find(0, line(1)).is_some() && tags.find(0, line(2)).is_none());
}

#[test]
fn a_cyclic_walk_misses_under_lru_as_the_closed_form_says() {
    // A cycle of n lines over s sets puts q + 1 lines into r sets and q into the others (n = q s + r). A set with no
    // more lines than ways misses each once; one with more misses all, always.
    for (sets, ways) in [(1u64, 8u32), (16, 4), (64, 12)] {
        for lines in [
            1,
            sets,
            sets * u64::from(ways) - 1,
            sets * u64::from(ways),
            sets * u64::from(ways) + 3,
            3 * sets * u64::from(ways),
        ] {
            const ROUNDS: u64 = 5;
            let (q, r) = (lines / sets, lines % sets);
            let of_set = |held: u64| if held <= u64::from(ways) { held } else { held * ROUNDS };
            let wanted = r * of_set(q + 1) + (sets - r) * of_set(q);
            let mut tags = Tags::new(sets as usize, ways, Replacement::Lru);
            let misses = (0..ROUNDS * lines).filter(|turn| {
                let number = turn % lines;
                !hit(&mut tags, (number % sets) as usize, number)
            });
            assert_eq!(misses.count() as u64, wanted, "{lines} lines over {sets} sets of {ways} ways");
        }
    }
}

#[test]
fn srrip_keeps_what_is_in_use_as_its_paper_shows() {
    // Jaleel et al., ISCA 2010 (DOI 10.1145/1815961.1815971), figure 3: a1 a2 a2 a1 b1 b2 b3 b4 a1 a2 in four ways.
    // 2-bit SRRIP with hit priority has the last two, LRU has lost them.
    let accesses = [1, 2, 2, 1, 11, 12, 13, 14, 1, 2];
    let run = |policy| {
        let mut tags = Tags::new(1, 4, policy);
        (accesses.map(|number| hit(&mut tags, 0, number)), tags)
    };
    let (hits, tags) = run(Replacement::Srrip);
    assert_eq!(hits, [false, false, true, true, false, false, false, false, true, true]);
    // The set that the figure ends with: a1, a2, b3, b4 with the values 0, 0, 2, 2.
    let wanted = [(1, 0), (2, 0), (13, 2), (14, 2)];
    for (entry, (number, value)) in tags.rows.iter().zip(wanted) {
        assert!(entry.holds(line(number)) && entry.rereference() == value, "{entry:?} for line {number}, {value}");
    }
    let (hits, _) = run(Replacement::Lru);
    assert_eq!(hits, [false, false, true, true, false, false, false, false, false, false]);
}

#[test]
fn qlru_has_the_hits_of_nanobenchs_simulator() {
    // QLRU_H00_M1_R0_U1 of nanoBench (tools/CacheAnalyzer/cacheSim.py), run on these accesses.
    let mut tags = Tags::new(1, 4, Replacement::Qlru);
    let hits = [1, 2, 3, 4, 1, 5, 6, 1, 4, 7, 8, 1, 5].map(|number| hit(&mut tags, 0, number));
    let wanted = [false, false, false, false, true, false, false, true, true, false, false, true, false];
    assert_eq!(hits, wanted);
    for (entry, (number, age)) in tags.rows.iter().zip([(1, 1), (7, 3), (8, 2), (5, 1)]) {
        assert!(entry.holds(line(number)) && entry.rereference() == age, "{entry:?} for line {number}, {age}");
    }
    // A cycle of so many lines through 15 ways: its hits in rounds 201 to 400. LRU has none.
    for (lines, wanted) in [(16, 2362), (17, 2024), (20, 1200)] {
        let mut tags = Tags::new(1, 15, Replacement::Qlru);
        let hits: Vec<bool> = (0..400 * lines).map(|turn| hit(&mut tags, 0, turn % lines)).collect();
        assert_eq!(hits[200 * lines as usize..].iter().filter(|hit| **hit).count(), wanted, "{lines} lines");
    }
}

#[test]
fn an_emptied_way_is_taken_before_a_line_leaves() {
    for policy in Replacement::ALL {
        let mut tags = Tags::new(1, 4, policy);
        for number in 1..=4 {
            assert!(!hit(&mut tags, 0, number));
        }
        assert!(tags.remove(0, line(2)).is_some() && tags.remove(0, line(2)).is_none(), "{policy:?}");
        assert_eq!(tags.insert(0, line(5), LineState::Exclusive, LOAD), None, "{policy:?}");
        assert_eq!(tags.len(), 4);
        assert!(tags.insert(0, line(6), LineState::Exclusive, LOAD).is_some(), "{policy:?}");
    }
}

#[test]
fn the_three_states_of_a_copy_are_kept_apart_from_its_line() {
    let mut tags = Tags::new(1, 1, Replacement::Srrip);
    tags.insert(0, line(7), LineState::Exclusive, LOAD);
    for state in [LineState::Shared, LineState::Modified, LineState::Exclusive] {
        let entry = tags.touch(0, line(7), LOAD).unwrap();
        entry.set_state(state);
        assert_eq!((entry.state(), entry.holds(line(7)), entry.holds(line(6))), (state, true, false));
    }
}
