//! Definitions are what a stream tells once: blocks with their code, and pages with their walks.
//!
//! They come in the order of their ids, each before it is named.

use std::sync::Arc;

use cxlab_access::{BlockId, Mapping, PageId, Record, Segment};

use super::{Guest, RecordSource};
use crate::addr::Hpa;
use crate::drive::Command;
use crate::error::ModelError;
use crate::feed::Block;
use crate::machine::Machine;
use crate::mem::AccessKind;
use crate::session::payload::payload;

/// Bytes that one request to a disk may move.
const MOST_BYTES: u64 = 1 << 30;

impl<S: RecordSource> Guest<S> {
    /// A block or a page of which nothing was told before.
    pub(super) fn define(&mut self, record: Record) -> Result<(), ModelError> {
        let payload = self.payload(record)?;
        match record {
            Record::Define { block, pc, length, alone } => {
                if alone {
                    self.retired.push(block);
                }
                self.define_block(block, pc, &payload[..usize::from(length)])
            }
            Record::Page { page, size, pcid, global, upper, reads, replaces } => {
                let entries = Mapping::entries_of(&payload).expect("the record says how many bytes there are");
                self.define_page(page, Mapping { size, pcid, global, upper, reads, entries }, replaces)
            }
            _ => unreachable!("{record:?} defines nothing"),
        }
    }

    /// The bytes behind a record.
    fn payload(&mut self, record: Record) -> Result<Vec<u8>, ModelError> {
        payload(record.payload_records(), &format_args!("{record:?}"), || self.source.words())
    }

    fn define_page(&mut self, page: PageId, mapping: Mapping, replaces: Option<PageId>) -> Result<(), ModelError> {
        if let Some(replaced) = replaces {
            self.check_told(replaced)?;
            self.replaced.push(replaced);
        }
        self.pages += 1;
        if page.0.get() != self.pages || !(1..=Mapping::MOST_READS).contains(&usize::from(mapping.reads)) {
            let cause = format!("page {} is told where {} comes next, or as no page: {mapping:x?}", page.0, self.pages);
            return Err(ModelError::Stream { cause });
        }
        self.new_pages.push((page, mapping));
        Ok(())
    }

    /// Takes a command of the guest to its disk.
    pub(super) fn define_command(&mut self, record: Record) -> Result<(), ModelError> {
        let payload = self.payload(record)?;
        let Record::Disk { number, write, from, .. } = record else { unreachable!("{record:?} asks for nothing") };
        let segments: Vec<_> = Segment::all_of(&payload).collect();
        let fits = |segment: &Segment| (1..=MOST_BYTES).contains(&segment.length) && segment.physical < 1 << 52;
        let bytes: u64 = segments.iter().filter(|segment| fits(segment)).map(|segment| segment.length).sum();
        if segments.is_empty() || !segments.iter().all(fits) || bytes > MOST_BYTES || from >= 1 << 52 {
            let cause = format!("{record:?} moves {segments:x?}; valid: 1 to {MOST_BYTES} bytes of memory");
            return Err(ModelError::Stream { cause });
        }
        let segments: Vec<_> = segments.iter().map(|segment| (Hpa::new(segment.physical), segment.length)).collect();
        let kind = if write { AccessKind::Write } else { AccessKind::Read };
        self.new_commands.push((number, Command::new(kind, from, &segments)));
        Ok(())
    }

    /// The machine knows the pages and the requests to the disk that were read. It drops pages that they have replaced as
    /// soon as nothing names them.
    pub(super) fn tell_machine(&mut self, machine: &mut Machine) -> Result<(), ModelError> {
        machine.learn(self.new_pages.drain(..));
        for (number, command) in self.new_commands.drain(..) {
            machine.tell_drive(number, command)?;
        }
        self.replaced.settle(&self.readers, machine);
        // A profile names all code that was executed.
        if machine.cores().iter().all(|core| core.profile().is_none()) {
            self.retired.settle(&mut self.readers, &mut self.blocks, &mut self.warming);
        }
        Ok(())
    }

    fn define_block(&mut self, block: BlockId, pc: u64, code: &[u8]) -> Result<(), ModelError> {
        if block != self.blocks.next() {
            let cause = format!("block {} is defined where {} comes next", block.0, self.blocks.next().0);
            return Err(ModelError::Stream { cause });
        }
        let decoded = Arc::new(Block::decode(pc, code));
        self.blocks.push(Arc::clone(&decoded));
        self.warming.define(&decoded);
        self.readers.iter_mut().for_each(|reader| reader.define(Arc::clone(&decoded)));
        Ok(())
    }
}
