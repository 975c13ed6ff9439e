//! Trains a link anew during a run: from a given time it has fewer lanes, or a lower rate.
//!
//! Not modelled: a link that comes back up to its full width, and one that goes down for good.

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Event, Machine, Shared};
use crate::cxl::{Lanes, LinkRate};
use crate::error::ModelError;
use crate::request::NodeId;

/// A change of a node's links to other lanes or another rate, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retraining {
    /// by place in the machine file
    pub node: u16,
    /// since detail began
    #[schemars(with = "String")]
    pub at: Time,
    #[schemars(with = "String")]
    pub lanes: Lanes,
    #[schemars(with = "String")]
    pub rate: LinkRate,
}

impl Machine {
    /// Let the links of all of a node's devices be trained anew at a moment to come.
    pub fn retrain(&mut self, retraining: Retraining) -> Result<(), ModelError> {
        let Retraining { node, at, lanes, rate } = retraining;
        let name = &self.spec.nodes[usize::from(node)].name;
        let inconsistent = |cause| ModelError::Inconsistent { file: self.spec.name.clone(), cause };
        let Shared { home, fabric, queue, .. } = &mut self.shared;
        for way in home.ways(NodeId(node)) {
            let link = fabric.first_link(*way).ok_or_else(|| inconsistent(format!("{name} has no CXL link")))?;
            let checked = link.check_retraining(lanes, rate);
            checked.map_err(|error| inconsistent(format!("node {name}: {error}")))?;
        }
        for way in home.ways(NodeId(node)) {
            queue.schedule(at, Event::Retrain(*way, lanes, rate));
        }
        Ok(())
    }
}
