//! Names of pages that have left a set, the oldest first. Each name is page + 1. Zeros behind the names are free
//! places.

/// Removes the page's name. Returns whether the page was named.
pub fn recall(names: &mut [u32], page: u32) -> bool {
    let Some(place) = names.iter().position(|name| *name == page + 1) else { return false };
    names[place] = 0;
    names[place..].rotate_left(1);
    true
}

/// Adds the newest name. If there is no room, the oldest name is forgotten.
pub fn remember(names: &mut [u32], page: u32) {
    if let Some(free) = names.iter().position(|name| *name == 0) {
        names[free] = page + 1;
    } else {
        names.rotate_left(1);
        names[names.len() - 1] = page + 1;
    }
}
