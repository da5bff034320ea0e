//! A TOML text as values that know their places.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::mistake::{Mistake, Place};

/// The maximum depth of a value. A deeper one is a mistake of the author.
const DEPTH_MAX: usize = 32;

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) plain: Plain,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(super) enum Plain {
    Text(String),
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    Flag(bool),
    /// A date or a time.
    Time(String),
    List(Vec<Node>),
    Table(Table),
}

/// The members of a table by their keys.
pub(super) type Table = BTreeMap<String, Member>;

/// A member of a table.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The place of the key.
    pub(super) key: Place,
    pub(super) value: Node,
}

impl Node {
    /// The value as JSON. A time becomes a string.
    pub(super) fn to_json(&self) -> Value {
        match &self.plain {
            Plain::Text(text) | Plain::Time(text) => text.as_str().into(),
            Plain::Whole(number) => (*number).into(),
            Plain::Real(number) => (*number).into(),
            Plain::Flag(flag) => (*flag).into(),
            Plain::List(items) => items.iter().map(Node::to_json).collect(),
            Plain::Table(table) => {
                let members = table.iter();
                let members = members.map(|(key, it)| (key.clone(), it.value.to_json()));
                Value::Object(members.collect())
            }
        }
    }

    /// The table, if it is one.
    pub(super) fn table(&self) -> Option<&Table> {
        match &self.plain {
            Plain::Table(table) => Some(table),
            Plain::Text(_)
            | Plain::Whole(_)
            | Plain::Real(_)
            | Plain::Flag(_)
            | Plain::Time(_)
            | Plain::List(_) => None,
        }
    }

    /// The items, if it is a list.
    pub(super) fn list(&self) -> Option<&[Node]> {
        match &self.plain {
            Plain::List(items) => Some(items),
            Plain::Text(_)
            | Plain::Whole(_)
            | Plain::Real(_)
            | Plain::Flag(_)
            | Plain::Time(_)
            | Plain::Table(_) => None,
        }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.plain {
            Plain::Text(text) => Some(text),
            Plain::Whole(_)
            | Plain::Real(_)
            | Plain::Flag(_)
            | Plain::Time(_)
            | Plain::List(_)
            | Plain::Table(_) => None,
        }
    }

    /// The place of the value at this path of keys and indexes, or of the nearest value around it.
    pub(super) fn place_of<'k>(&self, path: impl IntoIterator<Item = &'k str>) -> Place {
        let (mut here, mut place) = (self, self.place.clone());
        for step in path {
            let next = match &here.plain {
                Plain::Table(table) => table.get(step).map(|it| (&it.value, it.key.clone())),
                Plain::List(items) => {
                    let item = step.parse().ok().and_then(|at: usize| items.get(at));
                    item.map(|it| (it, it.place.clone()))
                }
                Plain::Text(_)
                | Plain::Whole(_)
                | Plain::Real(_)
                | Plain::Flag(_)
                | Plain::Time(_) => None,
            };
            let Some(next) = next else { break };
            (here, place) = next;
        }
        place
    }
}

/// Reads a TOML text. Returns every mistake of its syntax.
pub(super) fn read(text: &str, file: &Place) -> (Node, Vec<Mistake>) {
    let ends = text.bytes().enumerate().filter(|(_, it)| *it == b'\n');
    let reader = Reader {
        text,
        lines: std::iter::once(0)
            .chain(ends.map(|(at, _)| at + 1))
            .collect(),
        file,
        mistakes: Vec::new(),
    };
    reader.read()
}

struct Reader<'t> {
    text: &'t str,
    /// The offset of each line.
    lines: Vec<usize>,
    file: &'t Place,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn read(mut self) -> (Node, Vec<Mistake>) {
        let (table, mut errors) = DeTable::parse_recoverable(self.text);
        // The parser reports an unclosed bracket before the mistakes in front of it.
        errors.sort_by_key(|it| it.span().unwrap_or_default().start);
        for error in &errors {
            let place = self.place(error.span().unwrap_or_default());
            let what = format!("expected TOML: {}", error.message());
            self.mistakes.push(place.mistake("", what));
        }
        let table = self.table(table.get_ref(), 0);
        let whole = Node {
            place: self.file.clone(),
            plain: Plain::Table(table),
        };
        (whole, self.mistakes)
    }

    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Table {
        let mut read = Table::new();
        for (key, value) in table {
            let member = Member {
                key: self.place(key.span()),
                value: self.node(value, depth + 1),
            };
            read.insert(key_text(key), member);
        }
        read
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Node {
        let place = self.place(value.span());
        let plain = match value.get_ref() {
            _ if depth > DEPTH_MAX => {
                let what = format!("expected {DEPTH_MAX} levels at most, found more");
                self.mistakes.push(place.mistake("", what));
                Plain::Table(Table::new())
            }
            DeValue::String(text) => Plain::Text(text.to_string()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Plain::Whole(number),
                    Err(_) => self.no_number(&place, number.as_str()),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(read) if f64::is_finite(read) => Plain::Real(read),
                Ok(_) | Err(_) => self.no_number(&place, number.as_str()),
            },
            DeValue::Boolean(flag) => Plain::Flag(*flag),
            DeValue::Datetime(time) => Plain::Time(time.to_string()),
            DeValue::Array(items) => {
                Plain::List(items.iter().map(|it| self.node(it, depth + 1)).collect())
            }
            DeValue::Table(table) => Plain::Table(self.table(table, depth)),
        };
        Node { place, plain }
    }

    fn no_number(&mut self, place: &Place, found: &str) -> Plain {
        let what = format!("expected a number of 64 bits, found {found}");
        self.mistakes.push(place.mistake("", what));
        Plain::Whole(0)
    }

    /// The line and the column of a byte offset. Columns count characters.
    fn place(&self, span: Range<usize>) -> Place {
        let line = self.lines.partition_point(|begins| *begins <= span.start);
        let begins = self.lines.get(line.saturating_sub(1)).copied();
        let before = self.text.get(begins.unwrap_or_default()..span.start);
        let column = before.unwrap_or_default().chars().count() + 1;
        self.file.at(line, column)
    }
}

fn key_text(key: &Spanned<DeString<'_>>) -> String {
    key.get_ref().to_string()
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Node, Vec<String>) {
        let (node, mistakes) = read(text, &Place::named("a.toml"));
        (node, mistakes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn place_is_line_and_column_in_characters() {
        let (node, mistakes) = read_text("a = 1\n[b]\n'ö' = { c = [1,\n  \"x\"] }\n");
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let at = |path: &[&str]| node.place_of(path.iter().copied()).to_string();
        assert_eq!(at(&["a"]), "a.toml:1:1");
        assert_eq!(at(&["b", "ö", "c"]), "a.toml:3:9");
        assert_eq!(at(&["b", "ö", "c", "1"]), "a.toml:4:3");
        assert_eq!(at(&["b", "ö", "gone"]), "a.toml:3:1");
        assert_eq!(at(&["gone"]), "a.toml");
        let c = &node.table().unwrap()["b"].value.to_json()["ö"]["c"];
        assert_eq!(*c, serde_json::json!([1, "x"]));
    }

    #[test]
    fn every_mistake_of_the_syntax_is_found() {
        let (_, mistakes) = read_text("a = \nb = 1\nc = [\n");
        assert!(mistakes.len() >= 2, "{mistakes:?}");
        assert!(mistakes[0].starts_with("a.toml:1:"), "{mistakes:?}");
        let (_, mistakes) = read_text("a = 99999999999999999999\n");
        assert!(
            mistakes[0].starts_with("a.toml:1:5: expected a number"),
            "{mistakes:?}"
        );
        let (_, mistakes) = read_text(&format!("a = {}{}", "[".repeat(60), "]".repeat(60)));
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    }
}
