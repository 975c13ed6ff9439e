//! Prefetching in a device cache: it chooses pages that are fetched before a request needs them. A prefetcher is a file
//! of `prefetch/`.

mod best_offset;
mod next;

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use best_offset::BestOffset;

/// A prefetcher, as the device file names it: `none`, `next-4` or `best-offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePrefetch {
    None,
    /// so many pages behind the one that missed
    Next(u32),
    /// the page at the offset that would have been in time most often (Michaud, HPCA 2016)
    BestOffset,
}

impl FromStr for CachePrefetch {
    type Err = String;
    fn from_str(text: &str) -> Result<CachePrefetch, String> {
        let pages = || text.strip_prefix("next-")?.parse().ok().filter(|pages| (1..=64).contains(pages));
        match text {
            "none" => Ok(CachePrefetch::None),
            "best-offset" => Ok(CachePrefetch::BestOffset),
            _ => pages()
                .map(CachePrefetch::Next)
                .ok_or_else(|| format!("`{text}` is no prefetcher; valid: none, best-offset, next-1 to next-64")),
        }
    }
}

impl fmt::Display for CachePrefetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CachePrefetch::None => f.write_str("none"),
            CachePrefetch::Next(pages) => write!(f, "next-{pages}"),
            CachePrefetch::BestOffset => f.write_str("best-offset"),
        }
    }
}

impl Serialize for CachePrefetch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CachePrefetch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for CachePrefetch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CachePrefetch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(none|best-offset|next-([1-9]|[1-5][0-9]|6[0-4]))$",
            "description": "none, best-offset, or next-N: so many pages behind the one that missed",
        })
    }
}

/// A prefetcher with its state.
#[derive(Clone, Debug)]
pub enum Prefetcher {
    None,
    Next(u32),
    BestOffset(Box<BestOffset>),
}

impl Prefetcher {
    pub fn new(spec: CachePrefetch) -> Prefetcher {
        match spec {
            CachePrefetch::None => Prefetcher::None,
            CachePrefetch::Next(pages) => Prefetcher::Next(pages),
            CachePrefetch::BestOffset => Prefetcher::BestOffset(Box::default()),
        }
    }

    /// Tells the prefetcher that a page missed, or was used for the first time after a prefetch. Adds the pages to
    /// fetch, in order.
    pub fn asked(&mut self, page: u32, fetch: &mut Vec<u32>) {
        match self {
            Prefetcher::None => {}
            Prefetcher::Next(pages) => next::asked(*pages, page, fetch),
            Prefetcher::BestOffset(state) => fetch.extend(state.asked(page)),
        }
    }

    /// Tells the prefetcher that a page has come from the flash, for a request or ahead.
    pub fn filled(&mut self, page: u32, ahead: bool) {
        if let Prefetcher::BestOffset(state) = self {
            state.filled(page, ahead);
        }
    }
}
