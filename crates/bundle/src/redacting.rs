//! Contents without what a redaction takes out.

use std::collections::BTreeSet;

use recount::fixture::RecordRedaction;
use recount::ledger::{Error, Ledger};
use recount::session::{Seq, SessionId};
use uuid::Uuid;

use crate::acts::Did;
use crate::contents::{Contents, Subject};

/// The number of records that are read at a time.
const PAGE: usize = 1_000;

/// The words in place of a text that was taken out.
const REDACTED: &str = "[redacted]";

/// The words in the list of fields if no pointer was given.
const SECRET_ARGUMENTS: &str = "secret arguments";

impl Contents {
    /// Takes out what a redaction names. Records with such a field are withheld, with what remains
    /// of their bodies. The page shows no content of a call that such a record is about.
    ///
    /// `redaction` has learned the sessions of the ledger.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub async fn redact(
        &mut self,
        ledger: &Ledger,
        redaction: &mut RecordRedaction,
    ) -> Result<(), Error> {
        self.request.redacted = redaction.met().keys().cloned().collect();
        let sessions: Vec<SessionId> = self.sessions.iter().map(|it| it.id).collect();
        for id in std::iter::once(SessionId(Uuid::nil())).chain(sessions) {
            let mut next = Seq(1);
            loop {
                let page = ledger.journal().read(id.0, next.0, PAGE).await?;
                if page.is_empty() {
                    break;
                }
                for (line, seq) in page.iter().zip((next.0..).map(Seq)) {
                    if let Some(body) = redaction.shown(line) {
                        self.redacted.insert((id, seq), body);
                    }
                }
                next = Seq(next.0 + page.len() as u64);
            }
        }
        if self.request.redacted.is_empty() && !self.redacted.is_empty() {
            // The file named no field, but a tool declares some of its arguments secret.
            self.request.redacted.push(SECRET_ARGUMENTS.to_owned());
        }
        self.withhold_calls();
        self.withhold_members();
        self.withhold_reasons();
        for member in &mut self.population {
            member.tool = redaction.text(&member.tool);
        }
        self.redaction = Some(redaction.clone());
        Ok(())
    }

    /// Notes the calls about which a record is redacted, and counts the records that are shown.
    fn withhold_calls(&mut self) {
        let mut less = 0;
        for (id, seq) in self.redacted.keys() {
            let place = self.sessions.binary_search_by_key(id, |it| it.id);
            let session = place.ok().and_then(|at| self.sessions.get(at));
            less += u64::from(session.is_none_or(|it| self.shows(it, *seq)));
        }
        self.extent.disclosed -= less;
        for session in &mut self.sessions {
            let subjects = session.subjects.iter().zip((1..).map(Seq));
            let redacted =
                subjects.filter(|(_, seq)| self.redacted.contains_key(&(session.id, *seq)));
            session.redacted = redacted
                .filter_map(|(subject, _)| match subject {
                    Subject::Call(call) => Some(*call),
                    Subject::Plain | Subject::Other => None,
                })
                .collect();
        }
    }

    /// Takes the tools of redacted calls out of the population of a sample.
    fn withhold_members(&mut self) {
        let calls = self.sessions.iter().flat_map(|session| {
            let calls = session.redacted.iter();
            calls.map(|call| (session.id, *call))
        });
        let calls: BTreeSet<(SessionId, Seq)> = calls.collect();
        for member in &mut self.population {
            if calls.contains(&(member.session, member.call)) {
                REDACTED.clone_into(&mut member.tool);
            }
        }
    }

    /// Takes the texts of people out whose record is redacted.
    fn withhold_reasons(&mut self) {
        let redacted = &self.redacted;
        let is_redacted = |id: SessionId, seq: Seq| redacted.contains_key(&(id, seq));
        let own = |seq: Seq| is_redacted(SessionId(Uuid::nil()), seq);
        for act in self.sessions.iter_mut().flat_map(|it| &mut it.acts) {
            let reason = match &mut act.did {
                Did::Paused(it) => &mut it.reason,
                Did::Unpaused(it) => &mut it.reason,
                Did::Revoked(it) => &mut it.reason,
            };
            if let Some(reason) = reason
                .as_mut()
                .filter(|_| is_redacted(act.session, act.seq))
            {
                REDACTED.clone_into(reason);
            }
        }
        for note in self.own.notes.iter_mut().filter(|it| own(it.seq)) {
            REDACTED.clone_into(&mut note.what);
        }
        for erasure in self
            .own
            .erasures
            .values_mut()
            .filter(|it| own(it.requested))
        {
            REDACTED.clone_into(&mut erasure.reason);
        }
        for hold in &mut self.own.holds {
            if own(hold.id) {
                REDACTED.clone_into(&mut hold.reason);
            }
            if let Some(end) = hold.released.as_mut().filter(|it| own(it.record)) {
                REDACTED.clone_into(&mut end.reason);
            }
        }
    }
}
