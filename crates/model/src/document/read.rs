//! From a tree to the types of the model, by serde: each mistake is told with its place, key and value.
//!
//! A value may stand without its source in a file of the user's and on the command line. `Author::source` says what
//! stands there instead. Each number is held against its row of [`super::bounds`] before it becomes a type.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::bounds;
use super::tree::{Mistake, SOURCE, Tree, VALUE, Value};

/// The name by which serde announces [`crate::fact::Sourced`].
const SOURCED: &str = "Sourced";

/// A fault in a value. The innermost faulty value gives the place.
#[derive(Debug)]
pub struct Fault {
    cause: String,
    mistake: Option<Mistake>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: std::fmt::Display>(cause: T) -> Self {
        Fault { cause: cause.to_string(), mistake: None }
    }
}

/// The keys that lead to a value.
#[derive(Clone, Copy)]
struct Key<'k> {
    above: Option<&'k Key<'k>>,
    name: &'k str,
}

impl Key<'_> {
    fn write(&self, out: &mut String) {
        if let Some(above) = self.above {
            above.write(out);
        }
        if !self.name.is_empty() {
            out.push_str(if out.is_empty() { "" } else { "." });
            out.push_str(self.name);
        }
    }

    fn path(&self) -> String {
        let mut path = String::new();
        self.write(&mut path);
        path
    }
}

/// Reads `tree` as a `T`; `root` is the key that the tree stands for, empty for a machine.
pub fn read<T: DeserializeOwned>(tree: &Tree, root: &str) -> Result<T, Mistake> {
    let key = Key { above: None, name: root };
    T::deserialize(Node { tree, key })
        .map_err(|fault| fault.mistake.unwrap_or_else(|| Mistake { place: tree.place.clone(), cause: fault.cause }))
}

#[derive(Clone, Copy)]
struct Node<'t, 'k> {
    tree: &'t Tree,
    key: Key<'k>,
}

impl<'t> Node<'t, '_> {
    /// Gives a fault this place, if no value within it has given it one.
    fn locate(&self, fault: Fault) -> Fault {
        if fault.mistake.is_some() {
            return fault;
        }
        let path = self.key.path();
        let cause = match (&self.tree.value, path.is_empty()) {
            (Value::Table(_), true) => fault.cause.clone(),
            (Value::Table(_), false) => format!("{path}: {}", fault.cause),
            _ => {
                let valid = bounds::of(&path).map_or(String::new(), |bound| format!("; valid: {bound}"));
                format!("{path} = {}: {}{valid}", self.tree.written(), fault.cause)
            }
        };
        Fault { cause: fault.cause, mistake: Some(Mistake { place: self.tree.place.clone(), cause }) }
    }

    /// Holds a number or a text against its row of the table of bounds.
    fn check_bounds(&self) -> Result<(), Fault> {
        if matches!(self.tree.value, Value::Table(_)) {
            return Ok(());
        }
        let path = self.key.path();
        match bounds::of(&path).filter(|bound| !bound.holds(self.tree)) {
            None => Ok(()),
            Some(_) => Err(de::Error::custom("out of bounds")),
        }
    }

    /// A value with its source, whether it is written so or bare.
    fn sourced<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        let (value, source) = match self.tree.table() {
            Some(table) => {
                if let Some(unknown) = table.keys().find(|key| ![VALUE, SOURCE].contains(&key.as_str())) {
                    return Err(de::Error::unknown_field(unknown, &[VALUE, SOURCE]));
                }
                let value = table.get(VALUE).ok_or_else(|| <Fault as de::Error>::missing_field(VALUE))?;
                (value, table.get(SOURCE))
            }
            None => (self.tree, None),
        };
        let source = match (source, value.place.origin.author.source()) {
            (Some(source), _) => source
                .text()
                .filter(|text| !text.trim().is_empty())
                .ok_or_else(|| <Fault as de::Error>::custom("the source is empty: name the document and table"))?,
            (None, Some(source)) => source,
            (None, None) => {
                return Err(de::Error::custom(
                    "a value of a shipped file has no source: write `{ value = .., source = \"document, table\" }`",
                ));
            }
        };
        visitor.visit_map(SourcedAccess { node: Node { tree: value, key: self.key }, source, next: 0 })
    }

    fn plain<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.check_bounds()?;
        match &self.tree.value {
            Value::Table(table) => {
                visitor.visit_map(TableAccess { key: self.key, tree: self.tree, entries: table.iter(), value: None })
            }
            Value::Array(items) => visitor.visit_seq(ArrayAccess { items: items.iter(), key: self.key }),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(integer) => visitor.visit_i64(*integer),
            Value::Real(real) => visitor.visit_f64(*real),
            Value::Flag(flag) => visitor.visit_bool(*flag),
        }
    }

    fn variant<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.tree.value {
            Value::Text(text) => {
                visitor.visit_enum(Variant { name: text, place: self.tree, content: None, key: self.key })
            }
            Value::Table(table) if table.len() == 1 => {
                let (name, tree) = table.first().expect("there is one");
                visitor.visit_enum(Variant { name, place: tree, content: Some(tree), key: self.key })
            }
            Value::Table(table) => {
                let keys = table.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                Err(de::Error::custom(format!("exactly one kind is wanted, here are [{keys}]")))
            }
            _ => self.plain(visitor),
        }
    }
}

impl<'t> Deserializer<'t> for Node<'t, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.plain(visitor).map_err(|fault| self.locate(fault))
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let read = if name == SOURCED { self.sourced(visitor) } else { self.plain(visitor) };
        read.map_err(|fault| self.locate(fault))
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.variant(visitor).map_err(|fault| self.locate(fault))
    }

    serde::forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Gives `value`, then `source`.
struct SourcedAccess<'t, 'k> {
    node: Node<'t, 'k>,
    source: &'t str,
    next: u8,
}

impl<'t> MapAccess<'t> for SourcedAccess<'t, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.next += 1;
        let name = match self.next {
            1 => VALUE,
            2 => SOURCE,
            _ => return Ok(None),
        };
        seed.deserialize(StrDeserializer::<Fault>::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        match self.next {
            1 => seed.deserialize(self.node),
            _ => seed.deserialize(StrDeserializer::<Fault>::new(self.source)),
        }
    }
}

struct TableAccess<'t, 'k> {
    key: Key<'k>,
    tree: &'t Tree,
    entries: indexmap::map::Iter<'t, String, Tree>,
    value: Option<(&'t str, &'t Tree)>,
}

impl<'t> MapAccess<'t> for TableAccess<'t, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, tree)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, tree));
        let table = Node { tree: self.tree, key: self.key };
        let unknown = |fault| {
            let mut fault = table.locate(fault);
            if let Some(mistake) = &mut fault.mistake {
                mistake.place = tree.place.clone();
            }
            fault
        };
        seed.deserialize(StrDeserializer::<Fault>::new(key)).map(Some).map_err(unknown)
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (name, tree) = self.value.take().expect("serde asks for a value after its key");
        seed.deserialize(Node { tree, key: Key { above: Some(&self.key), name } })
    }
}

struct ArrayAccess<'t, 'k> {
    items: std::slice::Iter<'t, Tree>,
    key: Key<'k>,
}

impl<'t> SeqAccess<'t> for ArrayAccess<'t, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(tree) = self.items.next() else { return Ok(None) };
        seed.deserialize(Node { tree, key: self.key }).map(Some)
    }
}

/// A choice: its name alone, or with what belongs to it.
struct Variant<'t, 'k> {
    name: &'t str,
    place: &'t Tree,
    content: Option<&'t Tree>,
    key: Key<'k>,
}

impl<'t, 'k> EnumAccess<'t> for Variant<'t, 'k> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'t>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let chosen = seed.deserialize(StrDeserializer::<Fault>::new(self.name));
        let node = Node { tree: self.place, key: self.key };
        Ok((chosen.map_err(|fault| node.locate(fault))?, self))
    }
}

impl<'t> VariantAccess<'t> for Variant<'t, '_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(de::Error::custom(format!("`{}` takes no keys of its own", self.name))),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'t>>(self, seed: S) -> Result<S::Value, Fault> {
        let missing = || <Fault as de::Error>::custom(format!("`{}` is a table of keys", self.name));
        let tree = self.content.ok_or_else(missing)?;
        seed.deserialize(Node { tree, key: Key { above: Some(&self.key), name: self.name } })
    }

    fn tuple_variant<V: Visitor<'t>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(de::Error::custom("no choice of a configuration is a tuple"))
    }

    fn struct_variant<V: Visitor<'t>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        let missing = || <Fault as de::Error>::custom(format!("`{}` is a table of keys", self.name));
        let tree = self.content.ok_or_else(missing)?;
        Node { tree, key: Key { above: Some(&self.key), name: self.name } }.deserialize_any(visitor)
    }
}
