//! A trace is whole or refused, by name.
#![cfg(feature = "trace")]

use cxlab_access::trace::{Entry, TraceError, TraceReader, TraceWriter};
use cxlab_access::{BlockId, Record, Vcpu};

fn record(path: &std::path::Path, count: u32) {
    let mut writer = TraceWriter::create(path, "machine x").unwrap();
    for id in 0..count {
        writer.words(Record::Block { block: BlockId(id), from: 0 }.encode(Vcpu::default())).unwrap();
        writer.answer(u64::from(id) * 10).unwrap();
    }
    assert!(!path.exists(), "an unfinished trace does not have its name");
    writer.finish().unwrap();
}

fn read(path: &std::path::Path) -> Result<Vec<Entry>, TraceError> {
    let mut reader = TraceReader::open(path)?;
    assert_eq!(reader.description(), "machine x");
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok(entries)
}

#[test]
fn what_is_recorded_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    record(&path, 50_000);
    let entries = read(&path).unwrap();
    assert_eq!(entries.len(), 100_000);
    assert_eq!(entries[84], Entry::Words(Record::Block { block: BlockId(42), from: 0 }.encode(Vcpu::default())));
    assert_eq!(entries[85], Entry::Answer(420));
}

/// The last bytes of a block may be those of an answer: 78, and the padding.
#[test]
fn code_that_looks_like_an_answer_is_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    let code = [15 << 3, 0];
    let mut writer = TraceWriter::create(&path, "machine x").unwrap();
    writer.words(Record::Define { block: BlockId(0), pc: 0x1000, length: 1 }.encode(Vcpu::default())).unwrap();
    writer.words(code).unwrap();
    writer.answer(7).unwrap();
    writer.finish().unwrap();
    assert_eq!(read(&path).unwrap()[1..], [Entry::Words(code), Entry::Answer(7)]);
}

#[test]
fn a_cut_or_changed_or_foreign_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    record(&path, 50_000);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    let message = read(&path).unwrap_err().to_string();
    assert!(message.contains("TRC004") && message.contains("run.trace"), "{message}");
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 0x10;
    std::fs::write(&path, &changed).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("TRC004"));
    std::fs::write(&path, b"#!/bin/sh").unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("TRC002"));
    let mut newer = whole;
    newer[8] = 99;
    std::fs::write(&path, &newer).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("version 99"));
    assert!(read(&folder.path().join("none")).unwrap_err().to_string().contains("TRC001"));
}
