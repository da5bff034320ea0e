//! The sessions of an export whose open work is not known.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::failures::{Failure, SEALED_ADVICE};
use recount::ledger::Error;
use recount::session::SessionId;
use recount_telling::{count, shown};

/// The failure of the commands that show open work: it follows from the records, and those of some
/// sessions could not be folded.
#[derive(Default)]
pub(crate) struct UnknownWork(RefCell<Option<Failure>>);

impl UnknownWork {
    /// Notes the sessions of an export.
    pub(crate) fn note(&self, path: &Path, sessions: BTreeMap<SessionId, Error>) {
        let all = sessions.len();
        // A reason other than a missing key is the more surprising one.
        let is_sealed = |it: &(SessionId, Error)| matches!(it.1, Error::Sealed { .. });
        let (sealed, mut others): (Vec<_>, Vec<_>) = sessions.into_iter().partition(is_sealed);
        let Some((_, why)) = others.drain(..).chain(sealed).next() else {
            return;
        };
        let failure = Failure::from(why);
        let what = format!(
            "the open work of {} in {} is not known: {}",
            count(all, "session"),
            shown(path),
            failure.what
        );
        let advice = failure.advice.clone();
        let advice = advice.unwrap_or_else(|| SEALED_ADVICE.to_owned());
        *self.0.borrow_mut() = Some(Failure { what, ..failure }.advice(advice));
    }

    /// The failure, if there are such sessions.
    pub(crate) fn known(&self) -> Result<(), Failure> {
        self.0.borrow_mut().take().map_or(Ok(()), Err)
    }
}
