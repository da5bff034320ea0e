//! Schemas in the protocol's own form, a subset of OpenAPI 3.

use std::collections::BTreeMap;

use recount_text::json::{DecodeError, Number, RawJson};

use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::object_writer::ObjectWriter;
use super::repeated::Repeated;

message! {
    /// What a value must look like. The names of properties are the user's and stay as they are.
    pub struct Schema {
        /// `STRING`, `NUMBER`, `INTEGER`, `BOOLEAN`, `ARRAY`, `OBJECT` or `NULL`.
        pub kind: Option<String> = "type",
        /// Such as `int64` or `date-time`.
        pub format: Option<String> = "format",
        /// A name.
        pub title: Option<String> = "title",
        /// What it means, in words for the model.
        pub description: Option<String> = "description",
        /// Whether `null` will do.
        pub nullable: Option<bool> = "nullable",
        /// The values it may have.
        pub allowed: Repeated<String> = "enum",
        /// What the items of a list look like.
        pub items: Option<Box<Schema>> = "items",
        /// The shortest list.
        pub min_items: Option<Number> = "minItems",
        /// The longest list.
        pub max_items: Option<Number> = "maxItems",
        /// The fields of an object.
        pub properties: Option<SchemaMap> = "properties",
        /// The fields that must be there.
        pub required: Repeated<String> = "required",
        /// The fewest fields.
        pub min_properties: Option<Number> = "minProperties",
        /// The most fields.
        pub max_properties: Option<Number> = "maxProperties",
        /// The smallest number.
        pub minimum: Option<Number> = "minimum",
        /// The largest number.
        pub maximum: Option<Number> = "maximum",
        /// The shortest text.
        pub min_length: Option<Number> = "minLength",
        /// The longest text.
        pub max_length: Option<Number> = "maxLength",
        /// What a text must match.
        pub pattern: Option<String> = "pattern",
        /// What it may look like.
        pub example: Option<RawJson> = "example",
        /// It looks like one of these.
        pub any_of: Repeated<Schema> = "anyOf",
        /// The order of the fields.
        pub property_ordering: Repeated<String> = "propertyOrdering",
        /// What it is where it is absent.
        pub default: Option<RawJson> = "default",
        /// Schemas to refer to.
        pub defs: Option<SchemaMap> = "defs",
        /// One of those.
        pub reference: Option<String> = "ref",
    }
    known "additionalProperties"
}

/// Schemas by the names that users chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaMap(BTreeMap<String, Schema>);

impl SchemaMap {
    /// The schema of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Schema)> {
        self.0.iter().map(|(name, schema)| (name.as_str(), schema))
    }
}

impl FromIterator<(String, Schema)> for SchemaMap {
    fn from_iter<I: IntoIterator<Item = (String, Schema)>>(schemas: I) -> Self {
        Self(schemas.into_iter().collect())
    }
}

impl Message for SchemaMap {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        let schemas = fields.each()?;
        let named = schemas.len();
        let schemas: BTreeMap<String, Schema> = schemas.into_iter().collect();
        if schemas.len() < named {
            return Err(DecodeError::new("each name once", "one of them twice"));
        }
        Ok(Self(schemas))
    }

    fn write(&self, object: &mut ObjectWriter) {
        for (name, schema) in &self.0 {
            object.message(name, Some(schema));
        }
    }
}

impl Field for Option<Box<Schema>> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        Ok(fields.message(name)?.map(Box::new))
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.message(name, self.as_deref());
    }
}
