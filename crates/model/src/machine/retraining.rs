//! A link that is trained anew during a run: fewer lanes, or a lower rate, from a moment on.
//!
//! Not modelled: a link that comes back up to its full width, and one that goes down for good.

use cxlab_kernel::Time;
use serde::{Deserialize, Serialize};

use super::port::Port;
use super::{Event, Machine};
use crate::cxl::{Lanes, LinkRate};
use crate::error::ModelError;
use crate::request::NodeId;

/// What happens to the links of a node, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retraining {
    /// by place in the machine file
    pub node: u16,
    /// since detail began
    pub at: Time,
    pub lanes: Lanes,
    pub rate: LinkRate,
}

impl Machine {
    /// Let the links of all of a node's devices be trained anew at a moment to come.
    pub fn retrain(&mut self, retraining: Retraining) -> Result<(), ModelError> {
        let Retraining { node, at, lanes, rate } = retraining;
        let name = &self.spec.nodes[usize::from(node)].name;
        let inconsistent = |cause| ModelError::Inconsistent { file: self.spec.name.clone(), cause };
        let ports = self.shared.nodes[usize::from(NodeId(node).0)].ports();
        for port in &self.shared.ports[ports.clone()] {
            let Port::Cxl(expander, _) = port else { return Err(inconsistent(format!("{name} has no CXL link"))) };
            let checked = expander.link().check_retraining(lanes, rate);
            checked.map_err(|error| inconsistent(format!("node {name}: {error}")))?;
        }
        for port in ports {
            self.shared.queue.schedule(at, Event::Retrain(super::port::PortId(port as u16), lanes, rate));
        }
        Ok(())
    }
}
