//! The kernel's list format ("0-3,8"): CPUs and nodes in sysfs, and on the command line.
//!
//! Source: Documentation/admin-guide/kernel-parameters.rst, "cpu lists"; groups ("0-31:2/8") are not read.

/// The numbers of a list, ascending; `None` if the text is no list. Empty text is the empty list.
#[must_use]
pub fn parse(text: &str) -> Option<Vec<usize>> {
    let text = text.trim();
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // The kernel's own bound is CONFIG_NR_CPUS <= 8192: past that, it is a slip of the finger.
        if first > last || last > 1 << 16 {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The shortest list of ascending `numbers`.
#[must_use]
pub fn write(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let parts = runs.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    parts.collect::<Vec<_>>().join(",")
}
