//! Names of pages that have left a set, the oldest first: each is page + 1, and 0, behind them, is room.

/// Whether the page is named; it is not any longer.
pub fn recall(names: &mut [u32], page: u32) -> bool {
    let Some(place) = names.iter().position(|name| *name == page + 1) else { return false };
    names[place] = 0;
    names[place..].rotate_left(1);
    true
}

/// The newest name; the oldest is forgotten where there is no room.
pub fn remember(names: &mut [u32], page: u32) {
    if let Some(free) = names.iter().position(|name| *name == 0) {
        names[free] = page + 1;
    } else {
        names.rotate_left(1);
        names[names.len() - 1] = page + 1;
    }
}
