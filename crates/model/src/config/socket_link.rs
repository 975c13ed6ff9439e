//! The link between two sockets (UPI, xGMI), and what the other socket's home agent does before its memory.

use cxlab_kernel::{Bandwidth, Bytes, Time};
use serde::{Deserialize, Serialize};

use super::Sourced;

/// All links between two sockets as one wire a direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketLinkSpec {
    /// links side by side
    pub links: Sourced<u32>,
    /// one direction of one link, raw [GB/s]
    pub bandwidth: Sourced<Bandwidth>,
    /// a message without data on the wire [B]
    pub request: Sourced<Bytes>,
    /// a message with a line on the wire [B]
    pub data: Sourced<Bytes>,
    /// link agents and wire, one way, without serialisation [ns]
    pub flight: Sourced<Time>,
    /// the other socket's mesh between the link and its memory controllers and root ports, each way [ns]
    pub mesh: Sourced<Time>,
    /// where the other socket's home agent notes that a line of its DDR is owned here
    pub directory: Sourced<Directory>,
    /// at the other socket's home agent, before its DDR is read: directory and snoop filter, and for memory that
    /// may be cached on both sockets the wait for the answer (MICRO'23 O1 to O3) [ns]
    pub coherence_check: Sourced<Time>,
    pub remote_snoop_filter: RemoteSnoopFilterSpec,
}

/// Where a home agent keeps its directory of lines that another socket may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directory {
    /// in bits beside each line in the DRAM: a read for ownership writes its line back with them changed
    InMemory,
    /// in a table on the die: no traffic
    OnDie,
}

/// What tracks accesses to the CXL memory of the other socket (EuroSys'24, 3.2 suspects it of the low bandwidth).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSnoopFilterSpec {
    /// lines tracked at once, from the arrival at the other socket until the answer leaves [entries]
    pub entries: Sourced<u32>,
    /// look-up and allocation, before the root port [ns]
    pub look_up: Sourced<Time>,
}

impl SocketLinkSpec {
    /// How long a message of `bytes` keeps a direction busy.
    #[must_use]
    pub fn serialise(&self, bytes: Bytes) -> Time {
        // Of all links together: their bandwidths add up.
        let one = bytes / *self.bandwidth;
        Time::from_ps(one.as_ps().div_ceil(u64::from(*self.links)))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, value) in [("links", *self.links), ("remote_snoop_filter.entries", *self.remote_snoop_filter.entries)]
        {
            if !(1..=4096).contains(&value) {
                return Err(format!("socket_link.{key} = {value}; valid: 1 to 4096"));
            }
        }
        if *self.data <= *self.request {
            let (data, request) = (*self.data, *self.request);
            return Err(format!("socket_link.data = {data}; valid: more than socket_link.request = {request}"));
        }
        Ok(())
    }
}
