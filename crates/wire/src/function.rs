//! Declarations of functions, calls and responses.

use recount_text::json::{DecodeError, Number, RawJson};

use super::content::Part;
use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;
use super::schema::Schema;

/// An entry of the tool list: function declarations, or one of the service's own tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// The functions that the client executes.
    pub function_declarations: Repeated<FunctionDeclaration>,
    /// All other fields: `googleSearch` and the other tools that the service executes.
    pub other: Other,
}

/// A function as it is described to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// The name by which the model calls it.
    pub name: String,
    /// The purpose of the function and when to use it.
    pub description: Option<String>,
    /// The schema of the arguments in the protocol's own form. Excludes `parameters_json_schema`.
    pub parameters: Option<Schema>,
    /// The JSON Schema of the arguments.
    pub parameters_json_schema: Option<RawJson>,
    /// The schema of the response in the protocol's own form.
    pub response: Option<Schema>,
    /// The JSON Schema of the response.
    pub response_json_schema: Option<RawJson>,
    /// `BLOCKING` or `NON_BLOCKING`. The default depends on the model.
    pub behavior: Option<String>,
    /// All other fields.
    pub other: Other,
}

/// A call of a function by the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCall {
    /// The id, unique within the connection. Vertex may omit it.
    pub id: Option<String>,
    /// The function's name.
    pub name: Option<String>,
    /// The arguments, of any type. Absent means `{}`.
    pub args: Option<RawJson>,
    /// True if more pieces of this call follow.
    pub will_continue: Option<bool>,
    /// The pieces of streamed arguments (Vertex only).
    pub partial_args: Repeated<PartialArg>,
    /// All other fields.
    pub other: Other,
}

impl FunctionCall {
    /// Creates a call with an id.
    ///
    /// ```
    /// use recount_wire::{FunctionCall, ServerMessage};
    /// use serde_json::json;
    /// let call = FunctionCall::new("c1", "refund", json!({"order_id": "1001"}));
    /// assert_eq!(
    ///     ServerMessage::tool_call([call]).encode(),
    ///     r#"{"toolCall":{"functionCalls":[{"id":"c1","name":"refund","args":{"order_id":"1001"}}]}}"#
    /// );
    /// ```
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: impl Into<RawJson>) -> Self {
        Self {
            id: Some(id.into()),
            name: Some(name.into()),
            args: Some(args.into()),
            ..Self::default()
        }
    }
}

/// The client's response to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionResponse {
    /// The id of the call.
    pub id: Option<String>,
    /// The function's name.
    pub name: Option<String>,
    /// The response. The keys `output` and `error` have a meaning; without them the whole object is
    /// output.
    pub response: Option<RawJson>,
    /// `SILENT`, `WHEN_IDLE` or `INTERRUPT`: the time at which the model handles the response of a
    /// non-blocking call.
    pub scheduling: Option<String>,
    /// True if more responses to this call follow.
    pub will_continue: Option<bool>,
    /// Media of the response.
    pub parts: Repeated<Part>,
    /// All other fields.
    pub other: Other,
}

impl FunctionResponse {
    /// Creates a final response.
    ///
    /// ```
    /// use recount_wire::{ClientMessage, FunctionResponse};
    /// use serde_json::json;
    /// let answer = FunctionResponse::new("c1", "refund", json!({"paid": true}));
    /// assert_eq!(
    ///     ClientMessage::tool_response([answer]).encode(),
    ///     r#"{"toolResponse":{"functionResponses":[{"id":"c1","name":"refund","response":{"paid":true}}]}}"#
    /// );
    /// ```
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        response: impl Into<RawJson>,
    ) -> Self {
        Self {
            id: Some(id.into()),
            name: Some(name.into()),
            response: Some(response.into()),
            ..Self::default()
        }
    }

    /// True if no further response to the call follows.
    pub fn is_final(&self) -> bool {
        self.will_continue != Some(true)
    }
}

message! {
    /// A piece of a call's arguments. One of the values is set.
    pub struct PartialArg {
        /// The place of the piece, as a JSONPath.
        pub json_path: Option<String> = "jsonPath",
        /// A string, or its next part.
        pub string_value: Option<String> = "stringValue",
        /// A number.
        pub number_value: Option<Number> = "numberValue",
        /// A boolean.
        pub bool_value: Option<bool> = "boolValue",
        /// `NULL_VALUE`.
        pub null_value: Option<String> = "nullValue",
        /// True if more pieces follow.
        pub will_continue: Option<bool> = "willContinue",
    }
}

impl Message for Tool {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            function_declarations: fields.messages("functionDeclarations")?,
            other: fields.rest(&[
                "googleSearch",
                "codeExecution",
                "urlContext",
                "googleMaps",
                "fileSearch",
                "computerUse",
                "mcpServers",
                "googleSearchRetrieval",
                "retrieval",
                "enterpriseWebSearch",
                "parallelAiSearch",
                "exaAiSearch",
            ])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.messages("functionDeclarations", &self.function_declarations);
        object.rest(&self.other);
    }
}

impl Message for FunctionDeclaration {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            name: fields
                .string("name")?
                .ok_or_else(|| DecodeError::new("a name", "none").under("name"))?,
            description: fields.string("description")?,
            parameters: fields.or_left("parameters"),
            parameters_json_schema: fields.raw("parametersJsonSchema")?,
            response: fields.or_left("response"),
            response_json_schema: fields.raw("responseJsonSchema")?,
            behavior: fields.string("behavior")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("name", Some(&self.name));
        object.string("description", self.description.as_deref());
        self.parameters.put(object, "parameters");
        object.raw("parametersJsonSchema", self.parameters_json_schema.as_ref());
        self.response.put(object, "response");
        object.raw("responseJsonSchema", self.response_json_schema.as_ref());
        object.string("behavior", self.behavior.as_deref());
        object.rest(&self.other);
    }
}

impl Message for FunctionCall {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            id: fields.string("id")?,
            name: fields.string("name")?,
            args: fields.raw("args")?,
            will_continue: fields.boolean("willContinue")?,
            partial_args: fields.or_left("partialArgs"),
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("id", self.id.as_deref());
        object.string("name", self.name.as_deref());
        object.raw("args", self.args.as_ref());
        object.boolean("willContinue", self.will_continue);
        self.partial_args.put(object, "partialArgs");
        object.rest(&self.other);
    }
}

impl Message for FunctionResponse {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            id: fields.string("id")?,
            name: fields.string("name")?,
            response: fields.raw("response")?,
            scheduling: fields.string("scheduling")?,
            will_continue: fields.boolean("willContinue")?,
            parts: fields.messages("parts")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("id", self.id.as_deref());
        object.string("name", self.name.as_deref());
        object.raw("response", self.response.as_ref());
        object.string("scheduling", self.scheduling.as_deref());
        object.boolean("willContinue", self.will_continue);
        object.messages("parts", &self.parts);
        object.rest(&self.other);
    }
}
