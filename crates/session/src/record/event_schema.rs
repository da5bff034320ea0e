//! The JSON Schema of every kind of event, for other programs that read a journal.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use crate::record::decision::Decision;
use crate::record::observation::Observation;
use crate::values::object::ObjectHash;

/// Returns the JSON Schema (2020-12) of the bodies of all events. It is an object with the schema
/// of each kind under `$defs`, by the name of the kind.
///
/// A body may have further fields, because a later version may add some. `docs/events.schema.json`
/// contains the result of this version.
///
/// ```
/// let schema = recount_session::event_schema();
/// let ready = schema.pointer("/$defs/call_ready").unwrap();
/// assert_eq!(ready["required"], serde_json::json!(["call"]));
/// ```
pub fn event_schema() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let mut generator = settings.into_generator();
    let mut kinds = Map::new();
    Observation::schemas(&mut generator, &mut kinds);
    Decision::schemas(&mut generator, &mut kinds);
    let mut definitions = generator.take_definitions(true);
    definitions.append(&mut kinds);
    let mut whole = Map::new();
    let words = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        (
            "title",
            "The bodies of the events of a Recount journal, by kind",
        ),
    ];
    for (key, text) in words {
        whole.insert(key.to_owned(), text.into());
    }
    whole.insert("$defs".to_owned(), definitions.into());
    Value::Object(whole)
}

impl JsonSchema for ObjectHash {
    fn schema_name() -> Cow<'static, str> {
        "ObjectHash".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "A SHA-256, in lower-case hexadecimal digits."
        })
    }
}
