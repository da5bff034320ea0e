//! An answer to a confirmation request as the members of a JSON object. The caller chooses strict
//! or lenient rules for unknown members.

use std::collections::BTreeMap;

use recount_session::{Json, UnfitAnswer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::typed::digits::exact_value;
use crate::typed::found::unknown_key;
use recount_session::ToolConfirmation;

/// The allowed keys of a strict answer.
const KEYS: [&str; 7] = [
    "confirmed",
    "reason",
    "payload",
    "args",
    "request_hash",
    "hint",
    "allow_for",
];

/// The members of an answer.
#[doc(hidden)]
pub struct AnswerMembers(BTreeMap<String, Json>);

impl AnswerMembers {
    /// Reads the members of an object.
    #[doc(hidden)]
    pub fn of(json: &Json) -> Result<AnswerMembers, UnfitAnswer> {
        let members = serde_json::from_str(json.as_str());
        members
            .map(AnswerMembers)
            .map_err(|_| malformed("it is not an object"))
    }

    /// Returns the member under this key if it is the only member.
    #[doc(hidden)]
    pub fn only(&self, key: &str) -> Option<&Json> {
        self.0.get(key).filter(|_| self.0.len() == 1)
    }

    /// Returns the member under this key.
    #[doc(hidden)]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// Removes the member under this key.
    #[doc(hidden)]
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// True if there is a member under this key.
    #[doc(hidden)]
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Reads an operator's answer, without unknown keys.
    ///
    /// `confirmed` must be present and a boolean, each key has one spelling, and no value is
    /// `null`. Otherwise a typo could make an approval count without its condition or its changed
    /// arguments.
    #[doc(hidden)]
    pub fn strict(self) -> Result<ToolConfirmation, UnfitAnswer> {
        for (key, json) in &self.0 {
            if !KEYS.contains(&key.as_str()) {
                return Err(malformed(&unknown_key(&short(key), &KEYS)));
            }
            if json.as_str() == "null" {
                let problem = format!("{key:?} is null; what is not said is left out");
                return Err(malformed(&problem));
            }
        }
        self.read(&["args"], &["request_hash"])
    }

    /// Reads an answer of an ADK client, ignoring unknown keys as ADK does. `confirmed` must be
    /// present and a boolean; other members may be `null`.
    #[doc(hidden)]
    pub fn lenient(self) -> Result<ToolConfirmation, UnfitAnswer> {
        if self.has("args") {
            let problem =
                "\"args\" means nothing here; arguments in place of the model's are \"editedArgs\"";
            return Err(malformed(problem));
        }
        self.read(
            &["editedArgs", "edited_args"],
            &["requestHash", "request_hash"],
        )
    }

    fn read(mut self, args: &[&str], hash: &[&str]) -> Result<ToolConfirmation, UnfitAnswer> {
        let confirmed = self.0.remove("confirmed");
        let confirmed = confirmed.ok_or_else(|| malformed("it does not say \"confirmed\""))?;
        let mut confirmation = if boolean(&confirmed)? {
            ToolConfirmation::confirmed()
        } else {
            ToolConfirmation::default()
        };
        confirmation.hint = self.optional(&["hint"], "a text")?;
        confirmation.reason = self.optional(&["reason"], "a text")?;
        if let Some((value, text)) = self.value(&["payload"])? {
            confirmation = confirmation.with_written_payload(value, text);
        }
        if let Some((value, text)) = self.value(args)? {
            confirmation = confirmation.with_written_args(value, text);
        }
        confirmation.request_hash = self.optional(hash, "a SHA-256 in hex digits")?;
        confirmation.allow_for = self.optional(
            &["allow_for", "allowFor"],
            "{\"count\": a number} or {\"until_us\": a time}",
        )?;
        let extra = self.0.into_iter().map(|(key, it)| (key, it.to_value()));
        confirmation.extra = extra.collect();
        Ok(confirmation)
    }

    fn optional<T: DeserializeOwned>(
        &mut self,
        spellings: &[&str],
        expected: &str,
    ) -> Result<Option<T>, UnfitAnswer> {
        let Some((key, json)) = self.take(spellings)? else {
            return Ok(None);
        };
        let read = serde_json::from_str(json.as_str());
        read.map_err(|_| malformed(&format!("{key:?} must be {expected}")))
    }

    /// Reads a value for the tool together with its text.
    ///
    /// The text keeps every digit, so the tool does not run with another number than the
    /// approver's.
    fn value(&mut self, spellings: &[&str]) -> Result<Option<(Value, Json)>, UnfitAnswer> {
        let Some((key, json)) = self.take(spellings)? else {
            return Ok(None);
        };
        let value = exact_value(&json, &[]);
        let value = value.map_err(|problem| malformed(&format!("{key:?}: {problem}")))?;
        Ok(Some((value, json)).filter(|(it, _)| !it.is_null()))
    }

    /// Removes the member under any spelling of a key; two spellings at once are an error.
    fn take(&mut self, spellings: &[&str]) -> Result<Option<(String, Json)>, UnfitAnswer> {
        let found = spellings
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), self.0.remove(*key)?)));
        let mut found: Vec<_> = found.collect();
        let first = found.pop();
        match (&first, found.pop()) {
            (Some((other, _)), Some((key, _))) => {
                Err(malformed(&format!("it has {key:?} and {other:?}")))
            }
            (Some(_) | None, _) => Ok(first),
        }
    }
}

fn boolean(json: &Json) -> Result<bool, UnfitAnswer> {
    match json.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let problem = format!("\"confirmed\" must be true or false, got {}", short(other));
            Err(malformed(&problem))
        }
    }
}

/// Shortens received text for an error message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The error of an answer that cannot be read, with the reason.
#[doc(hidden)]
pub fn malformed(problem: &str) -> UnfitAnswer {
    UnfitAnswer::Malformed {
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use recount_session::{Actor, Seq};

    use super::*;

    #[test]
    fn strict_and_lenient_answers_keep_the_text() {
        for written in ["100000000000000000000", "-0", "1.10", "1e2", "1E+2"] {
            let value = format!(r#"{{"a":{written}}}"#);
            let members = |key: &str| {
                let text = format!(r#"{{"confirmed":true,"payload":{value},"{key}":{value}}}"#);
                AnswerMembers::of(&Json::parse(&text).unwrap()).unwrap()
            };
            for said in [members("args").strict(), members("editedArgs").lenient()] {
                let said = said.unwrap();
                let given = format!(r#"{{"confirmed":true,"payload":{value}}}"#);
                assert_eq!(said.text_for_program(), given);
                let answer = said.into_record(Seq(1), Actor::embedder("ada"));
                assert_eq!(answer.edited_args.unwrap().as_str(), value);
                assert_eq!(answer.payload.unwrap().as_str(), value);
            }
        }
    }

    #[test]
    fn arguments_changed_after_reading_are_serialized_again() {
        let text = Json::parse(r#"{"confirmed":true,"args":{"a":1.10}}"#).unwrap();
        let said = AnswerMembers::of(&text).unwrap().strict().unwrap();
        let answer = said.with_args(serde_json::json!({"a": 2}));
        let answer = answer.into_record(Seq(1), Actor::embedder("ada"));
        assert_eq!(answer.edited_args.unwrap().as_str(), r#"{"a":2}"#);
    }
}
