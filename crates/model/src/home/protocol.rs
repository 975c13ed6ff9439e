//! The protocol as a table: from the presence of a line and a request for it to the next presence and the answer.
//!
//! Source: Papamarcos and Patel, ISCA 1984 (MESI), DOI 10.1145/800015.808204. The directory form is that of Nagarajan,
//! Sorin, Hill, Wood, A Primer on Memory Consistency and Cache Coherence, 2nd edition, 2020, table 8.4. A line that one
//! core has is Exclusive or Modified there. The change is silent, so the home agent does not tell the two apart.

use super::cores::Cores;
use crate::cache::{LineState, Snoop};
use crate::request::CoreId;

/// The cores with a copy of a line, as the home agent knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    #[default]
    Nobody,
    /// these cores may read it
    Shared(Cores),
    /// this core may change it, and may have changed it
    Owned(CoreId),
}

/// A core's request to the home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// the core wants to read the line
    Read,
    /// the core wants to change the line
    Own,
    /// the core writes the whole line past the caches
    Overwrite,
    /// the contents go to the memory, and no cache keeps a copy
    Flush,
    /// the contents go to the memory
    Clean,
}

/// Source of the line's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// the LLC or the memory
    Home,
    /// another core's caches
    Cache(CoreId),
    /// the asker, which has the contents or brings them
    Asker,
}

/// Answer of the home agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub next: Presence,
    /// cores that are snooped first, and the state that their copies are left in
    pub snoop: (Cores, Snoop),
    pub source: Source,
    /// rights of the asker to its copy; `None` if it gets no copy
    pub grant: Option<LineState>,
}

/// Looks an answer up in the table.
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
        // A changed copy that these find goes into the LLC, and from there to the memory.
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
    /// Presence after a core's copy has left its caches.
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
