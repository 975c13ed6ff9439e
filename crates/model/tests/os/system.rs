//! Small studies on the machine with two channels and CXL memory.

use std::collections::BTreeMap;

use cxlab_kernel::Time;
use cxlab_model::apps::{AppSpec, Distribution, KeyValueSpec, Ycsb};
use cxlab_model::os::Mempolicy;
use cxlab_model::study::{Interval, Order, ProcessSpec, Session, StudySpec, TieringKind};

pub const MACHINE: &str = "6430-cxl-a-2ch";

pub fn bind(node: &str) -> Mempolicy {
    Mempolicy::Bind { node: node.into() }
}

pub fn weighted(dram: u32, cxl: u32) -> Mempolicy {
    let share = |node: &str, weight| cxlab_model::os::Share { node: node.into(), weight };
    Mempolicy::Weighted { weights: vec![share("dram", dram), share("cxl", cxl)] }
}

pub fn store(keys: Distribution, workload: Ycsb) -> AppSpec {
    AppSpec::KeyValue(KeyValueSpec { workload, keys, compute: Time::from_ns(6_000), rate: None })
}

pub fn process(app: AppSpec, threads: u16, pages: u32, mempolicy: Mempolicy) -> ProcessSpec {
    ProcessSpec { app, threads, pages, mempolicy, order: Order::Sequential }
}

/// Room for all pages on both nodes, no tiering, no swap.
pub fn study(processes: Vec<ProcessSpec>) -> StudySpec {
    StudySpec {
        machine: MACHINE.into(),
        set: Vec::new(),
        caches_divided_by: 64,
        capacity: capacity(20_000, 20_000),
        processes,
        tiering: TieringKind::None,
        swap: false,
        warm: Time::from_ns(20_000),
        measure: Time::from_ns(50_000),
        seed: 1,
    }
}

pub fn capacity(dram: u32, cxl: u32) -> BTreeMap<String, u32> {
    BTreeMap::from([("dram".into(), dram), ("cxl".into(), cxl)])
}

pub fn run(spec: &StudySpec) -> (Session, Interval) {
    let mut session = Session::new(spec).unwrap_or_else(|error| panic!("{error}"));
    let interval = session.run().unwrap_or_else(|error| panic!("{error}"));
    (session, interval)
}
