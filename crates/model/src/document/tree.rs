//! A TOML document as a tree that knows where each value was written, and the rule by which one is laid on another.
//!
//! ```text
//!   base  [core] fill_buffers = { value = 16, source = "248966" }    over  [core] fill_buffers = 20
//!   over laid on base: fill_buffers = 20, the rest of [core] as the base has it
//! ```
//!
//! Tables are merged key by key. A value with its source, an array and a scalar are replaced as a whole.

use std::sync::Arc;

use indexmap::IndexMap;
use toml::de::{DeTable, DeValue};

use super::place::{Author, Origin, Place};
use crate::error::ModelError;

/// The keys of a value with its source.
pub const VALUE: &str = "value";
pub const SOURCE: &str = "source";

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Table(Table),
    Array(Vec<Tree>),
    Text(String),
    Integer(i64),
    Real(f64),
    Flag(bool),
}

/// Keys in the order in which they are written.
pub type Table = IndexMap<String, Tree>;

#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub value: Value,
    pub place: Place,
}

/// A mistake in a document, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    pub place: Place,
    pub cause: String,
}

impl From<Mistake> for ModelError {
    fn from(Mistake { place, cause }: Mistake) -> ModelError {
        match place.origin.author {
            Author::CommandLine => ModelError::Setting { setting: place.origin.file.clone(), cause },
            Author::Shipped | Author::User => {
                let (file, line, column) = (place.origin.file.clone(), place.line, place.column);
                ModelError::Invalid { file, line, column, cause }
            }
        }
    }
}

/// Lines and columns of a text.
struct Reader {
    /// where each line begins
    lines: Vec<usize>,
    origin: Arc<Origin>,
}

impl Reader {
    fn new(text: &str, origin: Origin) -> Reader {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Reader { lines: std::iter::once(0).chain(newlines).collect(), origin: Arc::new(origin) }
    }

    fn place(&self, at: usize) -> Place {
        let line = self.lines.partition_point(|begin| *begin <= at);
        let begin = line.checked_sub(1).and_then(|line| self.lines.get(line)).copied().unwrap_or(0);
        Place { origin: Arc::clone(&self.origin), line, column: at.saturating_sub(begin) + 1 }
    }

    fn mistake(&self, at: usize, cause: impl Into<String>) -> Mistake {
        Mistake { place: self.place(at), cause: cause.into() }
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Table, Mistake> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            Ok((name.to_string(), self.tree(key.span().start, value.span().start, value.get_ref())?))
        };
        entries.into_iter().map(entry).collect()
    }

    /// `key_at` is where the key stands, `at` where the value stands.
    fn tree(&self, key_at: usize, at: usize, value: &DeValue<'_>) -> Result<Tree, Mistake> {
        let value = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(integer) => {
                let digits = integer.as_str();
                let read = i64::from_str_radix(digits, integer.radix());
                Value::Integer(read.map_err(|_| self.mistake(at, format!("`{digits}` is too large for a number")))?)
            }
            DeValue::Float(float) => {
                let read = float.as_str().parse().ok().filter(|number: &f64| number.is_finite());
                Value::Real(read.ok_or_else(|| self.mistake(at, format!("`{}` is no finite number", float.as_str())))?)
            }
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(_) => return Err(self.mistake(at, "a date; no key takes one")),
            DeValue::Array(array) => {
                let items = array.iter().map(|item| self.tree(item.span().start, item.span().start, item.get_ref()));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Table(self.table(table)?),
        };
        Ok(Tree { value, place: self.place(key_at) })
    }
}

impl Tree {
    /// Reads a TOML document.
    pub fn parse(text: &str, origin: Origin) -> Result<Tree, Mistake> {
        let reader = Reader::new(text, origin);
        let document = DeTable::parse(text)
            .map_err(|error| reader.mistake(error.span().map_or(0, |span| span.start), error.message()))?;
        Ok(Tree { value: Value::Table(reader.table(document.get_ref())?), place: reader.place(0) })
    }

    /// Reads the right-hand side of `--set KEY=VALUE`; what is no TOML value is text.
    pub fn parse_value(text: &str, origin: Origin) -> Tree {
        let reader = Reader::new(text, origin);
        let value = DeValue::parse(text).ok().and_then(|value| reader.tree(0, 0, value.get_ref()).ok());
        value.unwrap_or_else(|| Tree { value: Value::Text(text.into()), place: reader.place(0) })
    }

    #[must_use]
    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is `{ value = .., source = ".." }`.
    #[must_use]
    pub fn is_sourced(&self) -> bool {
        self.table().is_some_and(|table| table.contains_key(VALUE))
    }

    /// Whether this is a table of further keys.
    #[must_use]
    pub fn is_branch(&self) -> bool {
        self.table().is_some() && !self.is_sourced()
    }

    /// The subtree at `path`.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Tree> {
        path.iter().try_fold(self, |tree, key| tree.table()?.get(*key))
    }

    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Tree> {
        path.iter().try_fold(self, |tree, key| tree.table_mut()?.get_mut(*key))
    }

    /// This tree, with `base` where it says nothing; keys that the base has keep the base's order.
    #[must_use]
    pub fn laid_on(self, base: Tree) -> Tree {
        if !self.is_branch() || !base.is_branch() {
            return self;
        }
        let (Value::Table(over), Value::Table(mut merged)) = (self.value, base.value) else {
            unreachable!("both are tables");
        };
        for (key, tree) in over {
            let laid = match merged.get_mut(&key) {
                Some(under) => tree.laid_on(under.clone()),
                None => tree,
            };
            merged.insert(key, laid);
        }
        Tree { value: Value::Table(merged), place: self.place }
    }

    /// The value as a person writes it in TOML, in one line.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("\"{text}\""),
            Value::Integer(integer) => integer.to_string(),
            Value::Real(real) => real.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(Tree::written).collect::<Vec<_>>().join(", "))
            }
            Value::Table(table) => match table.get(VALUE) {
                Some(value) => value.written(),
                None => "a table".into(),
            },
        }
    }
}
