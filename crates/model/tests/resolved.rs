//! Shipped machines resolve to these values: `tests/resolved.txt` holds each of them.
//!
//! A fact stands in one file and goes into many machines: this test shows which machines a change of it moves. Where the
//! change is meant, write the file anew: `CXLAB_WRITE_RESOLVED=1 cargo test -p cxlab-model --test resolved`.

use cxlab_model::MachineSpec;
use cxlab_model::config::machine_names;
use serde_json::Value;

/// One line for each value, by its path; sources are left out.
fn lines(path: &str, value: &Value, out: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(object) if object.len() == 2 && object.contains_key("source") => {
            lines(path, &object["value"], out)
        }
        Value::Object(object) => object.iter().for_each(|(key, value)| lines(&below(key), value, out)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                lines(&below(item["name"].as_str().expect("what is listed has a name")), item, out);
            }
        }
        leaf => out.push(format!("{path} = {leaf}")),
    }
}

#[test]
fn every_machine_resolves_to_the_values_that_are_on_record() {
    let mut found = Vec::new();
    for name in machine_names() {
        let spec = MachineSpec::load(&name).unwrap_or_else(|error| panic!("{error}"));
        let mut value = serde_json::to_value(spec).expect("plain data is JSON");
        value.as_object_mut().expect("a table").shift_remove("fitted");
        found.push(format!("# {name}"));
        lines("", &value, &mut found);
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resolved.txt");
    let found = found.join("\n") + "\n";
    if std::env::var_os("CXLAB_WRITE_RESOLVED").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    let wanted = std::fs::read_to_string(file).unwrap();
    let moved: Vec<_> = wanted.lines().zip(found.lines()).filter(|(wanted, found)| wanted != found).take(8).collect();
    assert!(wanted == found, "values have moved, on record and now: {moved:#?}");
}
