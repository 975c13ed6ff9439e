//! Questions of when all has committed and all stores have left the core: what touches memory behind one waits for its answer.
//!
//! ```text
//!   loads, stores under the lock | question: gives back x | store to x = 0
//!     '-- commit, leave the core -->|
//!                                   |-- request of x --> home agent --> answer: others see the store from here on
//!                                                            '-- x ---> the store finds it in L1
//! ```
//!
//! A lock is taken or given back where the home agent orders the ownership of its line. Whoever loads the line later waits for it, and
//! sees the store. So the question ahead of such an instruction requests the line. If the line is taken away before
//! earlier stores have left, it is requested anew. Not modelled: stores that are ordered after the answer and were no question.
//! Source: x86-TSO, as in `stores.rs`.

use cxlab_kernel::Time;

use super::misses::Look;
use super::window::Waiters;
use super::{Core, Pause, Uncore, Wait};
use crate::addr::Hpa;
use crate::cache::{LineState, Reference, ReferenceKind};
use crate::error::ModelError;
use crate::request::Op;

/// A line whose ownership was requested for a question.
#[derive(Clone, Copy, Debug)]
struct Requested {
    line: Hpa,
    /// The home agent has given it to this core, before all later requests. A question that was answered may be put again, if other
    /// vCPUs had to go on before the first answer.
    ordered: bool,
}

/// The last answer, and what the next one waits for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drained {
    at: Time,
    requested: Option<Requested>,
    /// the next answer waited for stores, for the line or for other cores
    waited: bool,
}

impl Drained {
    /// When others were last told that all before has committed.
    #[inline]
    pub fn at(&self) -> Time {
        self.at
    }

    fn tell(&mut self, at: Time) {
        (self.at, self.waited) = (at, false);
        if let Some(requested) = &mut self.requested {
            requested.ordered = true;
        }
    }
}

impl Core {
    /// When all so far has committed and all stores have left the core, which others are told. A line that it `owns` is
    /// the core's by then. `Err` says what has to be waited for before that is known.
    pub(super) fn drain<U: Uncore>(
        &mut self,
        owns: Option<Hpa>,
        uncore: &mut U,
    ) -> Result<Result<Time, Pause>, ModelError> {
        let left = self.stores_left(uncore)?;
        if matches!(left, Err(pause) if pause != Pause::Blocked(Wait::Stores)) {
            return Ok(left);
        }
        let owned = match owns {
            None => Some(Time::ZERO),
            Some(line) => self.owns(line, uncore)?,
        };
        let Some(at) = left.ok().zip(owned).map(|(left, owned)| left.max(owned).max(self.drained.at)) else {
            self.drained.waited |= owns.is_some();
            return Ok(Err(Pause::Blocked(Wait::Stores)));
        };
        // An event has ended the wait for a line.
        let at = if self.drained.waited { at.max(uncore.last_event()) } else { at };
        if uncore.is_ahead(at) {
            self.drained.waited |= owns.is_some();
            uncore.resume(self.id, at);
            return Ok(Err(Pause::Behind));
        }
        if owns.is_some() {
            // The next instruction needs the line.
            self.stack.charge_request(at);
        }
        self.drained.tell(at);
        Ok(Ok(at))
    }

    /// When the ownership of a line is this core's. It is requested if the core neither has it nor awaits it. `None` if that is not
    /// known yet.
    fn owns<U: Uncore>(&mut self, line: Hpa, uncore: &mut U) -> Result<Option<Time>, ModelError> {
        let is_owned = matches!(self.caches.state(line), Some(LineState::Modified | LineState::Exclusive));
        let requested = self.drained.requested.filter(|requested| requested.line == line);
        // The core has been told to go on no earlier than the last answer.
        let (now, comes) = (self.now().max(self.drained.at), self.misses.comes_near(line));
        if is_owned {
            return Ok(Some(now));
        }
        if let Some(requested) = requested.filter(|_| comes) {
            return Ok(requested.ordered.then_some(now));
        }
        // A line that was taken away meanwhile is missed no earlier than that is seen.
        let at = if self.drained.waited { now.max(uncore.last_event()) } else { now };
        self.drained.requested = Some(Requested { line, ordered: false });
        let by = Reference::of_core(self.id, ReferenceKind::Store);
        let look = Look { op: Op::Own, by, store: true, waiters: Waiters::default(), born: at, known: at };
        self.miss_l1(line, look, None, uncore)
    }

    /// Another core asks for a line.
    #[inline]
    pub(super) fn loses(&mut self, line: Hpa) {
        // What is asked for was another's before.
        self.drained.requested.take_if(|requested| requested.line == line && requested.ordered);
    }

    /// The home agent has given the ownership of a line to this core. Returns whether a question waits for that.
    pub(crate) fn ordered(&mut self, line: Hpa) -> bool {
        let asked = self.drained.requested.as_mut().filter(|requested| requested.line == line && !requested.ordered);
        asked.map(|requested| requested.ordered = true).is_some()
    }
}
