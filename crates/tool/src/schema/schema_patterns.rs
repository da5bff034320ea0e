//! Patterns that the schema checker cannot compile. For each checked value they are replaced by
//! lists of the value's matching strings.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use recount_session::schema::map_schema;
use serde_json::{Map, Value, json};

use super::arguments::shortened;
use super::ecma::{Match, Pattern};

/// The maximum number of strings of one value to match.
const STRINGS_MAX: usize = 10_000;
/// The maximum number of given-up matches for one value.
const GIVEN_UP_MAX: usize = 8;
/// The maximum length of a pointer to a pattern in a message.
const PLACE_CHARS_MAX: usize = 200;

/// A schema with patterns that the checker cannot compile.
pub(super) struct Patterns {
    schema: Value,
    patterns: BTreeMap<String, Pattern>,
    /// True if the dialect has no `if`.
    is_old: bool,
}

/// Such a schema with its patterns replaced for one value.
pub(super) struct ForValue {
    /// The schema for the checker.
    pub(crate) schema: Value,
    /// The patterns and strings of the value whose match was given up.
    given_up: BTreeSet<(String, String)>,
}

impl Patterns {
    /// Returns `None` if the checker compiles all patterns, as `knows` reports. The error names an
    /// invalid pattern.
    pub(crate) fn of(
        schema: &Value,
        knows: impl Fn(&str) -> bool,
    ) -> Result<Option<Patterns>, String> {
        let mut patterns = BTreeMap::new();
        for source in sources(schema) {
            if !knows(&source) {
                let pattern = Pattern::new(&source);
                let pattern = pattern.map_err(|why| match place_of(schema, &source) {
                    Some(place) => format!("{}: {why}", shortened(&place, PLACE_CHARS_MAX)),
                    None => why,
                })?;
                patterns.insert(source, pattern);
            }
        }
        if patterns.is_empty() {
            return Ok(None);
        }
        let dialect = schema.get("$schema").and_then(Value::as_str);
        let old = ["draft-03", "draft-04", "draft-06"];
        let is_old = dialect.is_some_and(|it| old.iter().any(|old| it.contains(old)));
        Ok(Some(Patterns {
            schema: schema.clone(),
            patterns,
            is_old,
        }))
    }

    /// Returns the schema for a value; the error says why the value cannot be checked.
    pub(super) fn for_value(&self, value: &Value) -> Result<ForValue, String> {
        let (mut strings, mut names) = (BTreeSet::new(), BTreeSet::new());
        gather(value, &mut strings, &mut names);
        if strings.len() + names.len() > STRINGS_MAX {
            return Err(format!("it has more than {STRINGS_MAX} strings"));
        }
        let mut given_up = BTreeSet::new();
        let mut fitting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (source, pattern) in &self.patterns {
            let fits = fitting.entry(source).or_default();
            for text in strings.union(&names) {
                let found = if given_up.len() < GIVEN_UP_MAX {
                    pattern.on(text)
                } else {
                    Match::GivenUp
                };
                match found {
                    Match::Fits => fits.push(text),
                    Match::Misses => {}
                    Match::GivenUp => {
                        given_up.insert((source.clone(), (*text).to_owned()));
                    }
                }
            }
        }
        let names_given_up = |source: &String| {
            let of_name =
                |(of, text): &(String, String)| of == source && names.contains(text.as_str());
            given_up.iter().any(of_name)
        };
        let of_names = of_properties(&self.schema);
        if of_names.iter().any(names_given_up) {
            return Err(
                "a pattern for the names of its properties takes too many steps".to_owned(),
            );
        }
        let schema = map_schema(&self.schema, &|keywords| {
            self.without_patterns(keywords, &fitting, &names)
        });
        Ok(ForValue { schema, given_up })
    }

    fn without_patterns(
        &self,
        mut keywords: Map<String, Value>,
        fitting: &BTreeMap<&str, Vec<&str>>,
        names: &BTreeSet<&str>,
    ) -> Map<String, Value> {
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        if let Some((source, fits)) = pattern.and_then(|it| fitting.get_key_value(it)) {
            let mut list = vec![json!({ MARK: source })];
            list.extend(fits.iter().map(|it| Value::from(*it)));
            let fits = match self.is_old {
                true => json!({"anyOf": [{"not": {"type": "string"}}, {"enum": list}]}),
                false => json!({"if": {"type": "string"}, "then": {"enum": list}}),
            };
            keywords.remove("pattern");
            match keywords.get_mut("allOf").and_then(Value::as_array_mut) {
                Some(all) => all.push(fits),
                None => drop(keywords.insert("allOf".to_owned(), json!([fits]))),
            }
        }
        let named = keywords.get_mut("patternProperties");
        if let Some(named) = named.and_then(Value::as_object_mut) {
            let all = std::mem::take(named);
            named.extend(
                all.into_iter()
                    .enumerate()
                    .map(|(index, (source, schema))| {
                        let key = match fitting.get(source.as_str()) {
                            Some(fits) => {
                                alternatives(fits.iter().filter(|it| names.contains(**it)), index)
                            }
                            None => source,
                        };
                        (key, schema)
                    }),
            );
        }
        keywords
    }

    /// Returns the complaint about a string missing in a list of matches; `None` for any other
    /// list.
    pub(super) fn complaint(
        list: &[Value],
        found: Option<&Value>,
        of: &ForValue,
    ) -> Option<String> {
        let source = list.first()?.get(MARK)?.as_str()?;
        let text = found.and_then(Value::as_str).unwrap_or_default();
        let place = (source.to_owned(), text.to_owned());
        Some(match of.given_up.contains(&place) {
            true => format!(
                "it cannot be told within the allowed steps whether it fits pattern {source:?}"
            ),
            false => format!("does not match pattern {source:?}"),
        })
    }
}

/// Returns a pattern that matches exactly these names, with a text unique to `index`.
fn alternatives<'n>(names: impl Iterator<Item = &'n &'n str>, index: usize) -> String {
    let names: Vec<_> = names.map(|it| fancy_regex::escape(it)).collect();
    let inner = match names.is_empty() {
        // Matches nothing: no character follows the end.
        true => "$.".to_owned(),
        false => format!("^(?:{})$", names.join("|")),
    };
    // Two patterns may match the same names, but need different keys.
    format!("(?:{inner}){}", "|$.".repeat(index))
}

/// Returns the patterns of a schema.
pub(super) fn sources(schema: &Value) -> BTreeSet<String> {
    let found = RefCell::new(of_properties(schema));
    map_schema(schema, &|keywords| {
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        found.borrow_mut().extend(pattern.map(str::to_owned));
        keywords
    });
    found.into_inner()
}

/// Returns the patterns for names of properties.
fn of_properties(schema: &Value) -> BTreeSet<String> {
    let found = RefCell::new(BTreeSet::new());
    map_schema(schema, &|keywords| {
        let named = keywords.get("patternProperties").and_then(Value::as_object);
        let named = named.into_iter().flat_map(Map::keys);
        found.borrow_mut().extend(named.cloned());
        keywords
    });
    found.into_inner()
}

/// Returns the first place of a pattern in a schema, as a JSON Pointer.
fn place_of(schema: &Value, source: &str) -> Option<String> {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let mut open = vec![(String::new(), schema)];
    while let Some((at, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                if fields.get("pattern").and_then(Value::as_str) == Some(source) {
                    return Some(format!("{at}/pattern"));
                }
                let named = fields.get("patternProperties");
                if named.is_some_and(|it| it.get(source).is_some()) {
                    return Some(format!("{at}/patternProperties/{}", escaped(source)));
                }
                let inner = fields.iter().rev();
                open.extend(inner.map(|(name, it)| (format!("{at}/{}", escaped(name)), it)));
            }
            Value::Array(items) => {
                let inner = items.iter().enumerate().rev();
                open.extend(inner.map(|(index, it)| (format!("{at}/{index}"), it)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

fn gather<'v>(root: &'v Value, strings: &mut BTreeSet<&'v str>, names: &mut BTreeSet<&'v str>) {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => drop(strings.insert(text)),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                names.extend(fields.keys().map(String::as_str));
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The key that marks the first member of a list of matches.
const MARK: &str = "recount:pattern";
