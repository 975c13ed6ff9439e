//! A node: the memory that an operating system sees as one, the ports that lead to it, and what it has done.

use std::ops::Range;

use cxlab_kernel::{Bytes, Credits, Stream, Time, statistics};

use super::port::{Port, PortId};
use super::region::Region;
use crate::addr::{Dpa, Hpa};
use crate::config::{DeviceInterleave, MachineSpec, NodeSpec, Path, Socket, Sourced};
use crate::core::RequestKey;
use crate::cxl::{Expander, ExpanderSpec, HdmDecoderSpec, HdmDecoders, TargetId};
use crate::dram::Memory;
use crate::request::{Level, Op, Request, Stage};

statistics! {
    /// What a node's memory has done for the cores.
    pub struct NodeStats {
        loads: Counter [Lines] "lines read for loads",
        stores: Counter [Lines] "lines read for stores, to own them",
        prefetches: Counter [Lines] "lines read ahead by prefetchers",
        write_backs: Counter [Lines] "lines written: changed ones, and those of non-temporal stores",
        partial_writes: Counter [Lines] "lines read because a part of them is written",
        load_latency: Latency [Nanoseconds] "load to use of the lines read for loads",
    }
}

impl NodeStats {
    /// Lines read for whatever reason.
    #[must_use]
    pub fn lines_read(&self) -> u64 {
        self.loads.get() + self.stores.get() + self.prefetches.get() + self.partial_writes.get()
    }
}

/// For each stage, the time that loads spent there.
pub type StageTimes = [Time; Stage::ALL.len()];

/// Which of its ports leads to a place in a node's memory.
enum Devices {
    /// the only one
    One,
    /// by offset in the node, as the machine file interleaves it
    ByOffset(HdmDecoders),
    /// by host physical address, as Linux committed it
    Committed(HdmDecoders),
}

/// Entries of a table of requests in use from which prefetches are refused.
#[derive(Clone, Copy, Debug)]
struct Refuse {
    llc: u32,
    all: u32,
}

/// A node of the machine.
pub struct Node {
    /// its ports in the machine's list
    ports: Range<u16>,
    devices: Devices,
    pub socket: Socket,
    /// entries of the home agents' tables of requests that serve this node
    pub table: Credits<RequestKey>,
    /// entries in use from which prefetches are refused
    refuse: Refuse,
    stats: NodeStats,
    stages: StageTimes,
}

impl Node {
    /// The node, and its ports appended to `ports`; a `region` says how Linux interleaved it.
    pub fn new(
        machine: &MachineSpec,
        spec: &NodeSpec,
        region: Option<&Region>,
        ports: &mut Vec<Port>,
    ) -> Result<Node, String> {
        let first = ports.len() as u16;
        let memory = |spec| Memory::new(spec).map_err(|error| error.to_string());
        let mut devices = Devices::One;
        match &spec.path {
            Path::Dram { .. } if region.is_some() => return Err(format!("{} is no CXL memory", spec.name)),
            Path::Dram { memory: spec } => ports.push(Port::Dram(memory(spec)?)),
            Path::Cxl { expander, memory: behind, interleave } => {
                let count = match (region, interleave) {
                    (Some(region), _) => region.targets.len() as u8,
                    (None, interleave) => interleave.as_ref().map_or(1, |interleave| *interleave.devices),
                };
                for device in 0..count {
                    let errors = Stream::new(u64::from(device), &expander.name);
                    let expander = Expander::new(expander, errors).map_err(|error| error.to_string())?;
                    ports.push(Port::Cxl(Box::new(expander), memory(behind)?));
                }
                devices = match (region, interleave) {
                    (Some(region), _) => Devices::Committed(region.decoders(expander)?),
                    (None, Some(interleave)) => Devices::ByOffset(interleaved(interleave, expander)?),
                    (None, None) => Devices::One,
                };
            }
        }
        let entries = machine.slices(spec).len() as u32 * *machine.host.home.requests;
        let of_all = |share: f64| (f64::from(entries) * share).ceil() as u32;
        let home = &machine.host.home;
        Ok(Node {
            ports: first..ports.len() as u16,
            devices,
            socket: spec.socket,
            table: Credits::new(entries),
            refuse: Refuse { llc: of_all(*home.refuse_llc_prefetch), all: of_all(*home.refuse_prefetch) },
            stats: NodeStats::default(),
            stages: StageTimes::default(),
        })
    }

    /// Whether the home agents refuse a prefetch to this level.
    #[inline]
    pub fn refuses(&self, level: Level) -> bool {
        let most = match level {
            Level::L2 => self.refuse.all,
            Level::Llc => self.refuse.llc,
        };
        self.table.held() >= most
    }

    /// The port and the address behind it of a line, `offset` bytes into the node's memory.
    #[inline]
    pub fn locate(&self, line: Hpa, offset: u64) -> (PortId, Dpa) {
        let (decoders, address) = match &self.devices {
            Devices::One => return (PortId(self.ports.start), Dpa::new(offset)),
            Devices::ByOffset(decoders) => (decoders, Hpa::new(offset)),
            Devices::Committed(decoders) => (decoders, line),
        };
        let (target, dpa) = decoders.decode(address).expect("ranges end within the devices");
        (PortId(self.ports.start + u16::from(target.0)), dpa)
    }

    /// The first of its ports, which are of one kind.
    pub fn first_port(&self) -> PortId {
        PortId(self.ports.start)
    }

    pub fn ports(&self) -> Range<usize> {
        usize::from(self.ports.start)..usize::from(self.ports.end)
    }

    pub fn stats(&self) -> &NodeStats {
        &self.stats
    }

    pub fn stages(&self) -> &StageTimes {
        &self.stages
    }

    /// Count from here.
    pub fn clear_stats(&mut self) {
        (self.stats, self.stages) = (NodeStats::default(), StageTimes::default());
    }

    /// A line has been read for a core.
    pub fn served(&mut self, request: &Request, latency: Time) {
        match request.op {
            Op::Load => {
                self.stats.loads.increment();
                self.stats.load_latency.record(latency);
                for (sum, stage) in self.stages.iter_mut().zip(Stage::ALL) {
                    *sum += request.span(*stage);
                }
            }
            Op::Prefetch(_) => self.stats.prefetches.increment(),
            _ => self.stats.stores.increment(),
        }
    }

    /// A request reaches the memory: count what writes to it.
    pub fn written(&mut self, op: Op) {
        if op.is_write() {
            self.stats.write_backs.increment();
        }
        if op == Op::PartialWrite {
            self.stats.partial_writes.increment();
        }
    }
}

/// Decoders over the whole of the devices that a machine file interleaves.
fn interleaved(interleave: &DeviceInterleave, expander: &ExpanderSpec) -> Result<HdmDecoders, String> {
    let devices = *interleave.devices;
    let all = Bytes::new(expander.capacity().get() * u64::from(devices));
    let sourced = |value| Sourced::new(value, "the whole of the devices");
    let decoder = HdmDecoderSpec {
        base: sourced(Bytes::new(0)),
        size: sourced(all),
        granularity: interleave.granularity.clone(),
        targets: Sourced::new((0..devices).map(TargetId).collect(), "each device once"),
    };
    HdmDecoders::new(&[decoder], &vec![expander; usize::from(devices)]).map_err(|error| error.to_string())
}
