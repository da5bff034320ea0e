//! Functions: how they are declared, called and answered.

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
    /// Functions that the client executes.
    pub function_declarations: Repeated<FunctionDeclaration>,
    /// Everything else: `googleSearch` and the other tools that the service executes itself.
    pub other: Other,
}

/// What the model is told about a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionDeclaration {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does and when to use it.
    pub description: Option<String>,
    /// The arguments as a schema in the protocol's own form; exclusive with
    /// `parameters_json_schema`.
    pub parameters: Option<Schema>,
    /// The arguments as a JSON Schema.
    pub parameters_json_schema: Option<RawJson>,
    /// The answer as a schema in the protocol's own form.
    pub response: Option<Schema>,
    /// The answer as a JSON Schema.
    pub response_json_schema: Option<RawJson>,
    /// `BLOCKING` or `NON_BLOCKING`; what its absence means depends on the model.
    pub behavior: Option<String>,
    /// Everything else.
    pub other: Other,
}

/// The model asks for a function to be executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionCall {
    /// Names the call within its connection; Vertex may leave it out.
    pub id: Option<String>,
    /// Which function.
    pub name: Option<String>,
    /// The arguments, whatever they are; none means `{}`.
    pub args: Option<RawJson>,
    /// Whether more fragments of this call follow.
    pub will_continue: Option<bool>,
    /// Pieces of the arguments, where they are streamed; Vertex only.
    pub partial_args: Repeated<PartialArg>,
    /// Everything else.
    pub other: Other,
}

impl FunctionCall {
    /// A call with an id.
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

/// The client answers a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionResponse {
    /// The call's id.
    pub id: Option<String>,
    /// The call's function.
    pub name: Option<String>,
    /// The answer; its `output` and `error` have a meaning, otherwise it is all output.
    pub response: Option<RawJson>,
    /// `SILENT`, `WHEN_IDLE` or `INTERRUPT`: when the model takes notice, for calls that do not
    /// block.
    pub scheduling: Option<String>,
    /// Whether more answers to this call follow.
    pub will_continue: Option<bool>,
    /// Media that belong to the answer.
    pub parts: Repeated<Part>,
    /// Everything else.
    pub other: Other,
}

impl FunctionResponse {
    /// A final answer.
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

    /// Whether no further answer to the call follows.
    pub fn is_final(&self) -> bool {
        self.will_continue != Some(true)
    }
}

message! {
    /// A piece of a call's arguments; one of the values is there.
    pub struct PartialArg {
        /// Where it belongs, as a JSONPath.
        pub json_path: Option<String> = "jsonPath",
        /// A text, or the next piece of one.
        pub string_value: Option<String> = "stringValue",
        /// A number.
        pub number_value: Option<Number> = "numberValue",
        /// A yes or no.
        pub bool_value: Option<bool> = "boolValue",
        /// `NULL_VALUE`.
        pub null_value: Option<String> = "nullValue",
        /// Whether more pieces follow.
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
