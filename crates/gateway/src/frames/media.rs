//! Recognition of messages that carry nothing but media, in one pass over their bytes.
//!
//! Most messages are audio, up to 100 a second and connection. A message is recognized only if all
//! of it fits a fixed grammar, so it cannot hold anything else. Any other message, also a valid one
//! with escapes in its keys, is left to the general reader.

use memchr::memchr2;

/// True if a message of the vendor is media of the model's turn only.
pub(super) fn is_output(frame: &[u8]) -> bool {
    let mut at = Cursor(frame);
    let is_known = at.wrapper(|at, key| match key {
        b"serverContent" => at.wrapper(|at, key| match key {
            b"modelTurn" => at.object(|at, key| match key {
                b"role" => at.string().map(drop),
                b"parts" => at.list(media_part),
                _ => None,
            }),
            _ => None,
        }),
        _ => None,
    });
    is_known.is_some() && at.is_at_end()
}

fn media_part(at: &mut Cursor<'_>) -> Option<()> {
    at.object(|at, key| match key {
        b"inlineData" => at.object(|at, key| match key {
            b"mimeType" | b"data" => at.string().map(drop),
            _ => None,
        }),
        _ => None,
    })
}

/// True if a message of a client is media and signs of activity only, without text.
pub(super) fn is_input(frame: &[u8]) -> bool {
    let mut at = Cursor(frame);
    let is_known = at.wrapper(|at, key| match key {
        b"realtimeInput" | b"realtime_input" => at.object(|at, key| match key {
            b"audio" | b"video" => blob(at),
            b"mediaChunks" | b"media_chunks" => at.list(blob),
            b"activityStart" | b"activity_start" | b"activityEnd" | b"activity_end" => {
                at.object(|_, _| None)
            }
            b"audioStreamEnd" | b"audio_stream_end" => at.word(b"true"),
            _ => None,
        }),
        _ => None,
    });
    is_known.is_some() && at.is_at_end()
}

fn blob(at: &mut Cursor<'_>) -> Option<()> {
    at.object(|at, key| match key {
        b"mimeType" | b"mime_type" | b"data" => at.string().map(drop),
        _ => None,
    })
}

/// The bytes of a message that are still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn skip_white(&mut self) {
        let is_white = |it: &u8| matches!(it, b' ' | b'\n' | b'\r' | b'\t');
        while let Some((first, rest)) = self.0.split_first()
            && is_white(first)
        {
            self.0 = rest;
        }
    }

    /// Reads one token after white space.
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.skip_white();
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    /// Reads a string and returns what stands between its quotes, with its escapes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.word(b"\"")?;
        let text = self.0;
        let mut end = 0;
        loop {
            let found = memchr2(b'"', b'\\', text.get(end..)?)?;
            end += found;
            match text.get(end)? {
                b'"' => break,
                // The byte after a backslash does not end the string.
                _ => end += 2,
            }
        }
        self.0 = text.get(end + 1..)?;
        text.get(..end)
    }

    /// Reads an object with one member. A second one could have the same key.
    fn wrapper(&mut self, member: impl FnOnce(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.word(b"{")?;
        let key = self.string()?;
        self.word(b":")?;
        member(self, key)?;
        self.word(b"}")
    }

    /// Reads an object, whose values `member` reads by their keys.
    fn object(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.word(b"{")?;
        if self.word(b"}").is_some() {
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.word(b":")?;
            member(self, key)?;
            if self.word(b",").is_none() {
                return self.word(b"}");
            }
        }
    }

    /// Reads a list, whose elements `element` reads.
    fn list(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.word(b"[")?;
        if self.word(b"]").is_some() {
            return Some(());
        }
        loop {
            element(self)?;
            if self.word(b",").is_none() {
                return self.word(b"]");
            }
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_white();
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUDIO: &str = r#"{"serverContent":{"modelTurn":{"parts":[{"inlineData":
        {"mimeType":"audio/pcm;rate=24000","data":"AAAB\u003d\/\""}}],"role":"model"}}}"#;

    #[test]
    fn audio_is_recognized_with_any_white_space() {
        assert!(is_output(AUDIO.as_bytes()));
        assert!(is_output(AUDIO.replace(['\n', ' '], "").as_bytes()));
        let wide = AUDIO.replace(':', " :\t").replace(',', "\r\n,");
        assert!(is_output(format!(" {wide} \n").as_bytes()));
    }

    #[test]
    fn anything_beside_audio_is_left_to_the_reader() {
        for (from, to) in [
            ("\"role\"", "\"r\\u006fle\""),
            ("\"role\":", "\"toolCall\":"),
            ("\"role\":\"model\"", "\"role\":7"),
            ("}}}", "}},\"usageMetadata\":{}}"),
            ("}}}", "},\"turnComplete\":true}}"),
            ("}}}", "}}}{}"),
            ("}}}", "}}"),
            ("[{", "[{\"thought\":true,"),
            ("{\"inlineData\"", "{\"text\":\"x\"},{\"inlineData\""),
            ("AAAB", "AA\",\"AB"),
            ("{\"serverContent\"", "{'serverContent'"),
            ("}}}", "}},\"serverContent\":{}}"),
        ] {
            let other = AUDIO.replacen(from, to, 1);
            assert_ne!(other, AUDIO);
            assert!(!is_output(other.as_bytes()), "{other}");
        }
        for end in 0..AUDIO.len() {
            let (head, _) = AUDIO.split_at(end);
            assert!(!is_output(head.as_bytes()), "{end}");
        }
    }

    #[test]
    fn input_with_text_is_left_to_the_reader() {
        for (frame, is_media) in [
            (
                r#"{"realtime_input": {"audio": {"mime_type": "a", "data": "_9j_"}}}"#,
                true,
            ),
            (
                r#"{"realtimeInput":{"mediaChunks":[{"data":"AA"},{"data":""}]}}"#,
                true,
            ),
            (r#"{"realtimeInput":{"activityStart":{}}}"#, true),
            (r#"{"realtimeInput":{"audioStreamEnd":true}}"#, true),
            (
                r#"{"realtimeInput":{"audio":{"data":"AA"},"text":"x"}}"#,
                false,
            ),
            (
                r#"{"realtimeInput":{"audio":{"data":"AA"}},"toolResponse":{}}"#,
                false,
            ),
            (
                r#"{"realtimeInput":{"activityStart":{"toolResponse":1}}}"#,
                false,
            ),
        ] {
            assert_eq!(is_input(frame.as_bytes()), is_media, "{frame}");
        }
    }
}
