//! The log for the checker of links, and the checker's description of a fabric as it was built.

use cxlab_kernel::Time;

use super::link::{Direction, Link};
use super::{Fabric, WayId};
use crate::check::{Lane, LinkEvent, Slots, Toward, Wires};
use crate::cxl::{Encoding, WireStats};
use crate::mem::{AccessKind, Tag};

impl<M> Fabric<M> {
    /// Write down what happens on the links from here on.
    pub fn keep_link_log(&mut self) {
        self.log = Some(Vec::new());
    }

    /// Takes the events on the links since the log was last taken.
    pub fn take_link_log(&mut self) -> Vec<LinkEvent> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Every link as it was built.
    #[must_use]
    pub fn wires(&self) -> Vec<Wires> {
        self.links.iter().map(wires).collect()
    }

    /// Slots that the wires of every link have counted, outwards first.
    #[must_use]
    pub fn slots(&self) -> Vec<[Slots; 2]> {
        let of = |counts: &WireStats| Slots {
            flits: counts.flits.get(),
            headers: counts.header_slots.get(),
            data: counts.data_slots.get(),
            empty: counts.empty_slots.get(),
        };
        self.links
            .iter()
            .map(|link| link.reports(Time::ZERO))
            .map(|(out, back)| [of(&out.counts), of(&back.counts)])
            .collect()
    }

    /// The place of a way's media among all media.
    #[must_use]
    pub fn media_of(&self, way: WayId) -> usize {
        usize::from(self.ways[usize::from(way.0)].media)
    }

    /// The places of a way's links among all links.
    #[must_use]
    pub fn links_of(&self, way: WayId) -> &[u16] {
        &self.ways[usize::from(way.0)].links
    }

    fn note(&mut self, event: LinkEvent) {
        if let Some(log) = &mut self.log {
            log.push(event);
        }
    }

    /// A credit is back at its sender at `at`. Out of line, as is the other note: a run that is not checked has none.
    #[cold]
    #[inline(never)]
    pub(super) fn note_returned(&mut self, link: u16, direction: Direction, kind: AccessKind, at: Time) {
        self.note(LinkEvent::Returned { lane: lane(link, direction, kind), at });
    }

    /// A message was ready for the wire, and has left.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sent(
        &mut self,
        link: u16,
        direction: Direction,
        kind: AccessKind,
        tag: Tag,
        (ready, sent): (Time, Time),
    ) {
        self.note(LinkEvent::Sent { lane: lane(link, direction, kind), tag, ready, sent });
    }
}

fn lane(link: u16, direction: Direction, kind: AccessKind) -> Lane {
    let toward = match direction {
        Direction::Out => Toward::Device,
        Direction::Back => Toward::Host,
    };
    Lane { link, toward, kind }
}

fn wires(link: &Link) -> Wires {
    let (out, back) = link.credits();
    let encoded = match *link.spec.encoding {
        // PCIe 5.0, 4.2.2
        Encoding::SyncHeader => 130,
        Encoding::SyncHeaderBypass => 128,
    };
    let credits = [out, back].map(|kinds| [AccessKind::Read, AccessKind::Write].map(|kind| kinds.at(kind).total()));
    Wires { lanes: link.spec.lanes.count(), gt_s: link.spec.rate.gt_s(), encoded, credits }
}
