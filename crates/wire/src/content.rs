//! What is said: turns, their parts, and media.

use std::borrow::Cow;

use recount_text::json::{DecodeError, RawJson};

use super::field::{Field, message};
use super::fields::{Fields, Message};
use super::function::{FunctionCall, FunctionResponse};
use super::object_writer::ObjectWriter;
use super::other::Other;
use super::repeated::Repeated;

/// One turn, or a piece of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// `user` or `model`; the service may leave it out.
    pub role: Option<String>,
    /// What the turn is made of.
    pub parts: Repeated<Part>,
    /// Everything else.
    pub other: Other,
}

impl Content {
    /// A turn of one text.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Self {
            role: Some(role.to_owned()),
            parts: vec![Part::text(text)].into(),
            other: Other::default(),
        }
    }

    /// What is said in words, thoughts left out.
    pub fn spoken(&self) -> String {
        self.parts
            .iter()
            .filter(|part| part.thought != Some(true))
            .filter_map(|part| part.text.as_deref())
            .collect()
    }
}

/// One piece of a turn; a well-formed one has one kind of data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Words.
    pub text: Option<String>,
    /// Whether this is the model thinking and not speaking.
    pub thought: Option<bool>,
    /// Media.
    pub inline_data: Option<Blob>,
    /// A call, seen in a turn; it is executed only from [`ToolCall`](super::ToolCall).
    pub function_call: Option<FunctionCall>,
    /// An answer, seen in a turn.
    pub function_response: Option<FunctionResponse>,
    /// A file that the service can reach.
    pub file_data: Option<FileData>,
    /// Code that the service runs.
    pub executable_code: Option<ExecutableCode>,
    /// What came of it.
    pub code_execution_result: Option<CodeExecutionResult>,
    /// The service calls a tool of its own; nobody else executes it.
    pub tool_call: Option<ServerToolCall>,
    /// What that tool gave.
    pub tool_response: Option<ServerToolResponse>,
    /// What lets the model go on with this thought, in base64.
    pub thought_signature: Option<String>,
    /// The user's own words for the part.
    pub part_metadata: Option<RawJson>,
    /// Everything else: details of video, resolution and speech.
    pub other: Other,
}

impl Part {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }
}

/// Media bytes in base64. Two are equal where their bytes are.
#[derive(Clone, Debug, Default)]
pub struct Blob {
    /// Such as `audio/pcm;rate=16000`.
    pub mime_type: Option<String>,
    /// Base64 as it came, and as it is written again; libraries differ in the alphabet and in
    /// padding.
    pub data: Option<String>,
    /// Everything else.
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

/// Base64 in its standard alphabet, without padding.
fn standard(base64: &str) -> Cow<'_, str> {
    let bare = base64.trim_end_matches('=');
    if bare.contains(['-', '_']) {
        Cow::Owned(bare.replace('-', "+").replace('_', "/"))
    } else {
        Cow::Borrowed(bare)
    }
}

/// The bytes of base64 in either alphabet; none where it is not base64.
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
    /// Bytes in the standard alphabet, with padding, which everybody reads.
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

    /// The bytes, whichever alphabet they came in; none where they are not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        bytes_of(self.data.as_deref().unwrap_or_default())
    }
}

message! {
    /// A file that the service can reach.
    pub struct FileData {
        /// Such as `image/png`.
        pub mime_type: Option<String> = "mimeType",
        /// Where it is.
        pub file_uri: Option<String> = "fileUri",
        /// What it is called.
        pub display_name: Option<String> = "displayName",
    }
}

message! {
    /// Code that the service runs.
    pub struct ExecutableCode {
        /// `PYTHON`.
        pub language: Option<String> = "language",
        /// The code.
        pub code: Option<String> = "code",
        /// By which its result is known.
        pub id: Option<String> = "id",
    }
}

message! {
    /// What came of code.
    pub struct CodeExecutionResult {
        /// `OUTCOME_OK`, `OUTCOME_FAILED` or `OUTCOME_DEADLINE_EXCEEDED`.
        pub outcome: Option<String> = "outcome",
        /// What it wrote.
        pub output: Option<String> = "output",
        /// The code's.
        pub id: Option<String> = "id",
    }
}

message! {
    /// The service calls a tool of its own.
    pub struct ServerToolCall {
        /// By which its result is known.
        pub id: Option<String> = "id",
        /// Which.
        pub tool_type: Option<String> = "toolType",
        /// With what.
        pub args: Option<RawJson> = "args",
    }
}

message! {
    /// What a tool of the service's own gave.
    pub struct ServerToolResponse {
        /// The call's.
        pub id: Option<String> = "id",
        /// Which tool.
        pub tool_type: Option<String> = "toolType",
        /// What it gave.
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
