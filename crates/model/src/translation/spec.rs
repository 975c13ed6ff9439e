//! The keys of translation in a host file.

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use crate::fact::{Cycles, Sourced};

/// A set-associative array of translations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArraySpec {
    /// translations held
    pub entries: Sourced<u32>,
    /// of a set
    pub ways: Sourced<u32>,
    /// ways of a set that may hold a page of 2 MiB or more; 0 where another array holds these
    pub large_ways: Sourced<u32>,
}

/// The TLBs of a core for data, its structure caches and its walkers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlbSpec {
    /// first level, of loads
    pub load: ArraySpec,
    /// first level, pages of 2 MiB and more of loads; absent where `load` holds them
    pub load_large: Option<ArraySpec>,
    /// first level, of stores; absent where they share that of loads
    pub store: Option<ArraySpec>,
    /// second level, for all
    pub second: ArraySpec,
    /// what a hit in the second level adds to a load `[core cycles]`
    pub second_latency: Sourced<Cycles>,
    /// page-directory entries (each maps 2 MiB) that a walk need not read
    pub directory_entries: Sourced<u32>,
    /// page-directory-pointer entries (1 GiB) that a walk need not read
    pub pointer_entries: Sourced<u32>,
    /// entries of the levels above (512 GiB and more) that a walk need not read
    pub top_entries: Sourced<u32>,
    /// walks under way at once
    pub walkers: Sourced<u32>,
}

impl ArraySpec {
    fn check(&self, name: &str) -> Result<(), String> {
        let (entries, ways, large) = (*self.entries, *self.ways, *self.large_ways);
        if ways == 0 || ways > 4096 || entries > 1 << 16 || large > ways || !entries.is_multiple_of(ways) {
            return Err(format!(
                "tlb.{name}: {entries} entries in {ways} ways, {large} for large pages; valid: whole sets of 1 to 4096 \
                 ways, no more of them for large pages"
            ));
        }
        let sets = entries / ways;
        if !sets.is_power_of_two() || sets > 4096 {
            return Err(format!("tlb.{name}: {sets} sets; valid: a power of two up to 4096"));
        }
        Ok(())
    }
}

impl TlbSpec {
    /// Checks what must hold for a TLB to be built.
    pub fn check(&self) -> Result<(), String> {
        self.load.check("load")?;
        self.second.check("second")?;
        self.load_large.as_ref().map_or(Ok(()), |array| array.check("load_large"))?;
        self.store.as_ref().map_or(Ok(()), |array| array.check("store"))?;
        let large = self.load_large.as_ref().unwrap_or(&self.load);
        let stores = self.store.as_ref().unwrap_or(large);
        for (name, array) in [("load", large), ("store", stores), ("second", &self.second)] {
            if *array.large_ways == 0 {
                return Err(format!("tlb.{name}: no way for pages of 2 MiB; valid: large_ways from 1 on"));
            }
        }
        for (name, value, least) in [
            ("walkers", *self.walkers, 1),
            ("directory_entries", *self.directory_entries, 0),
            ("pointer_entries", *self.pointer_entries, 0),
            ("top_entries", *self.top_entries, 0),
        ] {
            if !(least..=1024).contains(&value) {
                return Err(format!("tlb.{name} = {value}; valid: {least} to 1024"));
            }
        }
        Ok(())
    }
}
