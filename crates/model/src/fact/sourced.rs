//! A parameter and where it is from: no number of a machine stands without its source.
//!
//! ```toml
//! media_latency = { value = "50 ns", source = "CXL-DMSim table III, medium_access_lat" }
//! ```

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A value of a machine file and the document, table or measurement that it was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    pub value: T,
    /// document and table, or the measurement, never empty
    #[serde(deserialize_with = "not_empty")]
    pub source: String,
}

impl<T: JsonSchema> JsonSchema for Sourced<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Sourced_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                value,
                {
                    "type": "object",
                    "properties": {
                        "value": value,
                        "source": { "type": "string", "description": "document and table, or the measurement" },
                    },
                    "additionalProperties": false,
                },
            ],
        })
    }
}

impl<T> Sourced<T> {
    #[must_use]
    pub fn new(value: T, source: impl Into<String>) -> Self {
        Sourced { value, source: source.into() }
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

fn not_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let source = String::deserialize(deserializer)?;
    if source.trim().is_empty() {
        return Err(serde::de::Error::custom("a parameter's source is empty: name the document and table"));
    }
    Ok(source)
}
