//! The profiles of all cores as one JSON document, for `cxlab top`.
//!
//! It has addresses alone. Beside them are the first bytes of a block of each executed page of code. They tell which
//! file is where.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::core::{Counted, FirstTouch, Pages, Profile, Site, Subject};
use crate::feed::Block;
use crate::machine::Machine;

/// First bytes of a block that are shown `[B]`.
const SHOWN: usize = 64;
const CODE_PAGE: u64 = 4096;

/// Profile that the cores have kept. `None` if nobody asked for one.
#[must_use]
pub fn profile<'a>(machine: &Machine, blocks: impl Iterator<Item = &'a Block>) -> Option<Value> {
    let cores = machine.cores().iter().map(|core| core.profile()).collect::<Option<Vec<_>>>()?;
    let mut all = Merged::new(cores.iter().map(|core| core.granule_bytes()).max().unwrap_or(1));
    cores.iter().for_each(|core| all.take_in(core));
    let nodes: Vec<_> = machine.spec().nodes.iter().map(|node| &node.name).collect();
    Some(json!({
        "nodes": nodes,
        "granule_bytes": all.granule,
        "contexts": all.contexts,
        "entries": all.entries(),
        "touched": all.touched(),
        "code": code(blocks),
    }))
}

/// One block for each page of code, the longest: (address, bytes in hexadecimal).
fn code<'a>(blocks: impl Iterator<Item = &'a Block>) -> Vec<(u64, String)> {
    let mut pages: BTreeMap<u64, &Block> = BTreeMap::new();
    for block in blocks.filter(|block| !block.kernel) {
        let longest = pages.entry(block.pc / CODE_PAGE).or_insert(block);
        if block.code.len() > longest.code.len() {
            *longest = block;
        }
    }
    let hex = |block: &Block| block.code.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    pages.values().map(|block| (block.pc, hex(block))).collect()
}

struct Merged {
    /// `[B]`
    granule: u64,
    /// (caller, where it returns to)
    contexts: Vec<(u32, u64)>,
    places: FxHashMap<(u32, u64), u32>,
    entries: FxHashMap<Subject, Counted>,
    touched: BTreeMap<Pages, FirstTouch>,
}

impl Merged {
    fn new(granule: u64) -> Merged {
        let (places, entries, touched) = Default::default();
        Merged { granule, contexts: vec![(0, 0)], places, entries, touched }
    }

    fn take_in(&mut self, core: &Profile) {
        let mut contexts = vec![0];
        for context in &core.contexts()[1..] {
            let call = (contexts[context.caller as usize], context.returns_to);
            let place = *self.places.entry(call).or_insert_with(|| {
                self.contexts.push(call);
                self.contexts.len() as u32 - 1
            });
            contexts.push(place);
        }
        let site = |site: Site| Site { context: contexts[site.context as usize], ..site };
        let coarser = self.granule / core.granule_bytes();
        for (subject, counted) in core.entries() {
            let subject = Subject { site: site(subject.site), granule: subject.granule / coarser, node: subject.node };
            self.entries.entry(subject).or_default().add(*counted);
        }
        for (pages, touch) in core.touched() {
            let touch = FirstTouch { site: site(touch.site), ..*touch };
            let first = self.touched.entry(*pages).or_insert(touch);
            if touch.at < first.at {
                *first = touch;
            }
        }
    }

    fn entries(&self) -> Vec<Value> {
        let of = |(Subject { site, granule, node }, counted): (&Subject, &Counted)| {
            let Counted { lines, latency, stall } = *counted;
            let address = granule * self.granule;
            (site.context, site.instruction, address, node.0, lines, latency.as_ps(), stall.as_ps())
        };
        let mut entries: Vec<_> = self.entries.iter().map(of).collect();
        entries.sort_unstable();
        entries.into_iter().map(|entry| json!(entry)).collect()
    }

    fn touched(&self) -> Vec<Value> {
        let of = |(Pages { address, bytes }, FirstTouch { site, .. }): (&Pages, &FirstTouch)| {
            json!([address, bytes, site.context, site.instruction])
        };
        self.touched.iter().map(of).collect()
    }
}
