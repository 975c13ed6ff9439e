//! The write log of a cache: what requests cost with it, what compaction gives to the flash, and that no written line is lost.

use std::collections::HashMap;

use cxlab_kernel::{Bytes, Stream, Time};
use cxlab_model::config;
use cxlab_model::fabric::device_cache::WriteLog;
use cxlab_model::fabric::{DeviceCacheSpec, WriteLogSpec};
use cxlab_model::mem::{AccessKind, Extent};

use crate::harness::{Bench, DRAM, FLASH, LOOK_UP, PAGE, given, spec};

const INDEX: Time = Time::from_ns(30);
const LINE: u64 = 64;

fn log(lines_of_a_half: u64) -> WriteLogSpec {
    WriteLogSpec {
        capacity: given(Bytes::new(2 * lines_of_a_half * LINE)),
        look_up: given(INDEX),
        merge_buffer: given(8),
    }
}

/// A cache of 16 pages in sets of 8, and a log.
fn logged(lines_of_a_half: u64) -> DeviceCacheSpec {
    spec(|spec| {
        spec.capacity.value = Bytes::new(16 * PAGE);
        spec.write_log = Some(log(lines_of_a_half));
    })
}

#[test]
fn a_write_that_misses_fetches_no_page() {
    let plain = Bench::without_cache().alone(0, AccessKind::Write);
    let mut bench = Bench::new(&logged(64));
    assert_eq!(bench.alone(0, AccessKind::Write), plain + LOOK_UP);
    assert_eq!((bench.flash().accesses.len(), bench.stats().fills.get(), bench.log().appended.get()), (0, 0, 1));
}

#[test]
fn a_line_is_read_from_the_log_until_its_page_comes_and_takes_it_in() {
    let plain = Bench::without_cache().alone(0, AccessKind::Read);
    let mut bench = Bench::new(&logged(64));
    bench.alone(5 * LINE, AccessKind::Write);
    // The index answers after the directory, as both are asked at once.
    assert_eq!(bench.alone(5 * LINE, AccessKind::Read), plain + INDEX);
    assert_eq!((bench.log().hits.get(), bench.flash().accesses.len()), (1, 0));
    let reads = bench.dram().count(AccessKind::Read);
    assert_eq!(bench.alone(0, AccessKind::Read), plain - DRAM + INDEX + FLASH);
    // For the page's sake the DRAM is read once, where the log has the line.
    assert_eq!(bench.dram().count(AccessKind::Read) - reads, 1);
    assert_eq!(bench.alone(5 * LINE, AccessKind::Read), plain + LOOK_UP);
    assert_eq!((bench.flash().count(AccessKind::Read), bench.log().hits.get()), (1, 1));
}

#[test]
fn a_write_of_a_page_that_is_there_goes_to_the_page_and_to_the_log() {
    let mut bench = Bench::new(&logged(64));
    bench.alone(0, AccessKind::Read);
    let writes = bench.dram().count(AccessKind::Write);
    bench.alone(0, AccessKind::Write);
    assert_eq!(bench.dram().count(AccessKind::Write) - writes, 2);
    // A set has 8 ways, and every other page is of it: the page leaves, and nothing is written back.
    (1..=8).for_each(|number| {
        bench.alone(number * 2 * PAGE, AccessKind::Read);
    });
    assert_eq!((bench.stats().evictions.get(), bench.stats().write_backs.get()), (1, 0));
    assert_eq!(bench.flash().count(AccessKind::Write), 0);
    bench.alone(0, AccessKind::Read);
    assert_eq!(bench.log().hits.get(), 1, "the line is in the log alone");
}

#[test]
fn a_full_half_gives_each_of_its_pages_to_the_flash_once() {
    let mut bench = Bench::new(&logged(64));
    bench.alone(3 * PAGE, AccessKind::Read);
    let reads = bench.flash().count(AccessKind::Read);
    for number in 0..64 {
        // 16 pages, four lines of each.
        bench.alone(number % 16 * PAGE + number / 16 * LINE, AccessKind::Write);
    }
    let mut given: Vec<u64> = bench.flash().accesses.iter().filter(|a| a.1 == AccessKind::Write).map(|a| a.2).collect();
    given.sort_unstable();
    assert_eq!(given, (0..16).map(|page| page * PAGE).collect::<Vec<_>>());
    // The page that is in the cache is not read from the flash.
    assert_eq!(bench.flash().count(AccessKind::Read) - reads, 15);
    let stats = bench.log();
    assert_eq!((stats.compactions.get(), stats.merged_pages.get(), stats.merged_lines.get()), (1, 16, 64));
    assert_eq!(stats.page_reads.get(), 15);
}

#[test]
fn a_line_that_is_written_again_is_merged_once() {
    let mut bench = Bench::new(&logged(64));
    (0..64).for_each(|number| {
        bench.alone(number % 2 * LINE, AccessKind::Write);
    });
    let stats = bench.log();
    assert_eq!((stats.appended.get(), stats.merged_pages.get(), stats.merged_lines.get()), (64, 1, 2));
}

/// Writes to random lines of so many pages, each alone.
fn write_at_random(bench: &mut Bench, pages: u64, writes: u64) {
    let mut random = Stream::new(9, "writes");
    for _ in 0..writes {
        bench.alone(random.below(pages) * PAGE + random.below(64) * LINE, AccessKind::Write);
    }
}

/// L lines fall on P (1 - (1 - 1/P)^L) of P pages in the mean: a compaction programs so many.
#[test]
fn a_compaction_programs_as_many_pages_as_random_lines_fall_on() {
    for (pages, lines) in [(64_u64, 512_u64), (256, 512), (4_096, 512)] {
        let mut bench = Bench::new(&logged(lines));
        write_at_random(&mut bench, pages, 40 * lines);
        let stats = bench.log();
        let met = 1.0 - (1.0 - 1.0 / pages as f64).powi(lines as i32);
        let wanted = pages as f64 * met;
        let found = stats.merged_pages.get() as f64 / stats.compactions.get() as f64;
        assert_eq!(stats.compactions.get(), 40);
        assert_eq!(bench.flash().count(AccessKind::Write) as u64, stats.merged_pages.get());
        assert!((found / wanted - 1.0).abs() < 0.01, "{pages} pages: {found:.1} a compaction, by the law {wanted:.1}");
    }
}

/// Without a log a page of a cache of C pages leaves changed at each miss: 1 - C/P programs for a line that is written.
#[test]
fn a_log_programs_fewer_pages_for_each_written_line() {
    let (pages, lines, writes) = (256_u64, 512_u64, 20_480_u64);
    let programs = |spec: &DeviceCacheSpec| {
        let mut bench = Bench::new(spec);
        write_at_random(&mut bench, pages, writes);
        bench.flash().count(AccessKind::Write) as f64 / writes as f64
    };
    // As much DRAM as the cache and the log of the other one together: 16 pages, and 1024 lines, which are 16 more.
    let without = programs(&spec(|spec| spec.capacity.value = Bytes::new(32 * PAGE)));
    let with = programs(&logged(lines));
    let by_law = pages as f64 * (1.0 - (1.0 - 1.0 / pages as f64).powi(lines as i32)) / lines as f64;
    assert!((without / (1.0 - 32.0 / pages as f64) - 1.0).abs() < 0.02, "{without:.3}");
    assert!((with / by_law - 1.0).abs() < 0.02, "{with:.3} for {by_law:.3}");
    assert!(with < without / 2.0);
}

#[test]
fn what_writers_wait_for_is_bounded_by_the_queue_of_the_device() {
    let queue = u64::from(*config::device("a1000").unwrap().device.write_queue);
    let (lines, merges, writes) = (64, 8, 2_048);
    let mut bench = Bench::new(&logged(lines));
    // Each line of a page of its own, all at once: far more than both halves hold.
    (0..writes).for_each(|number| bench.ask(number * PAGE, AccessKind::Write, number as u32));
    assert_eq!(bench.run().len() as u64, writes);
    let stats = bench.log();
    assert_eq!((stats.appended.get(), stats.compactions.get()), (writes, writes / lines));
    // A place of the merge buffer reads a page, then its line, and writes it. A half has 64 pages for 8 places.
    let compaction = (FLASH * 2 + DRAM).as_ns() * (lines / merges) as f64;
    assert!((stats.compaction_time.mean_ns() / compaction - 1.0).abs() < 0.001);
    // Who waits keeps an entry of the device's write queue. Each compaction makes room for a half.
    let most = compaction * (queue.div_ceil(lines) + 1) as f64;
    let longest = stats.writers_waited.quantile_ns(1.0);
    assert!((compaction..=most).contains(&longest), "{longest} of at most {most}");
    assert!(stats.writers_waited.count() <= writes - 2 * lines);
}

#[test]
fn a_part_of_a_line_needs_the_rest_of_it() {
    let mut bench = Bench::new(&logged(64));
    bench.ask_for(0, AccessKind::Write, Extent::Part, 0);
    bench.run();
    assert_eq!((bench.flash().count(AccessKind::Read), bench.log().appended.get()), (1, 1));
    // Of another page the log has the line: its rest is there.
    bench.alone(PAGE, AccessKind::Write);
    bench.ask_for(PAGE, AccessKind::Write, Extent::Part, 0);
    bench.run();
    assert_eq!((bench.flash().count(AccessKind::Read), bench.log().appended.get()), (1, 3));
}

/// Slots of the log and pages of the flash hold versions here, kept by the test: each read must find the last one written.
#[test]
fn the_newest_version_of_each_line_is_in_the_log_or_in_the_flash() {
    let mut random = Stream::new(5, "log");
    let mut log = WriteLog::new(&log(128), Bytes::mib(1), Time::ZERO);
    let (mut slots, mut flash, mut shadow) = (HashMap::new(), HashMap::new(), HashMap::new());
    let (mut begun, mut found, mut now) = (Vec::new(), 0, Time::ZERO);
    for version in 0..200_000_u64 {
        now += Time::from_ns(1);
        let (page, line) = (random.below(60) as u32, random.below(16) as u16);
        if log.has_room() && random.below(3) > 0 {
            slots.insert(log.append(now, page, line).get(), (page, line, version));
            shadow.insert((page, line), version);
        }
        if random.below(2) == 0 {
            begun.extend(log.next_page());
        }
        if random.below(3) == 0 && !begun.is_empty() {
            let page = begun.swap_remove(random.below(begun.len() as u64) as usize);
            for slot in log.old_lines_of(page) {
                let (of, line, version) = slots[&slot.get()];
                assert_eq!(of, page);
                flash.insert((page, line), version);
            }
            log.taken(now, page);
        }
        let (page, line) = (random.below(60) as u32, random.below(16) as u16);
        let wanted = shadow.get(&(page, line)).copied();
        match log.find(page, line) {
            Some(slot) => {
                found += 1;
                assert_eq!(slots[&slot.get()], (page, line, wanted.unwrap()));
            }
            None => assert_eq!(flash.get(&(page, line)).copied(), wanted),
        }
        for slot in log.lines_of(page) {
            let (of, line, version) = slots[&slot.get()];
            assert_eq!((of, shadow[&(page, line)]), (page, version));
        }
    }
    assert!(found > 10_000 && log.stats.compactions.get() > 100, "{found}, {}", log.stats.compactions.get());
}

/// A page is never read from the flash while compaction writes it: a read would bring what the log has just lost.
#[test]
fn no_written_line_is_lost_between_log_and_flash() {
    let mut bench = Bench::new(&logged(64));
    let mut random = Stream::new(6, "requests");
    let (mut written, mut done) = (HashMap::new(), 0);
    for _ in 0..200 {
        for tag in 0..64 {
            let dpa = random.below(80) * PAGE + random.below(8) * LINE;
            let (kind, extent) = match random.below(8) {
                0..=3 => (AccessKind::Read, Extent::Line),
                4 => (AccessKind::Write, Extent::Part),
                _ => (AccessKind::Write, Extent::Line),
            };
            bench.ask_for(dpa, kind, extent, tag);
            if kind == AccessKind::Write {
                written.insert(dpa, bench.host.queue.now());
            }
        }
        done += bench.run().len();
    }
    assert_eq!(done, 64 * 200);
    let mut reading: HashMap<u64, Time> = HashMap::new();
    for (at, kind, page) in &bench.flash().accesses {
        match kind {
            AccessKind::Read => drop(reading.insert(*page, *at + FLASH)),
            AccessKind::Write => {
                assert!(reading.get(page).is_none_or(|end| end <= at), "page {page:#x} is read while it is written");
            }
        }
    }
    // Pages that were never written take the whole cache: what is read from now on comes from the log or the flash.
    (1_000..1_016).for_each(|page| {
        bench.alone(page * PAGE, AccessKind::Read);
    });
    let last_write = |bench: &Bench, page: u64| {
        let writes = bench.flash().accesses.iter().filter(|access| access.1 == AccessKind::Write && access.2 == page);
        writes.map(|access| access.0).max()
    };
    let mut of_flash = 0;
    for (dpa, since) in written {
        let reads = bench.flash().count(AccessKind::Read);
        bench.alone(dpa, AccessKind::Read);
        if bench.flash().count(AccessKind::Read) > reads {
            of_flash += 1;
            assert!(last_write(&bench, dpa / PAGE * PAGE).is_some_and(|at| at > since), "{dpa:#x} is lost");
        }
        // Only this page is in the cache now that was written; it must not answer for its other lines.
        (1_000..1_016).for_each(|page| {
            bench.alone(page * PAGE, AccessKind::Read);
        });
    }
    assert!(of_flash > 100);
}

#[test]
fn a_log_that_cannot_be_is_named_by_its_key() {
    for (change, key) in [
        ((|log| log.capacity.value = Bytes::new(192)) as fn(&mut WriteLogSpec), "cache.write_log.capacity"),
        (|log| log.merge_buffer.value = 0, "cache.write_log.merge_buffer"),
    ] {
        let mut spec = logged(64);
        change(spec.write_log.as_mut().unwrap());
        let error = spec.check(Bytes::mib(1024)).unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
}
