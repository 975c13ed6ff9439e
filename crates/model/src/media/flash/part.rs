//! A flash part as data: the organisation of a die and the times of its operations, each number with its source.
//!
//! A part is a file of `data/flash/`, or a file of the user in the same form. [`FlashPart::load`] reads it.

use std::borrow::Cow;
use std::sync::Arc;

use cxlab_kernel::{Bandwidth, Bytes, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::FlashError;
use crate::document::{Kind, Mistake, parts, read};
use crate::error::ModelError;
use crate::fact::Sourced;

/// A die of flash and its bus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashPart {
    /// description for people
    pub description: String,
    /// arrays of a die that one command programs or erases together
    pub planes: Sourced<u32>,
    /// pages of a block
    pub pages: Sourced<u32>,
    /// bytes of a page that hold data `[B]`
    pub page: Sourced<Bytes>,
    /// from the cells to the page register, tR `[ns]`
    pub read: Sourced<Time>,
    /// from the page register to the cells, tPROG `[ns]`
    pub program: Sourced<Time>,
    /// of a block, tBERS `[ns]`
    pub erase: Sourced<Time>,
    /// until a program or an erase has made way for a read `[ns]`; without it a read waits for their end
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<Sourced<Time>>,
    /// bandwidth of a channel's bus `[GB/s]`
    pub bus: Sourced<Bandwidth>,
}

impl FlashPart {
    /// Reads a part by its shipped name or from a file.
    pub fn load(name: &str) -> Result<FlashPart, ModelError> {
        let tree = parts::load(Kind::Flash, name, None)?.tree;
        let part: FlashPart = read::read(&tree, "flash_part")?;
        let wrong = |cause: FlashError| Mistake { place: tree.place.clone(), cause: cause.to_string() };
        part.check().map_err(wrong)?;
        Ok(part)
    }

    fn check(&self) -> Result<(), FlashError> {
        let page = self.page.get();
        if !page.is_power_of_two() || !(512..=65_536).contains(&page) {
            return Err(FlashError::out_of_range("page", *self.page, "a power of two, 512 B to 64 KiB"));
        }
        Ok(())
    }

    /// Bytes that one command programs: a page of each plane.
    #[must_use]
    pub fn stripe(&self) -> Bytes {
        Bytes::new(self.page.get() * u64::from(*self.planes))
    }
}

/// A part and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPart {
    name: String,
    part: Arc<FlashPart>,
}

impl NamedPart {
    /// Reads the part of this name.
    pub fn load(name: &str) -> Result<NamedPart, ModelError> {
        Ok(NamedPart { name: name.to_owned(), part: Arc::new(FlashPart::load(name)?) })
    }

    #[must_use]
    pub fn part(&self) -> &FlashPart {
        &self.part
    }

    /// A changed copy of the part under the same name, for tests.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut FlashPart)) -> NamedPart {
        let mut part = FlashPart::clone(&self.part);
        change(&mut part);
        NamedPart { name: self.name.clone(), part: Arc::new(part) }
    }
}

impl Serialize for NamedPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for NamedPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NamedPart::load(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for NamedPart {
    fn schema_name() -> Cow<'static, str> {
        "FlashPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = "name of a flash part (data/flash), or the path of a file that describes one";
        json_schema!({ "type": "string", "description": description })
    }
}
