//! Schemas in the protocol's own form, a subset of OpenAPI 3.

use std::collections::BTreeMap;

use recount_text::json::{DecodeError, Number, RawJson};

use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::object_writer::ObjectWriter;
use super::repeated::Repeated;

message! {
    /// The schema of a value. The names of properties belong to the user and stay unchanged.
    pub struct Schema {
        /// `STRING`, `NUMBER`, `INTEGER`, `BOOLEAN`, `ARRAY`, `OBJECT` or `NULL`.
        pub kind: Option<String> = "type",
        /// The format, such as `int64` or `date-time`.
        pub format: Option<String> = "format",
        /// The title.
        pub title: Option<String> = "title",
        /// The description for the model.
        pub description: Option<String> = "description",
        /// True if `null` is allowed.
        pub nullable: Option<bool> = "nullable",
        /// The allowed values.
        pub allowed: Repeated<String> = "enum",
        /// The schema of the items of a list.
        pub items: Option<Box<Schema>> = "items",
        /// The minimum number of items.
        pub min_items: Option<Number> = "minItems",
        /// The maximum number of items.
        pub max_items: Option<Number> = "maxItems",
        /// The schemas of an object's fields.
        pub properties: Option<SchemaMap> = "properties",
        /// The required fields.
        pub required: Repeated<String> = "required",
        /// The minimum number of fields.
        pub min_properties: Option<Number> = "minProperties",
        /// The maximum number of fields.
        pub max_properties: Option<Number> = "maxProperties",
        /// The minimum of a number.
        pub minimum: Option<Number> = "minimum",
        /// The maximum of a number.
        pub maximum: Option<Number> = "maximum",
        /// The minimum length of a string.
        pub min_length: Option<Number> = "minLength",
        /// The maximum length of a string.
        pub max_length: Option<Number> = "maxLength",
        /// The pattern of a string.
        pub pattern: Option<String> = "pattern",
        /// An example value.
        pub example: Option<RawJson> = "example",
        /// Alternative schemas, of which one must fit.
        pub any_of: Repeated<Schema> = "anyOf",
        /// The order of the fields.
        pub property_ordering: Repeated<String> = "propertyOrdering",
        /// The value of an absent field.
        pub default: Option<RawJson> = "default",
        /// Schemas for references.
        pub defs: Option<SchemaMap> = "defs",
        /// A reference to one of them.
        pub reference: Option<String> = "ref",
    }
    known "additionalProperties"
}

/// Schemas by names that users chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaMap(BTreeMap<String, Schema>);

impl SchemaMap {
    /// Returns the schema of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Schema> {
        self.0.get(name)
    }

    /// Returns all schemas by name.
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
