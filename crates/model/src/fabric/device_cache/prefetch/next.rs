//! Next-N: the pages behind the one that missed.

pub fn asked(pages: u32, page: u32, fetch: &mut Vec<u32>) {
    fetch.extend((1..=pages).filter_map(|offset| page.checked_add(offset)));
}
