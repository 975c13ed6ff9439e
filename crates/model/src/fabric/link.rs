//! A joint of the fabric: a link with the credits of both its directions, and the components at its ends.

use cxlab_kernel::{Stream, Time};

use super::Station;
use crate::cxl::{ByKind, Class, CxlError, FlitClock, Gate, Lanes, LinkRate, LinkSpec, Wire, WireReport};
use crate::mem::AccessKind;

/// How long a link rests while it is trained anew. Assumption: PCIe 5.0, 4.2.6.4 only bounds the substates of
/// Recovery, by tens of milliseconds.
const RECOVERY: Time = Time::from_ns(50_000);

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// M2S, towards the media
    Out,
    /// S2M, towards the host
    Back,
}

/// Messages that a receive buffer holds, by what completes or is an access of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    pub of_reads: u32,
    pub of_writes: u32,
}

/// One direction.
#[derive(Clone, Debug)]
pub struct Lane {
    wire: Wire,
    /// which the receiver gives, and those who wait for one
    pub credits: ByKind<Gate>,
}

/// A link between two components.
#[derive(Clone, Debug)]
pub struct Link {
    pub spec: LinkSpec,
    pub upper: Station,
    pub lower: Station,
    /// from room in a receive buffer to the credit's arrival at the sender: one flit back
    pub credit: Time,
    out: Lane,
    back: Lane,
}

impl Link {
    /// `below` and `above` are the receive buffers of the lower and the upper end; `errors` decides which flits fail.
    pub fn new(spec: &LinkSpec, ends: (Station, Station), buffers: (Buffer, Buffer), errors: &mut Stream) -> Link {
        let mut lane = |name, buffer: Buffer| Lane {
            wire: Wire::new(spec, Stream::new(errors.next_u64(), name)),
            credits: ByKind::new(Gate::new(buffer.of_reads), Gate::new(buffer.of_writes)),
        };
        let ((upper, lower), (above, below)) = (ends, buffers);
        let (out, back) = (lane("m2s", below), lane("s2m", above));
        Link { spec: spec.clone(), upper, lower, credit: spec.flit_clock().flits(1) + *spec.flight, out, back }
    }

    pub fn lane(&mut self, direction: Direction) -> &mut Lane {
        match direction {
            Direction::Out => &mut self.out,
            Direction::Back => &mut self.back,
        }
    }

    /// Give a message its slots at `ready`: when the last of them has left, and when it has arrived.
    pub fn send(&mut self, ready: Time, direction: Direction, kind: AccessKind) -> (Time, Time) {
        let sent = self.lane(direction).wire.send(ready, class(direction, kind));
        (sent, sent + *self.spec.flight)
    }

    /// Part of the receiver's `latency` that follows the arrival of a message.
    pub fn after_arrival(&self, latency: Time, direction: Direction, kind: AccessKind) -> Time {
        self.spec.after_arrival(latency, class(direction, kind))
    }

    /// Trained anew, with fewer lanes or at a lower rate; both directions rest meanwhile.
    pub fn retrain(&mut self, now: Time, lanes: Lanes, rate: LinkRate) -> Result<(), CxlError> {
        self.spec.check_retraining(lanes, rate)?;
        let clock = FlitClock::new(lanes, rate, *self.spec.encoding);
        self.credit = clock.flits(1) + *self.spec.flight;
        self.out.wire.retrain(now + RECOVERY, clock);
        self.back.wire.retrain(now + RECOVERY, clock);
        Ok(())
    }

    /// Both directions, outwards first, over the elapsed time.
    pub fn reports(&self, elapsed: Time) -> (WireReport, WireReport) {
        let report = |lane: &Lane| WireReport::new(lane.wire.stats(), lane.wire.busy(), elapsed);
        (report(&self.out), report(&self.back))
    }

    /// Credits of both directions, outwards first.
    pub fn credits(&self) -> (&ByKind<Gate>, &ByKind<Gate>) {
        (&self.out.credits, &self.back.credits)
    }

    pub fn clear_stats(&mut self) {
        self.out.wire.clear_stats();
        self.back.wire.clear_stats();
    }

    /// The station that sends in that direction.
    pub fn sender(&self, direction: Direction) -> Station {
        match direction {
            Direction::Out => self.upper,
            Direction::Back => self.lower,
        }
    }

    /// The station that receives in that direction.
    pub fn receiver(&self, direction: Direction) -> Station {
        match direction {
            Direction::Out => self.lower,
            Direction::Back => self.upper,
        }
    }
}

fn class(direction: Direction, kind: AccessKind) -> Class {
    match direction {
        Direction::Out => Class::request(kind),
        Direction::Back => Class::response(kind),
    }
}
