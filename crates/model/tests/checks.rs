//! Checkers of a run: they find nothing in what machines do, and each rule that is broken before them.
//!
//! Those of DRAM commands and of flash have such tests beside them: `tests/dram/checker.rs` and `tests/flash/cells.rs`.

mod support;

use std::num::NonZeroU32;

use cxlab_kernel::Time;
use cxlab_model::addr::Hpa;
use cxlab_model::cache::LineState::{self, Exclusive, Modified, Shared};
use cxlab_model::check::{
    Broken, Checked, Clock, Coherence, Copy, Known, Lane, LinkEvent, Links, Slots, Toward, Translations, Wires,
};
use cxlab_model::home::AddressRange;
use cxlab_model::mem::AccessKind::{self, Read, Write};
use cxlab_model::mem::Tag;
use cxlab_model::request::CoreId;
use cxlab_model::translation::{Forget, Mapping, Page, PageId, PageSize};
use cxlab_model::{Machine, MachineSpec};
use support::{GIB, Script, shuffled};

/// Cores that read and write lines of both nodes, some of them common to all: the machine before it is at rest, what was checked.
fn checked(name: &str, cores: u16) -> (u64, Checked) {
    let range = |node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node };
    let mut machine = Machine::new(MachineSpec::load(name).unwrap(), cores, &[range(0), range(1)]).unwrap();
    machine.keep_checks();
    let mut feeds: Vec<Script> = (0..u64::from(cores)).map(program).collect();
    machine.run(&mut feeds, |_| Ok(())).unwrap();
    machine.drain(&mut feeds).unwrap();
    let (cxl, _) = machine.nodes().nth(1).unwrap();
    let accesses = cxl.lines_read() + cxl.write_backs.get();
    (accesses, machine.finish_checks().unwrap().expect("it was asked for"))
}

fn program(core: u64) -> Script {
    let mut script = Script::default();
    for (number, address) in (0..).zip(shuffled(0, GIB / 4, 4_000)) {
        let node = number % 2 * GIB;
        script.independent_load(node + address);
        match number % 4 {
            0 => script.store(node + number % 16 * 64),
            1 => script.chase(node + number % 16 * 64),
            _ => script.store(node + (core + 1) * GIB / 8 + address / 8),
        };
    }
    script.settle();
    script
}

#[test]
fn cores_that_share_lines_of_dram_and_of_a_cxl_device_break_no_rule() {
    for (machine, cores) in [("spr-a1000", 4), ("8468v-asic", 2), ("8468v-fpga", 1)] {
        let (accesses, checked) = checked(machine, cores);
        // An access is a request and an answer, and each message takes a credit and gives it back.
        assert_eq!(checked.cxl_messages, 2 * accesses, "{machine}: {checked:?}");
        assert_eq!(checked.cxl_credits, 2 * checked.cxl_messages);
        // A message with data has four slots of data, a flit has four slots.
        assert!(checked.cxl_flits >= accesses, "{checked:?}");
        assert!(checked.dram_commands > accesses && checked.times > checked.dram_commands, "{checked:?}");
        // One core has no filter to compare with; each access of another comes to a core, and leaves one later.
        assert_eq!(checked.coherence_transitions > accesses, cores > 1, "{checked:?}");
        assert!(checked.cached_lines > 0);
    }
}

fn rule(result: Result<(), Broken>) -> String {
    result.expect_err("the rule is broken").rule
}

const LINE: Hpa = Hpa::new(0x4000);

fn copy(core: u16, state: LineState) -> Copy {
    Copy { core: CoreId(core), l1: None, l2: Some(state) }
}

fn transition(copies: &[Copy], known: Option<Known>) -> Result<(), Broken> {
    Coherence::default().transition(Time::ZERO, LINE, copies, known)
}

#[test]
fn what_mesi_allows_is_allowed() {
    let (zero, one) = (CoreId(0), CoreId(1));
    for (copies, known) in [
        (vec![], Known::Nobody),
        // A copy is on its way, so the filter knows it ahead.
        (vec![], Known::Owned(one)),
        (vec![copy(0, Shared)], Known::Shared(0b11)),
        (vec![copy(0, Shared), copy(1, Shared)], Known::Shared(0b11)),
        (vec![copy(0, Exclusive)], Known::Owned(zero)),
        (vec![copy(0, Modified)], Known::Owned(zero)),
    ] {
        transition(&copies, Some(known)).unwrap_or_else(|broken| panic!("{copies:?}, {known:?}: {broken:?}"));
    }
}

#[test]
fn what_mesi_forbids_is_found() {
    let shared = Some(Known::Shared(0b11));
    for (copies, known, wanted) in [
        (vec![copy(0, Modified), copy(1, Exclusive)], Some(Known::Owned(CoreId(0))), "one owner at most"),
        (vec![copy(0, Modified), copy(1, Shared)], shared, "one writer or many readers"),
        (vec![copy(0, Shared), copy(2, Shared)], shared, "the directory knows every copy"),
        (vec![copy(0, Shared)], Some(Known::Nobody), "the directory knows every copy"),
        (vec![copy(0, Modified)], Some(Known::Owned(CoreId(1))), "the directory knows every copy"),
        (vec![copy(0, Modified)], Some(Known::Shared(1)), "the directory knows who may change a line"),
        (vec![Copy { core: CoreId(0), l1: Some(Shared), l2: None }], None, "L2 holds what L1 holds"),
        (
            vec![Copy { core: CoreId(0), l1: Some(Modified), l2: Some(Shared) }],
            Some(Known::Owned(CoreId(0))),
            "L1 has no more rights than L2",
        ),
    ] {
        assert_eq!(rule(transition(&copies, known)), wanted);
    }
}

#[test]
fn a_walk_finds_a_line_that_no_event_named_and_a_filter_that_forgot_to_forget() {
    let both = [(LINE, copy(0, Modified)), (LINE, copy(1, Modified))];
    let walk = |copies: &[(Hpa, Copy)], known, at_rest| {
        Coherence::default().walk(Time::ZERO, copies.iter().copied(), |_| Some(known), at_rest)
    };
    assert_eq!(rule(walk(&both, Known::Owned(CoreId(0)), None)), "one owner at most");
    let one = &both[..1];
    walk(one, Known::Owned(CoreId(0)), Some(1)).unwrap();
    let exact = "at rest the directory knows the copies and no others";
    assert_eq!(rule(walk(one, Known::Owned(CoreId(0)), Some(2))), exact);
    let readers = [(LINE, copy(0, Shared))];
    walk(&readers, Known::Shared(0b11), None).unwrap();
    assert_eq!(rule(walk(&readers, Known::Shared(0b11), Some(1))), exact);
}

/// x8 at 32 GT/s without sync headers: a flit of 544 bits takes 2.125 ns.
fn link() -> Links {
    let wires = Wires { lanes: 8, gt_s: 32, encoded: 128, credits: [[2, 2], [2, 2]] };
    Links::new(vec![("a link".into(), wires)])
}

fn lane(toward: Toward, kind: AccessKind) -> Lane {
    Lane { link: 0, toward, kind }
}

fn sent(toward: Toward, kind: AccessKind, tag: u32, ready: u64, sent: u64) -> LinkEvent {
    let (ready, sent) = (Time::from_ps(ready), Time::from_ps(sent));
    LinkEvent::Sent { lane: lane(toward, kind), tag: Tag(tag), ready, sent }
}

#[test]
fn a_link_is_followed_from_a_request_to_its_answer_and_its_credits() {
    let mut links = link();
    let (out, back) = (lane(Toward::Device, Read), lane(Toward::Host, Read));
    let at = Time::from_ps;
    for event in [
        sent(Toward::Device, Read, 7, 0, 2_125),
        LinkEvent::Returned { lane: out, at: at(9_000) },
        sent(Toward::Host, Read, 7, 50_000, 54_250),
        LinkEvent::Returned { lane: back, at: at(60_000) },
    ] {
        links.take(event).unwrap();
    }
    links.settle(at(60_000)).unwrap();
    assert_eq!(rule(links.at_rest(at(60_000))), "all credits come back");
    links.settle(Time::MAX).unwrap();
    links.at_rest(at(60_000)).unwrap();
    // A flit of one header, then one of header and data, then the last data.
    let counted =
        [Slots { flits: 1, headers: 1, data: 0, empty: 3 }, Slots { flits: 2, headers: 1, data: 4, empty: 3 }];
    links.slots(at(60_000), &[counted]).unwrap();
    assert_eq!(links.counts(), (2, 4, 3));
}

#[test]
fn what_no_link_can_do_is_found() {
    let at = Time::from_ps;
    // Three with two credits, of which one is back too late.
    let mut links = link();
    (0..3).for_each(|tag| links.take(sent(Toward::Device, Read, tag, u64::from(tag), 9_000)).unwrap());
    links.take(LinkEvent::Returned { lane: lane(Toward::Device, Read), at: at(3) }).unwrap();
    assert_eq!(rule(links.settle(Time::MAX)), "a message is sent only with a credit");
    // A credit of reads is none of writes.
    let mut links = link();
    links.take(sent(Toward::Device, Read, 0, 0, 9_000)).unwrap();
    links.take(LinkEvent::Returned { lane: lane(Toward::Device, Write), at: at(3) }).unwrap();
    assert_eq!(rule(links.settle(Time::MAX)), "a credit comes back once");
    let mut links = link();
    links.take(sent(Toward::Device, Read, 7, 0, 2_125)).unwrap();
    assert_eq!(rule(links.at_rest(at(0))), "each request has an answer");
    assert_eq!(rule(links.take(sent(Toward::Device, Read, 7, 0, 9_000))), "a request is sent once");
    let answer = "each answer has a request of its kind";
    assert_eq!(rule(link().take(sent(Toward::Host, Read, 7, 0, 9_000))), answer);
    let mut links = link();
    links.take(sent(Toward::Device, Write, 7, 0, 9_000)).unwrap();
    assert_eq!(rule(links.take(sent(Toward::Host, Read, 7, 0, 9_000))), answer);
}

#[test]
fn a_wire_that_is_faster_than_its_rate_is_found() {
    let fast = "a wire is no faster than its rate";
    // One flit alone.
    assert_eq!(rule(link().take(sent(Toward::Device, Read, 0, 1_000, 3_100))), fast);
    link().take(sent(Toward::Device, Read, 0, 1_000, 3_125)).unwrap();
    // Eight writes of five slots are ten flits, 21,250 ps; without errors the last one leaves then.
    let mut links = link();
    let mut leave = |writes: u32, last: u64| {
        (0..writes).try_for_each(|tag| {
            links.take(sent(Toward::Device, Write, tag, 0, if tag + 1 < writes { 30_000 } else { last }))
        })
    };
    leave(8, 21_250).unwrap();
    let mut links = link();
    let seven = (0..7).map(|tag| sent(Toward::Device, Write, tag, 0, 20_000));
    seven.for_each(|event| links.take(event).unwrap());
    assert_eq!(rule(links.take(sent(Toward::Device, Write, 7, 0, 21_200))), fast);
    // Trained to x4, a flit takes 4,250 ps.
    let mut links = link();
    links.trained(0, &Wires { lanes: 4, gt_s: 32, encoded: 128, credits: [[2, 2], [2, 2]] });
    links.take(sent(Toward::Device, Read, 0, 0, 4_250)).unwrap();
    assert_eq!(rule(links.take(sent(Toward::Host, Read, 0, 0, 2_125))), fast);
    // Slots that are not there, and data that nobody sent.
    let none = Slots::default();
    let three = Slots { flits: 1, headers: 1, data: 0, empty: 2 };
    assert_eq!(rule(link().slots(Time::ZERO, &[[three, none]])), "a flit has four slots");
    let data = Slots { flits: 1, headers: 0, data: 4, empty: 0 };
    assert_eq!(rule(link().slots(Time::ZERO, &[[data, none]])), "a line is four slots");
}

fn page(id: u32, size: PageSize) -> Page {
    Page::new(PageId(NonZeroU32::new(id).unwrap()), size, u64::from(id))
}

fn mapping(pcid: u16, global: bool) -> Mapping {
    let mut entries = [0; Mapping::MOST_READS];
    (1..5).zip(&mut entries).for_each(|(number, entry)| *entry = number * 0x1000);
    Mapping { size: PageSize::Kib4, pcid, global, upper: false, reads: 4, entries }
}

/// The rule that is broken where a TLB serves the page after this.
fn served_after(happens: impl FnOnce(&mut Translations), now: Option<Mapping>) -> Option<String> {
    let mut translations = Translations::new("core 0".into());
    let page = page(7, PageSize::Kib4);
    translations.walk_ended(page, &mapping(3, false));
    translations.served(page, 0x7040, Some(mapping(3, false)), Time::ZERO);
    assert_eq!(translations.broken(), None);
    happens(&mut translations);
    translations.served(page, 0x7080, now, Time::ZERO);
    assert_eq!(translations.served_so_far(), 2);
    translations.broken().map(|broken| broken.rule.clone())
}

#[test]
fn what_a_tlb_may_know_no_more_is_found() {
    let tables = || Some(mapping(3, false));
    let id = page(7, PageSize::Kib4).id;
    for (forget, stays) in [
        (Forget::Tables, true),
        (Forget::Page(page(8, PageSize::Kib4).id), true),
        (Forget::Space { pcid: 4 }, true),
        (Forget::Page(id), false),
        (Forget::Space { pcid: 3 }, false),
        (Forget::Spaces, false),
        (Forget::Everything, false),
    ] {
        let gone = "a TLB serves no page that was invalidated, or never walked";
        let wanted = (!stays).then(|| gone.to_owned());
        assert_eq!(served_after(|translations| translations.forget(forget), tables()), wanted, "{forget:?}");
    }
    let replaced = served_after(|_| {}, None).unwrap();
    assert_eq!(replaced, "a TLB serves no page that the tables have replaced");
    let other = served_after(|_| {}, Some(mapping(4, false))).unwrap();
    assert_eq!(other, "a TLB serves the mapping that the tables have");
    let moved = |translations: &mut Translations| {
        translations.served(page(7, PageSize::Kib4), 0x9040, Some(mapping(3, false)), Time::ZERO);
    };
    let mut translations = Translations::new("core 0".into());
    translations.walk_ended(page(7, PageSize::Kib4), &mapping(3, false));
    translations.served(page(7, PageSize::Kib4), 0x7040, tables(), Time::ZERO);
    moved(&mut translations);
    assert_eq!(translations.broken().unwrap().rule, "a page stands for one frame");
    let mut translations = Translations::new("core 0".into());
    translations.walk_ended(page(7, PageSize::Mib2), &mapping(3, false));
    translations.served(page(7, PageSize::Mib2), 0x7040, tables(), Time::ZERO);
    assert_eq!(translations.broken().unwrap().rule, "a TLB serves a page of the size that the tables have");
}

#[test]
fn a_global_page_outlives_its_address_space() {
    let mut translations = Translations::new("core 0".into());
    let (page, mapping) = (page(7, PageSize::Kib4), mapping(3, true));
    translations.walk_ended(page, &mapping);
    translations.forget(Forget::Spaces);
    translations.forget(Forget::Space { pcid: 3 });
    translations.served(page, 0x7040, Some(mapping), Time::ZERO);
    assert_eq!(translations.broken(), None);
    translations.forget(Forget::Everything);
    translations.served(page, 0x7040, Some(mapping), Time::ZERO);
    assert!(translations.broken().is_some());
}

#[test]
fn time_that_goes_back_is_found() {
    let mut clock = Clock::default();
    let mut see = |at| clock.see(Time::from_ps(at), || "core 3".into());
    assert!(see(5).is_ok() && see(5).is_ok() && see(9).is_ok());
    let broken = see(8).unwrap_err();
    assert_eq!((broken.rule.as_str(), broken.place.as_str()), ("time never goes back", "core 3"));
    assert_eq!(clock.seen(), 3);
}

#[test]
fn chk_1_a_changed_line_that_is_dropped_is_not_found() {
    let mut coherence = Coherence::default();
    let mut see = |copies: &[Copy], known| coherence.transition(Time::ZERO, LINE, copies, Some(known));
    see(&[copy(0, Modified)], Known::Owned(CoreId(0))).unwrap();
    // Its contents were nowhere else, and nobody has written them.
    see(&[], Known::Nobody).unwrap();
}
