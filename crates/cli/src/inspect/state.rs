//! `recount state`: a session as of any of its records, and the changes between two of them.

use std::borrow::Cow;

use clap::Args;
use serde::Serialize;

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, UnknownKinds, ids};
use crate::terminal::{Screen, Tone};
use recount::ledger::{Error, Ledger};
use recount::replay::{NamesNothing, NoState, changes, state_at, state_json, value_at};
use recount::session::{Json, Seq, Session, SessionId};
use recount_telling::{age, one_line, outline};
use recount_text::json::unescaped;

/// Shows a session as of one of its records: calls, requests, values, and pending effects.
///
/// The state follows from the records up to that one; nothing runs. Any two records can be
/// compared, forward and backward.
#[derive(Args)]
pub(crate) struct State {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The session: its id, or a unique beginning of it.
    session: String,
    /// The seq of the record, from 0, which is before the first one; the last one by default.
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
    /// Shows the changes from there to this record, which may be an earlier one.
    #[arg(long, value_name = "SEQ")]
    diff: Option<u64>,
    /// Shows only the part at this JSON Pointer, such as /calls/5/phase; an open call is named by
    /// its seq or by the model's id for it.
    #[arg(long, value_name = "POINTER")]
    pointer: Option<String>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// The state, or the part of it that a pointer names.
#[derive(Serialize)]
struct StateJson<'a> {
    session: SessionId,
    seq: Seq,
    kind: Option<&'a str>,
    records: u64,
    pointer: &'a str,
    state: &'a Json,
}

/// The changes from one record to another.
#[derive(Serialize)]
struct ChangesJson<'a> {
    session: SessionId,
    from: Seq,
    to: Seq,
    records: u64,
    pointer: &'a str,
    changes: Vec<ChangeJson<'a>>,
}

#[derive(Serialize)]
struct ChangeJson<'a> {
    pointer: &'a str,
    before: Option<&'a Json>,
    after: Option<&'a Json>,
}

impl State {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let ledger = self.unknown.looking(&self.path, &self.keys, screen)?;
        let session = ids::session(&ledger, &self.session).await?;
        let records = match ledger.journal().head(session.0).await? {
            Some(head) => head.seq,
            None => return Err(Error::UnknownSession { session }.into()),
        };
        let state = state_at(&ledger, session, self.at.map(Seq)).await?;
        match self.diff {
            None => self.show(&ledger, &state, records, screen).await?,
            Some(other) => {
                let other = state_at(&ledger, session, Some(Seq(other))).await?;
                self.compare(&state, &other, records, screen)?;
            }
        }
        Ok(Exit::Ok)
    }

    async fn show(
        &self,
        ledger: &Ledger,
        state: &Session,
        records: u64,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let pointer = self.pointer_in(state);
        let (id, seq) = (state.id, state.head);
        let shown = value_at(&state_json(state), &pointer)
            .map_err(|it| names_nothing(&it, &pointer, state))?;
        let fact = ledger.fact(id, seq.max(Seq(1))).await?;
        let fact = fact.filter(|fact| fact.seq == seq);
        let kind = fact.as_ref().map(|fact| fact.event.kind());
        if self.json {
            return screen.json(&StateJson {
                session: id,
                seq,
                kind,
                records,
                pointer: &pointer,
                state: &shown,
            });
        }
        let heading = match kind {
            Some(kind) => format!("Session {id} after seq {seq} of {records}, {kind}"),
            None => format!("Session {id} before the first of its {records} records"),
        };
        screen.toned(Tone::Heading, &heading)?;
        if fact.is_some() {
            screen.toned(Tone::Quiet, &age::moment(state.at))?;
        }
        if !pointer.is_empty() {
            screen.toned(Tone::Quiet, &one_line(&pointer))?;
        }
        for line in outline(shown.raw(), 0, &["session", "head", "at_us"]) {
            screen.line(&line)?;
        }
        Ok(())
    }

    fn compare(
        &self,
        from: &Session,
        to: &Session,
        records: u64,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let pointer = match self.pointer_in(from) {
            // A call that is open only at the other record is named by its id there.
            pointer if Some(&*pointer) == self.pointer.as_deref() => self.pointer_in(to),
            pointer => pointer,
        };
        let (before, after) = (state_json(from), state_json(to));
        if let (Err(nothing), Err(_)) = (value_at(&before, &pointer), value_at(&after, &pointer)) {
            return Err(names_nothing(&nothing, &pointer, from));
        }
        let mut changed = changes(&before, &after);
        let within = format!("{pointer}/");
        // The time and the last record always change, so they are no news.
        changed.retain(|it| it.pointer != "/head" && it.pointer != "/at_us");
        changed.retain(|it| {
            let holds = within.starts_with(&format!("{}/", it.pointer));
            it.pointer.starts_with(&within) || holds
        });
        if self.json {
            return screen.json(&ChangesJson {
                session: from.id,
                from: from.head,
                to: to.head,
                records,
                pointer: &pointer,
                changes: changed
                    .iter()
                    .map(|it| ChangeJson {
                        pointer: &it.pointer,
                        before: it.before.as_ref(),
                        after: it.after.as_ref(),
                    })
                    .collect(),
            });
        }
        let heading = format!(
            "Session {} from seq {} to seq {} of {records}",
            from.id, from.head, to.head
        );
        screen.toned(Tone::Heading, &heading)?;
        if changed.is_empty() {
            screen.line("Nothing changed.")?;
        }
        for it in &changed {
            screen.line(&one_line(&it.pointer))?;
            if let Some(before) = &it.before {
                screen.toned(Tone::Bad, &format!("  - {}", one_line(before.as_str())))?;
            }
            if let Some(after) = &it.after {
                screen.toned(Tone::Good, &format!("  + {}", one_line(after.as_str())))?;
            }
        }
        Ok(())
    }

    /// The given pointer. A call that it names by its wire id is replaced by the call's seq.
    fn pointer_in(&self, state: &Session) -> Cow<'_, str> {
        let given = self.pointer.as_deref().unwrap_or_default();
        let by_seq = || {
            let rest = given.strip_prefix("/calls/")?;
            let (id, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let id = unescaped(id);
            let mut named = state.calls.iter().filter(|(seq, call)| {
                seq.to_string() == id || call.wire_id.as_deref() == Some(id.as_str())
            });
            match (named.next(), named.next()) {
                (Some((seq, _)), None) => Some(format!("/calls/{seq}{rest}")),
                (Some(_), Some(_)) | (None, _) => None,
            }
        };
        by_seq().map_or(Cow::Borrowed(given), Cow::Owned)
    }
}

fn names_nothing(why: &NamesNothing, pointer: &str, state: &Session) -> Failure {
    let pointer = one_line(pointer);
    let (what, exit, advice) = match why {
        NamesNothing::NoPointer => (
            format!("expected a JSON Pointer such as /calls/5, found {pointer:?}"),
            Exit::Usage,
            "a JSON Pointer is empty, or begins with /".to_owned(),
        ),
        NamesNothing::Beyond {
            held,
            missing,
            there,
        } => {
            let held = if held.is_empty() { "the state" } else { held };
            let what = format!(
                "nothing at {pointer} after seq {}: {} has no {:?}",
                state.head,
                one_line(held),
                one_line(missing)
            );
            (what, Exit::Failed, there_is(held, missing, there, state))
        }
    };
    Failure::new("names-nothing", what)
        .exit(exit)
        .advice(advice)
}

/// The advice with the members that are there, or with the place of a call that has ended.
fn there_is(held: &str, missing: &str, there: &[String], state: &Session) -> String {
    const SHOWN_MAX: usize = 24;
    let call = missing.parse().map(Seq);
    if held == "/calls"
        && let Ok(call) = call
        && state.settled.contains_key(&call)
    {
        return format!("call {call} has ended: /settled/{call}");
    }
    if there.is_empty() {
        return "there is nothing below it".to_owned();
    }
    let more = if there.len() > SHOWN_MAX { ", …" } else { "" };
    let shown: Vec<_> = there
        .iter()
        .take(SHOWN_MAX)
        .map(|it| one_line(it))
        .collect();
    format!("there is {}{more}", shown.join(", "))
}

impl From<NoState> for Failure {
    fn from(error: NoState) -> Failure {
        match error {
            NoState::Ledger(error) => error.into(),
            NoState::BeyondTheEnd { last, .. } => Failure::new("no-such-record", error.to_string())
                .exit(Exit::Usage)
                .advice(format!(
                    "give a seq from 0, which is before the first record, to {last}"
                )),
            _ => Failure::new("no-such-record", error.to_string()),
        }
    }
}
