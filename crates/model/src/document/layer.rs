//! Layers: a file that is based on another one leaves some of it out, and makes other choices.
//!
//! ```text
//!   over   [nodes.cxl]  without = ["rated"]   memory.coarse = ...
//!   base   [nodes.cxl]  rated = ...           memory.detailed = ...     <-- both go away
//! ```

use super::fitted::Fitted;
use super::kind::Kind;
use super::path::{ANY, join, paths, remove, split};
use super::tree::{Mistake, Table, Tree, Value};
use crate::error::ModelError;

/// The key that names what a table is laid on.
pub const BASED_ON: &str = "based_on";
/// The key that lists what a table leaves out of it.
const WITHOUT: &str = "without";
/// The table of a machine's nodes.
pub const NODES: &str = "nodes";

/// Takes out of `base` what the tables of `over` are `without`.
///
/// Below a node that is based on another the lists wait until that one is there.
pub fn leave_out(over: &mut Tree, base: &mut Tree, path: &str, fitted: &mut Vec<Fitted>) -> Result<(), ModelError> {
    let Some(table) = over.table_mut() else { return Ok(()) };
    let is_based = |table: &Table| table.contains_key(BASED_ON);
    if path.starts_with(NODES) && (is_based(table) || base.table().is_some_and(is_based)) {
        join_lists(table, base);
        return Ok(());
    }
    if let Some(list) = table.shift_remove(WITHOUT) {
        for name in names_of(&list)? {
            if base.table_mut().and_then(|table| table.shift_remove(name)).is_none() {
                let keys = base.table().into_iter().flat_map(Table::keys).cloned().collect::<Vec<_>>().join(", ");
                let cause = format!("{}: the base has no `{name}`; valid: {keys}", join(path, WITHOUT));
                return Err(Mistake { place: list.place.clone(), cause }.into());
            }
            fitted.retain(|fitted| !fitted.is_within(&join(path, name)));
        }
    }
    for (key, below) in table.iter_mut() {
        if let Some(base) = base.at_mut(&[key]) {
            leave_out(below, base, &join(path, key), fitted)?;
        }
    }
    Ok(())
}

/// Adds the base's keys under `without` to the table's.
fn join_lists(table: &mut Table, base: &Tree) {
    if let (Some(Value::Array(own)), Some(Value::Array(more))) =
        (table.get_mut(WITHOUT).map(|tree| &mut tree.value), base.at(&[WITHOUT]).map(|tree| &tree.value))
    {
        own.extend(more.iter().cloned());
    }
}

/// The texts of a list.
fn names_of(list: &Tree) -> Result<Vec<&str>, Mistake> {
    let wrong = || Mistake { place: list.place.clone(), cause: format!("{} is no list of keys", list.written()) };
    match &list.value {
        Value::Array(items) => items.iter().map(|item| item.text().ok_or_else(wrong)).collect(),
        _ => Err(wrong()),
    }
}

/// The keys of a table, one of which it chooses.
pub enum Among {
    /// one of these keys; it has others beside them
    These(&'static [&'static str]),
    /// it has one key
    All,
}

impl Among {
    fn has(&self, key: &str) -> bool {
        match self {
            Among::These(keys) => keys.contains(&key),
            Among::All => true,
        }
    }
}

/// The keys that say what a node's memory is on.
const NODE_KINDS: Among = Among::These(&["memory", "device", "shared"]);
/// Models of memory: a kind of media adds no line here.
const MEMORY_KINDS: Among = Among::All;

/// Tables that make a choice.
pub type Choice = (&'static [&'static str], Among);

/// Choices in a node's table.
pub const NODE_CHOICES: &[Choice] =
    &[(&[], NODE_KINDS), (&["memory"], MEMORY_KINDS), (&["device", "memory"], MEMORY_KINDS)];

/// Choices in the files of a kind.
pub fn choices(kind: Kind) -> &'static [Choice] {
    match kind {
        Kind::Machine => &[
            (&[NODES, ANY], NODE_KINDS),
            (&[NODES, ANY, "memory"], MEMORY_KINDS),
            (&[NODES, ANY, "device", "memory"], MEMORY_KINDS),
        ],
        Kind::Device => &[(&["memory"], MEMORY_KINDS)],
        Kind::Host
        | Kind::Core
        | Kind::SocketLink
        | Kind::Controller
        | Kind::Dimm
        | Kind::Dram
        | Kind::Flash
        | Kind::Drive => &[],
    }
}

/// Where `over` makes another choice than the base, the base's goes.
pub fn drop_other_kinds(choices: &[Choice], over: &Tree, base: &mut Tree, fitted: &mut Vec<Fitted>) {
    for (pattern, kinds) in choices {
        for path in paths(over, pattern) {
            let chosen = |tree: &Tree| -> Vec<String> {
                let keys = tree.at(&split(&path)).and_then(Tree::table).into_iter().flat_map(Table::keys);
                keys.filter(|key| kinds.has(key)).cloned().collect()
            };
            let given = chosen(over);
            for other in chosen(base).iter().filter(|other| !given.is_empty() && !given.contains(other)) {
                let other = join(&path, other);
                remove(base, &other);
                fitted.retain(|fitted| !fitted.is_within(&other));
            }
        }
    }
}
