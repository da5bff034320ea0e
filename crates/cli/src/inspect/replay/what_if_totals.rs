//! The calls of all sessions under other policies, counted.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::what_if_call::{HEARD, ends, verdict_word};
use crate::failures::Failure;
use crate::terminal::{Screen, Tone};
use crate::text::count;
use recount::replay::what_if::CallReport;

/// How many calls there are, and what would have become of them.
#[derive(Default)]
pub(super) struct Totals {
    calls: u64,
    changed: u64,
    unknown: u64,
    heard: u64,
    /// Of the calls that would have gone otherwise, by the verdict on record and the other one.
    verdicts: BTreeMap<(&'static str, &'static str), u64>,
    /// The same ones, by verdict and end, and by rule where these are alike.
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
            let text = format!("Nothing would have gone otherwise: {calls}");
            screen.toned(Tone::Good, &text)?;
        } else {
            let unknown = match self.unknown {
                0 => String::new(),
                unknown => format!(", of {unknown} nobody can tell how"),
            };
            let text = format!(
                "{} of {calls} would have gone otherwise{unknown}",
                self.changed
            );
            screen.toned(Tone::Heading, &text)?;
        }
        for ((recorded, under), calls) in &self.ends {
            screen.line(&format!("  {calls:>6}  {recorded} -> {under}"))?;
        }
        if self.heard > 0 {
            let calls = count(self.heard, "call");
            let were = if self.heard == 1 { "was" } else { "were" };
            let heard = format!(
                "{HEARD} {calls} {were} made after the model had heard what it would not have heard;"
            );
            screen.toned(Tone::Quiet, &heard)?;
            screen.toned(Tone::Quiet, "  decided as if it had made them all the same")?;
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
