//! Statistics: declared once, beside the field, with name, unit and description.
//!
//! ```text
//!   statistics! { pub struct LinkStats {                 Stats struct with one field a line,
//!       flits: Counter [Flits] "68 B flits sent",   ->   and `visit`, which tells a Visitor
//!   } }                                                  each name, unit, description, value
//! ```

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Time;

/// Unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Bytes,
    Commands,
    Cycles,
    Events,
    Flits,
    Instructions,
    Lines,
    Pages,
    Requests,
    Slots,
    Nanoseconds,
    Ratio,
}

/// A statistic's value as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "StatisticValue"))]
#[serde(untagged)]
pub enum Value {
    Count(u64),
    /// null where it is no number, as a share of no time
    Real(#[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))] f64),
    Distribution {
        count: u64,
        mean: f64,
        stdev: f64,
        min: f64,
        p50: f64,
        p99: f64,
        max: f64,
    },
}

/// A number of things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter(u64);

impl Counter {
    pub fn add(&mut self, count: u64) {
        self.0 += count;
    }

    pub fn increment(&mut self) {
        self.0 += 1;
    }

    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A sum of time and how many spans it is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    sum: Time,
    count: u64,
}

impl Span {
    pub fn record(&mut self, span: Time) {
        self.sum += span;
        self.count += 1;
    }

    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn sum(self) -> Time {
        self.sum
    }

    /// `None` where nothing was recorded.
    #[must_use]
    pub fn mean_ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.as_ns() / self.count as f64)
    }
}

/// A distribution of times, HDR: 3 significant digits from 1 ps to a second, above which it saturates.
/// Its 250 kB are made when the first is recorded: many of a machine never are.
#[derive(Clone, Debug, Default)]
pub struct Latency(Option<Box<Histogram<u64>>>);

const SECOND_PS: u64 = 1_000_000_000_000;

impl Latency {
    fn empty() -> Box<Histogram<u64>> {
        Histogram::new_with_bounds(1, SECOND_PS, 3).expect("the bounds are valid").into()
    }

    pub fn record(&mut self, span: Time) {
        self.0.get_or_insert_with(Latency::empty).saturating_record(span.as_ps());
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.as_ref().map_or(0, |spans| spans.len())
    }

    /// The value below which `share` (0..=1) of the spans lie `[ns]`.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> f64 {
        self.0.as_ref().map_or(0.0, |spans| spans.value_at_quantile(share) as f64 / 1e3)
    }

    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |spans| spans.mean() / 1e3)
    }

    /// Count what another has counted too.
    pub fn merge(&mut self, other: &Latency) {
        if let Some(spans) = &other.0 {
            self.0.get_or_insert_with(Latency::empty).add(&**spans).expect("all have the same bounds");
        }
    }

    fn least_and_most_ns(&self) -> (f64, f64) {
        self.0.as_ref().map_or((0.0, 0.0), |spans| (spans.min() as f64 / 1e3, spans.max() as f64 / 1e3))
    }

    fn deviation_ns(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |spans| spans.stdev() / 1e3)
    }
}

/// Anything that has a value to show.
pub trait Statistic {
    fn value(&self) -> Value;
}

impl Statistic for Counter {
    fn value(&self) -> Value {
        Value::Count(self.0)
    }
}

impl Statistic for Span {
    fn value(&self) -> Value {
        Value::Real(self.mean_ns().unwrap_or(0.0))
    }
}

impl Statistic for Latency {
    fn value(&self) -> Value {
        let (min, max) = self.least_and_most_ns();
        Value::Distribution {
            count: self.count(),
            mean: self.mean_ns(),
            stdev: self.deviation_ns(),
            min,
            p50: self.quantile_ns(0.50),
            p99: self.quantile_ns(0.99),
            max,
        }
    }
}

/// One statistic as a visitor sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    pub name: &'static str,
    pub unit: Unit,
    pub description: &'static str,
    pub value: Value,
}

/// A group of statistics that can be walked in the order of their declaration.
pub trait Group {
    fn visit(&self, visitor: &mut dyn FnMut(Entry));

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.visit(&mut |entry| entries.push(entry));
        entries
    }
}

/// Statistics that were walked before, of whatever type they were.
impl Group for Vec<Entry> {
    fn visit(&self, visitor: &mut dyn FnMut(Entry)) {
        self.iter().cloned().for_each(visitor);
    }
}

/// Declare a Stats struct: `field: Kind [Unit] "description"` a line.
#[macro_export]
macro_rules! statistics {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($field:ident : $kind:ident [$unit:ident] $description:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name { $(#[doc = $description] pub $field: $crate::statistic::$kind,)+ }

        impl $crate::statistic::Group for $name {
            fn visit(&self, visitor: &mut dyn FnMut($crate::statistic::Entry)) {
                $(visitor($crate::statistic::Entry {
                    name: stringify!($field),
                    unit: $crate::statistic::Unit::$unit,
                    description: $description,
                    value: $crate::statistic::Statistic::value(&self.$field),
                });)+
            }
        }
    };
}
