//! A node: the memory that an operating system sees as one, the ports that lead to it, and what it has done.

use std::ops::Range;

use cxlab_kernel::{Bytes, Credits, Stream, Time, statistics};

use super::port::{Port, PortId};
use crate::addr::{Dpa, Hpa};
use crate::config::{MachineSpec, NodeSpec, Path, Socket, Sourced};
use crate::core::RequestKey;
use crate::cxl::{Expander, HdmDecoderSpec, HdmDecoders, TargetId};
use crate::dram::Memory;
use crate::request::{Level, Op, Request, Stage};

statistics! {
    /// What a node's memory has done for the cores.
    pub struct NodeStats {
        loads: Counter [Lines] "lines read for loads",
        stores: Counter [Lines] "lines read for stores, to own them",
        prefetches: Counter [Lines] "lines read ahead by prefetchers",
        write_backs: Counter [Lines] "lines written: changed ones, and those of non-temporal stores",
        load_latency: Latency [Nanoseconds] "load to use of the lines read for loads",
    }
}

impl NodeStats {
    /// Lines read for whatever reason.
    #[must_use]
    pub fn lines_read(&self) -> u64 {
        self.loads.get() + self.stores.get() + self.prefetches.get()
    }
}

/// For each stage, the time that loads spent there.
pub type StageTimes = [Time; Stage::ALL.len()];

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
    /// over several devices
    decoders: Option<HdmDecoders>,
    pub socket: Socket,
    /// entries of the home agents' tables of requests that serve this node
    pub table: Credits<RequestKey>,
    /// entries in use from which prefetches are refused
    refuse: Refuse,
    stats: NodeStats,
    stages: StageTimes,
}

impl Node {
    /// The node, and its ports appended to `ports`.
    pub fn new(machine: &MachineSpec, spec: &NodeSpec, ports: &mut Vec<Port>) -> Result<Node, String> {
        let first = ports.len() as u16;
        let memory = |spec| Memory::new(spec).map_err(|error| error.to_string());
        let mut decoders = None;
        match &spec.path {
            Path::Dram { memory: spec } => ports.push(Port::Dram(memory(spec)?)),
            Path::Cxl { expander, memory: behind, interleave } => {
                let devices = interleave.as_ref().map_or(1, |interleave| *interleave.devices);
                for device in 0..devices {
                    let errors = Stream::new(u64::from(device), &expander.name);
                    let expander = Expander::new(expander, errors).map_err(|error| error.to_string())?;
                    ports.push(Port::Cxl(Box::new(expander), memory(behind)?));
                }
                if let Some(interleave) = interleave {
                    let all = Bytes::new(expander.capacity().get() * u64::from(devices));
                    let sourced = |value| Sourced::new(value, "the whole of the devices");
                    let decoder = HdmDecoderSpec {
                        base: sourced(Bytes::new(0)),
                        size: sourced(all),
                        granularity: interleave.granularity.clone(),
                        targets: Sourced::new((0..devices).map(TargetId).collect(), "each device once"),
                    };
                    let devices = vec![&**expander; usize::from(devices)];
                    decoders = Some(HdmDecoders::new(&[decoder], &devices).map_err(|error| error.to_string())?);
                }
            }
        }
        let entries = machine.slices(spec).len() as u32 * *machine.host.home.requests;
        let of_all = |share: f64| (f64::from(entries) * share).ceil() as u32;
        let home = &machine.host.home;
        Ok(Node {
            ports: first..ports.len() as u16,
            decoders,
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

    /// The port and the address behind it of a place in the node's memory.
    #[inline]
    pub fn locate(&self, offset: u64) -> (PortId, Dpa) {
        let Some(decoders) = &self.decoders else { return (PortId(self.ports.start), Dpa::new(offset)) };
        let (target, dpa) = decoders.decode(Hpa::new(offset)).expect("ranges end within the devices");
        (PortId(self.ports.start + u16::from(target.0)), dpa)
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
            Op::Own | Op::NonTemporal | Op::WriteBack => self.stats.stores.increment(),
        }
    }

    /// A changed line is on its way into the memory.
    pub fn written(&mut self) {
        self.stats.write_backs.increment();
    }
}
