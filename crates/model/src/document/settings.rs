//! Settings of the command line: `--set nodes.cxl.device.root_port.response_fifo=128`, laid on a machine like a file.

use super::place::{Author, Origin};
use super::tree::{Mistake, Table, Tree, VALUE, Value};
use crate::error::ModelError;

/// Reads `KEY=VALUE`; what stands there is as in a file, and text needs no quotes.
pub fn parse(setting: &str) -> Result<Tree, ModelError> {
    let wrong = |cause: &str| ModelError::Setting { setting: setting.into(), cause: cause.into() };
    let usage = "write KEY=VALUE, as in nodes.cxl.device.root_port.response_fifo=128";
    let (key, value) = setting.split_once('=').ok_or_else(|| wrong(usage))?;
    let keys: Vec<&str> = key.trim().split('.').map(str::trim).collect();
    if keys.iter().any(|key| key.is_empty()) || value.trim().is_empty() {
        return Err(wrong(usage));
    }
    let origin = || Origin { author: Author::CommandLine, file: setting.into(), folder: None };
    let leaf = Tree::parse_value(value.trim(), origin());
    let place = leaf.place.clone();
    let around = |tree, key: &&str| {
        let table = Table::from_iter([((*key).to_owned(), tree)]);
        Tree { value: Value::Table(table), place: place.clone() }
    };
    Ok(keys.iter().rev().fold(leaf, around))
}

/// Whether the machine `tree` has what `setting` sets: a key of each table on the way, and a value at its end.
///
/// A key that the machine does not give but could (an optional one) is left to the types.
pub fn check(setting: &Tree, tree: &Tree) -> Result<(), Mistake> {
    let (mut over, mut under, mut path) = (setting, tree, String::new());
    while let Some((key, next)) = over.table().and_then(|table| table.first()) {
        if over.is_sourced() {
            break;
        }
        let Some(table) = under.table().filter(|_| under.is_branch()) else {
            if key == VALUE {
                return Ok(());
            }
            let cause = format!("{path} = {} is a value and has no key `{key}`", under.written());
            return Err(Mistake { place: setting.place.clone(), cause });
        };
        let Some(found) = table.get(key) else {
            if path == "nodes" {
                let valid = table.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                let cause = format!("there is no node `{key}`; valid: {valid}");
                return Err(Mistake { place: setting.place.clone(), cause });
            }
            return Ok(());
        };
        path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        (over, under) = (next, found);
    }
    let is_part = matches!(path.rsplit('.').next(), Some("host" | "socket_link" | "device"));
    if over.table().is_none() && under.is_branch() && !is_part {
        let keys = under.table().into_iter().flat_map(Table::keys).map(String::as_str).collect::<Vec<_>>().join(", ");
        let cause = format!("{path} is a table, no value; its keys: {keys}");
        return Err(Mistake { place: setting.place.clone(), cause });
    }
    Ok(())
}
