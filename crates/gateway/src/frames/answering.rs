//! Responses to calls anywhere in a client's message.
//!
//! The protocol answers calls by `toolResponse` alone. A vendor may still read a response in a turn
//! of the conversation, or under a key that it should not have there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::members::folded;

/// A response outside the list of `toolResponse`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// All its ids. One that is not a string is the begin of its text.
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
/// The message is read as text, in one pass and without recursion: numbers of any size and any
/// depth are searched. In a text that is not JSON, the responses before the fault are found.
pub(crate) fn answers(frame: &str) -> Vec<Answer> {
    let mut walk = Walk {
        open: Vec::new(),
        next: Next::Value(Place::Top),
        expects_key: false,
        calls: HashSet::new(),
        answers: Vec::new(),
    };
    let mut rest = frame;
    while let Some((token, after)) = rest.split_at_checked(token_length(rest))
        && !token.is_empty()
    {
        walk.take(token);
        rest = after;
    }
    walk.answers
}

/// The length of the first token of a text, in bytes.
fn token_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        None => 0,
        Some(b'"') => {
            let mut at = 1;
            while let Some(found) = bytes
                .get(at..)
                .and_then(|it| memchr::memchr2(b'"', b'\\', it))
            {
                at += found + 1;
                match bytes.get(at - 1) {
                    Some(b'"') => return at,
                    Some(_) | None => at += 1,
                }
            }
            text.len()
        }
        Some(b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\n' | b'\r') => 1,
        Some(_) => {
            let ends = |it: char| matches!(it, ',' | '}' | ']' | ' ' | '\t' | '\n' | '\r');
            text.find(ends).unwrap_or(text.len())
        }
    }
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
    /// Arguments of a call, or contents of a response.
    Contents,
    /// Any other value.
    Other,
}

impl Place {
    /// The place of a member's value.
    fn of_member(self, folded: &str) -> Place {
        match (self, folded) {
            (Place::Contents, _) => Place::Contents,
            (Place::Top, "toolresponse") => Place::ToolResponse,
            (Place::ToolResponse, "functionresponses") => Place::Listed,
            (Place::Listed | Place::Answer, "response") | (Place::Call, "args") => Place::Contents,
            (_, "functionresponse" | "functionresponses") => Place::Answer,
            (_, "functioncall" | "functioncalls") => Place::Call,
            (_, _) => Place::Other,
        }
    }
}

/// The value that comes next.
#[derive(Clone, Copy)]
enum Next {
    /// A value in this place.
    Value(Place),
    /// The id of the call or response that is open.
    Id,
    /// The name of its function.
    Name,
}

/// An object or list that has begun.
struct Open {
    place: Place,
    is_object: bool,
    /// Its ids and names, if it is a call or a response.
    own: Answer,
}

/// The id and the name of a call.
struct CallKey {
    id: String,
    name: String,
}

impl PartialEq for CallKey {
    fn eq(&self, other: &CallKey) -> bool {
        #[cfg(test)]
        tests::COMPARED.with(|it| it.set(it.get() + 1));
        self.id == other.id && self.name == other.name
    }
}

impl Eq for CallKey {}

impl Hash for CallKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
        self.name.hash(state);
    }
}

/// The search of a message.
struct Walk {
    open: Vec<Open>,
    next: Next,
    /// True if the next string is a key.
    expects_key: bool,
    /// The calls so far, if they have one id and one name. A client may send any number of them.
    calls: HashSet<CallKey>,
    answers: Vec<Answer>,
}

impl Walk {
    fn take(&mut self, token: &str) {
        match token.as_bytes().first() {
            Some(b'{') => self.begin(true, token),
            Some(b'[') => self.begin(false, token),
            Some(b'}' | b']') => self.end(),
            Some(b',') => match self.open.last() {
                Some(open) if open.is_object => self.expects_key = true,
                Some(open) => self.next = Next::Value(open.place),
                None => {}
            },
            Some(b':') => self.expects_key = false,
            Some(b' ' | b'\t' | b'\n' | b'\r') | None => {}
            Some(b'"') if self.expects_key => self.next = self.after_key(&folded(&plain(token))),
            Some(_) => self.scalar(token),
        }
    }

    fn after_key(&self, folded: &str) -> Next {
        let place = self.open.last().map_or(Place::Other, |it| it.place);
        match (place, folded) {
            (Place::Call | Place::Answer, "id") => Next::Id,
            (Place::Call | Place::Answer, "name") => Next::Name,
            (_, _) => Next::Value(place.of_member(folded)),
        }
    }

    fn begin(&mut self, is_object: bool, token: &str) {
        let place = match self.next {
            Next::Value(place) => place,
            Next::Id | Next::Name => {
                self.scalar(token);
                Place::Contents
            }
        };
        self.open.push(Open {
            place,
            is_object,
            own: Answer::default(),
        });
        (self.expects_key, self.next) = (is_object, Next::Value(place));
    }

    fn end(&mut self) {
        let Some(Open {
            place,
            is_object: true,
            mut own,
        }) = self.open.pop()
        else {
            return;
        };
        let key = match (own.ids.as_slice(), own.names.as_slice()) {
            ([id], [name]) => Some(CallKey {
                id: id.clone(),
                name: name.clone(),
            }),
            (_, _) => None,
        };
        match place {
            Place::Call => self.calls.extend(key),
            Place::Answer => {
                own.follows_call = key.is_some_and(|it| self.calls.contains(&it));
                self.answers.push(own);
            }
            Place::Top | Place::ToolResponse | Place::Listed | Place::Contents | Place::Other => {}
        }
    }

    /// Takes a string, a number or a word. Null and an empty string are as good as absent.
    fn scalar(&mut self, token: &str) {
        let Some(Open { own, .. }) = self.open.last_mut() else {
            return;
        };
        let texts = match self.next {
            Next::Value(_) => return,
            Next::Id => &mut own.ids,
            Next::Name => &mut own.names,
        };
        let text = plain(token);
        if token != "null" && !text.is_empty() {
            texts.push(text.into_owned());
        }
    }
}

/// Returns a string without quotes and escapes, and any other token as it is. Half of a surrogate
/// pair becomes U+FFFD, as in most readers.
fn plain(token: &str) -> Cow<'_, str> {
    let inside = token.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    match inside {
        None => Cow::Borrowed(token),
        Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
        Some(inside) => {
            let read = serde_json::from_str::<Lossy>(token);
            read.map_or(Cow::Borrowed(inside), |it| Cow::Owned(it.0))
        }
    }
}

/// A string that may have half of a surrogate pair.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Lossy, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }

        value.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of comparisons of two calls.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// The ids and names of the responses in a message, and whether each follows its call.
    fn found(frame: &str) -> Vec<(String, String, bool)> {
        let all = answers(frame).into_iter();
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

    /// A client chooses the number of calls and responses, and every other connection waits for the
    /// search.
    #[test]
    fn search_compares_each_response_once() {
        let pair = |it: usize| {
            let call = format!(r#"{{"functionCall":{{"id":"c{it}","name":"pay"}}}}"#);
            let key = format!(r#""id":"r{it}","name":"pay""#);
            format!(r#"{call},{{"functionResponse":{{{key}}}}}"#)
        };
        let parts: Vec<String> = (0..2_000).map(pair).collect();
        let turns = format!(r#"[{{"parts":[{}]}}]"#, parts.join(","));
        let frame = format!(r#"{{"clientContent":{{"turns":{turns}}}}}"#);
        COMPARED.set(0);
        assert_eq!(found(&frame).len(), 2_000);
        assert!(COMPARED.get() <= 4_000, "{} comparisons", COMPARED.get());
    }

    #[test]
    fn numbers_depth_and_half_characters_hide_no_response() {
        let response = r#"{"functionResponse":{"id":"b","name":"pay"}}"#;
        let deep = format!("{}{response}{}", "[".repeat(500), "]".repeat(500));
        for frame in [
            format!(r#"{{"x":{deep}}}"#),
            format!(r#"{{"n":1e999,"\ud800":"\ud83d \"","x":{response}}}"#),
            format!(r#"{{"n":[-1E+999 , true,null],"x" : {response} }}"#),
        ] {
            assert_eq!(found(&frame), one("b", "pay", false), "{frame}");
        }
        let half = r#"{"functionResponse":{"i\u0064":"b\ud800","name":["pay"]}}"#;
        assert_eq!(found(half), one("b\u{fffd}\u{fffd}\u{fffd}", "[", false));
        for broken in ["", "{", "\"\\", "{\"functionResponse\":{\"id", "]}"] {
            assert_eq!(found(broken), []);
        }
    }
}
