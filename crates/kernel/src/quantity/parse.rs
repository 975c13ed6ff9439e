//! Text with a unit, as JEDEC and data sheets write it: a decimal number, then the unit.

use std::fmt;

/// Why a text is no quantity; the message names the text and lists the units that are valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("`{text}` has no unit: write a {dimension} as in `{example}`; valid units: {valid}")]
    NoUnit { text: String, dimension: &'static str, example: &'static str, valid: String },
    #[error("`{unit}` in `{text}` is no unit of {dimension}; valid units: {valid}")]
    WrongUnit { text: String, unit: String, dimension: &'static str, valid: String },
    #[error("`{text}` is no number with a unit: write a {dimension} as in `{example}`")]
    NotANumber { text: String, dimension: &'static str, example: &'static str },
    #[error("`{text}` is out of range for a {dimension}: {reason}")]
    OutOfRange { text: String, dimension: &'static str, reason: &'static str },
}

/// A dimension: its name, an example for messages, and its units with their size in the base unit.
pub(super) struct Dimension {
    pub name: &'static str,
    pub example: &'static str,
    /// (unit as written, base units in one of it)
    pub units: &'static [(&'static str, u64)],
}

impl Dimension {
    fn valid(&self) -> String {
        self.units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ")
    }

    /// Base units in `text`, exact: decimal digits are scaled as integers, never through floating point.
    pub fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
        if number.is_empty() || number.matches('.').count() > 1 || number == "." {
            return Err(QuantityError::NotANumber { text: text.into(), dimension: self.name, example: self.example });
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit {
                text: text.into(),
                dimension: self.name,
                example: self.example,
                valid: self.valid(),
            });
        }
        let Some((_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::WrongUnit {
                text: text.into(),
                unit: unit.into(),
                dimension: self.name,
                valid: self.valid(),
            });
        };
        self.scale(text, &number, *scale)
    }

    fn scale(&self, text: &str, number: &str, scale: u64) -> Result<u64, QuantityError> {
        let out_of_range = |reason| QuantityError::OutOfRange { text: text.into(), dimension: self.name, reason };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.trim_end_matches('0');
        let decimals = u32::try_from(fraction.len()).ok().filter(|n| *n <= 18);
        let decimals = decimals.ok_or_else(|| out_of_range("more than 18 decimals"))?;
        let digits: u128 = format!("0{whole}{fraction}").parse().map_err(|_| out_of_range("too many digits"))?;
        let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(|| out_of_range("too large"))?;
        let divisor = 10u128.pow(decimals);
        if scaled % divisor != 0 {
            return Err(out_of_range("finer than the smallest step that is kept"));
        }
        u64::try_from(scaled / divisor).map_err(|_| out_of_range("too large"))
    }
}

/// Serialise as the text a person would write, deserialise through `FromStr`: configuration keeps its units.
macro_rules! text_with_unit {
    ($kind:ty, $dimension:expr) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $kind {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let dimension: &super::parse::Dimension = &$dimension;
                let units: Vec<_> = dimension.units.iter().map(|(unit, _)| *unit).collect();
                let about = format!("a {} as in `{}`; units: {}", dimension.name, dimension.example, units.join(", "));
                let pattern = format!("^[0-9._]+ ?({})$", units.join("|"));
                schemars::json_schema!({ "type": "string", "pattern": pattern, "description": about })
            }
        }
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct WithUnit;
                impl serde::de::Visitor<'_> for WithUnit {
                    type Value = $kind;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        let dimension: &super::parse::Dimension = &$dimension;
                        write!(f, "a {} with its unit, as in `\"{}\"`", dimension.name, dimension.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$kind, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(WithUnit)
            }
        }
    };
}
pub(super) use text_with_unit;

/// Write `value` base units in the largest unit that keeps it whole, or with decimals in that unit.
pub(super) fn write_in(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&'static str, u64)]) -> fmt::Result {
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    if value.is_multiple_of(*scale) {
        return write!(f, "{} {unit}", value / scale);
    }
    let digits = scale.ilog10() as usize;
    if 10u64.pow(scale.ilog10()) != *scale {
        return write!(f, "{:.3} {unit}", value as f64 / *scale as f64);
    }
    let fraction = format!("{:0digits$}", value % scale);
    write!(f, "{}.{} {unit}", value / scale, fraction.trim_end_matches('0'))
}
