//! The sealed body of a record.
//!
//! ```text
//! "body":{"$sealed":"v1.<Base64>"}
//! "body":{"$sealed":"v1.<Base64>","$objects":["<address>",…]}      where the body names objects
//! ```
//!
//! The place of a body is its own line without the sealed text: the line with `{}`, or with
//! `{"$objects":[…]}`, as its body. It therefore opens only in its own record. The previous record
//! cannot be exchanged either, because the line contains its hash.

use serde::Deserialize;
use uuid::Uuid;

use super::keys::{sealed_bytes, sealed_text};
use super::{Error, SessionKey};
use crate::{Draft, Hash, Line, Record};

const BODY_PLACE: &[u8] = b"recount/v1/body\0";
const MARK: &str = "{\"$sealed\":\"";
const BODY: &str = "a body";

/// Encodes a draft with its body sealed. `objects` are the addresses that the body names; they stay
/// in clear text, so that an export finds them.
///
/// ```
/// use recount_journal::seal::{SealedBody, SessionKey, line};
/// use recount_journal::{Actor, Draft, Hash};
/// use uuid::Uuid;
///
/// let session = Uuid::from_u128(7);
/// let key = SessionKey::generate(session)?;
/// let draft = Draft {
///     session, seq: 1, at_us: 0, kind: "greeted", cause: None,
///     actor: Actor::new("model"), body: r#"{"text":"hello"}"#, prev: Hash::ZERO,
/// };
/// let line = line(&key, &draft, &[])?;
/// let record = line.record()?;
/// assert!(record.body.get().starts_with(r#"{"$sealed":"v1."#));
/// let sealed = SealedBody::of(&record)?.ok_or("the body is not sealed")?;
/// assert_eq!(sealed.open(&key)?, r#"{"text":"hello"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Malformed`] for a body over 256 GiB, the limit of the cipher.
pub fn line(key: &SessionKey, draft: &Draft<'_>, objects: &[Hash]) -> Result<Line, Error> {
    let named = objects_json(objects);
    let sealed = key
        .cipher
        .seal(&place(draft, &named), draft.body.as_bytes())
        .ok_or(key.malformed(BODY))?;
    let mut body = format!("{MARK}{}\"", sealed_text(&sealed));
    if !named.is_empty() {
        body.push(',');
        body.push_str(&named);
    }
    body.push('}');
    let draft = Draft {
        body: &body,
        ..draft.clone()
    };
    Ok(draft.line())
}

/// The sealed body of a record.
#[derive(Clone, Debug)]
pub struct SealedBody {
    session: Uuid,
    /// The addresses of the objects that the body names.
    pub objects: Vec<Hash>,
    sealed: Vec<u8>,
    place: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Marker<'a> {
    #[serde(rename = "$sealed")]
    sealed: &'a str,
    #[serde(rename = "$objects", default)]
    objects: Vec<Hash>,
}

impl SealedBody {
    /// True if a body is marked as sealed.
    pub fn is_one(body: &str) -> bool {
        body.starts_with(MARK)
    }

    /// Reads the sealed body of a record. `None` if it is in clear text.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is marked as sealed and does not have that form.
    pub fn of(record: &Record<'_>) -> Result<Option<Self>, Error> {
        let body = record.body.get();
        if !Self::is_one(body) {
            return Ok(None);
        }
        let session = record.session;
        let malformed = || Error::Malformed {
            session,
            what: BODY,
        };
        let marker: Marker<'_> = serde_json::from_str(body).map_err(|_| malformed())?;
        let sealed = sealed_bytes(marker.sealed).ok_or_else(malformed)?;
        let draft = Draft {
            session,
            seq: record.seq,
            at_us: record.at_us,
            kind: record.kind,
            cause: record.cause,
            actor: record.actor.clone(),
            body: "",
            prev: record.prev,
        };
        Ok(Some(Self {
            session,
            place: place(&draft, &objects_json(&marker.objects)),
            objects: marker.objects,
            sealed,
        }))
    }

    /// Opens the body.
    ///
    /// # Errors
    /// [`Error::DoesNotOpen`] if it was altered, moved from another record, or sealed with another
    /// key.
    pub fn open(&self, key: &SessionKey) -> Result<String, Error> {
        let does_not_open = Error::DoesNotOpen {
            session: self.session,
            what: BODY,
        };
        let Some(content) = key.cipher.open(&self.place, &self.sealed) else {
            return Err(does_not_open);
        };
        let text = str::from_utf8(&content).map_err(|_| does_not_open)?;
        Ok(text.to_owned())
    }
}

fn place(draft: &Draft<'_>, named: &str) -> Vec<u8> {
    let clear = format!("{{{named}}}");
    let line = Draft {
        body: &clear,
        ..draft.clone()
    }
    .line();
    [BODY_PLACE, line.bytes()].concat()
}

/// Encodes the addresses as `"$objects":["…"]`; empty without objects.
fn objects_json(objects: &[Hash]) -> String {
    if objects.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = objects.iter().map(|it| format!("\"{it}\"")).collect();
    format!("\"$objects\":[{}]", quoted.join(","))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::Actor;

    const BODY_TEXT: &str = r#"{"say":"the body's text"}"#;

    fn key() -> SessionKey {
        SessionKey::from_bytes(Uuid::from_u128(7), Zeroizing::new([7; 32]))
    }

    fn draft() -> Draft<'static> {
        Draft {
            session: Uuid::from_u128(7),
            seq: 2,
            at_us: 1_795_183_387_112_345,
            kind: "said",
            cause: Some(1),
            actor: Actor::new("model").with_reference("r"),
            body: BODY_TEXT,
            prev: Hash::of_line(b"before"),
        }
    }

    fn open(line: &Line) -> Result<String, Error> {
        SealedBody::of(&line.record().unwrap())
            .unwrap()
            .unwrap()
            .open(&key())
    }

    #[test]
    fn sealed_line_shows_only_envelope_and_objects() {
        let named = [Hash::of_object(b"a"), Hash::of_object(b"b")];
        let line = line(&key(), &draft(), &named).unwrap();
        let text = str::from_utf8(line.bytes()).unwrap();
        assert!(!text.contains("the body's text"), "{text}");
        assert!(text.contains("\"kind\":\"said\"") && text.contains(&named[1].to_string()));
        assert_eq!(open(&line).unwrap(), BODY_TEXT);
        let record = line.record().unwrap();
        assert_eq!(SealedBody::of(&record).unwrap().unwrap().objects, named);
    }

    #[test]
    fn a_record_has_one_sealed_form() {
        let once = line(&key(), &draft(), &[]).unwrap();
        assert_eq!(line(&key(), &draft(), &[]).unwrap(), once);
    }

    #[test]
    fn a_body_in_clear_is_none() {
        let record = draft().line();
        assert!(SealedBody::of(&record.record().unwrap()).unwrap().is_none());
    }

    #[test]
    fn a_sealed_body_opens_in_no_other_record() {
        let sealed = line(&key(), &draft(), &[]).unwrap();
        let body = sealed.record().unwrap().body.get().to_owned();
        let here = Draft {
            body: &body,
            ..draft()
        };
        assert_eq!(open(&here.line()).unwrap(), BODY_TEXT);
        let elsewhere = [
            Draft {
                session: Uuid::from_u128(8),
                ..here.clone()
            },
            Draft {
                seq: 3,
                ..here.clone()
            },
            Draft {
                at_us: 5,
                ..here.clone()
            },
            Draft {
                kind: "heard",
                ..here.clone()
            },
            Draft {
                cause: None,
                ..here.clone()
            },
            Draft {
                actor: Actor::new("model"),
                ..here.clone()
            },
            Draft {
                prev: Hash::ZERO,
                ..here.clone()
            },
        ];
        for draft in elsewhere {
            let refused = open(&draft.line());
            assert!(
                matches!(refused, Err(Error::DoesNotOpen { .. })),
                "{draft:?}"
            );
        }
        let named = body.replace('}', &format!(",\"$objects\":[\"{}\"]}}", Hash::ZERO));
        let refused = open(
            &Draft {
                body: &named,
                ..draft()
            }
            .line(),
        );
        assert!(matches!(refused, Err(Error::DoesNotOpen { .. })));
    }

    #[test]
    fn wrong_sealed_marker_is_malformed() {
        for body in [
            r#"{"$sealed":"x"}"#,
            r#"{"$sealed":"v1.!"}"#,
            r#"{"$sealed":"v1.AA","more":1}"#,
            r#"{"$sealed":"v1.AA","$objects":["x"]}"#,
        ] {
            let line = Draft { body, ..draft() }.line();
            let refused = SealedBody::of(&line.record().unwrap());
            assert!(matches!(refused, Err(Error::Malformed { .. })), "{body}");
        }
    }
}
