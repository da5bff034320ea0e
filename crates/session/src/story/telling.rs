//! The transcript of a session, event by event.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::Fields;
use crate::record::event::{Event, Fact};
use crate::record::observation::Observation;

/// Writes the transcript of a session event by event. [`Story`](super::Story) is the whole
/// transcript.
///
/// ```
/// use recount_session::story::Teller;
/// use recount_session::testing::history;
///
/// let mut teller = Teller::default();
/// let opened = history().opened("support");
/// let told: Vec<String> = opened.facts().iter().filter_map(|it| teller.tell(it)).collect();
/// assert_eq!(told, ["  1  engine  session_opened              agent=support"]);
/// ```
#[derive(Debug, Default)]
pub struct Teller {
    lines: u64,
    /// The line number of each record, by seq.
    told: BTreeMap<u64, u64>,
    /// The numbers of the model's ids and of our UUIDs, by text.
    ids: BTreeMap<String, usize>,
    names: BTreeMap<String, usize>,
}

/// The fields that may differ between two runs of one conversation.
const LEFT_OUT: [&str; 19] = [
    "args_sha256",
    "capabilities",
    "catalog",
    "contract",
    "contract_before",
    "declaration",
    "endpoint",
    "epoch",
    "expires_after_ms",
    "fingerprint",
    "journal_record",
    "policies",
    "program",
    "request_sha256",
    "resumes",
    "rules",
    "runner",
    "signature",
    "non_blocking",
];

/// The fields with data of a model, a tool, a person or a program. They are shown as they are.
const FOREIGN: [&str; 13] = [
    "args",
    "data",
    "edited_args",
    "extra",
    "found",
    "inputs",
    "interim",
    "original_args",
    "payload",
    "payload_schema",
    "state",
    "usage",
    "value",
];

/// The fields that name another record.
const RECORDS: [&str; 11] = [
    "after",
    "asked",
    "call",
    "leave",
    "of",
    "parent",
    "phase",
    "request",
    "response",
    "through",
    "unanswered",
];

impl Teller {
    /// Returns the line of an event. Returns `None` for events that only count media, or that
    /// record when a frame was sent, because these differ between any two runs.
    pub fn tell(&mut self, fact: &Fact) -> Option<String> {
        let who = match &fact.event {
            Event::Observed(
                Observation::MediaCounted(_)
                | Observation::ResponsesSent(_)
                | Observation::InstructionSent(_),
            ) => return None,
            Event::Observed(observation) => observation.actor().as_str(),
            Event::Decided(_) => "→",
        };
        self.lines += 1;
        self.told.insert(fact.seq.0, self.lines);
        // The body of an event always serializes, as an object.
        let body = fact.event.body().unwrap_or_default();
        let Fields(fields) = serde_json::from_str(&body).unwrap_or_default();
        let mut said = Vec::new();
        for (key, value) in fields {
            self.field(&key, &value, &mut said);
        }
        let (number, kind, said) = (self.lines, fact.event.kind(), said.join(" "));
        let line = format!("{number:>3}  {who:<6}  {kind:<26}  {said}");
        Some(line.trim_end().to_owned())
    }

    /// Formats a field of an event, or of a nested part that this crate defines.
    fn field(&mut self, key: &str, value: &Value, said: &mut Vec<String>) {
        if LEFT_OUT.contains(&key) || key.ends_with("_us") {
            return;
        }
        match (key, value) {
            (_, Value::Null) => {}
            ("id" | "ids", _) => {
                let id = self.id(value);
                said.push(format!("{key}={id}"));
            }
            // The fingerprint of a handle. A replayed fixture has none.
            ("resumed" | "rejected", Value::String(_)) => said.push(format!("{key}=true")),
            ("responses", Value::Array(seqs)) => {
                let lines: Vec<String> = seqs.iter().map(|seq| self.record(seq)).collect();
                said.push(format!("{key}={}", lines.join(",")));
            }
            (_, Value::Number(_)) if RECORDS.contains(&key) => {
                let line = self.record(value);
                said.push(format!("{key}={line}"));
            }
            ("by", Value::Object(actor)) => {
                let of = |field| actor.get(field).and_then(Value::as_str).unwrap_or_default();
                let (name, how) = (of("name"), of("authenticated_by"));
                let name = self.text(name);
                said.push(format!("by={name}({how})"));
            }
            ("response" | "when" | "labels", value) => self.foreign(key, value, said),
            (key, value) if FOREIGN.contains(&key) => self.foreign(key, value, said),
            (_, Value::Object(parts)) => self.parts(key, parts, said),
            (_, Value::Array(items)) => {
                for item in items {
                    match item {
                        Value::Object(parts) => self.parts(key, parts, said),
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::String(_)
                        | Value::Array(_) => self.foreign(key, item, said),
                    }
                }
            }
            (_, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                self.foreign(key, value, said);
            }
        }
    }

    /// Formats a nested part: its fields in brackets after its name.
    fn parts(&mut self, key: &str, parts: &Map<String, Value>, said: &mut Vec<String>) {
        let mut inner = Vec::new();
        for (part, value) in parts {
            self.field(part, value, &mut inner);
        }
        said.push(format!("{key}({})", inner.join(" ")));
    }

    fn foreign(&mut self, key: &str, value: &Value, said: &mut Vec<String>) {
        let shown = match value {
            Value::String(text) => self.text(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => {
                let text = unsealed(value).to_string();
                self.named(&text)
            }
        };
        said.push(format!("{key}={shown}"));
    }

    /// Formats a text: without quotes if it is a single word.
    fn text(&mut self, text: &str) -> String {
        let is_of_word = |c: char| c.is_alphanumeric() || "_-./:@#".contains(c);
        let text = self.named(text);
        if !text.is_empty() && text.chars().all(is_of_word) {
            return text;
        }
        Value::String(text).to_string()
    }

    /// Returns the line number of a record. A seq without a line is shown unchanged.
    fn record(&self, seq: &Value) -> String {
        let line = seq.as_u64().and_then(|seq| self.told.get(&seq));
        line.map_or_else(|| seq.to_string(), u64::to_string)
    }

    /// Formats an id of the model, or a list of them, as numbers.
    fn id(&mut self, id: &Value) -> String {
        if let Value::Array(ids) = id {
            let ids: Vec<String> = ids.iter().map(|id| self.id(id)).collect();
            return ids.join(",");
        }
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let next = self.ids.len() + 1;
        format!("#{}", self.ids.entry(text).or_insert(next))
    }

    /// Replaces every UUID in the text by a number.
    fn named(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let length = match rest.get(..36).filter(|it| is_uuid(it)) {
                Some(uuid) => {
                    let number = self.names.len() + 1;
                    let number = self.names.entry(uuid.to_lowercase()).or_insert(number);
                    out.push_str(&format!("uuid#{number}"));
                    uuid.len()
                }
                None => {
                    out.push(next);
                    next.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        out
    }
}

fn is_uuid(text: &str) -> bool {
    let mut bytes = text.bytes().enumerate();
    bytes.all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Replaces sealed values, because their bytes differ in every session.
fn unsealed(value: &Value) -> Value {
    match value {
        Value::Object(it) if it.contains_key("$sealed") => Value::from("[sealed]"),
        Value::Object(it) => {
            let fields = it.iter().map(|(key, it)| (key.clone(), unsealed(it)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(unsealed).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use crate::story::Story;
    use crate::testing::{History, history, toolbox};
    use crate::{MediaCount, MediaCounted, Seq};
    use serde_json::json;

    fn asked(id: &str, name: &str) -> History {
        let tools = toolbox().gated("refund");
        let begun = history().opened("support").attached(&tools).connected();
        begun
            .user_text(name)
            .call(id, "refund", json!({"order": 17}))
    }

    #[test]
    fn runs_with_other_ids_have_equal_transcripts() {
        let run = |id: &str, uuid: &str| {
            Story::of(
                asked(id, &format!("about {uuid}, {uuid}"))
                    .granted("ada")
                    .facts(),
            )
        };
        let one = run("function-call-1", "0197c2b0-0000-7000-8000-00000000000a");
        let two = run("function-call-2", "0197C2B0-0000-7000-8000-0000000000ff");
        assert_eq!(one, two);
        assert!(
            one.lines()[3].ends_with(r#"text="about uuid#1, uuid#1""#),
            "{one}"
        );
        assert_ne!(one, run("c", "something else"));
    }

    #[test]
    fn line_has_actor_kind_and_line_references() {
        let story = Story::of(asked("c1", "Refund it").facts());
        let told = [
            story.lines().first(),
            story.lines().get(3),
            story.lines().get(4),
            story.lines().get(5),
        ];
        let expected = [
            "  1  engine  session_opened              agent=support",
            r#"  4  user    user_text_sent              text="Refund it""#,
            r#"  5  model   function_call_received      id=#1 name=refund args={"order":17}"#,
            "  6  →       policy_decided              call=5 verdict=ask rule=confirm",
        ];
        assert_eq!(told.map(|it| it.map_or("", String::as_str)), expected);
    }

    #[test]
    fn media_counts_have_neither_line_nor_number() {
        let told = |counted: bool| {
            let tools = toolbox().gated("refund");
            let begun = history().opened("support").attached(&tools).connected();
            let begun = match counted {
                true => begun.observed(MediaCounted {
                    epoch: Seq(3),
                    heard: MediaCount::default(),
                    sent: MediaCount::default(),
                    withheld: MediaCount::default(),
                }),
                false => begun,
            };
            let called = begun.call("c1", "refund", json!({"order": 17}));
            (called.facts().len(), Story::of(called.facts()))
        };
        let ((with, one), (without, other)) = (told(true), told(false));
        assert_eq!((with, one), (without + 1, other));
    }
}
