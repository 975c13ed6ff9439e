//! A machine's nodes: each laid on the node that it is based on, then in the order that the machine gives them.

use super::fitted::Fitted;
use super::kind::Kind;
use super::layer::{NODE_CHOICES, NODES, drop_other_kinds, leave_out};
use super::parts::{Whole, expand, lay, load, take_name};
use super::path::remove;
use super::settings;
use super::tree::{Mistake, Table, Tree, Value};
use crate::error::ModelError;

const NODE_NAMES: &str = "node_names";

/// A machine with settings of the command line, its nodes in their order.
pub fn machine(name: &str, settings: &[Tree]) -> Result<Whole, ModelError> {
    let mut whole = load(Kind::Machine, name, None)?;
    complete_nodes(&mut whole)?;
    // After the nodes are whole: a setting changes the node that it names, not those that are based on it.
    for setting in settings {
        settings::check(setting, &whole.tree)?;
        let over = expand(Kind::Machine, setting.clone(), &mut Vec::new())?;
        let place = whole.tree.place.clone();
        whole = lay(Kind::Machine, over, whole)?;
        whole.tree.place = place;
    }
    order_nodes(&mut whole)?;
    drop_idle_link(&mut whole);
    Ok(whole)
}

/// Lays each node on the node that it is based on.
fn complete_nodes(whole: &mut Whole) -> Result<(), ModelError> {
    let Some(mut nodes) = whole.tree.at(&[NODES]).and_then(Tree::table).cloned() else { return Ok(()) };
    for name in nodes.keys().cloned().collect::<Vec<_>>() {
        let mut seen = vec![name.clone()];
        while let Some((base, _)) = take_name(&mut nodes[&name], Kind::Machine)? {
            let place = nodes[&name].place.clone();
            let Some(under) = nodes.get(&base).filter(|_| !seen.contains(&base)).cloned() else {
                let others = nodes.keys().filter(|other| !seen.contains(other)).cloned().collect::<Vec<_>>().join(", ");
                let cause =
                    format!("nodes.{name}: based_on = \"{base}\" is no other node of this machine; valid: {others}");
                return Err(Mistake { place, cause }.into());
            };
            let (from, to) = (format!("{NODES}.{base}"), format!("{NODES}.{name}"));
            let (mut own, mut under) = (nodes[&name].clone(), under);
            leave_out(&mut own, &mut under, &to, &mut Vec::new())?;
            if own.at(&["device", "name"]).is_some() {
                // A whole device, not changes of the other node's.
                remove(&mut under, "device");
            }
            drop_other_kinds(NODE_CHOICES, &own, &mut under, &mut Vec::new());
            let copied = |fitted: &Fitted| {
                let below = fitted.within(&from)?;
                (own.at(&below.keys()).is_none() && under.at(&below.keys()).is_some()).then(|| below.below(&to))
            };
            let copies: Vec<_> = whole.fitted.iter().filter_map(copied).collect();
            whole.fitted.extend(copies);
            nodes.insert(name.clone(), own.laid_on(under));
            seen.push(base);
        }
    }
    set_nodes(whole, nodes);
    Ok(())
}

/// Keeps the nodes that `node_names` lists, in its order.
fn order_nodes(whole: &mut Whole) -> Result<(), ModelError> {
    let Some(names) = whole.tree.table_mut().and_then(|table| table.shift_remove(NODE_NAMES)) else { return Ok(()) };
    let Some(nodes) = whole.tree.at(&[NODES]).and_then(Tree::table).cloned() else { return Ok(()) };
    let valid = || nodes.keys().cloned().collect::<Vec<_>>().join(", ");
    let wrong = |tree: &Tree, cause: String| ModelError::from(Mistake { place: tree.place.clone(), cause });
    let Value::Array(items) = &names.value else {
        return Err(wrong(&names, format!("node_names = {}; valid: a list of {}", names.written(), valid())));
    };
    let mut ordered = Table::new();
    for item in items {
        let node = item.text().and_then(|name| Some((name.to_owned(), nodes.get(name)?.clone())));
        let (name, node) = node.ok_or_else(|| {
            wrong(item, format!("node_names: {} is no node of this machine; valid: {}", item.written(), valid()))
        })?;
        if ordered.insert(name, node).is_some() {
            return Err(wrong(item, format!("node_names: {} stands twice", item.written())));
        }
    }
    whole.fitted.retain(|fitted| match fitted.keys()[..] {
        [NODES, node, ..] => ordered.contains_key(node),
        _ => true,
    });
    set_nodes(whole, ordered);
    Ok(())
}

fn set_nodes(whole: &mut Whole, nodes: Table) {
    if let Some(tree) = whole.tree.at_mut(&[NODES]) {
        tree.value = Value::Table(nodes);
    }
}

/// A machine without nodes of the other socket has no link to it.
fn drop_idle_link(whole: &mut Whole) {
    let nodes = whole.tree.at(&[NODES]).and_then(Tree::table);
    let other = |node: &Tree| node.at(&["socket"]).and_then(Tree::text) == Some("other");
    if !nodes.is_some_and(|nodes| nodes.values().any(other)) {
        remove(&mut whole.tree, "socket_link");
        whole.fitted.retain(|fitted| !fitted.is_within("socket_link"));
    }
}
