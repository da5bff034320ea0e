//! A token in its compact form (RFC 7515), split and decoded. Nothing of it is verified here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::verifier::Fault;

/// The maximum length of a token, in bytes. Those with many groups have a few thousand.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// The types of tokens that prove a sender. Others, as those of a logout, prove something else.
const TYPES: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// A token.
#[derive(Debug)]
pub(super) struct Compact<'t> {
    pub(super) header: Header,
    pub(super) claims: Map<String, Value>,
    /// The signed part.
    pub(super) message: &'t [u8],
    pub(super) signature: Vec<u8>,
}

/// The members of a header that are read. A key in the header, or a URL of one, is never used.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'t> Compact<'t> {
    pub(super) fn parse(token: &'t str) -> Result<Compact<'t>, Fault> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Fault::Malformed);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(Fault::Malformed)?;
        let (header, claims) = message.split_once('.').ok_or(Fault::Malformed)?;
        // Another dot is no digit, so a token of five parts is malformed.
        let signature = decoded(signature)?;
        let header: Header = json(&decoded(header)?)?;
        let claims: Map<String, Value> = json(&decoded(claims)?)?;
        // Members that a reader must understand are unknown here.
        if header.crit.is_some() {
            return Err(Fault::Malformed);
        }
        let is_known = |it: &String| TYPES.contains(&it.to_ascii_lowercase().as_str());
        if !header.typ.as_ref().is_none_or(is_known) {
            return Err(Fault::Type);
        }
        Ok(Compact {
            header,
            claims,
            message: message.as_bytes(),
            signature,
        })
    }

    /// A claim that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name)?.as_str()
    }

    /// A claim that is a time, in seconds since 1970.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<f64>, Fault> {
        match self.claims.get(name) {
            None => Ok(None),
            Some(given) => {
                let finite = given.as_f64().filter(|it| it.is_finite());
                finite.map(Some).ok_or(Fault::Malformed)
            }
        }
    }

    /// The texts of a claim: those of a list, or one text. `scope` has several, with blanks between
    /// them. A name that begins with `/` is a JSON pointer (RFC 6901).
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        let found = match name.strip_prefix('/') {
            None => self.claims.get(name),
            Some(path) => {
                let (first, rest) = path.split_once('/').unwrap_or((path, ""));
                let first = self
                    .claims
                    .get(&first.replace("~1", "/").replace("~0", "~"));
                match rest {
                    "" => first,
                    rest => first.and_then(|it| it.pointer(&format!("/{rest}"))),
                }
            }
        };
        match found {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) if name == "scope" => text.split(' ').collect(),
            Some(Value::String(text)) => vec![text],
            _ => Vec::new(),
        }
    }
}

fn decoded(part: &str) -> Result<Vec<u8>, Fault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Fault::Malformed)
}

fn json<'j, T: Deserialize<'j>>(bytes: &'j [u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map_err(|_| Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.AA", part(header), part(claims))
    }

    #[test]
    fn unfit_forms_are_refused() {
        let header = r#"{"alg":"ES256","kid":"a"}"#;
        let whole = token(header, "{}");
        assert!(Compact::parse(&whole).is_ok());
        let (message, _) = whole.rsplit_once('.').unwrap();
        for text in [
            "",
            "a.b",
            message,
            &format!("{whole}."),
            &format!("{whole}.AA.AA"),
            &format!("{whole}="),
            &token("[]", "{}"),
            &token(header, "[]"),
            &token(r#"{"kid":"a"}"#, "{}"),
            &token(r#"{"alg":"ES256","alg":"none"}"#, "{}"),
            &token(r#"{"alg":"ES256","crit":["b64"],"b64":false}"#, "{}"),
            &token(r#"{"alg":"ES256","typ":"logout+jwt"}"#, "{}"),
            &token(
                header,
                &format!(r#"{{"a":"{}"}}"#, "x".repeat(TOKEN_BYTES_MAX)),
            ),
        ] {
            assert!(Compact::parse(text).is_err(), "{text:.80}");
        }
        for typ in ["JWT", "at+jwt", "application/at+JWT"] {
            let header = format!(r#"{{"alg":"ES256","typ":"{typ}"}}"#);
            assert!(Compact::parse(&token(&header, "{}")).is_ok(), "{typ}");
        }
    }

    #[test]
    fn claim_is_a_list_a_text_or_inside_another() {
        let claims = r#"{"roles":["a",7,"b c"],"group":"d e","scope":"f g",
                         "realm":{"roles":["h"]},"a/b":{"~":["j"]},
                         "https://r.example/roles":["i"],"n":1}"#;
        let token = token(r#"{"alg":"ES256"}"#, claims);
        let token = Compact::parse(&token).unwrap();
        for (name, texts) in [
            ("roles", &["a", "b c"] as &[&str]),
            ("group", &["d e"]),
            ("scope", &["f", "g"]),
            ("/realm/roles", &["h"]),
            ("/a~1b/~0", &["j"]),
            ("/roles", &["a", "b c"]),
            ("https://r.example/roles", &["i"]),
            ("n", &[]),
            ("gone", &[]),
            ("/realm/gone", &[]),
        ] {
            assert_eq!(token.texts(name), texts, "{name}");
        }
    }
}
