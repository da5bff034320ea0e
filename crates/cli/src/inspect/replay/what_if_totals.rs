//! The counts of all calls with other policies.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::what_if_call::{OTHER_MESSAGES, ends, verdict_word};
use crate::failures::Failure;
use crate::terminal::{Screen, Tone};
use recount::replay::what_if::CallReport;
use recount_telling::count;

/// The number of calls, and of those that would change.
#[derive(Default)]
pub(super) struct Totals {
    calls: u64,
    changed: u64,
    unknown: u64,
    heard: u64,
    /// The calls that would change, by the recorded and the new verdict.
    verdicts: BTreeMap<(&'static str, &'static str), u64>,
    /// The calls that would change, by verdict and outcome, and by rule if these are equal.
    ends: BTreeMap<(String, String), u64>,
}

impl Totals {
    pub(super) fn count(&mut self, call: &CallReport) {
        self.calls += 1;
        self.heard += u64::from(call.heard.is_some());
        self.unknown += u64::from(call.unknown.is_some());
        if call.is_changed() {
            self.changed += 1;
            let pair = (
                verdict_word(call.recorded.verdict),
                verdict_word(call.under.verdict),
            );
            *self.verdicts.entry(pair).or_default() += 1;
            *self.ends.entry(ends(call)).or_default() += 1;
        }
    }

    pub(super) fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        let calls = count(self.calls, "call");
        if self.changed == 0 {
            let text = format!("No call would change: {calls}");
            screen.toned(Tone::Good, &text)?;
        } else {
            let unknown = match self.unknown {
                0 => String::new(),
                unknown => format!(", {unknown} with an unknown outcome"),
            };
            let text = format!("{} of {calls} would change{unknown}", self.changed);
            screen.toned(Tone::Heading, &text)?;
        }
        for ((recorded, under), calls) in &self.ends {
            screen.line(&format!("  {calls:>6}  {recorded} -> {under}"))?;
        }
        if self.heard > 0 {
            let calls = count(self.heard, "call");
            let heard = format!(
                "{OTHER_MESSAGES} {calls}: the model would have received other messages before;"
            );
            screen.toned(Tone::Quiet, &heard)?;
            screen.toned(Tone::Quiet, "  decided as if it had made the same calls")?;
        }
        Ok(())
    }

    pub(super) fn as_json(&self, strangers: &[&String]) -> Value {
        let verdicts = self.verdicts.iter().map(
            |((recorded, policy), calls)| json!({"recorded": recorded, "policy": policy, "calls": calls}),
        );
        json!({
            "totals": {
                "calls": self.calls,
                "changed": self.changed,
                "unknown": self.unknown,
                "heard": self.heard,
                "verdicts": verdicts.collect::<Vec<_>>(),
            },
            "unknown_tools": strangers,
        })
    }
}
