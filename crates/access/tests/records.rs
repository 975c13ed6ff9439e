//! Records, the ring between two threads and trace files are read as they were written.

use std::num::{NonZeroU32, NonZeroU64};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::time::Duration;

use cxlab_access::record::{MemoryAccess, RECORD_BYTES};
use cxlab_access::ring::{Reply, Ring, Told};
use cxlab_access::{
    BlockId, Consumer, Draw, Forget, Keep, Mapping, Marker, Page, PageId, PageSize, Peer, Phase, Producer, Record,
    Segment, Vcpu,
};
use proptest::prelude::*;

fn any_record() -> impl Strategy<Value = Record> {
    let access = (0u16..512, 0u8..8, any::<bool>(), 0u64..1 << 52, proptest::option::of(any_page()), any::<bool>())
        .prop_map(|(instruction, size_log2, store, physical, page, device)| {
            Record::Access(MemoryAccess { instruction, size_log2, store, physical, page, device })
        });
    let forget = prop_oneof![
        any_id().prop_map(Forget::Page),
        Just(Forget::Tables),
        (0u16..1 << 12).prop_map(|pcid| Forget::Space { pcid }),
        Just(Forget::Spaces),
        Just(Forget::Everything),
    ];
    prop_oneof![
        (any::<u32>(), 0..512u16).prop_map(|(id, from)| Record::Block { block: BlockId(id), from }),
        access,
        any::<(u32, u64, u16, bool)>().prop_map(|(id, pc, length, alone)| Record::Define {
            block: BlockId(id),
            pc,
            length,
            alone
        }),
        any::<(u64, u8)>().prop_map(|(sequence, lag)| Record::Sync { sequence, lag }),
        (any::<u64>(), 0..1u64 << 46)
            .prop_map(|(sequence, line)| Record::Drain { sequence, owns: NonZeroU64::new(line) }),
        (0u16..512, any::<u64>()).prop_map(|(instruction, sequence)| Record::ClockRead { instruction, sequence }),
        any::<u64>().prop_map(|until_ps| Record::Idle { until_ps }),
        any::<(u64, u32)>().prop_map(|(until_ps, done)| Record::Rest { until_ps, done }),
        any::<u64>().prop_map(|service_ps| Record::Device { service_ps }),
        any::<u64>().prop_map(|span_ps| Record::Rested { span_ps }),
        any::<(u32, u64)>().prop_map(|(number, service_ps)| Record::File { number, service_ps }),
        (any::<u32>(), any::<bool>(), 0..=Segment::MOST as u16, any::<u64>())
            .prop_map(|(number, write, segments, from)| Record::Disk { number, write, segments, from }),
        any::<u64>().prop_map(|sequence| Record::Settle { sequence }),
        (0u16..512).prop_map(|instruction| Record::Cut { instruction }),
        Just(Record::Halt),
        (0..Vcpu::MOST).prop_map(|woken| Record::Wake { woken: Vcpu::new(woken) }),
        Just(Record::Mark { marker: Marker::ProgramStart }),
        (any_id(), any_size(), 0u16..1 << 12, any::<bool>(), any::<bool>(), 2u8..6, proptest::option::of(any_id()))
            .prop_map(|(page, size, pcid, global, upper, reads, replaces)| Record::Page {
                page,
                size,
                pcid,
                global,
                upper,
                reads,
                replaces
            }),
        (0u16..512, forget).prop_map(|(instruction, forget)| Record::Invalidate { instruction, forget }),
        (
            prop_oneof![Just(Phase::Warming), Just(Phase::Detailed), Just(Phase::Measured)],
            0..1u64 << 42,
            prop_oneof![Just(Keep::All), any::<u64>().prop_map(|number| Keep::OneOfEachPair(Draw::of(number)))],
            any::<u64>()
        )
            .prop_map(|(phase, position, keep, idle_ps)| Record::Sample { phase, position, keep, idle_ps }),
        Just(Record::End),
    ]
}

fn any_id() -> impl Strategy<Value = PageId> {
    any::<NonZeroU32>().prop_map(PageId)
}

fn any_size() -> impl Strategy<Value = PageSize> {
    proptest::sample::select(&PageSize::ALL[..])
}

fn any_page() -> impl Strategy<Value = Page> {
    (any_id(), any_size(), any::<u64>()).prop_map(|(id, size, number)| Page::new(id, size, number))
}

#[test]
fn a_page_is_told_with_the_entries_that_a_walk_reads() {
    let entries = [0x1000, 0x2008, 0x3010, 0x4018, 0];
    let mapping = Mapping { size: PageSize::Kib4, pcid: 3, global: false, upper: false, reads: 4, entries };
    let (record, bytes) = Record::of_page(PageId(NonZeroU32::MIN), &mapping, None);
    assert_eq!(record.payload_records() * RECORD_BYTES, bytes.len());
    assert_eq!(Mapping::entries_of(&bytes), Some(entries));
}

proptest! {
    #[test]
    fn a_record_survives_its_sixteen_bytes(record in any_record(), vcpu in 0..Vcpu::MOST) {
        let words = record.encode(Vcpu::new(vcpu));
        prop_assert_eq!(Record::decode(words), Some(record));
        prop_assert_eq!(Vcpu::of(words).index(), vcpu);
        // A trace tells its answers from records by this word.
        prop_assert_ne!(words[0], 15 << 6);
    }
}

#[test]
fn a_marker_is_the_nop_of_the_documentation() {
    let bytes = [0x0f, 0x1f, 0x84, 0x00, 0x00, 0x01, 0xc5, 0x1a];
    assert_eq!(Marker::from_instruction(&bytes), Some(Marker::ProgramStart));
    assert_eq!(Marker::from_instruction(&bytes[..7]), None);
    // A compiler's own 8-byte NOP (Intel SDM, NOP: recommended multi-byte sequences) is no marker.
    assert_eq!(Marker::from_instruction(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]), None);
}

fn shared_memory(bytes: usize) -> OwnedFd {
    // SAFETY: memfd_create gives a new descriptor, which is ours; ftruncate sizes it.
    unsafe {
        let fd = libc::memfd_create(c"ring".as_ptr(), 0);
        assert!(fd >= 0 && libc::ftruncate(fd, bytes as i64) == 0);
        OwnedFd::from_raw_fd(fd)
    }
}

#[test]
fn the_ring_carries_more_than_it_holds_in_order_and_answers() {
    const CAPACITY: usize = 256;
    const COUNT: u64 = 100_000;
    let memory = shared_memory(Ring::bytes(CAPACITY));
    let mut producer = Producer::new(Ring::create(memory.as_fd(), CAPACITY).unwrap());
    let mut consumer = Consumer::new(Ring::open(memory.as_fd()).unwrap());
    // The writing ends stay open for as long as this test runs.
    let pipes = [std::io::pipe().unwrap(), std::io::pipe().unwrap()];
    let [(ours, _writing), (theirs, _also_writing)] = pipes;
    let code: Vec<u8> = (0..37).collect();
    let writer = std::thread::spawn({
        let code = code.clone();
        move || {
            let peer = Peer::new(ours.into());
            let define = Record::Define { block: BlockId(9), pc: 0x1000, length: 37, alone: true };
            producer.define(Vcpu::new(3), define, &code, &peer).unwrap();
            for sequence in 1..=COUNT {
                producer.push(Vcpu::new(3), Record::Sync { sequence, lag: 0 }, &peer).unwrap();
            }
            producer.wait_for(Reply::Sync(Vcpu::new(3)), COUNT, &peer).unwrap()
        }
    });
    let peer = Peer::new(theirs.into());
    let mut next = || consumer.pop_wait(&peer, || false).unwrap();
    let define = Record::decode(next()).unwrap();
    let payload: Vec<u8> = (0..define.payload_records()).flat_map(|_| next().map(u64::to_le_bytes)).flatten().collect();
    assert_eq!(payload.len(), 37usize.next_multiple_of(RECORD_BYTES));
    assert_eq!(payload[..37], code);
    for sequence in 1..=COUNT {
        assert_eq!(Record::decode(next()), Some(Record::Sync { sequence, lag: 0 }));
    }
    // A later answer does not hide the one that is waited for: which is read never depends on who is faster.
    consumer.answer(Reply::Sync(Vcpu::new(3)), COUNT, 777);
    consumer.answer(Reply::Sync(Vcpu::new(3)), COUNT + 1, 778);
    assert_eq!(writer.join().unwrap(), Told::Time { ps: 777, done: 0 });
}

/// Run this thread on that processor from now on.
fn stay_on(processor: usize) {
    // SAFETY: a zeroed set is valid, and the call reads it only.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
    }
}

/// Processor time that this thread has taken until now.
fn processor_time() -> Duration {
    let mut taken = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes into a valid timespec.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut taken) }, 0);
    Duration::new(taken.tv_sec as u64, taken.tv_nsec as u32)
}

#[test]
fn a_wait_leaves_its_processor_to_the_other_side() {
    const QUESTIONS: u64 = 2_000;
    let memory = shared_memory(Ring::bytes(256));
    let mut producer = Producer::new(Ring::create(memory.as_fd(), 256).unwrap());
    let mut consumer = Consumer::new(Ring::open(memory.as_fd()).unwrap());
    let [(ours, _writing), (theirs, _also_writing)] = [std::io::pipe().unwrap(), std::io::pipe().unwrap()];
    // Where this test runs now, for not every container has processor 0.
    // SAFETY: the call has no conditions.
    let processor = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap();
    let asking = std::thread::spawn(move || {
        stay_on(processor);
        let peer = Peer::new(ours.into());
        for sequence in 1..=QUESTIONS {
            producer.push(Vcpu::new(0), Record::Sync { sequence, lag: 0 }, &peer).unwrap();
            producer.wait_for(Reply::Sync(Vcpu::new(0)), sequence, &peer).unwrap();
        }
        processor_time()
    });
    let answering = std::thread::spawn(move || {
        stay_on(processor);
        let peer = Peer::new(theirs.into());
        for sequence in 1..=QUESTIONS {
            consumer.pop_wait(&peer, || false).unwrap();
            consumer.answer(Reply::Sync(Vcpu::new(0)), sequence, 0);
        }
        processor_time()
    });
    // A round of spinning to the end would take each side 40 us and more.
    let each = (asking.join().unwrap() + answering.join().unwrap()) / (2 * QUESTIONS as u32);
    assert!(each < Duration::from_micros(15), "{each:?} a question");
}

#[test]
fn a_ring_that_is_none_is_refused() {
    let memory = shared_memory(Ring::bytes(256));
    assert!(Ring::open(memory.as_fd()).err().unwrap().to_string().contains("no CXLab ring"));
    let small = shared_memory(16);
    assert!(Ring::open(small.as_fd()).err().unwrap().to_string().contains("16 B"));
}

#[test]
fn a_wait_ends_when_the_other_process_does() {
    let memory = shared_memory(Ring::bytes(256));
    let mut producer = Producer::new(Ring::create(memory.as_fd(), 256).unwrap());
    let (reading, writing) = std::io::pipe().unwrap();
    let mut child = std::process::Command::new("sleep").arg("0.1").stdout(writing).spawn().unwrap();
    let peer = Peer::new(reading.into());
    assert!(peer.is_alive());
    assert!(producer.wait_for(Reply::Clock, 1, &peer).is_err());
    child.wait().unwrap();
}
