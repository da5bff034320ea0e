//! The folds of the sessions whose records came last.

use recount_journal::causes;
use std::collections::BTreeMap;

use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId};

use crate::content::Content;
use crate::projection::Tracer;
use crate::reading::{read_to, tracer_of};
use crate::span::Span;

/// The maximum number of folds. The fold of another session is made again from its first record.
const FOLDS_MAX: usize = 1024;

/// The folds of the sessions whose records came last.
pub(super) struct Tracers {
    ledger: Ledger,
    content: Content,
    folds: BTreeMap<SessionId, Kept>,
    /// Counts the appends, to find the fold that was not used for longest.
    appends: u64,
}

struct Kept {
    used: u64,
    /// `None` for a session that cannot be read, such as a sealed one without its key.
    tracer: Option<Box<Tracer>>,
}

impl Tracers {
    pub(super) fn new(ledger: Ledger, content: Content) -> Tracers {
        Tracers {
            ledger,
            content,
            folds: BTreeMap::new(),
            appends: 0,
        }
    }

    /// Applies an append of a session. Adds the spans that end with it.
    ///
    /// A session that cannot be read has no spans, which is no error.
    pub(super) async fn apply(
        &mut self,
        session: SessionId,
        (first, last): (Seq, Seq),
        spans: &mut Vec<Span>,
    ) -> Result<(), Error> {
        self.appends += 1;
        let tracer = match self.folds.remove(&session) {
            Some(Kept { tracer: None, .. }) => None,
            Some(Kept {
                tracer: Some(it), ..
            }) if it.session().head.next() == first => Some(it),
            Some(_) | None => self.fold_before(session, first).await?,
        };
        let mut ended = Vec::new();
        let tracer = match tracer {
            Some(mut tracer) => {
                let read = read_to(&self.ledger, &mut tracer, last, &mut ended).await;
                self.readable(session, read.map(|()| tracer))?
            }
            None => None,
        };
        // A closed session gets no more records but late findings.
        let is_over = tracer.as_ref().is_some_and(|it| it.session().closed);
        spans.append(&mut ended);
        if !is_over {
            let used = self.appends;
            self.folds.insert(session, Kept { used, tracer });
            self.forget();
        }
        Ok(())
    }

    /// The fold of the records before an append.
    async fn fold_before(
        &self,
        session: SessionId,
        first: Seq,
    ) -> Result<Option<Box<Tracer>>, Error> {
        let made = tracer_of(&self.ledger, session, self.content).await;
        let Some(mut tracer) = self.readable(session, made.map(Box::new))? else {
            return Ok(None);
        };
        if first <= Seq(1) {
            return Ok(Some(tracer));
        }
        let before = Seq(first.0 - 1);
        let read = read_to(&self.ledger, &mut tracer, before, &mut Vec::new()).await;
        self.readable(session, read.map(|()| tracer))
    }

    /// Only an error of the journal itself ends the export.
    fn readable<T>(&self, session: SessionId, read: Result<T, Error>) -> Result<Option<T>, Error> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(error @ Error::Journal(_)) => Err(error),
            Err(error) => {
                tracing::warn!(
                    %session, error = %causes(&error),
                    "the session cannot be read and is not traced"
                );
                Ok(None)
            }
        }
    }

    /// Drops the fold that was not used for longest, if there are too many.
    fn forget(&mut self) {
        if self.folds.len() <= FOLDS_MAX {
            return;
        }
        let oldest = self.folds.iter().min_by_key(|(_, kept)| kept.used);
        if let Some(session) = oldest.map(|(session, _)| *session) {
            self.folds.remove(&session);
        }
    }
}
