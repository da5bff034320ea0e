//! Replies: rules by which the model answers the user's text on each connection.

use serde_json::Value;

use recount_wire::{DecodeError, Fields, FunctionCall, RawJson, ServerMessage};

use super::reading::nothing_left;
use super::step::Step;

/// The reply to user text that contains a phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// The phrase in lower case. An empty phrase matches any text.
    when: String,
    says: Option<String>,
    /// The calls, whose ids are generated for each turn.
    calls: Vec<FunctionCall>,
    /// The model's text after the calls are answered.
    then: String,
}

/// A text that the model sends after its calls are answered.
#[derive(Debug)]
pub(super) struct Promise {
    /// The ids of the calls, and the responses.
    calls: Vec<(String, Option<String>)>,
    then: String,
}

impl Reply {
    /// Parses the entry if it is a reply.
    pub(super) fn take(fields: &mut Fields) -> Result<Option<Self>, DecodeError> {
        let Some(when) = fields.string("when")? else {
            return Ok(None);
        };
        let reply = Self {
            when: when.to_lowercase(),
            says: fields.string("say")?,
            calls: fields.function_calls("call")?.into_vec(),
            then: fields
                .string("then")?
                .unwrap_or_else(|| RESPONSES.to_owned()),
        };
        if reply.says.is_none() && reply.calls.is_empty() {
            return Err(DecodeError::new("say or call", "neither"));
        }
        nothing_left(fields, &["when", "say", "call", "then"])?;
        Ok(Some(reply))
    }

    /// Creates a reply that repeats the user's text.
    pub(super) fn echo() -> Self {
        Self {
            when: String::new(),
            says: Some(TEXT.to_owned()),
            calls: Vec::new(),
            then: String::new(),
        }
    }

    /// True if the reply matches this text, which is in lower case.
    pub(super) fn fits(&self, words: &str) -> bool {
        words.contains(&self.when)
    }

    /// Returns the steps of the reply, and the text after its calls are answered. `new_id`
    /// generates ids.
    pub(super) fn to(
        &self,
        words: &str,
        mut new_id: impl FnMut() -> String,
    ) -> (Vec<Step>, Option<Promise>) {
        let said = self.says.as_ref().map(|says| says.replace(TEXT, words));
        if self.calls.is_empty() {
            return (spoken(said.unwrap_or_default()), None);
        }
        let calls: Vec<FunctionCall> = self
            .calls
            .iter()
            .map(|call| FunctionCall {
                id: Some(new_id()),
                args: call.args.as_ref().map(|args| filled(args, words)),
                ..call.clone()
            })
            .collect();
        let promise = Promise {
            calls: calls
                .iter()
                .filter_map(|call| Some((call.id.clone()?, None)))
                .collect(),
            then: self.then.replace(TEXT, words),
        };
        let mut steps: Vec<Step> = said
            .map(|said| Step::Send(Box::new(ServerMessage::text(said))))
            .into_iter()
            .collect();
        steps.push(Step::Send(Box::new(ServerMessage::tool_call(calls))));
        (steps, Some(promise))
    }
}

impl Promise {
    /// Notes a response to one of the calls.
    pub(super) fn note(&mut self, id: &str, response: Option<&RawJson>) {
        let answer = response.map_or("{}", RawJson::as_str);
        for (_, noted) in self.calls.iter_mut().filter(|(call, _)| call == id) {
            *noted = Some(answer.to_owned());
        }
    }

    /// Returns the model's text once each call is answered.
    pub(super) fn kept(&self) -> Option<Vec<Step>> {
        let answers: Option<Vec<&str>> = self
            .calls
            .iter()
            .map(|(_, answer)| answer.as_deref())
            .collect();
        Some(spoken(self.then.replace(RESPONSES, &answers?.join(", "))))
    }
}

fn spoken(words: String) -> Vec<Step> {
    let turn = [
        ServerMessage::text(words),
        ServerMessage::generation_complete(),
        ServerMessage::turn_complete(),
    ];
    turn.map(|message| Step::Send(Box::new(message))).into()
}

/// Inserts the user's text into the strings of the arguments. Outside of strings, `{text}` is not
/// JSON.
fn filled(args: &RawJson, words: &str) -> RawJson {
    let quoted = Value::from(words).to_string();
    let escaped = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let text = args.as_str().replace(TEXT, escaped.unwrap_or_default());
    RawJson::parse(&text).unwrap_or_else(|_| args.clone())
}

/// The placeholder for the user's text.
const TEXT: &str = "{text}";

/// The placeholder for the responses.
const RESPONSES: &str = "{response}";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn reply(text: &str) -> Reply {
        Reply::take(&mut Fields::parse(text).unwrap())
            .unwrap()
            .unwrap()
    }

    #[test]
    fn words_go_into_arguments_as_strings() {
        let reply = reply(
            r#"{"when":"","call":[{"name":"note","args":{"n":1.0,"said":"{text}"}}],"then":"{text}: {response}"}"#,
        );
        let words = "a \"quoted\" \\ {word}\n";
        let (steps, promise) = reply.to(words, || "c1".to_owned());
        let [Step::Send(message)] = steps.as_slice() else {
            unreachable!("one message");
        };
        let call = message.tool_call.clone().unwrap().function_calls.into_vec();
        let args = call.first().and_then(|call| call.args.clone()).unwrap();
        assert!(args.as_str().starts_with(r#"{"n":1.0,"#));
        let said = args.to::<Value>().unwrap().get("said").cloned();
        assert_eq!(said, Some(Value::from(words)));
        let mut promise = promise.unwrap();
        promise.note("c2", None);
        assert_eq!(promise.kept(), None);
        promise.note("c1", Some(&RawJson::parse(r#"{"ok":true}"#).unwrap()));
        assert_eq!(
            promise.kept(),
            Some(spoken(format!("{words}: {{\"ok\":true}}")))
        );
    }

    #[test]
    fn a_reply_does_something() {
        let mut fields = Fields::parse(r#"{"when":"x"}"#).unwrap();
        let problem = Reply::take(&mut fields).unwrap_err();
        assert!(problem.to_string().contains("expected say or call"));
    }
}
