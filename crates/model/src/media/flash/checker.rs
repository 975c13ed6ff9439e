//! An independent checker of a log: it finds operations that no flash can do, whatever its translation layer.
//!
//! A page is never read before it is programmed, nor programmed twice without an erase between. The pages of a block
//! are programmed in order (ONFI 5.1, 3.1: pages within a block are programmed from the first to the last). The checker
//! shares no code with the translation layer. It knows blocks only by their numbers.

use std::collections::HashMap;

use super::operation::{Kind, Operation};

/// State of the checker: for each block, the number of stripes in its cells.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    programmed: HashMap<(u32, u32), u32>,
    stripes: u32,
    /// blocks that were full before the log began
    full_before: u32,
}

impl Checker {
    /// A checker of dies whose blocks have `stripes` stripes. The first `full_before` blocks were full before the log
    /// began.
    #[must_use]
    pub fn new(stripes: u32, full_before: u32) -> Checker {
        Checker { programmed: HashMap::new(), stripes, full_before }
    }

    /// Takes the next operation of the log.
    ///
    /// # Errors
    /// Names the rule that the operation breaks.
    pub fn take(&mut self, operation: &Operation) -> Result<(), String> {
        let at = |block: u32| (operation.die, block);
        let before = |block: u32| if block < self.full_before { self.stripes } else { 0 };
        match operation.kind {
            Kind::Read { block, stripe, .. } => {
                let programmed = self.programmed.get(&at(block.0)).copied().unwrap_or(before(block.0));
                if stripe >= programmed {
                    return Err(format!("{operation:?} reads a page that is not programmed"));
                }
            }
            Kind::Program { block, stripe } => {
                let programmed = self.programmed.entry(at(block.0)).or_insert(before(block.0));
                if stripe != *programmed || stripe >= self.stripes {
                    return Err(format!("{operation:?} is out of order: {programmed} stripes are programmed"));
                }
                *programmed += 1;
            }
            Kind::Erase { block } => {
                self.programmed.insert(at(block.0), 0);
            }
        }
        Ok(())
    }
}
