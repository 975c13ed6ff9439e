//! Mixes at the memory, and what load threads touch and count.

mod common;

use common::buffer;
use cxlab_kernel::Bytes;
use cxlab_memo::buffer::Buffer;
use cxlab_memo::instruction::{BATCH, Instruction};
use cxlab_memo::isa::{Avx2, Isa};
use cxlab_memo::mix::{Load, Mix, Store};
use cxlab_memo::stream_kernel::Kernel;
use cxlab_memo::traffic::{Counter, Pattern, Traffic};
use cxlab_memo::with_vector;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

proptest! {
    /// An ordinary store is a read and a write at the memory, a non-temporal one a write: the lines of a round have the mix.
    #[test]
    fn a_round_has_the_mix(reads in 0u32..=100, writes in 0u32..=100, nontemporal: bool) {
        prop_assume!(reads + writes > 0 && (nontemporal || writes <= reads));
        let store = if nontemporal { Store::Nontemporal } else { Store::Ordinary };
        let round = Mix::parse(&format!("{reads}:{writes}")).unwrap().round(store).unwrap();
        let ownership = if nontemporal { 0 } else { round.stores };
        let (read, written) = (round.loads + ownership, round.stores);
        prop_assert_eq!(read + written, round.lines);
        prop_assert_eq!(u64::from(read) * u64::from(writes), u64::from(written) * u64::from(reads));
        prop_assert!(round.lines >= 8);
    }
}

#[test]
fn mixes_that_are_none() {
    for text in ["", "1", "2:0:1", "0:0", "-1:2", "1:x", "101:1", "1.5:1"] {
        let error = Mix::parse(text).expect_err(text).to_string();
        assert!(error.contains("--mix") && error.contains("R:W"), "{error}");
    }
    let error = Mix::parse("1:2").unwrap().round(Store::Ordinary).expect_err("past half").to_string();
    assert!(error.contains("50 % writes") && error.contains("nontemporal"), "{error}");
}

/// The words of a buffer, each of which holds its address until a store writes its line's address there.
fn words(buffer: &Buffer) -> Vec<(usize, usize)> {
    let start = buffer.start().cast::<usize>();
    // SAFETY: the words are the buffer's, and no thread is at work on them.
    (0..buffer.lines() * 8).map(|i| unsafe { (start.add(i) as usize, start.add(i).read()) }).collect()
}

fn untouched(words: &[(usize, usize)]) -> bool {
    words.iter().all(|(address, value)| address == value)
}

fn stored(words: &[(usize, usize)]) -> bool {
    words.iter().all(|(address, value)| address / 64 * 64 == *value)
}

fn lines_moved(traffic: &Traffic, buffer: &Buffer) -> u64 {
    let (counter, stop) = (Counter::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the instruction set is detected; nothing else touches the buffer meanwhile.
            with_vector!(Isa::detect().unwrap(), V => unsafe { traffic.run::<V>(buffer, 1, &counter, &stop) });
        });
        while counter.lines() < 200_000 {
            std::thread::yield_now();
        }
        stop.store(true, Relaxed);
    });
    counter.lines()
}

/// 1024 lines: in 200000 random draws the chance to miss one is below 1024 e^-90.
#[test]
fn loads_change_nothing_and_stores_fill_their_half() {
    for pattern in [Pattern::Sequential, Pattern::Random] {
        for load in [Load::Ordinary, Load::Nontemporal] {
            for (store, mix) in [(Store::Ordinary, "1:0"), (Store::Ordinary, "2:1"), (Store::Nontemporal, "1:1")] {
                let round = Mix::parse(mix).unwrap().round(store).unwrap();
                let traffic = Traffic { round, load, store, pattern, delay: 3 };
                let buffer = buffer(Bytes::kib(64));
                let lines = lines_moved(&traffic, &buffer);
                assert_eq!(lines % u64::from(round.lines), 0, "whole rounds are counted");
                let words = words(&buffer);
                let half = if round.stores == 0 { words.len() } else { words.len() / 2 };
                assert!(untouched(&words[..half]), "{traffic:?}: the read region changed");
                assert!(stored(&words[half..]), "{traffic:?}: a line of the write region was left out");
            }
        }
    }
}

/// Loads change nothing; stores write the batch's lines whole, and no other. AVX2 is what every CPU here has.
#[test]
fn a_batch_touches_its_lines_only() {
    let all = Instruction::FOUR.into_iter().chain([Instruction::StoreAndWriteBack]);
    for instruction in all.filter(|instruction| instruction.check().is_ok()) {
        let buffer = buffer(Bytes::kib(4));
        let lines: [*mut u8; BATCH] = std::array::from_fn(|i| buffer.line(2 * i));
        // SAFETY: AVX2 is the least that memo runs on, the rest was checked; the lines are mapped, distinct, and this test's.
        let ticks = unsafe { instruction.time_batch::<Avx2>(&lines) };
        assert!(ticks.0 > 0, "{instruction}: the counter runs");
        for (index, words) in words(&buffer).chunks(8).enumerate() {
            let stores = !matches!(instruction, Instruction::Load | Instruction::NontemporalLoad);
            let is_stored = stores && index % 2 == 0 && index / 2 < BATCH;
            assert!(if is_stored { stored(words) } else { untouched(words) }, "{instruction}, line {index}");
        }
    }
}

/// stream.c: c = a; b = 3 c; c = a + b; a = b + 3 c, from a = 1.
#[test]
fn stream_kernels_by_hand() {
    let (mut a, mut b, mut c) = (vec![1.0; 64], vec![2.0; 64], vec![0.0; 64]);
    let after = [(1.0, 2.0, 1.0), (1.0, 3.0, 1.0), (1.0, 3.0, 4.0), (15.0, 3.0, 4.0)];
    for (kernel, (x, y, z)) in Kernel::ALL.into_iter().zip(after) {
        kernel.run(&mut a, &mut b, &mut c);
        let all = |array: &[f64], value: f64| array.iter().all(|v| *v == value);
        assert!(all(&a, x) && all(&b, y) && all(&c, z), "{kernel}");
    }
}
