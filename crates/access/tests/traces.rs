//! A trace is whole or refused, by name.
#![cfg(feature = "trace")]

use std::io::Write;

use cxlab_access::trace::{Completeness, Entry, TraceError, TraceReader, TraceWriter};
use cxlab_access::{BlockId, Record, Vcpu};

fn record(path: &std::path::Path, count: u32) {
    let mut writer = TraceWriter::new(std::fs::File::create(path).unwrap(), path, "machine x").unwrap();
    for id in 0..count {
        writer.words(Record::Block { block: BlockId(id), from: 0 }.encode(Vcpu::default())).unwrap();
        writer.answer(u64::from(id) * 10).unwrap();
    }
    writer.finish(true).unwrap();
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
    let code = [15 << 6, 0];
    let mut writer = TraceWriter::new(std::fs::File::create(&path).unwrap(), &path, "machine x").unwrap();
    writer
        .words(Record::Define { block: BlockId(0), pc: 0x1000, length: 1, alone: false }.encode(Vcpu::default()))
        .unwrap();
    writer.words(code).unwrap();
    writer.answer(7).unwrap();
    writer.finish(true).unwrap();
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

#[test]
fn a_trace_says_whether_its_run_came_to_its_own_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    for (is_whole, completeness) in [(true, Completeness::Whole), (false, Completeness::CutShort)] {
        TraceWriter::new(std::fs::File::create(&path).unwrap(), &path, "machine x").unwrap().finish(is_whole).unwrap();
        assert_eq!(TraceReader::open(&path).unwrap().completeness(), completeness);
        assert_eq!(read(&path).unwrap(), []);
    }
}

/// Header and records of a trace, and a valid frame around other records: what a checksum does not find.
fn reframed(whole: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    const HEADER: usize = 8 + 4 + 4 + "machine x".len() + 8;
    let mut records = zstd::decode_all(&whole[HEADER..]).unwrap();
    change(&mut records);
    let mut frame = zstd::Encoder::new(whole[..HEADER].to_vec(), 1).unwrap();
    frame.include_checksum(true).unwrap();
    frame.write_all(&records).unwrap();
    frame.finish().unwrap()
}

#[test]
fn a_trace_that_is_cut_between_two_records_is_known_as_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    record(&path, 500);
    let whole = std::fs::read(&path).unwrap();
    for left in [0, 1, 2, 500, 999, 1000] {
        std::fs::write(&path, reframed(&whole, |records| records.truncate(left * 16))).unwrap();
        assert!(matches!(read(&path), Err(TraceError::Cut { records, .. }) if records == left as u64), "{left}");
    }
    // A closing with less before it than it says.
    std::fs::write(&path, reframed(&whole, |records| drop(records.drain(16..32)))).unwrap();
    assert!(matches!(read(&path), Err(TraceError::Cut { .. })));
}

#[test]
fn a_flipped_bit_is_found_before_a_record_is_believed_or_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    record(&path, 40);
    let whole = std::fs::read(&path).unwrap();
    let entries = read(&path).unwrap();
    let mut harmless = 0;
    for bit in 0..whole.len() * 8 {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &changed).unwrap();
        if TraceReader::open(&path).is_ok() {
            assert_eq!(read(&path).unwrap(), entries, "bit {bit} of {}", whole.len() * 8);
            harmless += 1;
        }
    }
    // Unused and padding bits of zstd, and those that say how much memory a decoder may need (RFC 8878, 3.1.1.1.2).
    assert!(harmless * 50 < whole.len() * 8, "{harmless} of {} bits", whole.len() * 8);
}

#[test]
fn a_trace_of_version_6_is_read_and_does_not_say_whether_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    let mut old = b"CXLTRACE".to_vec();
    old.extend(6u32.to_le_bytes());
    old.extend(9u32.to_le_bytes());
    old.extend(b"machine x");
    let words = Record::Block { block: BlockId(3), from: 0 }.encode(Vcpu::new(5));
    // Three bits for the vCPU, in place of six, and so in an answer.
    let entries = [[words[0] >> 6 << 3 | 5, words[1]], [15 << 3, 77]];
    let bytes: Vec<u8> = entries.iter().flatten().flat_map(|word: &u64| word.to_le_bytes()).collect();
    old.extend(zstd::encode_all(&bytes[..], 1).unwrap());
    std::fs::write(&path, &old).unwrap();
    assert_eq!(read(&path).unwrap(), [Entry::Words(words), Entry::Answer(77)]);
    assert_eq!(TraceReader::open(&path).unwrap().completeness(), Completeness::Unknown);
}
