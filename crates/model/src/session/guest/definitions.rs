//! Definitions: what a stream tells once, blocks with their code and pages with their walks.
//!
//! They come in the order of their ids, each before it is named.

use std::sync::Arc;

use cxlab_access::record::RECORD_BYTES;
use cxlab_access::{BlockId, Mapping, PageId, Record};

use super::{Guest, RecordSource};
use crate::error::ModelError;
use crate::feed::Block;
use crate::machine::Machine;

impl<S: RecordSource> Guest<S> {
    /// A block or a page of which nothing was told before.
    pub(super) fn define(&mut self, record: Record) -> Result<(), ModelError> {
        let payload = self.payload(record)?;
        match record {
            Record::Define { block, pc, length } => self.define_block(block, pc, &payload[..usize::from(length)]),
            Record::Page { page, size, pcid, global, upper, reads, replaces } => {
                let entries = Mapping::entries_of(&payload).expect("the record says how many bytes there are");
                self.define_page(page, Mapping { size, pcid, global, upper, reads, entries }, replaces)
            }
            _ => unreachable!("{record:?} defines nothing"),
        }
    }

    /// The bytes behind a record.
    fn payload(&mut self, record: Record) -> Result<Vec<u8>, ModelError> {
        let cut = || ModelError::Stream { cause: format!("it ends within {record:?}") };
        let records = record.payload_records();
        let mut bytes = Vec::with_capacity(records * RECORD_BYTES);
        for _ in 0..records {
            let words = self.source.words()?.ok_or_else(cut)?;
            bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
        }
        Ok(bytes)
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

    /// The machine knows the pages that were read, and drops what they have replaced as soon as nothing names it.
    pub(super) fn tell_pages(&mut self, machine: &mut Machine) {
        machine.learn(self.new_pages.drain(..));
        self.replaced.settle(&self.readers, machine);
    }

    fn define_block(&mut self, block: BlockId, pc: u64, code: &[u8]) -> Result<(), ModelError> {
        if block.0 as usize != self.blocks.len() {
            let cause = format!("block {} is defined where {} comes next", block.0, self.blocks.len());
            return Err(ModelError::Stream { cause });
        }
        let decoded = Arc::new(Block::decode(pc, code));
        self.blocks.push(Arc::clone(&decoded));
        self.warming.define(&decoded);
        self.readers.iter_mut().for_each(|reader| reader.define(Arc::clone(&decoded)));
        Ok(())
    }
}
