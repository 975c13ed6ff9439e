//! A DRAM standard and speed bin as data: organisation and timing, each number with its source.
//!
//! ```text
//!   channel 64 bit --- sub-channel 32 bit (DDR5) --- rank --- bank group --- bank --- row --- column
//! ```
//!
//! A part is a file of `data/dram/`, or a file of the user in the same form. [`Dram::load`] reads it.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DramError;
use super::clock::{Clock, Cycles, Generation, TransferRate};
use super::timing::{Timing, TimingSpec};
use crate::addr::LINE_BYTES;
use crate::document::{Kind, Mistake, library, parts, read};
use crate::error::ModelError;
use crate::fact::Sourced;

/// A part by its name: a file of `data/dram/`, or a file of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    name: String,
    dram: Arc<Dram>,
}

impl Part {
    /// Reads the part of this name.
    pub fn load(name: &str) -> Result<Part, ModelError> {
        Ok(Part { name: name.to_owned(), dram: Arc::new(Dram::load(name)?) })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn dram(&self) -> &Dram {
        &self.dram
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Part::load(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Part {
    fn schema_name() -> Cow<'static, str> {
        "DramPart".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = "name of a DRAM part (data/dram), or the path of a file that describes one";
        json_schema!({ "type": "string", "description": description })
    }
}

/// Names of the parts that come with CXLab, sorted.
#[must_use]
pub fn part_names() -> Vec<String> {
    library::names(Kind::Dram)
}

/// Organisation of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Organisation {
    /// independent buses in a 64-bit channel: 1 in DDR4, 2 in DDR5
    pub sub_channels: Sourced<u32>,
    /// data lines of a sub-channel without ECC `[bits]`
    pub width_bits: Sourced<u32>,
    /// data lines of a device `[bits]`
    pub device_bits: Sourced<u32>,
    pub bank_groups: Sourced<u32>,
    pub banks_per_group: Sourced<u32>,
    /// rows of a bank
    pub rows: Sourced<u32>,
    /// columns of a row, each as wide as the device
    pub columns: Sourced<u32>,
    /// transfers of a burst
    pub burst_length: Sourced<u32>,
}

impl Organisation {
    /// Lines in one row of one bank, over the devices of a rank.
    #[must_use]
    pub fn lines_per_row(&self) -> u64 {
        u64::from(*self.columns) * u64::from(*self.width_bits) / 8 / LINE_BYTES
    }

    /// Banks of a rank.
    #[must_use]
    pub fn banks(&self) -> u32 {
        *self.bank_groups * *self.banks_per_group
    }
}

/// A part: a standard's device at a speed bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// name for people, with density and width
    pub name: String,
    pub generation: Generation,
    pub rate: Sourced<TransferRate>,
    pub organisation: Organisation,
    pub timing: TimingSpec,
}

impl Dram {
    /// Reads a part by its shipped name or from a file.
    pub fn load(name: &str) -> Result<Dram, ModelError> {
        let tree = parts::load(Kind::Dram, name, None)?.tree;
        let dram: Dram = read::read(&tree, "dram")?;
        let wrong = |cause: DramError| Mistake { place: tree.place.clone(), cause: cause.to_string() };
        dram.check().map_err(wrong)?;
        Ok(dram)
    }

    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::new(*self.rate)
    }

    /// Timing in cycles.
    #[must_use]
    pub fn cycles(&self) -> Timing {
        let burst = Cycles(u64::from(*self.organisation.burst_length / 2));
        self.timing.cycles(self.clock(), self.generation, burst)
    }

    /// Bandwidth of the data lines of all sub-channels of a channel `[B/s]`.
    #[must_use]
    pub fn peak_bytes_per_second(&self) -> u64 {
        let bits = u64::from(*self.organisation.width_bits) * u64::from(*self.organisation.sub_channels);
        self.rate.mega_transfers() * 1_000_000 * bits / 8
    }

    fn check(&self) -> Result<(), DramError> {
        let organisation = &self.organisation;
        for (key, value) in [
            ("organisation.sub_channels", *organisation.sub_channels),
            ("organisation.bank_groups", *organisation.bank_groups),
            ("organisation.banks_per_group", *organisation.banks_per_group),
            ("organisation.rows", *organisation.rows),
            ("organisation.columns", *organisation.columns),
        ] {
            if !value.is_power_of_two() {
                return Err(DramError::out_of_range(key, value, "a power of two"));
            }
        }
        if organisation.banks() > 64 {
            let valid = "such that a rank has at most 64 banks";
            return Err(DramError::out_of_range("organisation.bank_groups", *organisation.bank_groups, valid));
        }
        let burst_bits = u64::from(*organisation.burst_length) * u64::from(*organisation.width_bits);
        if burst_bits != LINE_BYTES * 8 {
            return Err(DramError::out_of_range(
                "organisation.burst_length",
                *organisation.burst_length,
                "one line of 64 B: burst_length x width_bits = 512",
            ));
        }
        if organisation.lines_per_row() == 0 {
            return Err(DramError::out_of_range(
                "organisation.columns",
                *organisation.columns,
                "one line a row or more",
            ));
        }
        self.check_timing()
    }

    /// Checks the rules that every device obeys, whatever its bin.
    fn check_timing(&self) -> Result<(), DramError> {
        let timing = self.cycles();
        let rules = [
            // in ns, because each is rounded to cycles on its own
            (
                self.timing.t_rc.time() >= self.timing.t_ras.time() + self.timing.t_rp.time(),
                "timing.tRC",
                timing.t_rc,
                "tRAS + tRP or more",
            ),
            (timing.t_rrd_l >= timing.t_rrd_s, "timing.tRRD_L", timing.t_rrd_l, "tRRD_S or more"),
            (timing.t_ccd_s >= timing.burst, "timing.tCCD_S", timing.t_ccd_s, "BL/2 or more"),
            (timing.t_ccd_s_wr >= timing.burst, "timing.tCCD_S_WR", timing.t_ccd_s_wr, "BL/2 or more"),
            (timing.t_ccd_l >= timing.t_ccd_s, "timing.tCCD_L", timing.t_ccd_l, "tCCD_S or more"),
            (timing.t_ccd_l_wr >= timing.t_ccd_s_wr, "timing.tCCD_L_WR", timing.t_ccd_l_wr, "tCCD_S_WR or more"),
            (timing.t_wtr_l >= timing.t_wtr_s, "timing.tWTR_L", timing.t_wtr_l, "tWTR_S or more"),
            (timing.cl >= timing.cwl, "timing.CL", timing.cl, "CWL or more"),
            (timing.t_refi > timing.t_rfc, "timing.tREFI", timing.t_refi, "more than tRFC"),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, value, valid)) => Err(DramError::out_of_range(key, value, valid)),
            None => Ok(()),
        }
    }
}
