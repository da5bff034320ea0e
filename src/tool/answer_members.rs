//! What a person says to a confirmation request, as the members of a JSON object: read strictly, the same at every door.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::ToolConfirmation;
use crate::session::{Json, UnfitAnswer};

/// The members of an answer.
pub(crate) struct AnswerMembers(BTreeMap<String, Json>);

impl AnswerMembers {
    /// The members of an object.
    pub(crate) fn of(json: &Json) -> Result<AnswerMembers, UnfitAnswer> {
        let members = serde_json::from_str(json.as_str());
        members
            .map(AnswerMembers)
            .map_err(|_| malformed("it is not an object"))
    }

    /// What stands under this key, where nothing stands beside it.
    pub(crate) fn only(&self, key: &str) -> Option<&Json> {
        self.0.get(key).filter(|_| self.0.len() == 1)
    }

    /// Whether something stands under this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The answer: `confirmed` is there and a boolean, and what means nothing is kept. Edited arguments stand under one of
    /// these keys.
    pub(crate) fn confirmation(mut self, edited: &[&str]) -> Result<ToolConfirmation, UnfitAnswer> {
        let confirmed = self.0.remove("confirmed");
        let confirmed = confirmed.ok_or_else(|| malformed("it does not say \"confirmed\""))?;
        let mut confirmation = if boolean(&confirmed)? {
            ToolConfirmation::confirmed()
        } else {
            ToolConfirmation::default()
        };
        confirmation.hint = self.optional(&["hint"], "a text")?;
        confirmation.reason = self.optional(&["reason"], "a text")?;
        confirmation.payload = self.optional(&["payload"], "JSON")?;
        confirmation.args = self.optional(edited, "JSON")?;
        let hash = &["requestHash", "request_hash"];
        confirmation.request_hash = self.optional(hash, "a SHA-256 in hex digits")?;
        let extra = self.0.into_iter().map(|(key, it)| (key, it.to_value()));
        confirmation.extra = extra.collect();
        Ok(confirmation)
    }

    /// What stands under a key in one of its spellings, but not in two; `null` is nothing.
    fn optional<T: DeserializeOwned>(
        &mut self,
        spellings: &[&str],
        expected: &str,
    ) -> Result<Option<T>, UnfitAnswer> {
        let mut found = spellings
            .iter()
            .filter_map(|key| Some((key, self.0.remove(*key)?)));
        let Some((key, json)) = found.next() else {
            return Ok(None);
        };
        if let Some((other, _)) = found.next() {
            return Err(malformed(&format!("it has {key:?} and {other:?}")));
        }
        let read = serde_json::from_str(json.as_str());
        read.map_err(|_| malformed(&format!("{key:?} must be {expected}")))
    }
}

fn boolean(json: &Json) -> Result<bool, UnfitAnswer> {
    match json.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let found: String = other.chars().take(40).collect();
            let problem = format!("\"confirmed\" must be true or false, got {found}");
            Err(malformed(&problem))
        }
    }
}

/// It is no answer, and why.
pub(crate) fn malformed(problem: &str) -> UnfitAnswer {
    UnfitAnswer::Malformed {
        problem: problem.to_owned(),
    }
}
