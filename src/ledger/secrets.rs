//! Sealing of secret arguments at their place, before a call is recorded.
//!
//! ```text
//! {"cents":4200,"card":{"number":"4111"}}     "/card/number" is secret
//! {"cents":4200,"card":{"number":{"$sealed":"v1.…"}}}
//! ```
//!
//! Each value is sealed for its session, tool and pointer. Equal secrets at one place of a session
//! have equal bytes, so calls can be compared without a key. The sealed value is of no use at
//! another place or in another session.

use recount_journal::seal::SessionKey;
use recount_text::json::is_within;
use serde::Deserialize;
use serde_json::json;

use super::Error;
use crate::session::{FunctionCallReceived, Json};

#[derive(Deserialize)]
struct Marker {
    #[serde(rename = "$sealed")]
    sealed: String,
}

/// Seals the secret arguments of a call in place. `secret` are JSON Pointers, each before the
/// longer ones that it is a prefix of.
///
/// If a part of the path is not an object, that part is sealed as a whole. The text of malformed
/// arguments is also sealed as a whole.
///
/// ```
/// # use recount::ledger::{open_arguments, seal_arguments};
/// # use recount::session::{FunctionCallReceived, Json, Seq, SessionId};
/// # use recount::journal::seal::SessionKey;
/// # let session = SessionId(uuid::Uuid::from_u128(7));
/// let key = SessionKey::generate(session.0)?;
/// let args = Json::parse(r#"{"cents":4200,"card":"4111"}"#)?;
/// let mut call = FunctionCallReceived {
///     epoch: Seq(3), id: None, name: Some("pay".into()), args: Some(args.clone()),
///     malformed_args: None, invalid_args: None, sealed_args: Vec::new(),
///     original_args: None, by: None, parent: None,
///     beyond_max: None,
///     key: None,
/// };
/// seal_arguments(&key, &mut call, &["/card".to_owned()])?;
/// let sealed = call.args.ok_or("no arguments")?;
/// assert!(sealed.as_str().starts_with(r#"{"cents":4200,"card":{"$sealed":"v1."#));
/// assert_eq!(open_arguments(&key, "pay", &sealed, &call.sealed_args)?, args);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Seal`] if the cipher rejects a value.
pub fn seal_arguments(
    key: &SessionKey,
    call: &mut FunctionCallReceived,
    secret: &[String],
) -> Result<(), Error> {
    if secret.is_empty() {
        return Ok(());
    }
    let tool = call.name.as_deref().unwrap_or_default();
    if let Some(malformed) = &mut call.malformed_args {
        malformed.text = marker(key, tool, "", &malformed.text)?;
        call.sealed_args = vec![String::new()];
        return Ok(());
    }
    let Some(args) = &mut call.args else {
        return Ok(());
    };
    for pointer in secret {
        if let Some((held, text)) = args.along(pointer)
            && !is_in_one_of(&call.sealed_args, held)
            && let Some(with_marker) = args.with_text_at(held, &marker(key, tool, held, text)?)
        {
            *args = with_marker;
            call.sealed_args.push(held.to_owned());
        }
    }
    Ok(())
}

/// Returns the arguments as the model sent them.
///
/// # Errors
/// [`Error::Seal`] if a sealed value was altered or moved, or sealed with another key.
pub fn open_arguments(
    key: &SessionKey,
    tool: &str,
    args: &Json,
    sealed: &[String],
) -> Result<Json, Error> {
    let mut opened = args.clone();
    for pointer in sealed {
        let marker = opened.text_at(pointer).map(serde_json::from_str::<Marker>);
        // Without a marker there is nothing to decrypt, and opening fails.
        let sealed = marker.and_then(Result::ok).map(|it| it.sealed);
        let sealed = sealed.unwrap_or_default();
        let text = key.open_text(&place(tool, pointer), &sealed)?;
        if let Some(with_text) = opened.with_text_at(pointer, &text) {
            opened = with_text;
        }
    }
    Ok(opened)
}

/// Returns the text of malformed arguments as the model sent it.
///
/// # Errors
/// As for [`open_arguments`].
pub(crate) fn open_malformed(key: &SessionKey, tool: &str, text: &str) -> Result<String, Error> {
    let marker: Result<Marker, _> = serde_json::from_str(text);
    let sealed = marker.map(|it| it.sealed).unwrap_or_default();
    Ok(key.open_text(&place(tool, ""), &sealed)?.to_string())
}

fn marker(key: &SessionKey, tool: &str, pointer: &str, text: &str) -> Result<String, Error> {
    let sealed = key.seal_text(&place(tool, pointer), text)?;
    Ok(json!({ "$sealed": sealed }).to_string())
}

/// Returns the place of an argument. Tool names have no slash, so places are unique.
fn place(tool: &str, pointer: &str) -> String {
    format!("args/{tool}{pointer}")
}

fn is_in_one_of(sealed: &[String], pointer: &str) -> bool {
    sealed.iter().any(|it| is_within(pointer, it))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::session::{MalformedArgs, Seq};

    fn key() -> SessionKey {
        SessionKey::generate(Uuid::from_u128(7)).unwrap()
    }

    fn call(args: &str) -> FunctionCallReceived {
        FunctionCallReceived {
            epoch: Seq(3),
            id: None,
            name: Some("pay".to_owned()),
            args: Some(Json::parse(args).unwrap()),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        }
    }

    fn sealed(key: &SessionKey, args: &str, secret: &[&str]) -> FunctionCallReceived {
        let mut call = call(args);
        let secret: Vec<String> = secret.iter().map(|it| (*it).to_owned()).collect();
        seal_arguments(key, &mut call, &secret).unwrap();
        call
    }

    #[test]
    fn non_object_on_the_path_is_sealed_and_opens_unchanged() {
        for (args, at) in [
            (
                r#"{"card":{"number":"hidden","n":1.00}}"#,
                vec!["/card/number"],
            ),
            (
                r#"{"card":{"number":{"a":["hidden"]}}}"#,
                vec!["/card/number"],
            ),
            (r#"{"card":"hidden"}"#, vec!["/card"]),
            (r#"{"card":[{"number":"hidden"}]}"#, vec!["/card"]),
            (r#"{"n":9007199254740993}"#, vec![]),
            (
                r#"{"pin":"hidden","card":{"\u006eumber":"hidden"}}"#,
                vec!["/card/number", "/pin"],
            ),
        ] {
            let key = key();
            let call = sealed(&key, args, &["/card/number", "/card/owner", "/pin"]);
            let stands = call.args.unwrap();
            assert_eq!(call.sealed_args, at, "{args}");
            assert!(!stands.as_str().contains("hidden"), "{stands}");
            let opened = open_arguments(&key, "pay", &stands, &call.sealed_args).unwrap();
            assert_eq!(opened.as_str(), args);
        }
    }

    #[test]
    fn a_secret_within_a_secret_is_sealed_once() {
        let key = key();
        let call = sealed(
            &key,
            r#"{"a":{"$sealed":"x","b":1}}"#,
            &["/a", "/a/$sealed", "/a/b"],
        );
        assert_eq!(call.sealed_args, ["/a"]);
    }

    #[test]
    fn malformed_arguments_are_sealed_whole() {
        let mut call = FunctionCallReceived {
            args: None,
            malformed_args: Some(MalformedArgs {
                text: r#"{"pin":"hidden","pin":1}"#.to_owned(),
                problem: "twice".to_owned(),
            }),
            ..call("{}")
        };
        seal_arguments(&key(), &mut call, &["/pin".to_owned()]).unwrap();
        let text = call.malformed_args.unwrap().text;
        assert!(text.starts_with(r#"{"$sealed":"v1."#), "{text}");
        assert_eq!(call.sealed_args, [""]);
    }

    #[test]
    fn equal_secrets_are_equal_only_at_their_place() {
        let key = key();
        let secret = ["/a", "/b"];
        let call = sealed(&key, r#"{"a":"x","b":"x"}"#, &secret);
        assert_eq!(sealed(&key, r#"{"a":"x","b":"x"}"#, &secret), call);
        let args = call.args.unwrap();
        let (a, b) = (args.text_at("/a").unwrap(), args.text_at("/b").unwrap());
        assert_ne!(a, b);
        let swapped = args.with_text_at("/a", b).unwrap();
        assert!(open_arguments(&key, "pay", &swapped, &call.sealed_args).is_err());
        assert!(open_arguments(&key, "refund", &args, &call.sealed_args).is_err());
        // The model wrote this value in the form of a sealed one, so it cannot be decrypted.
        let forged = Json::parse(r#"{"a":{"$sealed":"v1.AAAA"},"b":1}"#).unwrap();
        assert!(open_arguments(&key, "pay", &forged, &["/a".to_owned()]).is_err());
    }
}
