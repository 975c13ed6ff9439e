//! A mempolicy says on which node a page is put when it is touched first.
//!
//! Source: Linux, Documentation/admin-guide/mm/numa_memory_policy.rst; weighted interleave (6.9): so many pages in
//! a row on each node. Not modelled: cpusets, policies of parts of an address space.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OsError;
use crate::request::NodeId;

/// A mempolicy as people write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mempolicy {
    /// on the node of the core that touches it, else on the nearest with room
    FirstTouch,
    /// on this node and no other
    Bind { node: String },
    /// on this node, else on the nearest with room
    Preferred { node: String },
    /// one page on each in turn
    Interleave { nodes: Vec<String> },
    /// so many pages on each in turn
    Weighted { weights: Vec<Share> },
}

/// A node's weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MempolicyWeight")]
pub struct Share {
    pub node: String,
    pub weight: u32,
}

/// A mempolicy in force, with its place in the round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    rounds: Vec<(NodeId, u32)>,
    /// other nodes may help out
    falls_back: bool,
    /// whose turn it is, and how many pages it has had
    turn: usize,
    had: u32,
}

impl Mempolicy {
    /// The nodes by their numbers; `nodes` are the names of those with pages, the first is the cores' own.
    pub fn resolve(&self, nodes: &[&str]) -> Result<Placement, OsError> {
        let number = |name: &String| {
            let found = nodes.iter().position(|node| node == name);
            let unknown = || OsError::UnknownNode { name: name.clone(), valid: nodes.join(", ") };
            found.map(|number| NodeId(number as u16)).ok_or_else(unknown)
        };
        let once = |policy, rounds: Vec<(NodeId, u32)>| {
            let twice = |(at, (node, _)): (usize, &(NodeId, u32))| rounds[..at].iter().any(|(other, _)| other == node);
            if rounds.is_empty() || rounds.iter().enumerate().any(twice) {
                return Err(OsError::Nodes { policy });
            }
            Ok(Placement { rounds, falls_back: true, turn: 0, had: 0 })
        };
        match self {
            Mempolicy::FirstTouch => once("first_touch", vec![(NodeId(0), 1)]),
            Mempolicy::Preferred { node } => once("preferred", vec![(number(node)?, 1)]),
            Mempolicy::Bind { node } => Ok(Placement { falls_back: false, ..once("bind", vec![(number(node)?, 1)])? }),
            Mempolicy::Interleave { nodes } => {
                once("interleave", nodes.iter().map(|node| Ok((number(node)?, 1))).collect::<Result<_, _>>()?)
            }
            Mempolicy::Weighted { weights } => {
                let weighed = |Share { node, weight }: &Share| match weight {
                    1..=255 => Ok((number(node)?, *weight)),
                    _ => Err(OsError::Weight { node: node.clone(), weight: *weight }),
                };
                once("weighted", weights.iter().map(weighed).collect::<Result<_, _>>()?)
            }
        }
    }
}

impl Placement {
    /// The node whose turn it is.
    pub(super) fn next(&mut self) -> NodeId {
        let (node, weight) = self.rounds[self.turn];
        self.had += 1;
        if self.had >= weight {
            self.had = 0;
            self.turn = (self.turn + 1) % self.rounds.len();
        }
        node
    }

    pub(super) fn falls_back(&self) -> bool {
        self.falls_back
    }
}
