//! Arguments that are built from pieces. Numbers keep their digits.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::path::{Step, steps};
use crate::live::wire::PartialArg;
use crate::session::Json;

/// The arguments received so far.
#[derive(Debug)]
pub(super) struct Tree(Node);

#[derive(Debug)]
enum Node {
    /// A complete value, as JSON.
    Whole(Box<RawValue>),
    /// A string that may grow. `may_grow` is true if its last piece announced another one.
    Text {
        text: String,
        may_grow: bool,
    },
    Object(BTreeMap<String, Node>),
    List(Vec<Node>),
}

impl Default for Tree {
    fn default() -> Tree {
        Tree(Node::Object(BTreeMap::new()))
    }
}

impl Tree {
    /// Adds the arguments that arrived complete, before any piece.
    pub(super) fn begin_with(&mut self, args: &str) -> Result<(), String> {
        let args = Json::parse(args).map_err(|problem| format!("the arguments are {problem}"))?;
        if !args.is_object() {
            return Err("the arguments must be a JSON object".to_owned());
        }
        let given: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(args.as_str()).map_err(|problem| problem.to_string())?;
        let Node::Object(members) = &mut self.0 else {
            return Ok(());
        };
        for (name, value) in given {
            if members.contains_key(&name) {
                return Err(format!("{name:?} came twice"));
            }
            members.insert(name, Node::Whole(value));
        }
        Ok(())
    }

    /// Adds a piece at its path.
    pub(super) fn put(&mut self, part: &PartialArg) -> Result<(), String> {
        let path = part.json_path.as_deref().ok_or("expected a `jsonPath`")?;
        let steps = steps(path)?;
        if steps.is_empty() {
            return Err("expected a place within the arguments".to_owned());
        }
        let value = value(part)?;
        let mut node = &mut self.0;
        for (at, step) in steps.iter().enumerate() {
            let following = steps.get(at + 1);
            node = node.enter(step, following, &value)?;
        }
        match (node, value) {
            (_, Value::Nothing) => Ok(()),
            (Node::Text { text, may_grow }, Value::Text(more)) => {
                text.push_str(more);
                *may_grow = part.will_continue == Some(true);
                Ok(())
            }
            (node, value) => node.set(value, part.will_continue == Some(true)),
        }
    }

    /// Returns the path of an unfinished string.
    pub(super) fn open_text(&self) -> Option<String> {
        self.0.open_text()
    }

    /// Returns the arguments as JSON.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.0.write(&mut out);
        out
    }
}

/// The value of a piece.
enum Value<'p> {
    Text(&'p str),
    /// A complete value, as JSON.
    Whole(String),
    /// No value yet; more pieces follow.
    Nothing,
}

fn value(part: &PartialArg) -> Result<Value<'_>, String> {
    // Protobuf writes its null value as `null`, which counts as absence elsewhere.
    // A value that is not known to be the last part must not look like it.
    let fields = [
        "stringValue",
        "numberValue",
        "boolValue",
        "nullValue",
        "willContinue",
    ];
    let is_odd = fields
        .iter()
        .find(|name| part.other.get_field(name).is_some());
    if let Some(name) = is_odd {
        return Err(format!("its `{name}` is of another kind"));
    }
    let mut values = Vec::new();
    values.extend(part.string_value.as_deref().map(Value::Text));
    let number = part.number_value.as_ref();
    values.extend(number.map(|it| Value::Whole(it.digits().to_owned())));
    values.extend(part.bool_value.map(|it| Value::Whole(it.to_string())));
    let null = part.null_value.as_ref();
    values.extend(null.map(|_| Value::Whole("null".to_owned())));
    match (values.pop(), values.len()) {
        (Some(value), 0) => Ok(value),
        (None, _) if part.will_continue == Some(true) => Ok(Value::Nothing),
        (None, _) => Ok(Value::Whole("null".to_owned())),
        (Some(_), _) => Err("expected one value, found several".to_owned()),
    }
}

impl Node {
    /// Returns the value one step deeper. Creates it if it does not exist.
    fn enter(
        &mut self,
        step: &Step,
        following: Option<&Step>,
        value: &Value<'_>,
    ) -> Result<&mut Node, String> {
        self.open()?;
        let fresh = || match (following, value) {
            (Some(Step::Member(_)), _) => Node::Object(BTreeMap::new()),
            (Some(Step::Item(_)), _) => Node::List(Vec::new()),
            (None, Value::Nothing) => Node::unset(),
            (None, Value::Text(_) | Value::Whole(_)) => Node::unset(),
        };
        match (self, step) {
            (Node::Object(members), Step::Member(name)) => {
                Ok(members.entry(name.clone()).or_insert_with(fresh))
            }
            (Node::List(items), Step::Item(index)) => {
                if *index > items.len() {
                    return Err(format!("item {index} came before item {}", items.len()));
                }
                if *index == items.len() {
                    items.push(fresh());
                }
                items.get_mut(*index).ok_or_else(|| "no item".to_owned())
            }
            (Node::Object(_), Step::Item(_)) => Err("an object has no items".to_owned()),
            (Node::List(_), Step::Member(_)) => Err("a list has no members".to_owned()),
            (Node::Text { .. } | Node::Whole(_), _) => Err("a value stands in its way".to_owned()),
        }
    }

    /// Creates a value without content: an empty, unfinished string.
    fn unset() -> Node {
        let (text, may_grow) = (String::new(), true);
        Node::Text { text, may_grow }
    }

    fn is_unset(&self) -> bool {
        matches!(self, Node::Text { text, may_grow: true } if text.is_empty())
    }

    /// Splits a complete object or list into its parts, so that it can grow.
    fn open(&mut self) -> Result<(), String> {
        let Node::Whole(whole) = self else {
            return Ok(());
        };
        let text = whole.get();
        let wrap = Node::Whole;
        let problem = |it: serde_json::Error| it.to_string();
        if text.starts_with('{') {
            let members: BTreeMap<String, Box<RawValue>> =
                serde_json::from_str(text).map_err(problem)?;
            let members = members.into_iter().map(|(name, it)| (name, wrap(it)));
            *self = Node::Object(members.collect());
        } else if text.starts_with('[') {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).map_err(problem)?;
            *self = Node::List(items.into_iter().map(wrap).collect());
        }
        Ok(())
    }

    fn set(&mut self, value: Value<'_>, may_grow: bool) -> Result<(), String> {
        if !self.is_unset() {
            return Err("a value stands there already".to_owned());
        }
        match value {
            Value::Nothing => {}
            Value::Text(text) => {
                let text = text.to_owned();
                *self = Node::Text { text, may_grow };
            }
            Value::Whole(text) => {
                let raw = RawValue::from_string(text);
                *self = Node::Whole(raw.map_err(|_| "expected a number".to_owned())?);
            }
        }
        Ok(())
    }

    fn open_text(&self) -> Option<String> {
        let within = |step: String, node: &Node| node.open_text().map(|it| format!("{step}{it}"));
        match self {
            Node::Whole(_) => None,
            Node::Text { may_grow, .. } => may_grow.then(String::new),
            Node::Object(members) => members.iter().find_map(|(name, it)| {
                let name: String = name.chars().take(60).collect();
                within(format!("/{name}"), it)
            }),
            Node::List(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, it)| within(format!("/{at}"), it))
            }
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Whole(whole) => out.push_str(whole.get()),
            Node::Text { text, .. } => out.push_str(&quoted(text)),
            Node::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(name));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Node::List(items) => {
                out.push('[');
                for (at, value) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    value.write(out);
                }
                out.push(']');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
