//! Listings of the confirmation requests that wait for an approver.
//!
//! The index of open work holds no content, because it is stored in clear. So each request costs
//! three records of its session: the first, the call, and the request. The records of many requests
//! are read together.

use std::collections::BTreeMap;
use std::slice;

use recount_journal::{Error as JournalError, Hash, Line, OpenItem, Span};
use serde::{Deserialize, Serialize};

use super::appending::MODEL_LOST_INTEREST;
use super::approvals::{GivenApproval, missing};
use super::{Error, Ledger, ParentCall};
use crate::session::{
    About, Event, Fact, Json, Needs, ObjectHash, Observation, OnExpiry, OpenKind, RequestId, Seq,
    SessionId, Timestamp,
};

/// The usual maximum distance of a request from its call, in records. Also the number of records
/// read at a time after a call.
const NEARBY: u64 = 16;

/// The distance up to which the call, the request and the records between them are read together.
const TOGETHER: u64 = 4;

/// The number of requests whose records are read together.
const AT_ONCE: usize = 64;

/// The author of the text that the approver reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintBy {
    /// The tool's declaration.
    Declaration,
    /// The tool itself, while it ran.
    Tool,
}

/// A confirmation request that waits for an answer.
///
/// In JSON, its id has the key `request`, and its seq the key `seq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingConfirmation {
    /// The id, for the answer.
    #[serde(rename = "request")]
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves the session.
    pub agent: String,
    /// The id that the embedding program chose for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The person or account for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The seq of the request's record.
    #[serde(rename = "seq")]
    pub request: Seq,
    /// The hash of the request's record. An answer may name it, so that it counts for this request
    /// only.
    pub request_hash: ObjectHash,
    /// The seq of the call's record.
    pub call: Seq,
    /// The hash of the call's record.
    pub call_hash: ObjectHash,
    /// The agent's call during which this call was made. `None`, and omitted, if the conversation's
    /// model made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<ParentCall>>,
    /// The tool.
    pub tool: String,
    /// The arguments that an answer binds, exactly as recorded: the model's or the approver's.
    ///
    /// At the pointers in [`sealed_args`](Self::sealed_args), the value is `{"$sealed":"v1.…"}`,
    /// which is equal for equal secrets.
    pub args: Json,
    /// The JSON Pointers of the secret arguments, which are sealed.
    pub sealed_args: Vec<String>,
    /// True if the session is sealed and its key is not available, or if this program cannot read
    /// the request. Agent, ids, tool and hint are empty then, and `args` is the stored body of the
    /// call.
    pub sealed: bool,
    /// The text for the approver.
    pub hint: Option<String>,
    /// The author of the hint.
    pub hint_by: HintBy,
    /// The subject of the request.
    ///
    /// The request is for the first run or for another run after an unknown outcome, or it is a
    /// question of the tool itself.
    pub about: About,
    /// The JSON Schema that the payload of a yes must fit.
    pub payload_schema: Option<Json>,
    /// The hash of the tool's contract. `None` for a sealed session whose key is not available.
    pub contract: Option<ObjectHash>,
    /// The hash of the tool's whole declaration. `None` for a sealed session whose key is not
    /// available.
    pub declaration: Option<ObjectHash>,
    /// The time of the request.
    #[serde(rename = "requested_at_us")]
    pub requested_at: Timestamp,
    /// The time at which the request expires.
    #[serde(rename = "expires_at_us")]
    pub expires_at: Option<Timestamp>,
    /// The effect of an expiry. Omitted if it counts as a no.
    #[serde(default, skip_serializing_if = "OnExpiry::is_deny")]
    pub on_expiry: OnExpiry,
    /// True if the model has cancelled the call since.
    pub model_lost_interest: bool,
    /// True if an approval may also allow later calls of the tool in the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_allow_for_session: bool,
    /// The terms that the answers must meet. `None`, and omitted: any one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Box<Needs>>,
    /// The approvals so far, if the request needs several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<GivenApproval>,
}

impl PendingConfirmation {
    /// The number of approvals that are still needed.
    #[must_use]
    pub fn missing(&self) -> u32 {
        missing(self.needs.as_deref(), &self.approvals)
    }
}

impl Ledger {
    /// Returns all confirmation requests that wait for an answer, oldest session first.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn pending(&self) -> Result<Vec<PendingConfirmation>, Error> {
        self.pending_of(&self.open_requests().await?).await
    }

    /// Returns the requests of one session that wait for an answer, oldest first. The cost depends
    /// only on the open work of that session.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn pending_in(&self, session: SessionId) -> Result<Vec<PendingConfirmation>, Error> {
        let mut requests = self.journal().open_work_of(session.0).await?;
        requests.retain(|it| it.kind == OpenKind::Confirmation.as_str());
        self.pending_of(&requests).await
    }

    /// Returns the open items that wait for an answer.
    pub(crate) async fn open_requests(&self) -> Result<Vec<OpenItem>, Error> {
        self.open_items_of(&[OpenKind::Confirmation]).await
    }

    /// Returns the confirmation requests of these open items, which must be confirmations.
    ///
    /// With [`open_work`](recount_journal::Journal::open_work), a caller can list the requests of a
    /// large journal in pages.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn pending_of(&self, items: &[OpenItem]) -> Result<Vec<PendingConfirmation>, Error> {
        let mut pending = Vec::with_capacity(items.len());
        for items in items.chunks(AT_ONCE) {
            match self.asked(items).await {
                Err(error) if error.is_of_one_session() => {
                    for item in items {
                        pending.extend(self.pending_alone(item).await?);
                    }
                }
                asked => {
                    for asked in asked? {
                        pending.extend(self.pending_or_unread(&asked).await?);
                    }
                }
            }
        }
        Ok(pending)
    }

    /// Returns the request of an item, whose records may be damaged.
    async fn pending_alone(&self, item: &OpenItem) -> Result<Option<PendingConfirmation>, Error> {
        match self.asked(slice::from_ref(item)).await {
            Err(error) if error.is_of_one_session() => {
                let question = self.question_of(item).await?;
                Ok(question.map(|question| unread(item, question, None)))
            }
            asked => match asked?.pop() {
                Some(asked) => self.pending_or_unread(&asked).await,
                None => Ok(None),
            },
        }
    }

    /// Returns a request, without what cannot be read of it.
    async fn pending_or_unread(
        &self,
        asked: &Asked<'_>,
    ) -> Result<Option<PendingConfirmation>, Error> {
        match self.pending_confirmation(asked).await {
            Err(error) if error.is_of_one_session() => {
                let question = (asked.id, asked.seq);
                Ok(Some(unread(asked.item, question, Some(asked))))
            }
            found => found,
        }
    }

    /// Returns a request by its call and its own seq, if it still waits for an answer.
    pub(crate) async fn waiting(
        &self,
        session: SessionId,
        call: Seq,
        request: Seq,
    ) -> Result<Option<PendingConfirmation>, Error> {
        let items = self.journal().open_work_of(session.0).await?;
        let named = Some(session.request_id(request).0);
        let item = items
            .iter()
            .find(|it| it.item == call.0 && it.request == named);
        match self.asked(item.map_or(&[], slice::from_ref)).await?.pop() {
            Some(asked) => self.pending_confirmation(&asked).await,
            None => Ok(None),
        }
    }

    async fn pending_confirmation(
        &self,
        asked: &Asked<'_>,
    ) -> Result<Option<PendingConfirmation>, Error> {
        let Asked {
            item,
            id,
            seq,
            opened,
            called,
            request,
        } = asked;
        let (session, call, seq) = (SessionId(item.session), Seq(item.item), *seq);
        let mut key = None;
        let Event::Observed(Observation::SessionOpened(opened)) =
            self.fact_on(session, Seq(1), opened, &mut key).await?.event
        else {
            return Ok(None);
        };
        let Event::Observed(Observation::FunctionCallReceived(received)) =
            self.fact_on(session, call, called, &mut key).await?.event
        else {
            return Ok(None);
        };
        let Fact { at, event, .. } = self.fact_on(session, seq, request, &mut key).await?;
        let Event::Decided(decision) = event else {
            return Ok(None);
        };
        let Some(asked) = decision.question().cloned() else {
            return Ok(None);
        };
        let parent = self.parent_of(session, &received).await?;
        let mut args = received.args.unwrap_or_else(Json::empty_object);
        // If an approver changed the arguments, the request binds the changed ones.
        if !is_bound(&args, asked.args_sha256)
            && let Some(edited) = self.edited(session, call, seq, asked.args_sha256).await?
        {
            args = edited;
        }
        let needs = asked.needs.as_deref();
        let approvals = if needs.is_some_and(|it| it.approvals() > 1) {
            self.approvals(session, seq, &asked, None).await?
        } else {
            Vec::new()
        };
        Ok(Some(PendingConfirmation {
            id: *id,
            session,
            agent: opened.agent,
            external_id: opened.external_id,
            labels: opened.labels,
            on_behalf_of: opened.on_behalf_of,
            request: seq,
            request_hash: object_hash(request),
            call,
            call_hash: object_hash(called),
            parent,
            tool: received.name.unwrap_or_default(),
            args,
            sealed_args: received.sealed_args,
            sealed: false,
            hint: asked.hint,
            hint_by: if asked.asked.is_some() {
                HintBy::Tool
            } else {
                HintBy::Declaration
            },
            about: asked.about,
            payload_schema: asked.payload_schema,
            contract: Some(asked.contract),
            declaration: Some(asked.declaration),
            // The index entry may be newer than the request, for example after the model cancelled
            // the call.
            requested_at: at,
            expires_at: asked.expires_at_us,
            model_lost_interest: item.flags & MODEL_LOST_INTEREST != 0,
            on_expiry: asked.on_expiry,
            may_allow_for_session: asked.may_allow_for_session,
            needs: asked.needs,
            approvals,
        }))
    }

    /// Reads the records of the open items that wait for an answer.
    async fn asked<'i>(&self, items: &'i [OpenItem]) -> Result<Vec<Asked<'i>>, Error> {
        let mut questions = Vec::with_capacity(items.len());
        let mut spans = Vec::with_capacity(2 * items.len());
        for item in items {
            let Some((id, seq)) = self.question_of(item).await? else {
                continue;
            };
            let span = |from, limit| Span {
                session: item.session,
                from,
                limit,
            };
            // The call and the request are usually in one append, which is then read once.
            let distance = seq.0 - item.item;
            spans.push(span(1, 1));
            if distance < TOGETHER {
                spans.push(span(item.item, distance as usize + 1));
            } else {
                spans.extend([span(item.item, 1), span(seq.0, 1)]);
            }
            questions.push((item, id, seq, distance));
        }
        let mut pages = self.journal().read_each(spans).await?.into_iter();
        let mut next = || pages.next().unwrap_or_default();
        let mut all = Vec::with_capacity(questions.len());
        for (item, id, seq, distance) in questions {
            let (opened, mut from_call) = (next().pop(), next());
            let request = if distance < TOGETHER {
                from_call.pop()
            } else {
                next().pop()
            };
            let called = from_call.into_iter().next();
            let (Some(opened), Some(called), Some(request)) = (opened, called, request) else {
                let missing = JournalError::Damaged {
                    session: Some(item.session),
                    seq: None,
                    what: format!("records of the open call {} are missing", item.item),
                };
                return Err(missing.into());
            };
            all.push(Asked {
                item,
                id,
                seq,
                opened,
                called,
                request,
            });
        }
        Ok(all)
    }

    /// Finds the request of an item and its seq. The id is derived from the seq, so no record is
    /// read.
    async fn question_of(&self, item: &OpenItem) -> Result<Option<(RequestId, Seq)>, Error> {
        let (session, call) = (SessionId(item.session), item.item);
        let Some(id) = item.request.map(RequestId) else {
            return Ok(None);
        };
        let is_it = |seq: &Seq| id == session.request_id(*seq);
        let (next, near) = (call.saturating_add(1), call.saturating_add(NEARBY));
        // A verdict almost always precedes the request, so the first seq comes last. Each attempt
        // costs a hash.
        let mut nearby = (next.saturating_add(1)..near).chain([next]).map(Seq);
        if let Some(seq) = nearby.find(is_it) {
            return Ok(Some((id, seq)));
        }
        let head = self.journal().head(session.0).await?;
        let last = head.map_or(0, |head| head.seq);
        let seq = (near..=last).map(Seq).find(is_it);
        Ok(seq.map(|seq| (id, seq)))
    }

    /// Returns the newest edited arguments between a call and a request that the request binds.
    async fn edited(
        &self,
        session: SessionId,
        call: Seq,
        request: Seq,
        bound: ObjectHash,
    ) -> Result<Option<Json>, Error> {
        let (mut next, mut newest) = (call.next(), None);
        while next < request {
            let count = (request.0 - next.0).min(NEARBY);
            let facts = self.facts(session, next, count as usize).await?;
            let Some(last) = facts.last() else { break };
            next = last.seq.next();
            for fact in facts {
                if let Event::Observed(Observation::ConfirmationAnswered(it)) = fact.event
                    && let Some(edited) = it.edited_args.filter(|args| is_bound(args, bound))
                {
                    newest = Some(edited);
                }
            }
        }
        Ok(newest)
    }
}

/// The records of an open item.
struct Asked<'i> {
    item: &'i OpenItem,
    id: RequestId,
    /// The seq of the request.
    seq: Seq,
    /// The session's first record.
    opened: Line,
    called: Line,
    request: Line,
}

/// Creates the listing's entry for a request that cannot be read, such as one without its key.
/// Without its records, even their hashes are not known.
fn unread(
    item: &OpenItem,
    (id, request): (RequestId, Seq),
    asked: Option<&Asked<'_>>,
) -> PendingConfirmation {
    let (session, call) = (SessionId(item.session), Seq(item.item));
    let unknown = || ObjectHash::from_bytes(*Hash::ZERO.as_bytes());
    let body = asked.and_then(|it| Json::parse(it.called.record().ok()?.body.get()).ok());
    PendingConfirmation {
        id,
        session,
        agent: String::new(),
        external_id: None,
        labels: BTreeMap::new(),
        on_behalf_of: None,
        request,
        request_hash: asked.map_or_else(unknown, |it| object_hash(&it.request)),
        call,
        call_hash: asked.map_or_else(unknown, |it| object_hash(&it.called)),
        parent: None,
        tool: String::new(),
        args: body.unwrap_or_else(Json::empty_object),
        sealed_args: Vec::new(),
        sealed: true,
        hint: None,
        hint_by: HintBy::Declaration,
        about: About::Gate,
        payload_schema: None,
        contract: None,
        declaration: None,
        requested_at: Timestamp(item.since_us),
        expires_at: item.deadline_us.map(Timestamp),
        model_lost_interest: item.flags & MODEL_LOST_INTEREST != 0,
        on_expiry: OnExpiry::Deny,
        may_allow_for_session: false,
        needs: None,
        approvals: Vec::new(),
    }
}

fn is_bound(args: &Json, hash: ObjectHash) -> bool {
    ObjectHash::of(args.as_str().as_bytes()) == hash
}

fn object_hash(line: &Line) -> ObjectHash {
    ObjectHash::from_bytes(*line.leaf().as_bytes())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::Arc;

    use recount_journal::{
        Actor, Append, DiskJournal, Draft, Journal, MemoryJournal, WorkChange, block_on,
    };
    use uuid::Uuid;

    use super::*;

    const CALL: u64 = 2;

    fn record(session: SessionId, seq: u64, prev: Hash, kind: &str, body: &str) -> Line {
        let draft = Draft {
            session: session.0,
            seq,
            at_us: 7,
            kind,
            cause: None,
            actor: Actor::new("engine"),
            body,
            prev,
        };
        draft.line()
    }

    /// A session with a request at this distance from its call, with or without an edit that it
    /// binds.
    fn asked_behind(distance: u64, edited: bool) -> (Ledger, Vec<Line>, SessionId) {
        let session = SessionId(Uuid::from_u128(5));
        let journal = MemoryJournal::new();
        let append = append_asked(session, distance, edited);
        let lines = append.lines.clone();
        block_on(journal.append(append)).unwrap();
        (Ledger::new(Arc::new(journal)), lines, session)
    }

    fn append_asked(session: SessionId, distance: u64, edited: bool) -> Append {
        let (args, newer) = (r#"{"days":3}"#, r#"{"days":4}"#);
        let answered = |args: &str| {
            format!(
                r#"{{"request":3,"confirmed":true,"edited_args":{args},"by":{{"name":"ada","authenticated_by":"embedder"}}}}"#
            )
        };
        let bound = ObjectHash::of(if edited { newer } else { args }.as_bytes());
        let mut lines: Vec<Line> = Vec::new();
        for seq in 1..=CALL + distance {
            let (kind, body) = match seq {
                1 => (
                    "session_opened",
                    r#"{"agent":"desk","rules":1,"program":"recount"}"#.to_owned(),
                ),
                CALL => (
                    "function_call_received",
                    format!(r#"{{"epoch":0,"name":"book","args":{args}}}"#),
                ),
                3 if distance > 2 && edited => ("confirmation_answered", answered(newer)),
                4 if distance > 2 && edited => ("confirmation_answered", answered(r#"{"days":5}"#)),
                _ if seq == CALL + distance => (
                    "confirmation_requested",
                    format!(
                        r#"{{"call":2,"about":"gate","args_sha256":"{bound}","contract":"{bound}","declaration":"{bound}"}}"#
                    ),
                ),
                _ => ("user_text_sent", r#"{"epoch":0,"text":"well?"}"#.to_owned()),
            };
            let prev = lines.last().map_or(Hash::ZERO, Line::leaf);
            lines.push(record(session, seq, prev, kind, &body));
        }
        let mut append = Append::new(session.0, 0, lines);
        append.open_work = vec![WorkChange::Put(OpenItem {
            session: session.0,
            item: CALL,
            kind: OpenKind::Confirmation.as_str().to_owned(),
            since_us: 7,
            deadline_us: None,
            request: Some(session.request_id(Seq(CALL + distance)).0),
            flags: 0,
        })];
        append
    }

    #[test]
    fn request_is_listed_at_any_distance_from_its_call() {
        for distance in [
            1,
            2,
            TOGETHER - 1,
            TOGETHER,
            NEARBY - 1,
            NEARBY,
            NEARBY + 1,
            3 * NEARBY,
        ] {
            let (ledger, lines, session) = asked_behind(distance, false);
            let pending = block_on(ledger.pending()).unwrap();
            let [shown] = pending.as_slice() else {
                unreachable!("one question at {distance}, not {pending:?}")
            };
            let seq = Seq(CALL + distance);
            assert_eq!((shown.request, shown.id), (seq, session.request_id(seq)));
            assert_eq!(
                (shown.tool.as_str(), shown.agent.as_str()),
                ("book", "desk")
            );
            let hash = |line: Option<&Line>| line.map(object_hash);
            assert_eq!(Some(shown.call_hash), hash(lines.get(1)));
            assert_eq!(Some(shown.request_hash), hash(lines.last()));
            assert_eq!(shown.args.as_str(), r#"{"days":3}"#);
        }
    }

    #[test]
    fn listing_shows_the_edited_args_that_the_request_binds() {
        for distance in [3, NEARBY, 3 * NEARBY] {
            let (ledger, _, _) = asked_behind(distance, true);
            let pending = block_on(ledger.pending()).unwrap();
            let shown = pending.first().unwrap();
            assert_eq!(shown.args.as_str(), r#"{"days":4}"#, "{distance}");
        }
    }

    #[test]
    fn each_of_many_requests_is_listed_with_its_call() {
        let directory = tempfile::tempdir().unwrap();
        let journal = DiskJournal::open(directory.path()).unwrap();
        let distance = |nth: u64| match nth % 5 {
            0 => 40,
            4 => NEARBY,
            near => near,
        };
        let asked = 3 * AT_ONCE as u64 + 1;
        for nth in 1..=asked {
            let session = SessionId(Uuid::from_u128(nth.into()));
            let mut append = append_asked(session, distance(nth), false);
            if nth % 7 == 0 {
                // An item that was answered and has other open work, or that names an unknown
                // request.
                for change in &mut append.open_work {
                    if let WorkChange::Put(item) = change {
                        item.request = (nth % 2 == 0).then(|| Uuid::from_u128(1 << 64));
                    }
                }
            }
            block_on(journal.append(append)).unwrap();
        }
        let ledger = Ledger::new(Arc::new(journal));
        let pending = block_on(ledger.pending()).unwrap();
        let shown: Vec<_> = pending
            .iter()
            .map(|it| (it.session, it.call, it.request, it.id))
            .collect();
        let expected: Vec<_> = (1..=asked)
            .filter(|nth| nth % 7 != 0)
            .map(|nth| {
                let session = SessionId(Uuid::from_u128(nth.into()));
                let seq = Seq(CALL + distance(nth));
                (session, Seq(CALL), seq, session.request_id(seq))
            })
            .collect();
        assert_eq!(shown, expected);
        for it in &pending {
            let alone = block_on(ledger.pending_in(it.session)).unwrap();
            assert_eq!(alone.as_slice(), std::slice::from_ref(it));
        }
    }
}
