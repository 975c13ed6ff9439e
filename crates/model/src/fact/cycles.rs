//! Core cycles, as optimisation manuals count: `"5 cycles"`.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of core clock cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cycles(pub u64);

impl FromStr for Cycles {
    type Err = String;
    fn from_str(text: &str) -> Result<Cycles, String> {
        let number = text.strip_suffix(" cycles").or_else(|| text.strip_suffix(" cycle"));
        let count = number.and_then(|number| number.trim().parse().ok());
        count.map(Cycles).ok_or_else(|| format!("`{text}` is no number of cycles: write it as in `5 cycles`"))
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles", self.0)
    }
}

impl Serialize for Cycles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cycles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Cycles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CoreCycles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+ cycles?$", "description": "core clock cycles, as in `5 cycles`" })
    }
}
