//! Content of the conversation: turns, their parts, and media.

use std::borrow::Cow;

use recount_text::json::{DecodeError, RawJson};

use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::function::{FunctionCall, FunctionResponse};
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;

/// A turn, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The role, `user` or `model`. The service may omit it.
    pub role: Option<String>,
    /// The parts of the turn.
    pub parts: Repeated<Part>,
    /// All other fields.
    pub other: Other,
}

impl Content {
    /// Creates a turn with one text.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Self {
            role: Some(role.to_owned()),
            parts: vec![Part::text(text)].into(),
            other: Other::default(),
        }
    }

    /// Returns the text of the parts, without thoughts.
    pub fn spoken(&self) -> String {
        self.parts
            .iter()
            .filter(|part| part.thought != Some(true))
            .filter_map(|part| part.text.as_deref())
            .collect()
    }
}

/// A part of a turn. A valid part has one kind of data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Text.
    pub text: Option<String>,
    /// True if this is a thought of the model, not part of its answer.
    pub thought: Option<bool>,
    /// Media.
    pub inline_data: Option<Blob>,
    /// A call in a turn. Only calls in a [`ToolCall`](super::ToolCall) are executed.
    pub function_call: Option<FunctionCall>,
    /// A response in a turn.
    pub function_response: Option<FunctionResponse>,
    /// A file that the service can read.
    pub file_data: Option<FileData>,
    /// Code that the service runs.
    pub executable_code: Option<ExecutableCode>,
    /// The result of that code.
    pub code_execution_result: Option<CodeExecutionResult>,
    /// A call of the service's own tool, which only the service executes.
    pub tool_call: Option<ServerToolCall>,
    /// The result of that tool.
    pub tool_response: Option<ServerToolResponse>,
    /// The signature with which the model continues this thought, in base64.
    pub thought_signature: Option<String>,
    /// Metadata of the user about the part.
    pub part_metadata: Option<RawJson>,
    /// All other fields: details of video, resolution and speech.
    pub other: Other,
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

/// Media bytes in base64. Two blobs are equal if their bytes are equal.
#[derive(Clone, Debug, Default)]
pub struct Blob {
    /// The MIME type, such as `audio/pcm;rate=16000`.
    pub mime_type: Option<String>,
    /// The base64 text, which is written again as it was read. Libraries use different alphabets
    /// and padding.
    pub data: Option<String>,
    /// All other fields.
    pub other: Other,
}

impl PartialEq for Blob {
    fn eq(&self, other: &Blob) -> bool {
        let data = self.data.as_deref().map(standard);
        self.mime_type == other.mime_type
            && self.other == other.other
            && data == other.data.as_deref().map(standard)
    }
}

impl Eq for Blob {}

/// Converts base64 to its standard alphabet, without padding.
fn standard(base64: &str) -> Cow<'_, str> {
    let bare = base64.trim_end_matches('=');
    if bare.contains(['-', '_']) {
        Cow::Owned(bare.replace('-', "+").replace('_', "/"))
    } else {
        Cow::Borrowed(bare)
    }
}

/// Decodes base64 in either alphabet. `None` for invalid base64.
pub(super) fn bytes_of(base64: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    use base64::alphabet::STANDARD;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

    static LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    LENIENT.decode(&*standard(base64)).ok()
}

impl Blob {
    /// Encodes bytes in the standard alphabet with padding, which all libraries read.
    ///
    /// ```
    /// use recount_wire::Blob;
    ///
    /// let sound = Blob::of("audio/pcm;rate=16000", &[0xFB, 0xFF, 0xFE]);
    /// assert_eq!(sound.data.as_deref(), Some("+//+"));
    /// let url_safe = Blob { data: Some("-__-".into()), ..sound.clone() };
    /// assert_eq!(url_safe, sound);
    /// assert_eq!(url_safe.bytes(), Some(vec![0xFB, 0xFF, 0xFE]));
    /// ```
    pub fn of(mime_type: impl Into<String>, bytes: &[u8]) -> Blob {
        use base64::Engine as _;
        Blob {
            mime_type: Some(mime_type.into()),
            data: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
            other: Other::default(),
        }
    }

    /// Decodes the bytes in either alphabet. `None` for invalid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        bytes_of(self.data.as_deref().unwrap_or_default())
    }
}

message! {
    /// A file that the service can read.
    pub struct FileData {
        /// The MIME type, such as `image/png`.
        pub mime_type: Option<String> = "mimeType",
        /// The location.
        pub file_uri: Option<String> = "fileUri",
        /// The display name.
        pub display_name: Option<String> = "displayName",
    }
}

message! {
    /// Code that the service runs.
    pub struct ExecutableCode {
        /// The language: `PYTHON`.
        pub language: Option<String> = "language",
        /// The code.
        pub code: Option<String> = "code",
        /// The id, which the result repeats.
        pub id: Option<String> = "id",
    }
}

message! {
    /// The result of code.
    pub struct CodeExecutionResult {
        /// `OUTCOME_OK`, `OUTCOME_FAILED` or `OUTCOME_DEADLINE_EXCEEDED`.
        pub outcome: Option<String> = "outcome",
        /// The output.
        pub output: Option<String> = "output",
        /// The id of the code.
        pub id: Option<String> = "id",
    }
}

message! {
    /// A call of a tool that the service runs itself.
    pub struct ServerToolCall {
        /// The id, which the result repeats.
        pub id: Option<String> = "id",
        /// The tool.
        pub tool_type: Option<String> = "toolType",
        /// The arguments.
        pub args: Option<RawJson> = "args",
    }
}

message! {
    /// The result of a tool that the service ran itself.
    pub struct ServerToolResponse {
        /// The id of the call.
        pub id: Option<String> = "id",
        /// The tool.
        pub tool_type: Option<String> = "toolType",
        /// The result.
        pub response: Option<RawJson> = "response",
    }
}

impl Message for Content {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            role: fields.string("role")?,
            parts: fields.messages("parts")?,
            other: fields.rest(&[])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("role", self.role.as_deref());
        object.messages("parts", &self.parts);
        object.rest(&self.other);
    }
}

impl Message for Part {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            text: fields.string("text")?,
            thought: fields.boolean("thought")?,
            inline_data: fields.message("inlineData")?,
            function_call: fields.message("functionCall")?,
            function_response: fields.message("functionResponse")?,
            file_data: fields.or_left("fileData"),
            executable_code: fields.or_left("executableCode"),
            code_execution_result: fields.or_left("codeExecutionResult"),
            tool_call: fields.or_left("toolCall"),
            tool_response: fields.or_left("toolResponse"),
            thought_signature: fields.or_left("thoughtSignature"),
            part_metadata: fields.or_left("partMetadata"),
            other: fields.rest(&[
                "videoMetadata",
                "mediaResolution",
                "audioTranscription",
                "speechMetadata",
            ])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("text", self.text.as_deref());
        object.boolean("thought", self.thought);
        object.message("inlineData", self.inline_data.as_ref());
        object.message("functionCall", self.function_call.as_ref());
        object.message("functionResponse", self.function_response.as_ref());
        self.file_data.put(object, "fileData");
        self.executable_code.put(object, "executableCode");
        let result = &self.code_execution_result;
        result.put(object, "codeExecutionResult");
        self.tool_call.put(object, "toolCall");
        self.tool_response.put(object, "toolResponse");
        self.thought_signature.put(object, "thoughtSignature");
        self.part_metadata.put(object, "partMetadata");
        object.rest(&self.other);
    }
}

impl Message for Blob {
    fn read(fields: &mut Fields) -> Result<Self, DecodeError> {
        Ok(Self {
            mime_type: fields.string("mimeType")?,
            data: fields.string("data")?,
            other: fields.rest(&["displayName"])?,
        })
    }

    fn write(&self, object: &mut ObjectWriter) {
        object.string("mimeType", self.mime_type.as_deref());
        object.string("data", self.data.as_deref());
        object.rest(&self.other);
    }
}
