//! Embedding reduction: rows of a table, drawn at random, are added up to one row a query.
//!
//! A row is 64 floats, four lines; a query gathers 80 rows and stores their sum. Source: MERCI (Lee et al., ASPLOS
//! 2021, DOI 10.1145/3445814.3446717), EMBEDDING_DIM in its utils.h (SNU-ARC/MERCI). CXL-DMSim runs its reduction.
//! The rows of a query depend on its data. The 80 rows are an assumption of the right order. Not modelled: popular
//! rows, memoised sums, the barrier at the end, arithmetic, which loads hide.

use cxlab_kernel::Stream;

use super::buffers::Buffer;
use crate::feed::Action;

/// One thread's queries.
#[derive(Clone, Debug)]
pub struct Embedding {
    buffer: Buffer,
    random: Stream,
    /// first line of the row in hand
    row: u64,
    /// lines of the query so far, gathered and stored
    line: u64,
}

impl Embedding {
    /// Lines of a row.
    pub const ROW: u64 = 4;
    /// Rows of a query.
    pub const GATHERED: u64 = 80;

    pub fn new(buffer: Buffer, random: Stream) -> Embedding {
        Embedding { buffer, random, row: 0, line: 0 }
    }

    /// The table.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    #[inline]
    pub fn act(&mut self) -> Action {
        let (line, gathered) = (self.line, Self::ROW * Self::GATHERED);
        self.line = (line + 1) % (gathered + Self::ROW);
        if line >= gathered {
            // The sums go to the first row of the buffer: it stays in L1.
            return Action::Store(self.buffer.line(line - gathered));
        }
        if line.is_multiple_of(Self::ROW) {
            self.row = self.random.below(self.buffer.lines() / Self::ROW) * Self::ROW;
        }
        Action::Load(self.buffer.line(self.row + line % Self::ROW))
    }
}
