//! TOML as fields that know their lines: every key is asked for by name, and what nobody asked for is unknown.

use super::{Given, Origin, RecipeError};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string, number or truth value, as text.
    Text(String),
    /// A list.
    List(Vec<Given<Value>>),
    /// A table.
    Table(BTreeMap<String, Given<Value>>),
}

/// A table whose keys are asked for by name.
#[derive(Debug)]
pub struct Fields {
    table: BTreeMap<String, Given<Value>>,
    origin: Origin,
    asked: RefCell<BTreeSet<&'static str>>,
}

/// The fields of a file.
///
/// # Errors
/// If it is not TOML.
pub fn parse(layer: &str, file: &Path, bytes: &[u8]) -> Result<Fields, RecipeError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        RecipeError::at(file, line, "not UTF-8, which TOML is written in")
    })?;
    let lines = Lines { layer, file, text };
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        RecipeError::at(file, lines.line(at), format!("not TOML: {}", error.message().replace('\n', ", ")))
    })?;
    let origin = lines.origin(0);
    Ok(Fields::new(lines.table(table.get_ref()), origin))
}

struct Lines<'a> {
    layer: &'a str,
    file: &'a Path,
    text: &'a str,
}

impl Lines<'_> {
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn origin(&self, at: usize) -> Origin {
        Origin { layer: self.layer.to_owned(), file: self.file.to_owned(), line: self.line(at) }
    }

    fn table(&self, table: &DeTable<'_>) -> BTreeMap<String, Given<Value>> {
        let entry = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
            let origin = self.origin(key.span().start);
            (key.get_ref().to_string(), Given { value: self.value(value.get_ref()), origin })
        };
        table.iter().map(entry).collect()
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => Value::Text(number.as_str().to_owned()),
            DeValue::Float(number) => Value::Text(number.as_str().to_owned()),
            DeValue::Boolean(is_true) => Value::Text(is_true.to_string()),
            DeValue::Datetime(time) => Value::Text(time.to_string()),
            DeValue::Array(all) => {
                let item = |item: &toml::Spanned<DeValue<'_>>| Given {
                    value: self.value(item.get_ref()),
                    origin: self.origin(item.span().start),
                };
                Value::List(all.iter().map(item).collect())
            }
            DeValue::Table(table) => Value::Table(self.table(table)),
        }
    }
}

impl Fields {
    fn new(table: BTreeMap<String, Given<Value>>, origin: Origin) -> Fields {
        Fields { table, origin, asked: RefCell::default() }
    }

    /// Where the table is.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    fn get(&self, key: &'static str) -> Option<&Given<Value>> {
        self.asked.borrow_mut().insert(key);
        self.table.get(key)
    }

    /// A text.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self, key: &'static str) -> Result<Option<Given<String>>, RecipeError> {
        self.get(key).map(|value| text(key, value)).transpose()
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// If it is not, or something else.
    pub fn required(&self, key: &'static str) -> Result<Given<String>, RecipeError> {
        self.text(key)?
            .filter(|text| !text.value.is_empty())
            .ok_or_else(|| RecipeError::of(&self.origin, format!("`{key}` is missing")))
    }

    /// Texts; a single one counts as a list of one.
    ///
    /// # Errors
    /// If it is something else.
    pub fn list(&self, key: &'static str) -> Result<Vec<Given<String>>, RecipeError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Given { value: Value::List(all), .. }) => all.iter().map(|item| text(key, item)).collect(),
            Some(one) => Ok(vec![text(key, one)?]),
        }
    }

    /// Texts by name.
    ///
    /// # Errors
    /// If it is something else.
    pub fn map(&self, key: &'static str) -> Result<BTreeMap<String, Given<String>>, RecipeError> {
        match self.get(key) {
            None => Ok(BTreeMap::new()),
            Some(Given { value: Value::Table(table), .. }) => {
                table.iter().map(|(name, value)| Ok((name.clone(), text(name, value)?))).collect()
            }
            Some(other) => Err(RecipeError::of(&other.origin, format!("`{key}` is a table: write [{key}]"))),
        }
    }

    /// A table.
    ///
    /// # Errors
    /// If it is something else.
    pub fn table(&self, key: &'static str) -> Result<Option<Fields>, RecipeError> {
        match self.get(key) {
            None => Ok(None),
            Some(Given { value: Value::Table(table), origin }) => Ok(Some(Fields::new(table.clone(), origin.clone()))),
            Some(other) => Err(RecipeError::of(&other.origin, format!("`{key}` is a table: write [{key}]"))),
        }
    }

    /// Tables of one name (`[[change]]`).
    ///
    /// # Errors
    /// If it is something else.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Fields>, RecipeError> {
        let wrong = |origin: &Origin| RecipeError::of(origin, format!("`{key}` is a list of tables: write [[{key}]]"));
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Given { value: Value::List(all), .. }) => all
                .iter()
                .map(|item| match &item.value {
                    Value::Table(table) => Ok(Fields::new(table.clone(), item.origin.clone())),
                    _ => Err(wrong(&item.origin)),
                })
                .collect(),
            Some(other) => Err(wrong(&other.origin)),
        }
    }

    /// Refuses keys that nobody asked for.
    ///
    /// # Errors
    /// If there is one.
    pub fn finish(&self) -> Result<(), RecipeError> {
        let asked = self.asked.borrow();
        let unknown = self.table.iter().find(|(key, _)| !asked.contains(key.as_str()));
        unknown.map_or(Ok(()), |(key, value)| {
            let known: Vec<_> = asked.iter().copied().collect();
            Err(RecipeError::of(&value.origin, format!("unknown key `{key}`: expected one of {}", known.join(", "))))
        })
    }
}

fn text(key: &str, value: &Given<Value>) -> Result<Given<String>, RecipeError> {
    match &value.value {
        Value::Text(text) => Ok(Given { value: text.clone(), origin: value.origin.clone() }),
        _ => Err(RecipeError::of(&value.origin, format!("`{key}` is a text: write it in quotes"))),
    }
}
