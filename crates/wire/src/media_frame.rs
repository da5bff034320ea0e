//! The most frequent kind of message, with media only, parsed in one pass.
//!
//! [`ServerMessage`](super::ServerMessage) also parses it, but level by level and with all unknown
//! fields, which costs several times as much. Audio needs the low latency.

use std::borrow::Cow;

use serde::Deserialize;

use super::content::bytes_of;

/// A piece of media: its MIME type and its bytes.
pub type Piece = (String, Vec<u8>);

/// Returns the media of a message with media only. `None` for any other message.
pub fn media_frame(text: &str) -> Option<Vec<Piece>> {
    // Most other messages lack this text, so no error is created for them.
    text.contains("\"inline").then_some(())?;
    let frame: Frame<'_> = serde_json::from_str(text).ok()?;
    let parts = frame.server_content.model_turn.parts.into_iter();
    let piece = |part: Part<'_>| {
        let Blob { mime_type, data } = part.inline_data;
        Some((mime_type.into_owned(), bytes_of(&data)?))
    };
    let pieces: Vec<Piece> = parts.map(piece).collect::<Option<_>>()?;
    (!pieces.is_empty()).then_some(pieces)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame<'a> {
    #[serde(borrow, rename = "serverContent", alias = "server_content")]
    server_content: ServerContent<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerContent<'a> {
    #[serde(borrow, rename = "modelTurn", alias = "model_turn")]
    model_turn: Content<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<'a> {
    #[serde(borrow, default, rename = "role")]
    _role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part<'a> {
    #[serde(borrow, rename = "inlineData", alias = "inline_data")]
    inline_data: Blob<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blob<'a> {
    #[serde(borrow, rename = "mimeType", alias = "mime_type")]
    mime_type: Cow<'a, str>,
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::super::ServerMessage;
    use super::*;

    /// The media that the general reader finds in the same message.
    fn generally(text: &str) -> Option<Vec<Piece>> {
        let message = ServerMessage::decode(text).ok()?;
        let parts = message.server_content?.model_turn?.parts.into_vec();
        let blobs = parts.into_iter().map(|part| part.inline_data);
        let piece = blobs.map(|blob| {
            let blob = blob?;
            Some((blob.mime_type.clone()?, blob.bytes()?))
        });
        piece.collect()
    }

    #[test]
    fn media_equals_that_of_the_general_reader() {
        for text in [
            r#"{"serverContent":{"modelTurn":{"role":"model","parts":[{"inlineData":{"mimeType":"audio/pcm","data":"AAEC"}}]}}}"#,
            r#"{"server_content":{"model_turn":{"parts":[{"inline_data":{"mime_type":"audio/pcm","data":"-_8"}},{"inlineData":{"data":"+/8=","mimeType":"image\/png"}}]}}}"#,
        ] {
            let found = media_frame(text);
            assert!(found.is_some(), "{text}");
            assert_eq!(found, generally(text), "{text}");
        }
    }

    #[test]
    fn message_with_more_than_media_is_not_parsed() {
        let blob = r#"{"inlineData":{"mimeType":"audio/pcm","data":"AAEC"}}"#;
        for text in [
            format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob}]}},"turnComplete":true}}}}"#),
            format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob}]}}}},"usageMetadata":{{}}}}"#),
            format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob},{{"text":"and"}}]}}}}}}"#),
            format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob}],"role":1}}}}}}"#),
            format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{blob}]}}}}}} more"#),
            blob.replace("AAEC", "not base64"),
            r#"{"serverContent":{"modelTurn":{"parts":[]}}}"#.to_owned(),
            r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio/pcm","data":"A?"}}]}}}"#.to_owned(),
            r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"mimeType":"audio/pcm","data":"AAEC","displayName":"a"}}]}}}"#.to_owned(),
        ] {
            assert_eq!(media_frame(&text), None, "{text}");
        }
    }
}
