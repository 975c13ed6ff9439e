//! Reads which guest-physical addresses belong to which NUMA node, from the ACPI System Resource Affinity Table.
//!
//! ```text
//!   0        36         48          48 + len
//!   | header | reserved | structure | structure | ...      structure = type u8, length u8, body
//! ```
//!
//! Source: ACPI 6.5, section 5.2.16 (table) and 5.2.16.2 (memory affinity structure, type 1, 40 bytes). Not read:
//! processor, GIC and generic-initiator affinities. Linux numbers nodes in the order in which it meets proximity
//! domains. QEMU emits them in ascending order from 0. So the two numbers are the same here.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Error, Result};

/// File in which Linux shows the table.
pub const PATH: &str = "/sys/firmware/acpi/tables/SRAT";

/// ACPI header (36 bytes) and the 12 reserved bytes of the SRAT.
const FIRST_STRUCTURE: usize = 48;
/// Type and length of a memory affinity structure.
const MEMORY_AFFINITY: u8 = 1;
const MEMORY_AFFINITY_BYTES: usize = 40;
/// Flags bit 0: the range is in use.
const ENABLED: u32 = 1;

/// One NUMA node and its ranges of guest-physical addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRanges {
    /// proximity domain, Linux's node number
    pub node: u32,
    /// (start, length) `[bytes]`, in the table's order
    pub ranges: Vec<(u64, u64)>,
}

/// The enabled, non-empty memory ranges of the table, by node.
pub fn parse(table: &[u8]) -> Result<Vec<NodeRanges>> {
    let malformed = |what: &str| Error::Srat { what: what.to_owned() };
    if table.len() < FIRST_STRUCTURE || &table[..4] != b"SRAT" {
        return Err(malformed("no SRAT header"));
    }
    let declared = read_u32(table, 4) as usize;
    let table = table.get(..declared).ok_or_else(|| malformed("shorter than its header says"))?;

    let mut nodes: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let mut rest = table.get(FIRST_STRUCTURE..).ok_or_else(|| malformed("shorter than its own header"))?;
    while let [kind, length, ..] = *rest {
        let length = usize::from(length);
        if length < 2 || length > rest.len() {
            return Err(malformed("a structure runs past the end of the table"));
        }
        let (structure, next) = rest.split_at(length);
        rest = next;
        if kind != MEMORY_AFFINITY {
            continue;
        }
        if length != MEMORY_AFFINITY_BYTES {
            return Err(malformed("a memory affinity structure is not 40 bytes long"));
        }
        let (node, start, bytes) = (read_u32(structure, 2), read_u64(structure, 8), read_u64(structure, 16));
        if read_u32(structure, 28) & ENABLED != 0 && bytes > 0 {
            nodes.entry(node).or_default().push((start, bytes));
        }
    }
    if !rest.is_empty() {
        return Err(malformed("a stray byte follows the last structure"));
    }
    Ok(nodes.into_iter().map(|(node, ranges)| NodeRanges { node, ranges }).collect())
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    /// ACPI 6.5 section 5.2.16.2, field by field.
    fn memory_affinity(domain: u32, base: u64, length: u64, flags: u32) -> Vec<u8> {
        let mut s = vec![1, 40];
        s.extend(domain.to_le_bytes());
        s.extend([0; 2]);
        s.extend(base.to_le_bytes());
        s.extend(length.to_le_bytes());
        s.extend([0; 4]);
        s.extend(flags.to_le_bytes());
        s.extend([0; 8]);
        s
    }

    /// A local APIC affinity structure (type 0, 16 bytes): to be stepped over.
    fn processor_affinity() -> Vec<u8> {
        let mut s = vec![0u8; 16];
        s[1] = 16;
        s
    }

    fn table(structures: &[Vec<u8>]) -> Vec<u8> {
        let body = structures.concat();
        let mut t = b"SRAT".to_vec();
        t.extend(((FIRST_STRUCTURE + body.len()) as u32).to_le_bytes());
        t.resize(FIRST_STRUCTURE, 0);
        t.extend(body);
        t
    }

    #[test]
    fn nodes_have_their_ranges_around_the_hole_below_1_mib() {
        let srat = table(&[
            processor_affinity(),
            memory_affinity(0, 0, 640 << 10, 1),
            memory_affinity(0, MIB, 2 * GIB - MIB, 1),
            memory_affinity(1, 4 * GIB, 2 * GIB, 1),
        ]);
        assert_eq!(
            parse(&srat).unwrap(),
            [
                NodeRanges { node: 0, ranges: vec![(0, 640 << 10), (MIB, 2 * GIB - MIB)] },
                NodeRanges { node: 1, ranges: vec![(4 * GIB, 2 * GIB)] },
            ]
        );
    }

    #[test]
    fn disabled_and_empty_ranges_are_left_out() {
        let srat = table(&[
            memory_affinity(0, 0, GIB, 1),
            memory_affinity(1, GIB, GIB, 0),
            memory_affinity(1, GIB, GIB, 2), // hot-pluggable only
            memory_affinity(2, GIB, 0, 1),
        ]);
        assert_eq!(parse(&srat).unwrap(), [NodeRanges { node: 0, ranges: vec![(0, GIB)] }]);
    }

    #[test]
    fn malformed_tables_are_errors() {
        let good = table(&[memory_affinity(0, 0, GIB, 1)]);
        let mut wrong_name = good.clone();
        wrong_name[0] = b'X';
        let mut zero_length = good.clone();
        zero_length[FIRST_STRUCTURE + 1] = 0;
        let mut beyond = good.clone();
        beyond[FIRST_STRUCTURE + 1] = 200;
        for bad in [&good[..20], &good[..good.len() - 1], &wrong_name[..], &zero_length, &beyond] {
            assert!(parse(bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&table(std::slice::from_ref(&body)));
            let _ = parse(&body);
        }
    }
}
