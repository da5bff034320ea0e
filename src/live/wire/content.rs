//! What is said: turns, their parts, and media.

use super::decode_error::DecodeError;
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
    /// Everything else: files, code and its result, traces of the service's own tools, signatures.
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

/// Media bytes in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob {
    /// Such as `audio/pcm;rate=16000`.
    pub mime_type: Option<String>,
    /// Base64 as it came; libraries differ in the alphabet and in padding.
    pub data: Option<String>,
    /// Everything else.
    pub other: Other,
}

#[cfg(any(feature = "engine", feature = "simulator"))]
impl Blob {
    /// Bytes of this format, in the alphabet that every library reads.
    ///
    /// ```
    /// use recount::live::wire::Blob;
    /// let blob = Blob::of("audio/pcm;rate=16000", &[0xfb, 0xff]);
    /// assert_eq!(blob.data.as_deref(), Some("+/8="));
    /// assert_eq!(blob.bytes(), Some(vec![0xfb, 0xff]));
    /// ```
    pub fn of(mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        use base64::Engine as _;
        Self {
            mime_type: Some(mime_type.into()),
            data: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
            other: Other::default(),
        }
    }

    /// The bytes, whichever alphabet they came in; none where they are not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        use base64::Engine as _;
        use base64::alphabet::STANDARD;
        use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

        const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        let standard = self
            .data
            .as_deref()
            .unwrap_or_default()
            .replace('-', "+")
            .replace('_', "/");
        GeneralPurpose::new(&STANDARD, LENIENT)
            .decode(standard)
            .ok()
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
            other: fields.rest(&[
                "fileData",
                "executableCode",
                "codeExecutionResult",
                "toolCall",
                "toolResponse",
                "thoughtSignature",
                "videoMetadata",
                "mediaResolution",
                "partMetadata",
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
