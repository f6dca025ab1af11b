//! Reads a TOML table key by key, so that errors name the key, what was expected and what came.

use std::time::Duration;

use toml::{Table, Value};

use crate::error::{Code, Error, Result};
use crate::units::Bytes;

/// One table of a configuration; keys are taken out as they are read, what is left at the end is unknown.
pub struct Section {
    path: String,
    table: Table,
    known: Vec<&'static str>,
}

/// The error for a key whose value is not what it should be.
pub fn invalid(key: &str, expected: &str, came: &str) -> Error {
    Error::new(Code::InvalidConfig, format!("{key}: expected {expected}, found {came}"))
}

fn describe(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".into(),
        Value::Array(_) => "a list".into(),
        other => format!("{} {other}", other.type_str()),
    }
}

impl Section {
    /// A table; `path` is what its keys are told with, empty for the root.
    pub fn new(path: &str, table: Table) -> Self {
        Section { path: path.into(), table, known: Vec::new() }
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.into()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn take<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        self.known.push(key);
        let Some(value) = self.table.remove(key) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| invalid(&self.full(key), expected, &describe(&value)))
    }

    /// Reads a whole number, where the key is there.
    pub fn count(&mut self, key: &'static str, out: &mut usize) -> Result<()> {
        let read = |v: &Value| v.as_integer().and_then(|n| usize::try_from(n).ok());
        if let Some(value) = self.take(key, "a whole number, not negative", read)? {
            *out = value;
        }
        Ok(())
    }

    /// Reads a whole number of seconds, where the key is there.
    pub fn seconds(&mut self, key: &'static str, out: &mut Duration) -> Result<()> {
        let read = |v: &Value| v.as_integer().and_then(|n| u64::try_from(n).ok());
        if let Some(seconds) = self.take(key, "a whole number of seconds", read)? {
            *out = Duration::from_secs(seconds);
        }
        Ok(())
    }

    /// Reads true or false, where the key is there.
    pub fn boolean(&mut self, key: &'static str, out: &mut bool) -> Result<()> {
        if let Some(value) = self.take(key, "true or false", Value::as_bool)? {
            *out = value;
        }
        Ok(())
    }

    /// A text.
    pub fn take_text(&mut self, key: &'static str) -> Result<Option<String>> {
        self.take(key, "a text", |v| v.as_str().map(str::to_owned))
    }

    /// A list of texts.
    pub fn take_texts(&mut self, key: &'static str) -> Result<Option<Vec<String>>> {
        self.take(key, "a list of texts", |v| {
            v.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        })
    }

    /// A size: a text such as `8GiB`, or a number of bytes.
    pub fn take_bytes(&mut self, key: &'static str) -> Result<Option<Bytes>> {
        self.take(key, "a size such as \"8GiB\"", |v| match v {
            Value::String(text) => text.parse().ok(),
            Value::Integer(n) => u64::try_from(*n).ok().map(Bytes),
            _ => None,
        })
    }

    /// A table in this one; empty where it is absent.
    pub fn section(&mut self, key: &'static str) -> Result<Section> {
        let table = self.take(key, "a table", |v| v.as_table().cloned())?.unwrap_or_default();
        Ok(Section::new(&self.full(key), table))
    }

    /// Refuses what was not read, naming the known key that is nearest.
    pub fn finish(self) -> Result<()> {
        let Some(key) = self.table.keys().next() else { return Ok(()) };
        let nearest = self
            .known
            .iter()
            .max_by(|a, b| strsim::jaro_winkler(key, a).total_cmp(&strsim::jaro_winkler(key, b)));
        let hint =
            nearest.map_or_else(String::new, |n| format!("; the nearest known key is {:?}", self.full(n)));
        Err(Error::new(Code::InvalidConfig, format!("unknown key {:?}{hint}", self.full(key))))
    }
}
