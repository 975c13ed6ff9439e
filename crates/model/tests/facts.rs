//! The facts of `data/`: each stands once, with its source, and what a source says of another file is true.

use std::collections::{BTreeMap, BTreeSet};

use cxlab_model::MachineSpec;
use cxlab_model::config::{machine_names, machine_schema};
use cxlab_model::document::{Kind, Tree, library, parts, shipped_file};
use serde_json::Value;

/// The machines that once took 1,187 lines of the form `key = ..`, hosts and devices included.
const TWELVE: [&str; 12] = [
    "6430-cxl-a",
    "6430-cxl-a-2ch",
    "6430-cxl-a-snc4",
    "6430-cxl-b",
    "6430-cxl-c",
    "8468v-asic",
    "8468v-fpga",
    "8468v-remote",
    "9754-cz120",
    "9754-cz120-nps2",
    "9754-cz120-nps4",
    "spr-a1000",
];
/// The most such lines that these machines take today.
const MOST_OF_TWELVE: usize = 600;
/// The most that a machine takes on average, with parts of every kind but DRAM standards and flash parts.
const MOST_OF_A_MACHINE: usize = MOST_OF_TWELVE / TWELVE.len();

fn text(kind: Kind, name: &str) -> &'static str {
    shipped_file(&format!("{}/{name}.toml", kind.folder())).unwrap()
}

fn files() -> impl Iterator<Item = (Kind, String)> {
    Kind::ALL.into_iter().flat_map(|kind| library::names(kind).into_iter().map(move |name| (kind, name)))
}

/// A value with its source, where a file writes it.
struct Fact {
    file: String,
    kind: Kind,
    path: Vec<String>,
    value: String,
    source: String,
    /// values of the keys beside it
    beside: BTreeMap<String, String>,
}

fn collect(kind: Kind, file: &str, path: &[String], table: &toml::Table, facts: &mut Vec<Fact>) {
    let value_of = |value: &toml::Value| Some(value.as_table()?.get("value")?.to_string());
    let beside: BTreeMap<_, _> =
        table.iter().filter_map(|(key, value)| Some((key.clone(), value_of(value)?))).collect();
    for (key, value) in table {
        let Some(below) = value.as_table() else { continue };
        let path: Vec<_> = path.iter().cloned().chain([key.clone()]).collect();
        match (below.get("value"), below.get("source").and_then(toml::Value::as_str)) {
            (Some(value), Some(source)) => {
                let (value, source) = (value.to_string(), source.to_owned());
                facts.push(Fact { file: file.into(), kind, path, value, source, beside: beside.clone() });
            }
            (Some(_), None) => panic!("{file}: {} has no source", path.join(".")),
            (None, _) => collect(kind, file, &path, below, facts),
        }
    }
}

fn facts() -> Vec<Fact> {
    let mut facts = Vec::new();
    for (kind, name) in files() {
        let table: toml::Table = text(kind, &name).parse().unwrap();
        collect(kind, &name, &[], &table, &mut facts);
    }
    facts
}

/// Lines of the form `key = ..`.
fn key_lines(text: &str) -> usize {
    let is_key = |line: &&str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains([' ', '#', '"']));
    text.lines().filter(is_key).count()
}

/// Every text in a file, such as the names of the parts that it is made of.
fn words(value: &toml::Value) -> Vec<&str> {
    match value {
        toml::Value::String(text) => vec![text],
        toml::Value::Array(values) => values.iter().flat_map(words).collect(),
        toml::Value::Table(table) => table.values().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

/// The files of these kinds that a machine is made of: its own, those that it names, and those that they name.
fn made_of(machine: &str, kinds: &[Kind], files: &mut BTreeSet<(&'static str, String)>) {
    let mut open = vec![(Kind::Machine, machine.to_owned())];
    while let Some((kind, name)) = open.pop() {
        if !files.insert((kind.folder(), name.clone())) {
            continue;
        }
        let table: toml::Value = toml::from_str(text(kind, &name)).unwrap();
        for word in words(&table) {
            open.extend(
                kinds
                    .iter()
                    .filter(|kind| library::names(**kind).iter().any(|name| name == word))
                    .map(|kind| (*kind, word.to_owned())),
            );
        }
    }
}

#[test]
fn the_twelve_first_machines_take_few_key_lines() {
    let (kinds, mut files) = ([Kind::Machine, Kind::Host, Kind::Device], BTreeSet::new());
    TWELVE.iter().for_each(|machine| made_of(machine, &kinds, &mut files));
    let lines: usize =
        files.iter().map(|(folder, name)| key_lines(shipped_file(&format!("{folder}/{name}.toml")).unwrap())).sum();
    assert!(files.len() > TWELVE.len() && lines <= MOST_OF_TWELVE, "{lines} key lines: {files:?}");
}

/// A host, a device or a machine can come without a change here.
#[test]
fn machines_and_their_parts_take_few_key_lines() {
    let mut lines = BTreeMap::<_, usize>::new();
    for (kind, name) in files().filter(|(kind, _)| !matches!(kind, Kind::Dram | Kind::Flash)) {
        *lines.entry(kind.folder()).or_default() += key_lines(text(kind, &name));
    }
    let (all, machines) = (lines.values().sum::<usize>(), machine_names().len());
    assert!(all <= MOST_OF_A_MACHINE * machines, "{all} key lines of {machines} machines: {lines:?}");
}

#[test]
fn no_fact_stands_in_two_files() {
    let mut seen = BTreeMap::new();
    for fact in facts() {
        let name = fact.path[fact.path.len().saturating_sub(2)..].join(".");
        let what = (name, fact.value, fact.source);
        if let Some(first) = seen.insert(what.clone(), fact.file.clone()) {
            assert!(first == fact.file, "{first} and {} both have {what:?}: base one on the other", fact.file);
        }
    }
}

#[test]
fn every_value_of_a_shipped_machine_has_a_source_from_a_file() {
    for machine in machine_names() {
        for entry in MachineSpec::entries(&machine, &[]).unwrap() {
            let source = entry.source.unwrap_or_default();
            assert!(!source.contains("given by the user"), "{machine}: {}", entry.key);
            assert!(entry.place.starts_with("data/"), "{machine}: {} is from {}", entry.key, entry.place);
        }
    }
}

/// A name behind "as", and the key in brackets behind that, if there is one.
fn likened(source: &str) -> Vec<(String, Option<String>)> {
    let words: Vec<_> = source.split_whitespace().collect();
    let plain = |word: &str| word.trim_end_matches([',', ';', ':', '.']).to_owned();
    let key = |word: &&str| plain(word).strip_prefix('(')?.strip_suffix(')').map(str::to_owned);
    words
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0] == "as")
        .map(|(at, pair)| (plain(pair[1]), words.get(at + 2).and_then(key)))
        .collect()
}

/// The value at `path`, as a file writes it.
fn value_at(tree: &Tree, path: &[&str]) -> Option<String> {
    Some(tree.at(path)?.written())
}

#[test]
fn what_a_source_says_of_another_value_is_true() {
    let mut told = 0;
    for fact in facts() {
        for (name, key) in likened(&fact.source) {
            let here = fact.path.join(".");
            let said = format!("{}: {here} = {}, \"{}\"", fact.file, fact.value, fact.source);
            let there = files().find(|(kind, file)| *file == name && (*kind == fact.kind || key.is_some()));
            let value = match (there, fact.beside.get(&name)) {
                (Some((kind, name)), _) => {
                    let part = parts::load(kind, &name, None).unwrap_or_else(|error| panic!("{error}"));
                    let path = key.unwrap_or(here);
                    let value = value_at(&part.tree, &path.split('.').collect::<Vec<_>>());
                    value.unwrap_or_else(|| panic!("{said}: {name} has no {path}"))
                }
                (None, Some(value)) => value.clone(),
                // "as many", "as gem5", "as LLVM quotes it": no file and no key
                (None, None) => continue,
            };
            assert_eq!(value, fact.value, "{said}");
            told += 1;
        }
    }
    assert!(told >= 10, "sources liken values to others: {told}");
}

#[test]
fn what_is_fitted_is_fitted_to_a_point_that_calibrates() {
    let points: toml::Table = include_str!("../../../validation/points.toml").parse().unwrap();
    let points = points["points"].as_array().unwrap();
    let role =
        |id: &str| points.iter().find(|point| point["id"].as_str() == Some(id)).map(|point| point["role"].as_str());
    for machine in machine_names() {
        for fitted in MachineSpec::load(&machine).unwrap().fitted {
            // A point of validation/points.toml by its id, or a measurement in words.
            for point in fitted.point.split(", ").filter(|point| !point.contains(' ')) {
                let role = role(point).unwrap_or_else(|| panic!("{machine}: {} names no point: {point}", fitted.key));
                assert_eq!(role, Some("calibration"), "{machine}: {} is fitted to {point}", fitted.key);
            }
        }
    }
}

#[test]
fn what_a_source_calls_calibrated_is_listed_as_fitted() {
    for machine in machine_names() {
        for entry in MachineSpec::entries(&machine, &[]).unwrap() {
            if entry.source.is_some_and(|source| source.starts_with("calibrated")) {
                assert!(entry.fitted.is_some(), "{machine}: {} at {} is not in [[fitted]]", entry.key, entry.place);
            }
        }
    }
}

#[test]
fn the_schema_for_editors_is_current() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/schema/machine.json");
    let now = serde_json::to_string_pretty(&machine_schema()).unwrap() + "\n";
    if std::env::var_os("CXLAB_WRITE_SCHEMA").is_some() {
        std::fs::write(file, &now).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(now == committed, "run CXLAB_WRITE_SCHEMA=1 cargo test -p cxlab-model --test facts");
}

/// Numbers and quantities of a schema that say no bounds.
fn unbounded(path: &str, schema: &Value, out: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    let is_number = matches!(schema["type"].as_str(), Some("integer" | "number")) || schema.get("pattern").is_some();
    if is_number && !schema["description"].as_str().is_some_and(|told| told.contains("Valid: ")) {
        out.push(path.to_owned());
    }
    for (key, below) in object.iter().filter(|(key, _)| *key != "value") {
        match below {
            Value::Array(choices) => choices.iter().for_each(|choice| unbounded(path, choice, out)),
            Value::Object(_) => unbounded(&format!("{path}/{key}"), below, out),
            _ => {}
        }
    }
}

#[test]
fn every_quantity_of_a_machine_file_has_bounds() {
    let mut found = Vec::new();
    unbounded("", &machine_schema(), &mut found);
    assert!(found.is_empty(), "document/bounds.rs has no row for {found:#?}");
}
