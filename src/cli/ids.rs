//! From what a person typed to the one session or request that is meant.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::failure::{Exit, Failure};
use super::one_line::one_line;
use super::source::Source;
use crate::control::{self, Waiting};
use crate::ledger::Ledger;
use crate::session::{RequestId, SessionId};
use crate::tool::Ticket;

/// How short a prefix of an id may be.
const PREFIX_MIN: usize = 4;

/// How many sessions are read at a time.
const PAGE: usize = 1024;

/// The session that `text` names: by its id or a unique prefix of it.
pub(super) async fn session(ledger: &Ledger, text: &str) -> Result<SessionId, Failure> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.journal().sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        after = Some(*last);
        all.extend(page.into_iter().map(|(id, _)| id));
    }
    session_among(&all, text)
}

/// As [`session`], in a journal or at the service that has it open.
pub(super) async fn session_at(source: &mut Source, text: &str) -> Result<SessionId, Failure> {
    match source {
        Source::Journal(ledger) => session(ledger, text).await,
        Source::Service(_) => {
            let all = source.sessions().await?;
            let all: Vec<Uuid> = all.iter().map(|it| it.id.0).collect();
            session_among(&all, text)
        }
    }
}

fn session_among(all: &[Uuid], text: &str) -> Result<SessionId, Failure> {
    let typed = Typed::read(text, "session", "unknown-session")?;
    match typed.among(all)? {
        Some(id) => Ok(SessionId(id)),
        None => Err(typed.unknown(all, "`recount sessions PATH` lists them")),
    }
}

/// The confirmation request that `text` names, open or not: by its id or a unique prefix of it. A running service knows
/// those that are not open by their whole ids only.
pub(super) async fn request(source: &mut Source, text: &str) -> Result<RequestId, Failure> {
    let typed = Typed::read(text, "confirmation request", "unknown-request")?;
    let open = source.open_requests().await?;
    if let Some(id) = typed.among(&open)? {
        return Ok(RequestId(id));
    }
    let known: Vec<Uuid> = match source {
        Source::Journal(ledger) => {
            let known = ledger.requests_named(|id| typed.fits(id.0)).await?;
            known.into_iter().map(|it| it.id.0).collect()
        }
        Source::Service(_) => typed.whole().into_iter().collect(),
    };
    match typed.among(&known)? {
        Some(id) => Ok(RequestId(id)),
        None => Err(typed.unknown(
            &open,
            match source {
                Source::Journal(_) => "`recount pending PATH` lists what waits",
                Source::Service(_) => {
                    "`recount pending PATH` lists what waits; of what was decided before, a running service knows whole ids only"
                }
            },
        )),
    }
}

/// The paused call that `text` names: by its id or a unique prefix of it, or by its ticket.
pub(super) async fn paused_call(source: &mut Source, text: &str) -> Result<Ticket, Failure> {
    if text.trim_start().starts_with(['{', '[']) {
        return control::ticket(text).map_err(|error| {
            let what = format!("expected a ticket or the id of a call, found JSON: {error}");
            Failure::new("not-a-ticket", one_line(&what)).exit(Exit::Usage)
        });
    }
    let typed = Typed::read(text, "paused call", "unknown-call")?;
    let paused = source.pending().await?.into_iter();
    let paused: BTreeMap<Uuid, Ticket> = paused
        .filter_map(|it| match it {
            Waiting::Confirmation(_) => None,
            Waiting::Paused(it) => Some((it.id.0, Ticket::from(&it))),
        })
        .collect();
    let ids: Vec<Uuid> = paused.keys().copied().collect();
    match typed.among(&ids)?.and_then(|id| paused.get(&id)) {
        Some(ticket) => Ok(ticket.clone()),
        None => Err(typed.unknown(
            &ids,
            "`recount pending PATH` lists what waits; of a call that has its result, its ticket in place of the id tells whose that is",
        )),
    }
}

/// An id, or the beginning of one, as somebody typed it.
struct Typed<'a> {
    text: &'a str,
    /// Its digits, without hyphens.
    digits: String,
    what: &'static str,
    unknown_code: &'static str,
}

impl<'a> Typed<'a> {
    fn read(
        text: &'a str,
        what: &'static str,
        unknown_code: &'static str,
    ) -> Result<Typed<'a>, Failure> {
        let digits: String = text
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        if !hex || digits.len() < PREFIX_MIN || digits.len() > 32 {
            let shown = super::one_line::one_line(text);
            let what = format!(
                "expected the id of a {what} or its first {PREFIX_MIN} digits or more, found {shown:?}"
            );
            return Err(Failure::new("not-an-id", what).exit(Exit::Usage));
        }
        Ok(Typed {
            text,
            digits,
            what,
            unknown_code,
        })
    }

    fn fits(&self, id: Uuid) -> bool {
        digits_of(id).starts_with(&self.digits)
    }

    /// The whole id, if it is one.
    fn whole(&self) -> Option<Uuid> {
        Uuid::try_parse(&self.digits).ok()
    }

    /// The one that is meant, if there is any.
    fn among(&self, ids: &[Uuid]) -> Result<Option<Uuid>, Failure> {
        let fitting: Vec<Uuid> = ids.iter().copied().filter(|id| self.fits(*id)).collect();
        match fitting.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => {
                let shown = listed(several);
                let what = format!(
                    "expected one {}, {} begin with {}: {shown}",
                    self.what,
                    several.len(),
                    self.text
                );
                Err(Failure::new("ambiguous-id", what).advice("give more digits"))
            }
        }
    }

    fn unknown(&self, ids: &[Uuid], advice: &str) -> Failure {
        let mut near: Vec<(usize, Uuid)> = ids
            .iter()
            .map(|id| {
                let start: String = digits_of(*id).chars().take(self.digits.len()).collect();
                (strsim::damerau_levenshtein(&self.digits, &start), *id)
            })
            .filter(|(distance, _)| *distance <= (self.digits.len() / 3).max(1))
            .collect();
        near.sort_unstable();
        let near: Vec<Uuid> = near.into_iter().map(|(_, id)| id).collect();
        let what = format!("no {} has the id {}", self.what, self.text);
        let advice = if near.is_empty() {
            advice.to_owned()
        } else {
            format!("did you mean {}? {advice}", listed(&near))
        };
        Failure::new(self.unknown_code, what).advice(advice)
    }
}

fn digits_of(id: Uuid) -> String {
    id.simple().to_string()
}

/// The first few of several ids.
fn listed(ids: &[Uuid]) -> String {
    const SHOWN_MAX: usize = 3;
    let shown: Vec<String> = ids.iter().take(SHOWN_MAX).map(Uuid::to_string).collect();
    let more = if ids.len() > SHOWN_MAX { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
