//! The JSON schema of machine files, for editors: generated from the types, with bounds and parts.

use serde_json::{Map, Value, json};

use super::machine_file::MachineFile;
use crate::document::{Kind, bounds};

/// The schema of a machine file, JSON.
#[must_use]
pub fn machine_schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = generator.into_generator().into_root_schema_for::<MachineFile>().to_value();
    complete(&mut schema, "");
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("based_on".into(), part("machine"));
        let nodes = "the machine's nodes in the order of Linux's numbers; those of the base that are not listed go";
        properties.insert(
            "node_names".into(),
            json!({ "type": "array", "items": { "type": "string" }, "description": nodes }),
        );
        properties.insert("fitted".into(), fitted());
    }
    schema
}

fn part(kind: &str) -> Value {
    json!({ "type": "string", "description": format!("name of a {kind}, or the path of a file that describes one") })
}

fn fitted() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "array",
        "description": "keys whose values were fitted to a measurement",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["key", "point"],
            "properties": { "key": text("path of the value"), "point": text("the measurement that it was fitted to") },
        },
    })
}

/// The kind of part that the key at `path` may name.
fn slot(path: &str) -> Option<Kind> {
    match path.rsplit('.').next()? {
        "host" => Some(Kind::Host),
        "socket_link" => Some(Kind::SocketLink),
        "drive" => Some(Kind::Drive),
        "device" if path.matches('.').count() == 2 => Some(Kind::Device),
        _ => None,
    }
}

/// Nothing is required, because a base may give it; parts may be named; numbers have their bounds.
fn complete(schema: &mut Value, path: &str) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("required");
    if let Some(bound) = bounds::of(path) {
        let told = object.get("description").and_then(Value::as_str).map_or(String::new(), |text| format!("{text}. "));
        object.insert("description".into(), format!("{told}Valid: {bound}").into());
    }
    for list in ["anyOf", "oneOf", "allOf"] {
        for choice in object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            complete(choice, path);
        }
    }
    if let Some(node) = object.get_mut("additionalProperties").filter(|node| node.is_object()) {
        complete(node, &format!("{path}.*"));
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for (key, property) in properties.iter_mut().filter(|(key, _)| !["value", "source"].contains(&key.as_str())) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            complete(property, &path);
        }
        own_keys(properties, path);
    }
    if let Some(kind) = slot(path) {
        let whole = std::mem::take(schema);
        *schema = json!({ "anyOf": [part(kind.name()), whole] });
    }
}

/// Keys that go away before a file's values have types.
fn own_keys(properties: &mut Map<String, Value>, path: &str) {
    if let Some(kind) = slot(path) {
        properties.insert("based_on".into(), part(kind.name()));
    }
    if path == "host" {
        properties.insert("microarchitecture".into(), part(Kind::Core.name()));
    }
    if path.ends_with("memory.detailed") {
        properties.insert("dimm".into(), part(Kind::Dimm.name()));
        properties.insert("memory_controller".into(), part(Kind::Controller.name()));
    }
    if path == "nodes.*" {
        let about = "name of another node of this machine";
        properties.insert("based_on".into(), json!({ "type": "string", "description": about }));
    }
}
