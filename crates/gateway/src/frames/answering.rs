//! Responses to calls anywhere in a client's message.
//!
//! The protocol answers calls by `toolResponse` alone. A vendor may still read a response in a turn
//! of the conversation, or under a key that it should not have there.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::FrameError;
use super::members::folded;

/// A response outside the list of `toolResponse`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// All its ids. One that is not a string is its text as JSON would show it.
    pub(crate) ids: Vec<String>,
    /// All names of its function.
    pub(crate) names: Vec<String>,
    /// True if the message has the call before it, with the same id and name.
    pub(crate) follows_call: bool,
}

/// Finds the responses outside the list of `toolResponse`, in their order.
///
/// Arguments of calls and contents of responses are not searched. Every key is, also one that is
/// there twice, because readers differ in which one counts.
///
/// # Errors
/// An error if the message is not JSON, or nested too deeply.
pub(crate) fn answers(frame: &str) -> Result<Vec<Answer>, FrameError> {
    let mut found = Found::default();
    let mut reader = serde_json::Deserializer::from_str(frame);
    let walk = Walk {
        found: &mut found,
        place: Place::Top,
    };
    let read = walk.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|_| FrameError::NotAnObject("a text that cannot be searched".to_owned()))?;
    Ok(found.answers)
}

/// The calls and responses that were found so far.
#[derive(Default)]
struct Found {
    calls: Vec<Answer>,
    answers: Vec<Answer>,
}

/// The place of a value in the message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The message itself.
    Top,
    /// The value of `toolResponse`.
    ToolResponse,
    /// The responses in its list, which are handled apart.
    Listed,
    /// The value of `functionCall`, or a list of calls.
    Call,
    /// The value of `functionResponse`, or a list of responses.
    Answer,
    /// Any other value.
    Other,
}

impl Place {
    /// The place of a member's value. `None`: it is not searched.
    fn of_member(self, key: &str) -> Option<Place> {
        match (self, folded(key).as_str()) {
            (Place::Top, "toolresponse") => Some(Place::ToolResponse),
            (Place::ToolResponse, "functionresponses") => Some(Place::Listed),
            (Place::Listed | Place::Answer, "response") | (Place::Call, "args") => None,
            (_, "functionresponse" | "functionresponses") => Some(Place::Answer),
            (_, "functioncall" | "functioncalls") => Some(Place::Call),
            (_, _) => Some(Place::Other),
        }
    }
}

/// The search of one value.
struct Walk<'f> {
    found: &'f mut Found,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut own = Answer::default();
        while let Some(key) = map.next_key::<String>()? {
            let is_named = matches!(self.place, Place::Call | Place::Answer);
            match folded(&key).as_str() {
                "id" if is_named => own.ids.extend(map.next_value_seed(Scalar)?),
                "name" if is_named => own.names.extend(map.next_value_seed(Scalar)?),
                _ => match self.place.of_member(&key) {
                    Some(place) => map.next_value_seed(Walk {
                        found: &mut *self.found,
                        place,
                    })?,
                    None => drop(map.next_value::<IgnoredAny>()?),
                },
            }
        }
        match self.place {
            Place::Call => self.found.calls.push(own),
            Place::Answer => {
                let has_one = own.ids.len() == 1 && own.names.len() == 1;
                let is_same = |it: &Answer| it.ids == own.ids && it.names == own.names;
                own.follows_call = has_one && self.found.calls.iter().any(is_same);
                self.found.answers.push(own);
            }
            Place::Top | Place::ToolResponse | Place::Listed | Place::Other => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        loop {
            let walk = Walk {
                found: &mut *self.found,
                place: self.place,
            };
            if list.next_element_seed(walk)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The reading of an id or a name. `None` for null and an empty string, which are as good as
/// absent.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Option<String>, D::Error> {
        let value: serde_json::Value = serde::Deserialize::deserialize(value)?;
        let text = match value {
            serde_json::Value::Null => return Ok(None),
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Some(text).filter(|it| !it.is_empty()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    /// The ids and names of the responses in a message, and whether each follows its call.
    fn found(frame: &str) -> Vec<(String, String, bool)> {
        let all = answers(frame).unwrap().into_iter();
        let told = all.map(|it| (it.ids.join("+"), it.names.join("+"), it.follows_call));
        told.collect()
    }

    fn one(id: &str, name: &str, follows_call: bool) -> Vec<(String, String, bool)> {
        vec![(id.to_owned(), name.to_owned(), follows_call)]
    }

    #[test]
    fn responses_are_found_in_any_place() {
        let response = r#"{"id":"b","name":"pay","response":{"functionResponse":{"id":"x"}}}"#;
        let part = format!(r#"{{"functionResponse":{response}}}"#);
        for frame in [
            format!(r#"{{"clientContent":{{"turns":[{{"parts":[{part}]}}]}}}}"#),
            format!(
                r#"{{"client_content":{{"turns":{{"parts":{{"function_response":{response}}}}}}}}}"#
            ),
            format!(r#"{{"realtimeInput":{{"text":"x","functionResponse":{response}}}}}"#),
            format!(r#"{{"functionResponses":[{response}]}}"#),
            format!(r#"{{"FUNCTION_responses":{response}}}"#),
            format!(r#"{{"function\u0052esponse":{response},"functionResponse":null}}"#),
            format!(
                r#"{{"toolResponse":{{"functionResponses":[],"functionResponse":{response}}}}}"#
            ),
            format!(r#"{{"contextUpdate":{{}},"x":[[{{"functionResponse":{response}}}]]}}"#),
        ] {
            assert_eq!(found(&frame), one("b", "pay", false), "{frame}");
        }
    }

    #[test]
    fn listed_responses_and_contents_are_not_searched() {
        let inner = r#"{"functionResponse":{"id":"b"}}"#;
        let part = format!(r#"{{"functionCall":{{"args":{inner}}}}}"#);
        for frame in [
            format!(
                r#"{{"toolResponse":{{"functionResponses":[{{"id":"b","response":{inner}}}]}}}}"#
            ),
            format!(r#"{{"clientContent":{{"turns":[{{"parts":[{part}]}}]}}}}"#),
            r#"{"realtimeInput":{"text":"{\"functionResponse\":{\"id\":\"b\"}}"}}"#.to_owned(),
        ] {
            assert_eq!(found(&frame), [], "{frame}");
        }
        let frame =
            format!(r#"{{"toolResponse":{{"functionResponses":[{{"parts":[{inner}]}}]}}}}"#);
        assert_eq!(found(&frame), one("b", "", false));
    }

    #[test]
    fn response_behind_its_call_is_told_from_others() {
        let turns = |call: &str, response: &str| {
            let call = format!(r#"{{"role":"model","parts":[{{"functionCall":{call}}}]}}"#);
            let response = format!(r#"{{"parts":[{{"functionResponse":{response}}}]}}"#);
            format!(r#"{{"clientContent":{{"turns":[{call},{response}]}}}}"#)
        };
        let same = r#"{"id":"a","name":"pay"}"#;
        assert_eq!(found(&turns(same, same)), one("a", "pay", true));
        for other in [r#"{"id":"b","name":"pay"}"#, r#"{"name":"pay"}"#] {
            assert!(!found(&turns(other, same)).iter().any(|it| it.2), "{other}");
            assert!(!found(&turns(same, other)).iter().any(|it| it.2), "{other}");
        }
        let twice = r#"{"id":"a","id":"b","name":"pay"}"#;
        assert_eq!(found(&turns(same, twice)), one("a+b", "pay", false));
        assert_eq!(
            found(r#"{"functionResponse":{"id":7,"name":null}}"#),
            one("7", "", false)
        );
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        for frame in ["", "{", r#"{"\ud800":1}"#, &deep] {
            assert!(answers(frame).is_err(), "{frame:.20}");
        }
    }
}
