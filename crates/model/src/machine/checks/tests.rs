//! A fault that is put into a machine, or a checker of another standard, ends the run with rule, place and time.

use cxlab_kernel::Time;

use super::{Checks, Medium};
use crate::addr::Hpa;
use crate::cache::{LineState, Nearest, Reference, ReferenceKind};
use crate::check::{Checked, Clock, Links};
use crate::config::MachineSpec;
use crate::error::ModelError;
use crate::feed::{Action, Kernel, Synthetic};
use crate::home::AddressRange;
use crate::machine::Machine;
use crate::media::dram::{Dram, checker};
use crate::media::flash;
use crate::request::CoreId;
use crate::translation::{AddressSpace, PageId, PageSize};

const GIB: u64 = 1 << 30;
const COUNT: u64 = 2_000;
const WITH_FLASH: &str = "cmm-h-505";

/// Loads of lines far apart, one after the other, on two nodes in turn; after half of them a pause.
struct Loads {
    done: u64,
}

impl Kernel for Loads {
    fn act(&mut self) -> Action {
        self.done += 1;
        match self.done {
            COUNT.. => Action::End,
            done if done == COUNT / 2 => Action::Settle,
            done => Action::Chase(Hpa::new(done % 2 * GIB + done * 8_256)),
        }
    }

    fn settled(&mut self, _at: Time) {}
}

/// Two cores with checks, and what happens if this is done to the machine in the middle.
fn run_with(name: &str, fault: impl FnOnce(&mut Machine)) -> Result<Checked, ModelError> {
    let range = |node: u16| AddressRange { start: u64::from(node) * GIB, length: GIB, node };
    // A device's cache that has nothing yet: each page comes from the flash.
    let empty = (name == WITH_FLASH).then(|| "nodes.cxl.device.cache.start=empty".to_owned());
    let spec = MachineSpec::load_with(name, empty.as_slice()).unwrap();
    let mut machine = Machine::new(spec, 2, &[range(0), range(1)]).unwrap();
    let frames = AddressSpace::frames((0..2 * GIB).step_by(1 << PageSize::Mib2.shift()));
    let space = AddressSpace::new(frames, Hpa::new(GIB / 2), PageSize::Mib2);
    machine.set_page_tables(space.tables);
    machine.keep_checks();
    let mut feeds: Vec<_> = (0..2).map(|_| Synthetic::new(Loads { done: 0 }).within(space.clone())).collect();
    machine.run_until(&mut feeds, Time::from_ns(20_000))?;
    fault(&mut machine);
    machine.run_until(&mut feeds, Time::from_ns(4_000_000))?;
    machine.finish_checks().map(|checked| checked.expect("it was asked for"))
}

/// Part of the message of a run that ended with RUN008.
#[track_caller]
fn found(name: &str, fault: impl FnOnce(&mut Machine), wanted: &str) {
    let error = run_with(name, fault).expect_err(wanted);
    let text = error.to_string();
    assert!(error.code() == "RUN008" && text.contains(wanted) && text.contains("cxlab report-bug RUN"), "{text}");
}

fn checks(machine: &mut Machine) -> &mut Checks {
    machine.checks.as_mut().expect("it has checks")
}

#[test]
fn without_a_fault_no_rule_is_broken() {
    let checked = run_with("8468v-asic", |_| {}).unwrap();
    // Each load of each core translates, but for those that wait for the walk of another one.
    assert!(checked.translations > COUNT && checked.dram_commands > COUNT, "{checked:?}");
    let checked = run_with(WITH_FLASH, |_| {}).unwrap();
    assert!(checked.flash_operations > 0, "{checked:?}");
}

#[test]
fn commands_that_another_standard_forbids_are_found() {
    // tRCD of DDR5-5600 is 46 cycles, that of DDR5-4800 40 (JESD79-5, speed bins).
    let other = |machine: &mut Machine| {
        let Medium::Dram { channels, .. } = &mut checks(machine).media[0] else { panic!("node dram is detailed") };
        let dram = Dram::load("DDR5-5600").unwrap();
        channels.iter_mut().for_each(|channel| *channel = (checker::Checker::new(&dram, 2), Clock::default()));
    };
    found("8468v-asic", other, "in node dram, memory 0, sub-channel ");
}

#[test]
fn a_read_of_flash_that_nobody_has_programmed_is_found() {
    let empty = |machine: &mut Machine| {
        let flash = checks(machine).media.iter_mut().find_map(|medium| match medium {
            Medium::Flash { checker, .. } => Some(checker),
            _ => None,
        });
        *flash.expect("the device has flash") = flash::checker::Checker::new(64, 0);
    };
    found(WITH_FLASH, empty, "reads a page that is not programmed");
}

#[test]
fn a_second_owner_of_a_line_is_found_where_no_event_names_it() {
    let second_owner = |machine: &mut Machine| {
        for core in 0..2 {
            let by = Reference::of_core(CoreId(core), ReferenceKind::Store);
            machine.cores[usize::from(core)].warm(Hpa::new(GIB / 4), LineState::Modified, by, Nearest::L1);
        }
    };
    found("8468v-asic", second_owner, "line 0x10000000: one owner at most");
}

#[test]
fn a_copy_that_the_filter_has_forgotten_is_found() {
    let forgotten = |machine: &mut Machine| {
        let line = machine.cores[0].cached_lines()[1][0].0;
        machine.shared.home.left(line, CoreId(0));
        machine.shared.home.left(line, CoreId(1));
    };
    found("8468v-asic", forgotten, "the directory knows every copy");
}

#[test]
fn a_credit_that_is_not_there_is_found() {
    let fewer = |machine: &mut Machine| {
        let mut wires = machine.shared.fabric.wires();
        wires.iter_mut().for_each(|wires| wires.credits = [[0; 2]; 2]);
        let slots = machine.shared.fabric.slots();
        let links = &mut checks(machine).links;
        *links = Links::new(wires.into_iter().map(|wires| ("a link".to_owned(), wires)).collect());
        links.count_from(&slots);
    };
    found("8468v-asic", fewer, "in a link");
}

#[test]
fn a_translation_that_was_invalidated_is_found() {
    let replaced = |machine: &mut Machine| {
        let pages: Vec<PageId> = (1..=1024).map(|id| PageId(std::num::NonZeroU32::new(id).unwrap())).collect();
        machine.check_replaced(&pages);
    };
    found("8468v-asic", replaced, ": a TLB serves no page that was invalidated, or never walked");
}

#[test]
fn a_time_before_the_last_one_is_found() {
    let ahead = |machine: &mut Machine| checks(machine).queue.see(Time::from_ns(9_000_000), String::new).unwrap();
    found("8468v-asic", ahead, "in event queue: time never goes back");
}
