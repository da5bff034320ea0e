//! The fields of the form: one for each argument, and the JSON text that they make.

use form_urlencoded::byte_serialize;
use recount::session::Json;
use recount_text::json::{escaped, is_within, members};
use serde_json::Value;

use super::super::decide::quoted;
use crate::pages::frame::Form;
use crate::problems::Problem;

/// The beginning of the name of a field in the form.
const PREFIX: &str = "arg.";

/// The kind of a field, from the schema of its argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A text.
    Text,
    /// A number, kept to the digit.
    Number,
    /// Yes or no.
    Flag,
    /// One of these JSON texts.
    Choice(Vec<String>),
    /// Any other value, as JSON.
    Json,
    /// A secret, which no approver can see or change.
    Sealed,
}

/// A field of the form.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) about: String,
    /// The value as the form shows it.
    pub(super) value: String,
    /// The JSON text of the value in the call. `None` if the call does not have the argument.
    before: Option<String>,
    /// The faults of the value.
    pub(super) faults: Vec<String>,
}

/// The fields of a call's arguments: those of the call, then the other ones of the schema.
pub(super) fn fields(args: &Json, schema: Option<&Value>, sealed: &[String]) -> Vec<Field> {
    let properties = schema.and_then(|it| it.get("properties")?.as_object());
    let required = schema.and_then(|it| it.get("required")?.as_array());
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|it| it.as_str() == Some(name))
    };
    let given = members(args.as_str()).unwrap_or_default();
    let field = |name: &str, before: Option<&str>| {
        let schema = properties.and_then(|it| it.get(name));
        let pointer = format!("/{}", escaped(name));
        let kind = match sealed.iter().any(|it| is_within(&pointer, it)) {
            true => Kind::Sealed,
            false => kind(schema, before),
        };
        let about = schema.and_then(|it| it.get("description")?.as_str());
        Field {
            name: name.to_owned(),
            value: before.map_or(String::new(), |it| typed(&kind, it)),
            kind,
            is_required: is_required(name),
            about: about.unwrap_or_default().to_owned(),
            before: before.map(str::to_owned),
            faults: Vec::new(),
        }
    };
    let mut fields: Vec<Field> = given
        .iter()
        .map(|(name, value)| field(name, Some(value.get())))
        .collect();
    for name in properties.into_iter().flatten().map(|(name, _)| name) {
        if !given.iter().any(|(it, _)| it == name) {
            fields.push(field(name, None));
        }
    }
    fields
}

/// The kind of a field. A value that is not of the schema's type is shown as JSON.
fn kind(schema: Option<&Value>, before: Option<&str>) -> Kind {
    let choices = schema.and_then(|it| it.get("enum")?.as_array());
    if let Some(choices) = choices {
        return Kind::Choice(choices.iter().map(Value::to_string).collect());
    }
    let declared = schema.and_then(|it| it.get("type")?.as_str());
    let first = before.and_then(|it| it.chars().next());
    match (declared, first) {
        (Some("string"), None | Some('"')) | (None, Some('"')) => Kind::Text,
        (Some("integer" | "number"), None | Some('-' | '0'..='9')) => Kind::Number,
        (Some("boolean"), None | Some('t' | 'f')) => Kind::Flag,
        (Some(_) | None, _) => Kind::Json,
    }
}

/// A JSON text as the field shows it.
fn typed(kind: &Kind, json: &str) -> String {
    match kind {
        Kind::Text => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
        Kind::Sealed => String::new(),
        Kind::Number | Kind::Flag | Kind::Choice(_) | Kind::Json => json.to_owned(),
    }
}

impl Field {
    /// The name of the field in the form. A browser would change line breaks in a plain name.
    pub(super) fn key(&self) -> String {
        let name: String = byte_serialize(self.name.as_bytes()).collect();
        format!("{PREFIX}{name}")
    }

    /// The JSON text of the value. `None` leaves the argument out.
    fn json(&self) -> Result<Option<String>, String> {
        let text = self.value.trim();
        let is_new = self.before.is_none() && !self.is_required;
        match &self.kind {
            Kind::Sealed => Ok(self.before.clone()),
            Kind::Text if self.value.is_empty() && is_new => Ok(None),
            // An unchanged text keeps its spelling, such as its escapes.
            Kind::Text => match &self.before {
                Some(before) if typed(&Kind::Text, before) == self.value => {
                    Ok(Some(before.clone()))
                }
                Some(_) | None => Ok(Some(quoted(&self.value))),
            },
            Kind::Number | Kind::Flag | Kind::Choice(_) | Kind::Json if text.is_empty() => {
                match self.is_required {
                    true => Err("expected a value".to_owned()),
                    false => Ok(None),
                }
            }
            Kind::Number => match Json::parse(text) {
                Ok(number) if number.to_value().is_number() => Ok(Some(text.to_owned())),
                Ok(_) | Err(_) => Err(format!("expected a number, found {text:?}")),
            },
            Kind::Flag | Kind::Choice(_) | Kind::Json => match Json::parse(text) {
                Ok(json) => Ok(Some(json.as_str().to_owned())),
                Err(problem) => Err(format!("expected JSON: {problem}")),
            },
        }
    }
}

/// Puts the values of a form into the fields.
pub(super) fn fill(fields: &mut [Field], form: &Form) {
    for (name, value) in form.fields() {
        let field = fields.iter_mut().find(|it| it.key() == name);
        if let Some(field) = field.filter(|it| it.kind != Kind::Sealed) {
            // A browser sends each line break as CRLF.
            field.value = value.replace("\r\n", "\n");
        }
    }
}

/// True for the name of an argument's field in a form.
pub(super) fn is_argument(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// The arguments that the fields make. `None` if a field is no JSON; its fault is at the field.
pub(super) fn made(fields: &mut [Field]) -> Option<Json> {
    let mut members = Vec::new();
    for field in &mut *fields {
        match field.json() {
            Ok(Some(json)) => members.push(format!("{}:{json}", quoted(&field.name))),
            Ok(None) => {}
            Err(fault) => field.faults.push(fault),
        }
    }
    if fields.iter().any(|it| !it.faults.is_empty()) {
        return None;
    }
    Json::parse(&format!("{{{}}}", members.join(","))).ok()
}

/// Puts the faults that a check of the schema found at their fields. Returns those of no field.
///
/// A fault of a field begins with its JSON Pointer, such as `/amount: expected integer`.
pub(super) fn place(fields: &mut [Field], text: &str) -> Vec<String> {
    let mut others = Vec::new();
    for fault in text.split("; ") {
        let pointer = |field: &Field| format!("/{}", escaped(&field.name));
        let found = fields.iter_mut().find_map(|field| {
            let rest = fault.strip_prefix(&pointer(field))?;
            rest.starts_with([':', '/']).then_some((field, rest))
        });
        match found {
            Some((field, rest)) => {
                let words = rest.strip_prefix(": ").unwrap_or(rest);
                field.faults.push(words.to_owned());
            }
            None => others.push(fault.to_owned()),
        }
    }
    others
}

/// Checks that the form has only these fields and those of arguments.
pub(super) fn only_known(form: &Form, known: &[&str]) -> Result<(), Problem> {
    let mut names: Vec<&str> = form.fields().map(|(name, _)| name).collect();
    names.retain(|it| is_argument(it));
    let known: Vec<&str> = known.iter().copied().chain(names).collect();
    form.only(&known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(args: &str) -> Vec<Field> {
        let schema = json!({
            "type": "object",
            "required": ["cents"],
            "properties": {
                "cents": {"type": "integer"},
                "to": {"type": "string"},
                "fast": {"type": "boolean"},
                "how": {"enum": ["card", "cash"]},
                "more": {"type": "object"},
            },
        });
        let args = Json::parse(args).unwrap();
        fields(&args, Some(&schema), &["/card".to_owned()])
    }

    fn set(fields: &mut [Field], name: &str, value: &str) {
        let field = fields.iter_mut().find(|it| it.name == name).unwrap();
        field.value = value.to_owned();
    }

    #[test]
    fn unchanged_arguments_keep_their_text() {
        let args = r#"{"cents":1.50,"to":"\u00fc","card":{"$sealed":"v1.x"},"odd":[1]}"#;
        let mut fields = of(args);
        assert_eq!(made(&mut fields).unwrap().as_str(), args);
        let kinds: Vec<&Kind> = fields.iter().map(|it| &it.kind).take(4).collect();
        assert_eq!(
            kinds,
            [&Kind::Number, &Kind::Text, &Kind::Sealed, &Kind::Json]
        );
    }

    #[test]
    fn changed_fields_make_new_arguments() {
        let mut fields = of(r#"{"cents":1}"#);
        set(&mut fields, "cents", "0012345678901234567890.10");
        assert!(made(&mut fields).is_none(), "leading zeros are no JSON");
        let mut fields = of(r#"{"cents":1}"#);
        set(&mut fields, "cents", "12345678901234567890.10");
        set(&mut fields, "to", "a\"b");
        set(&mut fields, "how", "\"cash\"");
        let made = made(&mut fields).unwrap();
        let expected = r#"{"cents":12345678901234567890.10,"how":"cash","to":"a\"b"}"#;
        assert_eq!(
            made.to_value(),
            serde_json::from_str::<Value>(expected).unwrap()
        );
        assert!(made.as_str().contains("12345678901234567890.10"));
    }

    #[test]
    fn faults_stand_at_their_fields() {
        let mut fields = of(r#"{"cents":1,"more":{}}"#);
        let text = "/cents: expected integer, found string; /more/a: too long; missing property";
        assert_eq!(place(&mut fields, text), ["missing property"]);
        assert_eq!(fields[0].faults, ["expected integer, found string"]);
        assert_eq!(fields[1].faults, ["/a: too long"]);
        set(&mut fields, "cents", "");
        assert!(made(&mut fields).is_none());
    }
}
