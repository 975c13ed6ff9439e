//! Regions of detail: between a marker that begins one and a marker that ends it, blocks tell the model.
//!
//! Instrumentation is laid at translation, so a change of detail throws all translations away (`tb_flush`, with the
//! vCPU stopped). Boot and set-up run nearly as fast as without a plugin.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::{Acquire, Release};

use cxlab_access::Marker;

use crate::arguments::{Arguments, Detail};
use crate::qemu::{self, Cpu};
use crate::{boot, counters, idle, mode, series, stop, stream};

static DETAIL: OnceLock<Detail> = OnceLock::new();
/// id of the marker that the next region begins with
static BEGINS_WITH: AtomicU16 = AtomicU16::new(0);

pub fn start(arguments: &Arguments) {
    let _ = DETAIL.set(arguments.detail);
    idle::set_pace(arguments.idle);
    stop::start(arguments);
}

/// Effect of a marker.
enum Effect {
    Begin,
    /// the region begins that was warmed up for
    EndWarmUp,
    End,
    Tell,
    AskCounters,
    Nothing,
}

/// Place of a run when it comes to a marker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// the model follows functionally until the region begins
    WarmingUp,
    Region,
}

fn place() -> Place {
    match mode::tells() {
        false => Place::Outside,
        true if stream::with(|stream| stream.warming.is_before_region()) => Place::WarmingUp,
        true => Place::Region,
    }
}

fn effect(detail: Detail, marker: Marker, place: Place) -> Effect {
    match (detail, marker) {
        _ if stop::program_has_ended() => Effect::Nothing,
        (Detail::Marker, Marker::RegionBegin) | (Detail::Output, Marker::FromOutput) if place == Place::WarmingUp => {
            Effect::EndWarmUp
        }
        (Detail::Marker | Detail::Output, Marker::ProgramStart) if stream::with(|stream| stream.warming.warms_up()) => {
            Effect::Begin
        }
        (Detail::All, Marker::ProgramStart)
        | (Detail::Marker, Marker::RegionBegin)
        | (Detail::Output, Marker::FromOutput)
            if place == Place::Outside =>
        {
            Effect::Begin
        }
        (Detail::Marker, Marker::RegionEnd) if place == Place::Region => Effect::End,
        (Detail::Off, _) => Effect::Nothing,
        (_, Marker::ProgramEnd) if place != Place::Outside => Effect::End,
        (_, Marker::ProgramStart | Marker::ProgramEnd) => Effect::Tell,
        (_, Marker::Counters) if mode::in_detail() => Effect::AskCounters,
        // With detail for the whole program its own markers narrow nothing; told, the end of a region would cut
        // its block.
        _ => Effect::Nothing,
    }
}

/// A marker is executed.
pub unsafe extern "C" fn on_marker(vcpu: u32, data: *mut c_void) {
    let marker = Marker::from_id(data as u16).expect("only markers get this callback");
    if marker == Marker::Booted {
        return boot::on_booted(vcpu as usize);
    }
    if marker == Marker::Checkpoint {
        return boot::on_checkpoint(vcpu as usize);
    }
    let detail = *DETAIL.get().expect("start comes first");
    let effect = effect(detail, marker, place());
    if marker == Marker::ProgramEnd {
        stop::end_program();
    }
    match effect {
        Effect::Begin => {
            BEGINS_WITH.store(told(marker).id(), Release);
            qemu::run_exclusively(vcpu as usize, begin);
        }
        Effect::EndWarmUp => {
            BEGINS_WITH.store(told(marker).id(), Release);
            qemu::run_exclusively(vcpu as usize, end_warm_up);
        }
        Effect::End => {
            stream::with(|stream| stream.finish(vcpu as usize, marker));
            qemu::run_exclusively(vcpu as usize, stop::flush);
        }
        Effect::Tell => stream::with(|stream| stream.feed.mark(vcpu as usize, marker)),
        Effect::AskCounters => counters::ask(|| stream::with(|stream| stream.feed.mark(vcpu as usize, marker))),
        Effect::Nothing => {}
    }
}

/// Marker that the model is told when a region begins. It need not know why.
fn told(marker: Marker) -> Marker {
    if marker == Marker::FromOutput { Marker::RegionBegin } else { marker }
}

unsafe extern "C" fn begin(cpu: Cpu, vcpu: u64) {
    let marker = Marker::from_id(BEGINS_WITH.load(Acquire)).expect("on_marker stored one");
    stream::with(|stream| stream.begin(vcpu as usize, marker));
    // SAFETY: all vCPUs are stopped.
    unsafe { series::flush_translations(cpu) };
}

unsafe extern "C" fn end_warm_up(_cpu: Cpu, vcpu: u64) {
    let marker = Marker::from_id(BEGINS_WITH.load(Acquire)).expect("on_marker stored one");
    stream::with(|stream| stream.end_warm_up(vcpu as usize, marker));
}
