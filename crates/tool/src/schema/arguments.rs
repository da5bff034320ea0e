//! The check of a call's arguments against the declared schema.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::thread;

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use recount_session::schema::map_schema;
use serde_json::{Map, Value, json};

use super::ecma::Pattern;
use super::schema_anchors;
use super::schema_patterns::{ForValue, Patterns};
use super::schema_work::Work;
use recount_text::json::is_within;

/// Four times the checker's use for the deepest value in a debug build. Unused stack costs no
/// memory.
const STACK_BYTES: usize = 64 << 20;

/// A tool's parameter schema, compiled once.
#[doc(hidden)]
#[derive(Clone)]
pub struct ArgumentCheck(Option<Arc<Compiled>>);

struct Compiled {
    schemas: Schemas,
    root: SchemaIndex,
    /// The patterns that the checker cannot compile, if the schema has any.
    patterns: Option<Patterns>,
    /// The work limit, for a schema whose work depends on the value.
    work: Option<Work>,
}

impl ArgumentCheck {
    /// Compiles a schema; without one, any object is valid. The error describes the mistake in the
    /// schema.
    #[doc(hidden)]
    pub fn new(schema: Option<&Value>) -> Result<Self, String> {
        let Some(schema) = schema else {
            return Ok(Self(None));
        };
        let schema = lowered(schema);
        let keywords = keywords(&schema)?;
        if let Some(kind) = keywords.get("type").filter(|kind| !names_object(kind)) {
            return Err(format!(
                "expected a schema of type \"object\", found type {}",
                shown(kind)
            ));
        }
        Ok(Self(Some(Arc::new(Compiled::new(&schema)?))))
    }

    /// Checks the arguments. The error has words that a model can act on, and quotes no `secret`
    /// value.
    #[doc(hidden)]
    pub fn check(&self, args: &Value, secret: &[String]) -> Result<(), String> {
        if !args.is_object() {
            let found = if secret.is_empty() {
                shown(args)
            } else {
                "something else".to_owned()
            };
            return Err(format!(
                "expected a JSON object of arguments, found {found}"
            ));
        }
        let Some(compiled) = &self.0 else {
            return Ok(());
        };
        compiled.check(args, secret)
    }
}

/// Checks any value against a schema. The error describes the value or the schema.
pub(crate) fn fits_schema(schema: &Value, value: &Value) -> Result<(), String> {
    value_check(schema)?.check(value, &[])
}

/// Checks a schema for a value that need not be an object.
pub(crate) fn check_schema(schema: &Value) -> Result<(), String> {
    value_check(schema).map(drop)
}

fn value_check(schema: &Value) -> Result<Compiled, String> {
    let schema = lowered(schema);
    keywords(&schema)?;
    Compiled::new(&schema)
}

/// Returns the places in a schema that violate its dialect, as JSON Pointers.
#[doc(hidden)]
pub fn invalid_places(schema: &Value) -> BTreeSet<String> {
    fn places(error: &ValidationError<'_, '_>, into: &mut BTreeSet<String>) {
        if error.causes.is_empty() {
            into.insert(error.instance_location.to_string());
        }
        error.causes.iter().for_each(|cause| places(cause, into));
    }
    let schema = lowered_words(schema);
    // Patterns that the checker cannot compile are no mistake.
    let patterns = Patterns::of(&schema, checker_knows);
    let known = patterns.ok().flatten();
    let known = known.and_then(|it| it.for_value(&Value::Null).ok());
    let schema = known.map_or(schema, |it| it.schema);
    let found = on_deep_stack(|| {
        let mut found = BTreeSet::new();
        if let Err(error) = compile(&schema)
            && let boon::CompileError::ValidationError { src, .. } = *error
        {
            places(&src, &mut found);
        }
        found
    });
    found.unwrap_or_default()
}

/// True if the checker compiles a pattern. Uses `patternProperties`, which returns an error; for
/// `pattern` the checker panics on a valid pattern that exceeds its size limit.
fn checker_knows(pattern: &str) -> bool {
    compiled(&json!({"patternProperties": {pattern: true}})).is_ok()
}

/// Checks a pattern.
#[doc(hidden)]
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    match checker_knows(pattern) {
        true => Ok(()),
        false => Pattern::new(pattern).map(drop),
    }
}

fn keywords(schema: &Value) -> Result<&Map<String, Value>, String> {
    let found = || format!("expected a JSON object, found {}", shown(schema));
    schema.as_object().ok_or_else(found)
}

impl Compiled {
    fn new(schema: &Value) -> Result<Self, String> {
        let work = Work::of(schema)?;
        let schema = work.as_ref().map_or(schema, Work::schema);
        let patterns = Patterns::of(schema, checker_knows)?;
        let for_any = patterns.as_ref().map(|it| it.for_value(&Value::Null));
        let for_any = for_any.transpose()?;
        let readable = for_any.as_ref().map_or(schema, |it| &it.schema);
        let (schemas, root) = on_deep_stack(|| compiled(readable)).flatten()?;
        Ok(Self {
            schemas,
            root,
            patterns,
            work,
        })
    }

    fn check(&self, value: &Value, secret: &[String]) -> Result<(), String> {
        let cannot = |why| format!("expected what can be checked by its schema: {why}");
        let check = || {
            let Some(patterns) = &self.patterns else {
                let found = self.schemas.validate(value, self.root);
                return found.map_err(|error| complaint(&error, value, secret, None));
            };
            let for_value = patterns.for_value(value).map_err(cannot)?;
            let (schemas, root) = compiled(&for_value.schema).map_err(cannot)?;
            let found = schemas.validate(value, root);
            found.map_err(|error| complaint(&error, value, secret, Some(&for_value)))
        };
        let Some(work) = &self.work else {
            return check();
        };
        work.check(value).map_err(cannot)?;
        on_deep_stack(check).unwrap_or_else(|why| Err(cannot(why)))
    }
}

fn compiled(schema: &Value) -> Result<(Schemas, SchemaIndex), String> {
    compile(schema).map_err(|error| compile_text(&error))
}

fn compile(schema: &Value) -> Result<(Schemas, SchemaIndex), Box<boon::CompileError>> {
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    let mut schemas = Schemas::new();
    compiler.add_resource(LOCATION, schema.clone())?;
    let root = compiler.compile(LOCATION, &mut schemas)?;
    Ok((schemas, root))
}

/// Runs a check on a thread with a large stack, because the checker recurses into the references it
/// follows.
fn on_deep_stack<T: Send>(check: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let checker = builder.spawn_scoped(scope, check);
        let checker = checker.map_err(|error| format!("no thread to do it on: {error}"))?;
        checker.join().map_err(|_| "the checker failed".to_owned())
    })
}

/// Rejects every reference out of the schema: a declaration must not make this process read files
/// or the network.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn Error>> {
        Err("references out of the schema are not followed".into())
    }
}

/// Converts a schema of Gemini's own dialect to JSON Schema.
fn lowered(schema: &Value) -> Value {
    let schema = schema_anchors::resolved(lowered_words(schema));
    map_schema(&schema, &|mut keywords| {
        if keywords.remove("nullable") == Some(Value::Bool(true)) {
            return nullable(keywords);
        }
        keywords
    })
}

/// Converts the keywords of Gemini's own dialect to JSON Schema; each keyword stays in its place.
fn lowered_words(schema: &Value) -> Value {
    map_schema(schema, &|mut keywords| {
        if let Some(Value::String(kind)) = keywords.get("type") {
            match lowered_type(kind) {
                Some("") => drop(keywords.remove("type")),
                Some(kind) => drop(keywords.insert("type".to_owned(), kind.into())),
                None => {}
            }
        }
        for bound in [
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "minProperties",
            "maxProperties",
        ] {
            // In that dialect an int64 may be a string.
            let number = keywords
                .get(bound)
                .and_then(Value::as_str)
                .and_then(|text| text.parse::<u64>().ok());
            if let Some(number) = number {
                keywords.insert(bound.to_owned(), number.into());
            }
        }
        keywords
    })
}

fn lowered_type(kind: &str) -> Option<&'static str> {
    match kind {
        "STRING" => Some("string"),
        "NUMBER" => Some("number"),
        "INTEGER" => Some("integer"),
        "BOOLEAN" => Some("boolean"),
        "ARRAY" => Some("array"),
        "OBJECT" => Some("object"),
        "NULL" => Some("null"),
        "TYPE_UNSPECIFIED" => Some(""),
        _ => None,
    }
}

fn nullable(keywords: Map<String, Value>) -> Map<String, Value> {
    let null = Map::from_iter([("type".to_owned(), "null".into())]);
    Map::from_iter([(
        "anyOf".to_owned(),
        Value::Array(vec![keywords.into(), null.into()]),
    )])
}

fn names_object(kind: &Value) -> bool {
    match kind {
        Value::String(name) => name == "object",
        Value::Array(names) => names.iter().any(|name| name == "object"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Returns the mistake in a schema, without the address assigned to it here.
fn compile_text(error: &boon::CompileError) -> String {
    let text = match error {
        boon::CompileError::ValidationError { src, .. } => {
            let mut leaves = BTreeSet::new();
            collect(src, &Value::Null, &[], None, &mut leaves);
            bounded(leaves)
        }
        boon::CompileError::LoadUrlError { url, src } => format!("cannot resolve {url:?}: {src}"),
        other => other.to_string(),
    };
    text.replace(&format!("{LOCATION}#"), "")
        .replace(LOCATION, "")
}

fn complaint(
    error: &ValidationError<'_, '_>,
    args: &Value,
    secret: &[String],
    patterns: Option<&ForValue>,
) -> String {
    let mut leaves = BTreeSet::new();
    collect(error, args, secret, patterns, &mut leaves);
    bounded(leaves)
}

/// Collects the innermost causes. They are sorted, because the checker's order may differ from run
/// to run.
fn collect(
    error: &ValidationError<'_, '_>,
    args: &Value,
    secret: &[String],
    patterns: Option<&ForValue>,
    into: &mut BTreeSet<String>,
) {
    if !error.causes.is_empty() {
        error
            .causes
            .iter()
            .for_each(|cause| collect(cause, args, secret, patterns, into));
        return;
    }
    let pointer = error.instance_location.to_string();
    let found = args.pointer(&pointer);
    let hidden = secret
        .iter()
        .any(|place| shows(place, &pointer, found.is_some_and(Value::is_object)));
    let missed = match (&error.kind, patterns) {
        (ErrorKind::Enum { want }, Some(of)) => Patterns::complaint(want, found, of),
        _ => None,
    };
    let missed = missed.map(|it| format!("{it}, found {}", found.map_or("nothing".into(), shown)));
    let wrong = match (&error.kind, found) {
        _ if !hidden && missed.is_some() => missed.unwrap_or_default(),
        _ if hidden => "does not fit the schema; the value is secret".to_owned(),
        (ErrorKind::Type { want, .. }, Some(found)) => {
            let want: Vec<_> = want.iter().map(|kind| kind.to_string()).collect();
            format!("expected {}, found {}", want.join(" or "), shown(found))
        }
        (kind, Some(found)) if !found.is_object() => {
            format!("{}, found {}", worded(kind), shown(found))
        }
        (kind, _) => worded(kind),
    };
    into.insert(if pointer.is_empty() {
        shortened(&wrong, LEAF_CHARS_MAX)
    } else {
        let place = shortened(&pointer, PLACE_CHARS_MAX);
        format!("{place}: {}", shortened(&wrong, LEAF_CHARS_MAX))
    });
}

/// Returns the checker's words without the value that some begin with: `shown` quotes it.
fn worded(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Pattern { want, .. } => {
            format!("expected text that matches {}", quoted(want))
        }
        ErrorKind::Format { want, err, .. } => {
            let why = shortened(&err.to_string(), PLACE_CHARS_MAX);
            format!("is not valid {want}: {why}")
        }
        other => other.to_string(),
    }
}

/// True if a text about the value at `pointer` may show part of the secret at `place`. The secret
/// is inside that value, or encloses it and the value is no object.
fn shows(place: &str, pointer: &str, is_object: bool) -> bool {
    is_within(pointer, place) || (is_within(place, pointer) && !is_object)
}

fn bounded(leaves: BTreeSet<String>) -> String {
    let more = leaves.len().saturating_sub(LEAVES_MAX);
    let mut text = leaves
        .into_iter()
        .take(LEAVES_MAX)
        .collect::<Vec<_>>()
        .join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// Formats a value for a message: its type, and the value itself if it is short.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("boolean {flag}"),
        Value::Number(number) => {
            format!("number {}", shortened(&number.to_string(), SHOWN_CHARS_MAX))
        }
        Value::String(text) => format!("string {}", quoted(text)),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(_) => "object".to_owned(),
    }
}

/// Formats a text in quotes, cut if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// Cuts a text to `chars_max` characters.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The maximum length of one problem, with its quotes of arguments and schema.
const LEAF_CHARS_MAX: usize = 400;
/// The maximum length of a pointer in a problem.
const PLACE_CHARS_MAX: usize = 200;
const LOCATION: &str = "recount:/parameters";
const LEAVES_MAX: usize = 8;
const SHOWN_CHARS_MAX: usize = 60;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "arguments_tests.rs"]
mod tests;
