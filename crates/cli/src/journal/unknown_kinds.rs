//! Records that a newer program wrote: whether a command passes over them, and which it passed
//! over.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, ValueEnum};

use super::keys::Keys;
use super::opening;
use crate::failures::Failure;
use crate::terminal::Screen;
use crate::text::{count, one_line};
use recount::ledger::{self, Ledger, PassedOver, UnknownRecord};

/// What becomes of records that this program does not know.
#[derive(Args)]
pub(crate) struct UnknownKinds {
    /// What becomes of records whose kind a newer recount brought: refuse to read the session, or
    /// skip them and say which.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    unknown_kinds: Choice,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Choice {
    #[default]
    Refuse,
    Skip,
}

impl UnknownKinds {
    /// The journal at `path` to look at, with the keys if they are given.
    pub(crate) fn looking(
        &self,
        path: &Path,
        keys: &Keys,
        screen: &Screen,
    ) -> Result<Ledger, Failure> {
        Ok(self.of(keys.of(opening::looking(path, screen)?)?, screen))
    }

    /// The ledger, which passes over such records if that was asked for, and has the screen told.
    pub(crate) fn of(&self, ledger: Ledger, screen: &Screen) -> Ledger {
        screen.can_skip.set(true);
        match self.unknown_kinds {
            Choice::Refuse => ledger,
            Choice::Skip => ledger
                .unknown_kinds(ledger::UnknownKinds::Skip)
                .noting(&screen.passed_over),
        }
    }
}

/// What was passed over, a line a kind, as it stands on standard error; empty where nothing was.
pub(crate) fn warning(passed_over: &PassedOver) -> String {
    let mut kinds: BTreeMap<String, Vec<UnknownRecord>> = BTreeMap::new();
    for it in passed_over.records() {
        kinds.entry(it.kind.clone()).or_default().push(it);
    }
    let line = |(kind, records): (&String, &Vec<UnknownRecord>)| {
        let first = records.first().map_or(String::new(), |it| {
            format!(", the first at seq {} of session {}", it.seq, it.session)
        });
        let records = count(records.len(), "record");
        let kind = one_line(kind).into_owned();
        format!("warning[unknown-kind]: passed over {records} of kind {kind}{first}\n")
    };
    kinds.iter().map(line).collect()
}
