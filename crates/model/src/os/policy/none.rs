//! No tiering: pages stay where their mempolicy put them.

/// Nothing but kswapd's state, for swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoTiering {
    pub(super) reclaiming: bool,
}
