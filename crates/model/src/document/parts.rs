//! Parts: files that other files name, and how a file is completed from what it names.
//!
//! ```text
//!   machine --based_on--> machine            nodes.*.device ----> device --memory--> controller, dimm --> dram
//!           --host--> host --microarchitecture--> core            nodes.*.memory --> controller, dimm --> dram
//!           --socket_link--> socket link                      device --flash--> flash part
//! ```
//!
//! A key that stands for a part takes the part's name, or a table with `based_on` and what differs. What a file says
//! itself goes before what it is based on; `without = ["rated"]` leaves out what the base has. A node may be based on
//! another node of its machine.

use super::fitted::{self, Fitted};
use super::kind::Kind;
use super::library::{self, Found};
use super::place::Author;
use super::tree::{Mistake, Table, Tree, Value};
use super::{read, settings};
use crate::error::ModelError;
use std::collections::HashMap;
use std::path::Path as FilePath;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

const BASED_ON: &str = "based_on";
const WITHOUT: &str = "without";
const NODES: &str = "nodes";
const NODE_NAMES: &str = "node_names";
/// Any key.
const ANY: &str = "*";
/// More than any sensible file needs.
const DEEPEST: usize = 16;

/// How a part is put in where it is named.
#[derive(Clone, Copy)]
enum Way {
    /// the key becomes the part
    Whole,
    /// the part's keys go beneath those of the table that names it, and the key goes away
    Beneath,
}

type Slot = (&'static [&'static str], Kind, Way);

/// Keys that stand for parts.
fn slots(kind: Kind) -> &'static [Slot] {
    match kind {
        Kind::Machine => &[
            (&["host"], Kind::Host, Way::Whole),
            (&["socket_link"], Kind::SocketLink, Way::Whole),
            (&[NODES, ANY, "device"], Kind::Device, Way::Whole),
            (&[NODES, ANY, "memory", "detailed", "memory_controller"], Kind::Controller, Way::Beneath),
            (&[NODES, ANY, "memory", "detailed", "dimm"], Kind::Dimm, Way::Beneath),
        ],
        Kind::Host => &[(&["microarchitecture"], Kind::Core, Way::Beneath)],
        Kind::Device => &[
            (&["memory", "detailed", "memory_controller"], Kind::Controller, Way::Beneath),
            (&["memory", "detailed", "dimm"], Kind::Dimm, Way::Beneath),
        ],
        Kind::Core | Kind::SocketLink | Kind::Controller | Kind::Dimm | Kind::Dram | Kind::Flash => &[],
    }
}

/// A part with all that it names.
#[derive(Clone)]
pub struct Whole {
    pub tree: Tree,
    pub fitted: Vec<Fitted>,
}

/// A tree whose parts are put in, and the paths at which a part replaces what a base has.
struct Expanded {
    whole: Whole,
    replaced: Vec<String>,
}

/// The part `name`, a shipped one or a path relative to `beside`.
pub fn load(kind: Kind, name: &str, beside: Option<&FilePath>) -> Result<Whole, ModelError> {
    load_at(kind, name, beside, &mut Vec::new())
}

/// `chain` holds the files under way, against files that are based on each other.
fn load_at(kind: Kind, name: &str, beside: Option<&FilePath>, chain: &mut Vec<String>) -> Result<Whole, ModelError> {
    let Found { text, origin, stem } = library::find(kind, name, beside)?;
    let file = origin.file.clone();
    let shipped = origin.author == Author::Shipped;
    if let Some(whole) = known().get(&file).filter(|_| shipped) {
        return Ok(whole.clone());
    }
    let circle = chain.contains(&file) || chain.len() > DEEPEST;
    chain.push(file);
    let mut tree = Tree::parse(&text, origin)?;
    if circle {
        let cause =
            format!("based_on leads back: {}; base each file on one that is not based on it", chain.join(" -> "));
        return Err(Mistake { place: tree.place, cause }.into());
    }
    let place = tree.place.clone();
    if let Some(table) = tree.table_mut()
        && kind.has_name()
        && !table.contains_key("name")
    {
        table.insert("name".into(), Tree { value: Value::Text(stem), place });
    }
    let whole = complete(kind, tree, chain)?;
    if let Some(file) = chain.pop().filter(|_| shipped) {
        known().insert(file, whole.clone());
    }
    Ok(whole)
}

/// Shipped files that have been read, with all that they name: they do not change while a process runs.
fn known() -> MutexGuard<'static, HashMap<String, Whole>> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Whole>>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lays `tree` on what it is based on.
fn complete(kind: Kind, mut tree: Tree, chain: &mut Vec<String>) -> Result<Whole, ModelError> {
    let base = take_name(&mut tree, kind)?;
    let expanded = expand(kind, tree, chain)?;
    let Some((name, beside)) = base else { return Ok(expanded.whole) };
    let base = load_at(kind, &name, beside.as_deref(), chain)?;
    lay(kind, expanded, base)
}

/// What `over` does not say is as in `base`.
fn lay(kind: Kind, mut over: Expanded, mut base: Whole) -> Result<Whole, ModelError> {
    leave_out(&mut over.whole.tree, &mut base.tree, "", &mut base.fitted)?;
    for path in &over.replaced {
        remove(&mut base.tree, path);
        base.fitted.retain(|fitted| !fitted.is_within(path));
    }
    drop_other_kinds(choices(kind), &over.whole.tree, &mut base.tree, &mut base.fitted);
    base.fitted.retain(|fitted| over.whole.tree.at(&fitted.keys()).is_none());
    let tree = over.whole.tree.laid_on(base.tree);
    Ok(Whole { tree, fitted: base.fitted.into_iter().chain(over.whole.fitted).collect() })
}

/// Takes out of `base` what the tables of `over` are `without`.
///
/// Below a node that is based on another the lists wait until that one is there.
fn leave_out(over: &mut Tree, base: &mut Tree, path: &str, fitted: &mut Vec<Fitted>) -> Result<(), ModelError> {
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

/// What both are without, the table is without.
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

/// What a node's memory is on.
const NODE_KINDS: &[&str] = &["memory", "device", "shared"];
/// Models of memory.
const MEMORY_KINDS: &[&str] = &["coarse", "detailed"];

/// Tables that have one of several keys, and these keys.
type Choice = (&'static [&'static str], &'static [&'static str]);

const NODE_CHOICES: &[Choice] =
    &[(&[], NODE_KINDS), (&["memory"], MEMORY_KINDS), (&["device", "memory"], MEMORY_KINDS)];

fn choices(kind: Kind) -> &'static [Choice] {
    match kind {
        Kind::Machine => &[
            (&[NODES, ANY], NODE_KINDS),
            (&[NODES, ANY, "memory"], MEMORY_KINDS),
            (&[NODES, ANY, "device", "memory"], MEMORY_KINDS),
        ],
        Kind::Device => &[(&["memory"], MEMORY_KINDS)],
        Kind::Host | Kind::Core | Kind::SocketLink | Kind::Controller | Kind::Dimm | Kind::Dram | Kind::Flash => &[],
    }
}

/// Where `over` makes another choice than the base, the base's goes.
fn drop_other_kinds(choices: &[Choice], over: &Tree, base: &mut Tree, fitted: &mut Vec<Fitted>) {
    for (pattern, kinds) in choices {
        for path in paths(over, pattern) {
            let table = over.at(&split(&path)).and_then(Tree::table);
            let Some(given) = table.and_then(|table| kinds.iter().find(|kind| table.contains_key(**kind))) else {
                continue;
            };
            for other in kinds.iter().filter(|kind| *kind != given) {
                let other = join(&path, other);
                remove(base, &other);
                fitted.retain(|fitted| !fitted.is_within(&other));
            }
        }
    }
}

/// Puts in the parts that `tree` names.
fn expand(kind: Kind, tree: Tree, chain: &mut Vec<String>) -> Result<Expanded, ModelError> {
    let mut expanded = Expanded { whole: Whole { tree, fitted: Vec::new() }, replaced: Vec::new() };
    expanded.whole.fitted = fitted::take(&mut expanded.whole.tree)?;
    for (pattern, kind, way) in slots(kind) {
        for path in paths(&expanded.whole.tree, pattern) {
            put_in(&mut expanded, &path, *kind, *way, chain)?;
        }
    }
    absolute_parts(&mut expanded.whole.tree);
    Ok(expanded)
}

/// The paths of `tree` that `pattern` stands for.
fn paths(tree: &Tree, pattern: &[&str]) -> Vec<String> {
    let mut found = vec![String::new()];
    for key in pattern {
        let below = |path: &String| {
            let keys: Vec<String> = match tree.at(&split(path)).and_then(Tree::table) {
                Some(table) if *key == ANY => table.keys().cloned().collect(),
                Some(table) if table.contains_key(*key) => vec![(*key).to_owned()],
                _ => Vec::new(),
            };
            keys.into_iter().map(|key| join(path, &key)).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    found
}

fn put_in(
    expanded: &mut Expanded,
    path: &str,
    kind: Kind,
    way: Way,
    chain: &mut Vec<String>,
) -> Result<(), ModelError> {
    let Some(named) = expanded.whole.tree.at(&split(path)).cloned() else { return Ok(()) };
    let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
    match way {
        Way::Beneath => {
            let (name, beside) = part_name(&named, kind)?;
            let part = unnamed(load_at(kind, &name, beside.as_deref(), chain)?)?;
            let Some(holder) = expanded.whole.tree.at_mut(&split(above)) else { return Ok(()) };
            if let Some(table) = holder.table_mut() {
                table.shift_remove(last);
            }
            let own = holder.clone();
            let kept = part.fitted.into_iter().filter(|fitted| own.at(&fitted.keys()).is_none());
            expanded.whole.fitted.extend(kept.map(|fitted| fitted.below(above)));
            expanded.replaced.extend(part.tree.table().into_iter().flat_map(Table::keys).map(|key| join(above, key)));
            *holder = own.laid_on(part.tree);
        }
        Way::Whole => {
            let is_part = named.text().is_some() || named.table().is_some_and(|table| table.contains_key(BASED_ON));
            let mut part = match named.text() {
                Some(name) => load_at(kind, name, named.place.origin.folder.clone().as_deref(), chain)?,
                None if is_part => complete(kind, named, chain)?,
                None if named.is_branch() => {
                    let inner = expand(kind, named, chain)?;
                    expanded.replaced.extend(inner.replaced.iter().map(|below| join(path, below)));
                    inner.whole
                }
                None => return Ok(()),
            };
            if !kind.has_name() {
                part = unnamed(part)?;
            }
            if is_part {
                expanded.replaced.push(path.to_owned());
            }
            expanded.whole.fitted.extend(part.fitted.into_iter().map(|fitted| fitted.below(path)));
            if let Some(slot) = expanded.whole.tree.at_mut(&split(path)) {
                *slot = part.tree;
            }
        }
    }
    Ok(())
}

/// Without the name and the sentence that only the part's own file needs.
fn unnamed(mut part: Whole) -> Result<Whole, Mistake> {
    if let Some(table) = part.tree.table_mut() {
        for key in ["name", "description"] {
            if let Some(told) = table.shift_remove(key) {
                read::read::<String>(&told, key)?;
            }
        }
    }
    Ok(part)
}

/// A DRAM or flash part that a user's file names by path is beside that file.
fn absolute_parts(tree: &mut Tree) {
    let patterns: [&[&str]; 5] = [
        &[NODES, ANY, "memory", "detailed", "dram"],
        &["memory", "detailed", "dram"],
        &["dram"],
        &[NODES, ANY, "device", "flash", "part"],
        &["flash", "part"],
    ];
    for pattern in patterns {
        for path in paths(tree, pattern) {
            let Some(named) = tree.at_mut(&split(&path)) else { continue };
            let leaf = if named.is_sourced() { named.at_mut(&["value"]) } else { Some(named) };
            let Some(leaf) = leaf else { continue };
            let folder = leaf.place.origin.folder.clone();
            if let (Value::Text(name), Some(folder)) = (&mut leaf.value, folder)
                && name.ends_with(".toml")
            {
                *name = folder.join(&name).display().to_string();
            }
        }
    }
}

type Named = (String, Option<std::path::PathBuf>);

/// The part's name that a key gives, and the folder of the file that it stands in.
fn part_name(tree: &Tree, kind: Kind) -> Result<Named, ModelError> {
    let folder = tree.place.origin.folder.clone();
    match tree.text() {
        Some(name) => Ok((name.to_owned(), folder)),
        None => {
            let cause = format!("{} is no name of a {}; write it as text", tree.written(), kind.name());
            Err(Mistake { place: tree.place.clone(), cause }.into())
        }
    }
}

fn take_name(tree: &mut Tree, kind: Kind) -> Result<Option<Named>, ModelError> {
    let taken = tree.table_mut().and_then(|table| table.shift_remove(BASED_ON));
    taken.map(|tree| part_name(&tree, kind)).transpose()
}

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

fn remove(tree: &mut Tree, path: &str) {
    let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
    if let Some(table) = tree.at_mut(&split(above)).and_then(Tree::table_mut) {
        table.shift_remove(last);
    }
}

fn split(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}

fn join(above: &str, below: &str) -> String {
    if above.is_empty() { below.to_owned() } else { format!("{above}.{below}") }
}
