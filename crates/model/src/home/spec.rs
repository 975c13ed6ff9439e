//! The keys of a host file for the mesh and the home agents.

use cxlab_kernel::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fact::Sourced;

/// The home agents, one beside each LLC slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeSpec {
    /// table of requests of one slice: lines on their way to or from memory `[entries]`
    pub requests: Sourced<u32>,
    /// entries of them that one core may use at once. Of its victims, those count that drive a changed line out of the
    /// LLC. As many as there are without this key `[entries]`
    pub requests_of_core: Option<Sourced<u32>>,
    /// lines of non-temporal stores that a slice holds until their memory has them; any number without this key
    /// `[entries]`
    pub write_buffers: Option<Sourced<u32>>,
}

/// Distances on the chip, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// from the address to a known LLC miss: L1 and L2 look-up, mesh, slice. The rest of the LLC's latency is the way
    /// back; both are means as the LLC's latency is
    pub to_home: Sourced<Time>,
    /// stops of the mesh that hold slices
    pub columns: Sourced<u32>,
    pub rows: Sourced<u32>,
    /// from a stop to the next in its row
    pub hop_across: Sourced<Time>,
    /// from a stop to the next in its column
    pub hop_along: Sourced<Time>,
    /// from the home agent to a memory controller or a root port
    pub home_to_memory: Sourced<Time>,
}
