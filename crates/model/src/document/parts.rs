//! Parts: files that other files name, and how a file is completed from what it names.
//!
//! ```text
//!   machine --based_on--> machine            nodes.*.device ----> device --memory--> controller, dimm --> dram
//!           --host--> host --microarchitecture--> core            nodes.*.memory --> controller, dimm --> dram
//!           --socket_link--> socket link                      device --flash--> flash part
//!           --drive--> drive --flash--> flash part
//! ```
//!
//! A key that stands for a part takes the part's name, or a table with `based_on` and what differs. What a file says
//! itself goes before what it is based on; `without = ["rated"]` leaves out what the base has (`layer.rs`).

use super::fitted::{self, Fitted};
use super::kind::Kind;
use super::layer::{BASED_ON, NODES, choices, drop_other_kinds, leave_out};
use super::library::{self, Found};
use super::path::{ANY, join, paths, remove, split};
use super::place::Author;
use super::read;
use super::tree::{Mistake, Table, Tree, Value};
use crate::error::ModelError;
use std::collections::HashMap;
use std::path::Path as FilePath;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

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
            (&["drive"], Kind::Drive, Way::Whole),
            (&[NODES, ANY, "device"], Kind::Device, Way::Whole),
            (&[NODES, ANY, "memory", "detailed", "memory_controller"], Kind::Controller, Way::Beneath),
            (&[NODES, ANY, "memory", "detailed", "dimm"], Kind::Dimm, Way::Beneath),
        ],
        Kind::Host => &[(&["microarchitecture"], Kind::Core, Way::Beneath)],
        Kind::Device => &[
            (&["memory", "detailed", "memory_controller"], Kind::Controller, Way::Beneath),
            (&["memory", "detailed", "dimm"], Kind::Dimm, Way::Beneath),
        ],
        Kind::Core | Kind::SocketLink | Kind::Controller | Kind::Dimm | Kind::Dram | Kind::Flash | Kind::Drive => &[],
    }
}

/// A part with all that it names.
#[derive(Clone)]
pub struct Whole {
    pub tree: Tree,
    pub fitted: Vec<Fitted>,
}

/// A tree whose parts are put in, and the paths at which a part replaces what a base has.
pub(super) struct Expanded {
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

/// Lays `over` on `base`: the base gives the keys that `over` does not have.
pub(super) fn lay(kind: Kind, mut over: Expanded, mut base: Whole) -> Result<Whole, ModelError> {
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

/// Puts in the parts that `tree` names.
pub(super) fn expand(kind: Kind, tree: Tree, chain: &mut Vec<String>) -> Result<Expanded, ModelError> {
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
    let patterns: [&[&str]; 6] = [
        &[NODES, ANY, "memory", "detailed", "dram"],
        &["memory", "detailed", "dram"],
        &["dram"],
        &[NODES, ANY, "device", "flash", "part"],
        &["flash", "part"],
        &["drive", "flash", "part"],
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

/// Takes the name of what a table is based on.
pub(super) fn take_name(tree: &mut Tree, kind: Kind) -> Result<Option<Named>, ModelError> {
    let taken = tree.table_mut().and_then(|table| table.shift_remove(BASED_ON));
    taken.map(|tree| part_name(&tree, kind)).transpose()
}
