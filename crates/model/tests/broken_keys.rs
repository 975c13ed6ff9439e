//! Files with a mistake: every key of every shipped file is broken in turn. What cannot be is refused with a named error,
//! and nothing ever panics.
//!
//! A default run breaks each key in a few of the ways, by turns. All ways of all keys:
//! `CXLAB_ALL_MUTATIONS=1 cargo test -p cxlab-model --test broken_keys`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use cxlab_model::document::{Kind, bounds, library, machine_names, shipped_file};
use cxlab_model::media::dram::Dram;
use cxlab_model::media::flash::FlashPart;
use cxlab_model::{MachineSpec, ModelError};

/// One in so many ways to break a key is tried in a default run.
const TURNS: usize = 8;

/// Loads a file of any kind, through a machine that uses it.
fn load(folder: &Path, kind: Kind, text: &str) -> Result<(), ModelError> {
    std::fs::write(folder.join("part.toml"), text).unwrap();
    let machine = match kind {
        Kind::Machine => return MachineSpec::load(folder.join("part.toml").to_str().unwrap()).map(drop),
        Kind::Dram => return Dram::load(folder.join("part.toml").to_str().unwrap()).map(drop),
        Kind::Flash => return FlashPart::load(folder.join("part.toml").to_str().unwrap()).map(drop),
        Kind::Host => "based_on = \"8468v-asic\"\nhost = \"part.toml\"\n",
        Kind::Core => "based_on = \"8468v-asic\"\nhost.microarchitecture = \"part.toml\"\n",
        Kind::Device => "based_on = \"8468v-asic\"\nnodes.cxl.device = \"part.toml\"\n",
        Kind::SocketLink => "based_on = \"8468v-remote\"\nsocket_link = { based_on = \"part.toml\", links = 3 }\n",
        Kind::Drive => "based_on = \"8468v-asic\"\ndrive = \"part.toml\"\n",
        Kind::Controller => "based_on = \"8468v-asic\"\nnodes.dram.memory.detailed.memory_controller = \"part.toml\"\n",
        Kind::Dimm => "based_on = \"8468v-asic\"\nnodes.dram.memory.detailed.dimm = \"part.toml\"\n",
    };
    let file = folder.join("machine.toml");
    std::fs::write(&file, machine).unwrap();
    MachineSpec::load(file.to_str().unwrap()).map(drop)
}

/// The end of loading a changed file.
enum Wanted {
    /// no machine can be like this
    Refused,
    /// whatever it is, it is said without a panic: the file may be valid, as where a base gives the key
    Told,
}

/// Each way to break the line `key = ..`, with what is wanted.
fn broken(line: &str) -> Vec<(String, Wanted)> {
    let (key, value) = line.split_once(" = ").expect("a key line");
    let value = value.split_once("value = ").map_or(value, |(_, rest)| rest);
    let mut all = vec![(String::new(), Wanted::Told)];
    // An empty table changes nothing of the part that a base names.
    all.push((format!("{key} = {{}}"), if key == "device" { Wanted::Told } else { Wanted::Refused }));
    if matches!(key, "description" | "name" | "point" | "brand") {
        all.push((format!("{key} = \"\""), Wanted::Refused));
        all.push((format!("{key} = 5"), Wanted::Refused));
        return all;
    }
    for wrong in ["\"None\"", "\"\"", "[]", "[1, 2]", "\"-1\"", "-1", "\"nan\"", "1979-05-27", "9223372036854775807"] {
        all.push((format!("{key} = {wrong}"), Wanted::Refused));
    }
    let first = value.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        all.extend(
            ["4294967295", "\"x\"", "true", "nan", "inf"].map(|wrong| (format!("{key} = {wrong}"), Wanted::Refused)),
        );
        all.push((format!("{key} = 0"), Wanted::Told));
    } else if first == '"' && value.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) && !value.starts_with("\"128b") {
        let unit =
            value[1..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').split('"').next().unwrap_or("");
        for number in ["99999999999999999999", "1000000000000", "-1", "1.5.5"] {
            all.push((format!("{key} = \"{number}{unit}\""), Wanted::Refused));
        }
        all.push((format!("{key} = \"0{unit}\""), Wanted::Told));
        all.push((format!("{key} = \"7\""), Wanted::Refused));
    }
    all
}

fn is_key(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(key, _)| !key.starts_with('#') && !key.contains(' '))
}

fn fails(folder: &Path, kind: Kind, name: &str) -> Vec<String> {
    let text = shipped_file(&format!("{}/{name}.toml", kind.folder())).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let turns = if std::env::var_os("CXLAB_ALL_MUTATIONS").is_some() { 1 } else { TURNS };
    let mut fails = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| is_key(line)) {
        for (wrong, wanted) in broken(line).into_iter().skip(number % turns).step_by(turns) {
            let mut mutated = lines.clone();
            mutated[number] = &wrong;
            let told = catch_unwind(AssertUnwindSafe(|| load(folder, kind, &mutated.join("\n"))));
            let complaint = match (told, wanted) {
                (Err(_), _) => "panics".to_owned(),
                (Ok(Ok(())), Wanted::Refused) => "is accepted".to_owned(),
                (Ok(Err(error)), _) if !error.to_string().starts_with("CFG") => format!("says {error}"),
                _ => continue,
            };
            fails.push(format!("{}/{name}.toml: `{line}` as `{wrong}` {complaint}", kind.folder()));
        }
    }
    fails
}

#[test]
fn every_key_of_every_file_is_broken_in_turn_and_each_mistake_is_named() {
    let files: Vec<(Kind, String)> =
        Kind::ALL.into_iter().flat_map(|kind| library::names(kind).into_iter().map(move |name| (kind, name))).collect();
    let halves = [0, 1].map(|half| files.iter().skip(half).step_by(2).cloned().collect::<Vec<_>>());
    let threads = halves.map(|half| {
        std::thread::spawn(move || {
            let folder = tempfile::tempdir().unwrap();
            half.iter().flat_map(|(kind, name)| fails(folder.path(), *kind, name)).collect::<Vec<_>>()
        })
    });
    let fails: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(fails.is_empty(), "{} of the mistakes: {:#?}", fails.len(), &fails[..fails.len().min(40)]);
}

#[test]
fn no_value_at_a_bound_panics_and_none_beyond_it_is_accepted() {
    let mut met = std::collections::BTreeSet::new();
    for machine in machine_names() {
        for entry in MachineSpec::entries(&machine, &[]).unwrap() {
            let Some(bound) = bounds::of(&entry.key).filter(|bound| met.insert(bound.key)) else { continue };
            for limit in [bound.least, bound.most].map(|limit| limit.to_string()) {
                if !limit.ends_with("characters") {
                    let told = catch_unwind(|| MachineSpec::load_with(&machine, &[format!("{}={limit}", entry.key)]));
                    assert!(told.is_ok(), "{machine}: {} = {limit} panics", entry.key);
                }
            }
        }
    }
}
