//! The protocol as a table: who has a line, what is asked, what follows.
//!
//! Source: Papamarcos and Patel, ISCA 1984 (MESI), DOI 10.1145/800015.808204; directory form as in Nagarajan, Sorin, Hill,
//! Wood, A Primer on Memory Consistency and Cache Coherence, 2nd edition, 2020, table 8.4. A line that one core has is
//! Exclusive or Modified there: the change is silent, so the home agent does not tell them apart.

use super::cores::Cores;
use crate::cache::{LineState, Snoop};
use crate::request::CoreId;

/// Who has the line, as the home agent knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    #[default]
    Nobody,
    /// some may read it
    Shared(Cores),
    /// one may change it, and may have
    Owned(CoreId),
}

/// What is asked of the home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// to read the line
    Read,
    /// to change it
    Own,
    /// all of it is written past the caches
    Overwrite,
    /// no cache is to have it; its memory is to have its contents
    Flush,
    /// its memory is to have its contents
    Clean,
}

/// Where the line's contents come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// the LLC or the memory
    Home,
    /// another core's caches
    Cache(CoreId),
    /// the asker has them, or brings them
    Asker,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub next: Presence,
    /// who is snooped first, and what is left there
    pub snoop: (Cores, Snoop),
    pub source: Source,
    /// what the asker may do with its copy; `None` where it gets none
    pub grant: Option<LineState>,
}

/// The table.
#[must_use]
#[rustfmt::skip]
pub fn answer(presence: Presence, ask: Ask, asker: CoreId) -> Answer {
    use LineState::{Exclusive, Modified};
    use Presence::{Nobody, Owned, Shared};
    use Snoop::{Invalidate, Share};
    let row = |next, cores, snoop, source, grant| Answer { next, snoop: (cores, snoop), source, grant };
    let (none, only, readers) = (Cores::default(), Cores::one, |cores: Cores| cores.without(asker));
    match (presence, ask) {
        //                                             next                              snooped         left       contents            grant
        (Nobody, Ask::Read)                   => row(Owned(asker),                     none,           Invalidate, Source::Home,       Some(Exclusive)),
        (Nobody, Ask::Own)                    => row(Owned(asker),                     none,           Invalidate, Source::Home,       Some(Modified)),
        (Shared(s), Ask::Read)                => row(Shared(s.with(asker)),            none,           Share,      Source::Home,       Some(LineState::Shared)),
        (Shared(s), Ask::Own) if s.holds(asker) => row(Owned(asker),                   readers(s),     Invalidate, Source::Asker,      Some(Modified)),
        (Shared(s), Ask::Own)                 => row(Owned(asker),                     s,              Invalidate, Source::Home,       Some(Modified)),
        (Owned(o), Ask::Read) if o == asker   => row(Owned(asker),                     none,           Share,      Source::Asker,      Some(Exclusive)),
        (Owned(o), Ask::Own) if o == asker    => row(Owned(asker),                     none,           Invalidate, Source::Asker,      Some(Modified)),
        (Owned(o), Ask::Read)                 => row(Shared(only(o).with(asker)),      only(o),        Share,      Source::Cache(o),   Some(LineState::Shared)),
        (Owned(o), Ask::Own)                  => row(Owned(asker),                     only(o),        Invalidate, Source::Cache(o),   Some(Modified)),
        // What these find changed goes into the LLC, and from there to the memory.
        (Nobody, Ask::Flush)                  => row(Nobody,                           none,           Invalidate, Source::Home,       None),
        (Shared(s), Ask::Flush)               => row(Nobody,                           s,              Invalidate, Source::Home,       None),
        (Owned(o), Ask::Flush)                => row(Nobody,                           only(o),        Invalidate, Source::Home,       None),
        (Owned(o), Ask::Clean) if o != asker  => row(Shared(only(o)),                  only(o),        Share,      Source::Home,       None),
        (any, Ask::Clean)                     => row(any,                              none,           Share,      Source::Home,       None),
        (Nobody, Ask::Overwrite)              => row(Nobody,                           none,           Invalidate, Source::Asker,      None),
        (Shared(s), Ask::Overwrite)           => row(Nobody,                           s,              Invalidate, Source::Asker,      None),
        (Owned(o), Ask::Overwrite)            => row(Nobody,                           only(o),        Invalidate, Source::Asker,      None),
    }
}

impl Presence {
    /// A core's copy has left its caches.
    #[must_use]
    pub fn without(self, core: CoreId) -> Presence {
        match self {
            Presence::Shared(cores) if cores.without(core).is_empty() => Presence::Nobody,
            Presence::Shared(cores) => Presence::Shared(cores.without(core)),
            Presence::Owned(owner) if owner == core => Presence::Nobody,
            other => other,
        }
    }
}
