//! Paths into a document, as in `nodes.cxl.device`, and patterns that stand for several.

use super::tree::Tree;

/// Any key.
pub const ANY: &str = "*";

/// The paths of `tree` that `pattern` stands for.
pub fn paths(tree: &Tree, pattern: &[&str]) -> Vec<String> {
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

/// Takes what is at `path` out of its table.
pub fn remove(tree: &mut Tree, path: &str) {
    let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
    if let Some(table) = tree.at_mut(&split(above)).and_then(Tree::table_mut) {
        table.shift_remove(last);
    }
}

/// The keys of a path.
pub fn split(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}

/// A path, one key further.
pub fn join(above: &str, below: &str) -> String {
    if above.is_empty() { below.to_owned() } else { format!("{above}.{below}") }
}
