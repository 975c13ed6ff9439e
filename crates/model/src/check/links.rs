//! CXL links: credits and slots are conserved, each request has one answer, and no wire is faster than its rate.
//!
//! ```text
//!   Sent takes a credit, Returned gives it back --in the order of their times--> in use: 0 to total, and 0 at the end
//!   Sent towards the device --awaits--> Sent towards the host, of the same kind, once
//!   slots counted by the wire = 4 x its flits; of them data = 4 x the messages with data that were sent
//! ```
//!
//! A message has its credit when it is ready for the wire. Times are known ahead, so events wait here until no earlier
//! one can come. A message leaves no earlier than from a wire that carries slots one by one, without flits. That bound
//! needs nothing of the packer. The checker sees messages when they enter a link. It cannot see flits one by one, so it
//! does not check which slot of which flit a header has. It does not check either that a link rests while it is trained
//! anew. Source: CXL 2.0, 4.2.2 (68 B flit of four slots), 4.2.5.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use cxlab_kernel::Time;

use super::Broken;
use crate::mem::{AccessKind, Tag};

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Toward {
    /// M2S
    Device,
    /// S2M
    Host,
}

/// One direction of a link, for messages of reads or of writes. Each lane has credits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    pub link: u16,
    pub toward: Toward,
    pub kind: AccessKind,
}

/// An event of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// the credit is back at its sender at `at`
    Returned { lane: Lane, at: Time },
    /// a message that was ready, and so had its credit, has left at `sent`
    Sent { lane: Lane, tag: Tag, ready: Time, sent: Time },
}

/// A link as it was built.
#[derive(Clone, Copy, Debug)]
pub struct Wires {
    pub lanes: u64,
    /// bits that a lane transfers in a nanosecond
    pub gt_s: u64,
    /// bits on the wire for 128 bits of flits
    pub encoded: u64,
    /// credits of reads and of writes, towards the device and towards the host
    pub credits: [[u32; 2]; 2],
}

impl Wires {
    /// Time of a slot on the wire `[ps]`.
    fn slot_ps(&self) -> f64 {
        let bits = (FLIT_BITS * self.encoded) as f64 / 128.0;
        bits * 1e3 / (self.lanes * self.gt_s) as f64 / FLIT_SLOTS as f64
    }
}

/// Counts of a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    pub flits: u64,
    pub headers: u64,
    pub data: u64,
    pub empty: u64,
}

/// Slots of a flit (CXL 2.0, 4.2.2).
const FLIT_SLOTS: u64 = 4;
/// Bits of a flit (CXL 2.0, 4.2.2: 68 B).
const FLIT_BITS: u64 = 68 * 8;
/// Slots of a line of 64 B: 16 B each.
const DATA_SLOTS: u64 = 4;
/// A wire keeps times in whole picoseconds, so a run of flits may end this much early `[ps]`.
const ROUNDING_PS: f64 = 2.0;

/// One direction of one link.
#[derive(Clone, Debug)]
struct Wire {
    /// time of a slot `[ps]`
    slot_ps: f64,
    /// when a wire without flits would have sent all messages so far `[ps]`
    sent_ps: f64,
    /// messages with data since the slot counts began
    with_data: u64,
    counted_from: Slots,
    flits: u64,
}

/// Credits of one lane.
#[derive(Clone, Copy, Debug)]
struct Credits {
    total: u32,
    in_use: u32,
}

/// All links of a machine.
#[derive(Clone, Debug)]
pub struct Links {
    names: Vec<String>,
    credits: Vec<[[Credits; 2]; 2]>,
    wires: Vec<[Wire; 2]>,
    /// credits that are taken or come back, and are not yet counted
    to_come: BinaryHeap<Reverse<ToCome>>,
    /// requests without an answer, by link and tag
    awaited: HashMap<(u16, Tag), AccessKind>,
    messages: u64,
    changes: u64,
}

/// A credit that is taken or comes back. The order is that of times; at equal times returns come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ToCome {
    at: Time,
    change: Change,
    link: u16,
    toward: Toward,
    writes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Returned,
    Took,
}

impl Links {
    /// Links at rest, by their names.
    #[must_use]
    pub fn new(links: Vec<(String, Wires)>) -> Links {
        let mut new = Links {
            names: Vec::new(),
            credits: Vec::new(),
            wires: Vec::new(),
            to_come: BinaryHeap::new(),
            awaited: HashMap::new(),
            messages: 0,
            changes: 0,
        };
        for (name, of) in links {
            let wire =
                Wire { slot_ps: of.slot_ps(), sent_ps: 0.0, with_data: 0, counted_from: Slots::default(), flits: 0 };
            new.names.push(name);
            new.credits.push(of.credits.map(|kinds| kinds.map(|total| Credits { total, in_use: 0 })));
            new.wires.push([wire.clone(), wire]);
        }
        new
    }

    /// Numbers of messages, of changes of credits, and of flits.
    #[must_use]
    pub fn counts(&self) -> (u64, u64, u64) {
        let flits = self.wires.iter().flatten().map(|wire| wire.flits).sum();
        (self.messages, self.changes, flits)
    }

    fn broken(&self, rule: &str, lane: Lane, at: Time, what: String) -> Broken {
        let direction = match lane.toward {
            Toward::Device => "M2S",
            Toward::Host => "S2M",
        };
        Broken::new(rule, format!("{}, {direction}", self.names[usize::from(lane.link)]), at, what)
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// Names the rule that the event breaks.
    pub fn take(&mut self, event: LinkEvent) -> Result<(), Broken> {
        let mut later = |lane: Lane, at, change| {
            let Lane { link, toward, kind } = lane;
            self.to_come.push(Reverse(ToCome { at, change, link, toward, writes: kind == AccessKind::Write }));
        };
        match event {
            LinkEvent::Returned { lane, at } => later(lane, at, Change::Returned),
            LinkEvent::Sent { lane, tag, ready, sent } => {
                later(lane, ready, Change::Took);
                self.messages += 1;
                self.answers(lane, tag, sent)?;
                self.rate(lane, ready, sent)?;
            }
        }
        Ok(())
    }

    /// Checks that each request has one answer of its kind.
    fn answers(&mut self, lane: Lane, tag: Tag, sent: Time) -> Result<(), Broken> {
        let key = (lane.link, tag);
        let (rule, before) = match lane.toward {
            Toward::Device => ("a request is sent once", self.awaited.insert(key, lane.kind)),
            Toward::Host => ("each answer has a request of its kind", self.awaited.remove(&key)),
        };
        let wanted = (lane.toward == Toward::Host).then_some(lane.kind);
        if before == wanted {
            return Ok(());
        }
        let what = format!("a message of a {:?} with tag {}; under way with this tag: {before:?}", lane.kind, tag.0);
        Err(self.broken(rule, lane, sent, what))
    }

    /// Checks that a message leaves no earlier than from a wire of slots.
    fn rate(&mut self, lane: Lane, ready: Time, sent: Time) -> Result<(), Broken> {
        let with_data =
            matches!((lane.toward, lane.kind), (Toward::Device, AccessKind::Write) | (Toward::Host, AccessKind::Read));
        // Headers share slots in the direction of the host.
        let header = u64::from(lane.toward == Toward::Device);
        let slots = header + if with_data { DATA_SLOTS } else { 0 };
        let wire = &mut self.wires[usize::from(lane.link)][lane.toward as usize];
        wire.with_data += u64::from(with_data);
        let alone = ready.as_ps() as f64 + wire.slot_ps * FLIT_SLOTS as f64;
        let least = if slots == 0 {
            // An answer without data may share the header slot of an earlier flit.
            alone
        } else {
            wire.sent_ps = wire.sent_ps.max(ready.as_ps() as f64) + wire.slot_ps * slots as f64;
            wire.sent_ps.max(alone)
        };
        if sent.as_ps() as f64 + ROUNDING_PS >= least {
            return Ok(());
        }
        let what = format!("a message that was ready at {ready} had left at {sent}; earliest: {:.3} ns", least / 1e3);
        Err(self.broken("a wire is no faster than its rate", lane, sent, what))
    }

    /// Counts credits up to `now`. No event before `now` comes any more.
    ///
    /// # Errors
    /// More credits are in use than there are, or a credit came back that was not in use.
    pub fn settle(&mut self, now: Time) -> Result<(), Broken> {
        while self.to_come.peek().is_some_and(|Reverse(first)| first.at < now) {
            let Some(Reverse(ToCome { at, change, link, toward, writes })) = self.to_come.pop() else { break };
            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
            let lane = Lane { link, toward, kind };
            self.changes += 1;
            let credits = &mut self.credits[usize::from(link)][toward as usize][usize::from(writes)];
            let Credits { total, in_use } = *credits;
            let what = || format!("{in_use} of {total} credits of {kind:?} messages were in use");
            match change {
                Change::Took if in_use == total => {
                    return Err(self.broken("a message is sent only with a credit", lane, at, what()));
                }
                Change::Returned if in_use == 0 => {
                    return Err(self.broken("a credit comes back once", lane, at, what()));
                }
                Change::Took => credits.in_use += 1,
                Change::Returned => credits.in_use -= 1,
            }
        }
        Ok(())
    }

    /// Notes that a link has been trained anew. Messages taken from now on were sent on these wires.
    pub fn trained(&mut self, link: u16, to: &Wires) {
        self.wires[usize::from(link)].iter_mut().for_each(|wire| wire.slot_ps = to.slot_ps());
    }

    /// Checks the counts of the wires, for both directions of each link, after all of their messages were taken.
    ///
    /// # Errors
    /// The slots are not those of the flits, or data came without a message.
    pub fn slots(&mut self, at: Time, counted: &[[Slots; 2]]) -> Result<(), Broken> {
        for (link, directions) in counted.iter().enumerate() {
            for (toward, slots) in [Toward::Device, Toward::Host].into_iter().zip(directions) {
                let wire = &mut self.wires[link][toward as usize];
                let since = |of: fn(&Slots) -> u64| of(slots) as i128 - of(&wire.counted_from) as i128;
                let (flits, data) = (since(|slots| slots.flits), since(|slots| slots.data));
                let all = since(|slots| slots.headers) + data + since(|slots| slots.empty);
                let sent = i128::from(wire.with_data * DATA_SLOTS);
                let lane = Lane { link: link as u16, toward, kind: AccessKind::Read };
                if all != flits * i128::from(FLIT_SLOTS) {
                    let what = format!("{flits} flits, {all} slots that held headers, data or nothing");
                    return Err(self.broken("a flit has four slots", lane, at, what));
                }
                if data != sent {
                    let what = format!("{data} slots of data for {sent} that messages brought");
                    return Err(self.broken("a line is four slots", lane, at, what));
                }
                wire.flits += flits as u64;
            }
        }
        self.count_from(counted);
        Ok(())
    }

    /// Begins to count the wires from their present counts, `counted`.
    pub fn count_from(&mut self, counted: &[[Slots; 2]]) {
        for (wires, slots) in self.wires.iter_mut().zip(counted) {
            for (wire, slots) in wires.iter_mut().zip(slots) {
                (wire.counted_from, wire.with_data) = (*slots, 0);
            }
        }
    }

    /// Checks the links when nothing is under way any more.
    ///
    /// # Errors
    /// A request has no answer, or a credit is not back.
    pub fn at_rest(&self, at: Time) -> Result<(), Broken> {
        if let Some(((link, tag), kind)) = self.awaited.iter().next() {
            let lane = Lane { link: *link, toward: Toward::Device, kind: *kind };
            let what =
                format!("{} requests have no answer, one of them a {kind:?} with tag {}", self.awaited.len(), tag.0);
            return Err(self.broken("each request has an answer", lane, at, what));
        }
        for (link, directions) in self.credits.iter().enumerate() {
            for (toward, kinds) in [Toward::Device, Toward::Host].into_iter().zip(directions) {
                for (kind, Credits { total, in_use }) in [AccessKind::Read, AccessKind::Write].into_iter().zip(kinds) {
                    if *in_use > 0 {
                        let lane = Lane { link: link as u16, toward, kind };
                        let what = format!("{in_use} of {total} credits of {kind:?} messages are in use at rest");
                        return Err(self.broken("all credits come back", lane, at, what));
                    }
                }
            }
        }
        Ok(())
    }
}
