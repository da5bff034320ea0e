//! Resolution of the ids on a command line to a session, a request or a call.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::source::Source;
use crate::failures::{Exit, Failure};
use recount::control::{self, NamedId, Waiting};
use recount::ledger::Ledger;
use recount::session::{CallId, RequestId, Seq, SessionId};
use recount::tool::Ticket;
use recount_telling::one_line;

/// The minimum number of digits of a prefix.
const PREFIX_MIN: usize = 4;

/// The session that `text` names: by its id or a unique prefix of it.
pub(crate) async fn session(ledger: &Ledger, text: &str) -> Result<SessionId, Failure> {
    let heads = ledger.session_heads().await?;
    let all: Vec<Uuid> = heads.iter().map(|(session, _)| session.0).collect();
    session_among(&all, text)
}

/// As [`session`], in a journal or through the service that has it open.
pub(crate) async fn session_at(source: &mut Source, text: &str) -> Result<SessionId, Failure> {
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
        None => Err(typed.unknown(all, "`recount sessions PATH` lists the sessions")),
    }
}

/// The confirmation request that `text` names, open or not: by its id or a unique prefix of it.
///
/// A prefix that also fits a decided request is ambiguous, so that a repeated command does not
/// answer another request.
pub(crate) async fn request(source: &mut Source, text: &str) -> Result<RequestId, Failure> {
    let typed = Typed::read(text, "confirmation request", "unknown-request")?;
    let open = source.open_requests().await?;
    if let Some(id) = typed.whole().filter(|id| open.contains(id)) {
        return Ok(RequestId(id));
    }
    let named = source.named(&typed.digits).await?.into_iter();
    let named = named.filter_map(|it| match it {
        NamedId::Request(id) => Some(id.0),
        NamedId::Call(_) => None,
    });
    match typed.among(&with(&open, named))? {
        Some(id) => Ok(RequestId(id)),
        None => Err(typed.unknown(&open, "`recount pending PATH` lists the open requests")),
    }
}

/// The ticket in `text`, if that is JSON.
fn ticket(text: &str) -> Option<Result<Ticket, Failure>> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    is_json.then(|| {
        control::ticket(text).map_err(|error| {
            let what = format!("expected a ticket or the id of a call, found JSON: {error}");
            Failure::new("not-a-ticket", one_line(&what)).exit(Exit::Usage)
        })
    })
}

/// The call that `text` names, open or not: by its id or a unique prefix of it, by its open
/// request, or by its ticket.
pub(crate) async fn call(source: &mut Source, text: &str) -> Result<(SessionId, Seq), Failure> {
    if let Some(ticket) = ticket(text) {
        return ticket.map(|it| (it.session, it.call));
    }
    let typed = Typed::read(text, "call", "unknown-call")?;
    let mut open = BTreeMap::new();
    for waiting in source.pending().await? {
        match waiting {
            Waiting::Confirmation(it) => {
                open.insert(it.id.0, (it.session, it.call));
                open.insert(it.session.call_id(it.call).0, (it.session, it.call));
            }
            Waiting::Paused(it) => {
                open.insert(it.id.0, (it.session, it.call));
            }
        }
    }
    let ids: Vec<Uuid> = open.keys().copied().collect();
    let named = source.named(&typed.digits).await?.into_iter();
    let named = named.map(|it| match it {
        NamedId::Request(id) => id.0,
        NamedId::Call(id) => id.0,
    });
    let found = match typed.among(&with(&ids, named))? {
        Some(id) => match open.get(&id) {
            Some(place) => Some(*place),
            None => source.call_at(CallId(id)).await?,
        },
        None => None,
    };
    found.ok_or_else(|| {
        typed.unknown(
            &ids,
            "`recount pending PATH` lists the waiting calls, \
             `recount audit decisions PATH` lists every call",
        )
    })
}

/// The paused call that `text` names: by its id or a unique prefix of it, or by its ticket.
pub(crate) async fn paused_call(source: &mut Source, text: &str) -> Result<Ticket, Failure> {
    if let Some(ticket) = ticket(text) {
        return ticket;
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
    let known = match typed.whole() {
        Some(_) => ids.clone(),
        None => {
            let named = source.named(&typed.digits).await?.into_iter();
            let named = named.filter_map(|it| match it {
                NamedId::Request(_) => None,
                NamedId::Call(id) => Some(id.0),
            });
            with(&ids, named)
        }
    };
    match typed.among(&known)?.and_then(|id| paused.get(&id)) {
        Some(ticket) => Ok(ticket.clone()),
        None => Err(typed.unknown(
            &ids,
            "`recount pending PATH` lists the waiting calls; for a call that has its result, \
             give its ticket to learn from whom",
        )),
    }
}

/// Open and recorded ids, each once.
fn with(open: &[Uuid], named: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
    let all: BTreeSet<Uuid> = open.iter().copied().chain(named).collect();
    all.into_iter().collect()
}

/// An id or a prefix of one, as the user typed it.
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
            let shown = one_line(text);
            let what = format!(
                "expected the id of a {what} or its first {PREFIX_MIN} digits or more, \
                 found {shown:?}"
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

    /// The id, if it is complete.
    fn whole(&self) -> Option<Uuid> {
        Uuid::try_parse(&self.digits).ok()
    }

    /// The id that fits; an error if several do.
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

/// The first ids of several.
fn listed(ids: &[Uuid]) -> String {
    const SHOWN_MAX: usize = 3;
    let shown: Vec<String> = ids.iter().take(SHOWN_MAX).map(Uuid::to_string).collect();
    let more = if ids.len() > SHOWN_MAX { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::Arc;

    use recount_journal::{
        Actor, Append, Draft, Hash, Journal, Line, MemoryJournal, OpenItem, WorkChange, block_on,
    };

    use super::*;
    use recount::session::OpenKind;

    /// A session in which the records 3 and 5 of a kind have ids with the same first four digits.
    /// The record 5 is open.
    fn two_alike(kind: &str, id: impl Fn(SessionId, Seq) -> Uuid) -> (Source, Uuid, Uuid) {
        let first_four = |id: Uuid| digits_of(id)[..PREFIX_MIN].to_owned();
        let mut sessions = (1..).map(|it| SessionId(Uuid::from_u128(it)));
        let alike = |it: &SessionId| first_four(id(*it, Seq(3))) == first_four(id(*it, Seq(5)));
        let session = sessions.find(alike).unwrap();
        let mut lines: Vec<Line> = Vec::new();
        for seq in 1..=5 {
            let draft = Draft {
                session: session.0,
                seq,
                at_us: 7,
                kind: if seq % 2 == 1 && seq > 1 {
                    kind
                } else {
                    "other"
                },
                cause: None,
                actor: Actor::new("engine"),
                body: "{}",
                prev: lines.last().map_or(Hash::ZERO, Line::leaf),
            };
            lines.push(draft.line());
        }
        let (decided, open) = (id(session, Seq(3)), id(session, Seq(5)));
        let mut append = Append::new(session.0, 0, lines);
        append.open_work = vec![WorkChange::Put(OpenItem {
            session: session.0,
            item: 4,
            kind: OpenKind::Confirmation.as_str().to_owned(),
            since_us: 7,
            deadline_us: None,
            request: Some(open),
            flags: 0,
        })];
        let journal = MemoryJournal::new();
        block_on(journal.append(append)).unwrap();
        (
            Source::Journal(Ledger::new(Arc::new(journal))),
            decided,
            open,
        )
    }

    #[test]
    fn prefix_of_a_decided_request_names_no_open_one() {
        let (mut source, decided, open) = two_alike("confirmation_requested", |session, seq| {
            session.request_id(seq).0
        });
        let short = &digits_of(open)[..PREFIX_MIN];
        let refused = block_on(request(&mut source, short));
        assert_eq!(refused.map_err(|it| it.code), Err("ambiguous-id".into()));
        for whole in [decided, open] {
            let found = block_on(request(&mut source, &whole.to_string()));
            assert_eq!(found.ok(), Some(RequestId(whole)));
        }
    }
}
