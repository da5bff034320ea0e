//! Records of a newer version: the option to skip them, and the warning about skipped ones.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use super::keys::Keys;
use super::{Location, opening};
use crate::failures::Failure;
use crate::terminal::Screen;
use recount::ledger::{self, Ledger, PassedOver, UnknownRecord};
use recount_telling::{count, one_line};

/// The option for records of a kind that this version does not know.
#[derive(Args)]
pub(crate) struct UnknownKinds {
    /// Refuses to read a session with records of a newer version, or skips these records with a
    /// warning.
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
    /// Opens the journal or the export at a location to read it, with the keys if they are given.
    pub(crate) fn looking(
        &self,
        at: &Location,
        keys: &Keys,
        screen: &Screen,
    ) -> Result<Ledger, Failure> {
        Ok(self.of(opening::looking(at, keys, screen)?, screen))
    }

    /// The ledger, which skips such records if the option says so, and notes them at the screen.
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

/// The warning about skipped records, with one line for each kind; empty without any.
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
        format!("warning[unknown-kind]: skipped {records} of kind {kind}{first}\n")
    };
    kinds.iter().map(line).collect()
}
