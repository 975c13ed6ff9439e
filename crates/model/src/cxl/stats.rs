//! Statistics of one direction of a link. Each is declared once, with unit and description.

use cxlab_kernel::statistic::{Entry, Group, Unit, Value};
use cxlab_kernel::{Time, statistics};

statistics! {
    /// One direction of the link.
    pub struct WireStats {
        flits: Counter [Flits] "68 B flits sent, replays not counted",
        header_slots: Counter [Slots] "slots that held headers",
        data_slots: Counter [Slots] "slots that held data",
        empty_slots: Counter [Slots] "slots that held nothing",
        with_data: Counter [Requests] "messages with data: M2S RwD or S2M DRS",
        without_data: Counter [Requests] "messages without data: M2S Req or S2M NDR",
        retries: Counter [Events] "link-layer retries: flits whose CRC failed, each replayed",
        wait: Span [Nanoseconds] "mean time beyond the unloaded wire time: queueing, packing, retry",
    }
}

/// One direction over the elapsed time.
#[derive(Clone, Debug)]
pub struct WireReport {
    pub counts: WireStats,
    /// share of the elapsed time in which flits were on the wire [0..1]
    pub utilisation: f64,
}

impl WireReport {
    /// `busy` is the time that all transmissions took together, failed ones too.
    pub fn new(counts: WireStats, busy: Time, elapsed: Time) -> Self {
        let utilisation = if elapsed == Time::ZERO { 0.0 } else { busy.as_ns() / elapsed.as_ns() };
        WireReport { counts, utilisation }
    }
}

impl Group for WireReport {
    fn visit(&self, visitor: &mut dyn FnMut(Entry)) {
        self.counts.visit(visitor);
        let description = "share of the elapsed time in which flits were on the wire";
        visitor(Entry { name: "utilisation", unit: Unit::Ratio, description, value: Value::Real(self.utilisation) });
    }
}
