//! What is open, and whose: lists that cost what is open, not what happened.

use std::collections::BTreeMap;

use recount_journal::OpenItem;
use serde::{Deserialize, Serialize};

use super::store::MODEL_LOST_INTEREST;
use super::{Entry, Error, Ledger};
use crate::session::{
    About, ConfirmationRequested, Event, Fact, FunctionCallReceived, Json, ObjectHash, Observation,
    OpenKind, RequestId, Seq, SessionId, SessionOpened, Timestamp,
};

/// How many entries are read at a time.
const PAGE: usize = 512;

/// How many records are read at a time in search of one that is near.
pub(super) const NEARBY: usize = 16;

/// A session in a listing.
///
/// As JSON its name is under `session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its name.
    #[serde(rename = "session")]
    pub id: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for it.
    pub external_id: Option<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it began.
    #[serde(rename = "opened_at_us")]
    pub opened_at: Timestamp,
    /// When something was recorded last.
    #[serde(rename = "last_at_us")]
    pub last_at: Timestamp,
    /// How many records it has.
    pub records: u64,
    /// How many items of each kind are open; a closed session has none, not even itself.
    pub open: BTreeMap<String, usize>,
    /// It is sealed and its key is not here: agent, names and labels are unknown, and empty.
    pub sealed: bool,
}

impl SessionSummary {
    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        !self.open.contains_key(OpenKind::Session.as_str())
    }
}

/// Who wrote what a person is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintBy {
    /// Whoever declared the tool.
    Declaration,
    /// The tool itself, while it ran.
    Tool,
}

/// A confirmation request that waits for an answer.
///
/// As JSON its name is under `request`, and its record under `seq`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingConfirmation {
    /// What to answer.
    #[serde(rename = "request")]
    pub id: RequestId,
    /// The session.
    pub session: SessionId,
    /// The agent that serves it.
    pub agent: String,
    /// The embedding program's own name for the session.
    pub external_id: Option<String>,
    /// The session's labels.
    pub labels: BTreeMap<String, String>,
    /// The one for whom the agent acts.
    pub on_behalf_of: Option<String>,
    /// The record of the request.
    #[serde(rename = "seq")]
    pub request: Seq,
    /// Its hash, which an answer may name, so that it counts for this request and no other.
    pub request_hash: ObjectHash,
    /// The record of the call.
    pub call: Seq,
    /// Its hash.
    pub call_hash: ObjectHash,
    /// The tool.
    pub tool: String,
    /// The arguments, exactly as they stand on record, or as a person changed them: what an answer binds. Under [`sealed_args`](Self::sealed_args)
    /// stands `{"$sealed":"v1.…"}`, which is the same for the same secret.
    pub args: Json,
    /// The JSON Pointers of the arguments that are secret, and sealed.
    pub sealed_args: Vec<String>,
    /// The session is sealed and its key is not here: agent, names, tool and hint are unknown, and empty; `args` is the body
    /// of the call as it is stored.
    pub sealed: bool,
    /// What the tool's author wants the person to know.
    pub hint: Option<String>,
    /// Who wrote the hint.
    pub hint_by: HintBy,
    /// May it run, or: it may have run, may it run again? Or the tool asks itself.
    pub about: About,
    /// The JSON Schema that the payload of a yes must fit.
    pub payload_schema: Option<Json>,
    /// The contract of the tool that is asked about; none of a sealed session whose key is not here.
    pub contract: Option<ObjectHash>,
    /// Its whole declaration; none of a sealed session whose key is not here.
    pub declaration: Option<ObjectHash>,
    /// When it was asked.
    #[serde(rename = "requested_at_us")]
    pub requested_at: Timestamp,
    /// When silence becomes a no.
    #[serde(rename = "expires_at_us")]
    pub expires_at: Option<Timestamp>,
    /// The model took the call back meanwhile.
    pub model_lost_interest: bool,
}

/// What a person is asked, as it is on record.
struct Question {
    seq: Seq,
    at: Timestamp,
    hash: ObjectHash,
    /// The arguments that a person wrote, where it is about those.
    edited_args: Option<Json>,
    asked: ConfirmationRequested,
}

fn object_hash(entry: &Entry) -> ObjectHash {
    ObjectHash::from_bytes(*entry.hash().as_bytes())
}

impl Ledger {
    /// Every session, oldest first.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, Error> {
        let mut open: BTreeMap<SessionId, BTreeMap<String, usize>> = BTreeMap::new();
        for item in self.open_items().await? {
            *open
                .entry(SessionId(item.session))
                .or_default()
                .entry(item.kind)
                .or_default() += 1;
        }
        let (mut summaries, mut after) = (Vec::new(), None);
        loop {
            let page = self.journal().sessions(after, PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(summaries);
            };
            after = Some(*last);
            for (session, head) in page {
                let id = SessionId(session);
                let Some(first) = self.entries(id, Seq(1), 1).await?.pop() else {
                    continue;
                };
                let mut summary = SessionSummary {
                    id,
                    agent: String::new(),
                    external_id: None,
                    labels: BTreeMap::new(),
                    opened_at: Timestamp(first.record()?.at_us),
                    last_at: Timestamp(head.at_us),
                    records: head.seq,
                    open: open.remove(&id).unwrap_or_default(),
                    sealed: false,
                };
                match first.fact().map(|fact| fact.event) {
                    Ok(Event::Observed(Observation::SessionOpened(opened))) => {
                        summary.agent = opened.agent;
                        summary.external_id = opened.external_id;
                        summary.labels = opened.labels;
                    }
                    Ok(Event::Observed(_) | Event::Decided(_)) => continue,
                    Err(Error::Sealed { .. }) => summary.sealed = true,
                    Err(error) => return Err(error),
                }
                summaries.push(summary);
            }
        }
    }

    /// Every open item of the journal.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn open_items(&self) -> Result<Vec<OpenItem>, Error> {
        let mut items = Vec::new();
        loop {
            let after = items.last().map(|it: &OpenItem| (it.session, it.item));
            let page = self.journal().open_work(after, PAGE).await?;
            if page.is_empty() {
                return Ok(items);
            }
            items.extend(page);
        }
    }

    /// Every confirmation request that waits for an answer, oldest session first.
    ///
    /// # Errors
    /// Whatever keeps the journal from being read.
    pub async fn pending(&self) -> Result<Vec<PendingConfirmation>, Error> {
        let mut pending = Vec::new();
        for item in self.open_items().await? {
            if item.kind != OpenKind::Confirmation.as_str() {
                continue;
            }
            match self.pending_confirmation(&item).await {
                Err(Error::Sealed { .. }) => pending.extend(self.pending_sealed(&item).await?),
                found => pending.extend(found?),
            }
        }
        Ok(pending)
    }

    /// A confirmation request by its call and its own record, if it still waits.
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
        match item {
            Some(item) => self.pending_confirmation(item).await,
            None => Ok(None),
        }
    }

    async fn pending_confirmation(
        &self,
        item: &OpenItem,
    ) -> Result<Option<PendingConfirmation>, Error> {
        let (session, call) = (SessionId(item.session), Seq(item.item));
        let Some((_, opened)) = self.opened(session).await? else {
            return Ok(None);
        };
        let Some(called) = self.entries(session, call, 1).await?.pop() else {
            return Ok(None);
        };
        let Event::Observed(Observation::FunctionCallReceived(received)) = called.fact()?.event
        else {
            return Ok(None);
        };
        let Some(question) = self.request_of(session, call, item).await? else {
            return Ok(None);
        };
        let (request, asked) = (question.seq, question.asked);
        Ok(Some(PendingConfirmation {
            id: session.request_id(request),
            session,
            agent: opened.agent,
            external_id: opened.external_id,
            labels: opened.labels,
            on_behalf_of: opened.on_behalf_of,
            request,
            request_hash: question.hash,
            call,
            call_hash: object_hash(&called),
            tool: received.name.unwrap_or_default(),
            args: question
                .edited_args
                .or(received.args)
                .unwrap_or_else(Json::empty_object),
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
            // The item may have changed since, as when the model took the call back.
            requested_at: question.at,
            expires_at: asked.expires_at_us,
            model_lost_interest: item.flags & MODEL_LOST_INTEREST != 0,
        }))
    }

    /// What can be said of a request without the key of its session.
    async fn pending_sealed(&self, item: &OpenItem) -> Result<Option<PendingConfirmation>, Error> {
        let (session, call) = (SessionId(item.session), Seq(item.item));
        let head = self.journal().head(item.session).await?;
        let last = head.map_or(0, |head| head.seq);
        let mut seqs = (call.0..=last).map(Seq);
        // A name outside follows from the record's place.
        let request = seqs.find(|seq| item.request == Some(session.request_id(*seq).0));
        let received = self.entries(session, call, 1).await?.pop();
        let (Some(request), Some(received)) = (request, received) else {
            return Ok(None);
        };
        let Some(asked) = self.entries(session, request, 1).await?.pop() else {
            return Ok(None);
        };
        let stored = received.record()?.body.get().to_owned();
        Ok(Some(PendingConfirmation {
            id: session.request_id(request),
            session,
            agent: String::new(),
            external_id: None,
            labels: BTreeMap::new(),
            on_behalf_of: None,
            request,
            request_hash: object_hash(&asked),
            call,
            call_hash: object_hash(&received),
            tool: String::new(),
            args: Json::parse(&stored).unwrap_or_else(|_| Json::empty_object()),
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
        }))
    }

    /// The question behind an open item, and the record that names it. It stands a few records behind its call.
    async fn request_of(
        &self,
        session: SessionId,
        call: Seq,
        item: &OpenItem,
    ) -> Result<Option<Question>, Error> {
        let (mut next, mut edited) = (call.next(), Vec::new());
        loop {
            let entries = self.entries(session, next, NEARBY).await?;
            let Some(last) = entries.last() else {
                return Ok(None);
            };
            next = last.seq.next();
            for entry in &entries {
                let Fact { seq, at, event, .. } = entry.fact()?;
                if item.request == Some(session.request_id(seq).0) {
                    let Event::Decided(decision) = event else {
                        return Ok(None);
                    };
                    let hash = object_hash(entry);
                    let question = decision.question().cloned().map(|asked| Question {
                        seq,
                        at,
                        hash,
                        // Of all that somebody wrote, what is asked about is what the question binds.
                        edited_args: edited.into_iter().rev().find(|args: &Json| {
                            ObjectHash::of(args.as_str().as_bytes()) == asked.args_sha256
                        }),
                        asked,
                    });
                    return Ok(question);
                }
                if let Event::Observed(Observation::ConfirmationAnswered(it)) = event {
                    edited.extend(it.edited_args);
                }
            }
        }
    }

    /// How a session began, and when.
    ///
    /// # Errors
    /// Whatever keeps the record from being read.
    pub async fn opened(
        &self,
        session: SessionId,
    ) -> Result<Option<(Timestamp, SessionOpened)>, Error> {
        match self.fact(session, Seq(1)).await? {
            Some(Fact {
                at,
                event: Event::Observed(Observation::SessionOpened(opened)),
                ..
            }) => Ok(Some((at, opened))),
            Some(_) | None => Ok(None),
        }
    }

    /// A call as it was received.
    ///
    /// # Errors
    /// Whatever keeps the record from being read.
    pub async fn call_received(
        &self,
        session: SessionId,
        call: Seq,
    ) -> Result<Option<FunctionCallReceived>, Error> {
        match self.fact(session, call).await? {
            Some(Fact {
                event: Event::Observed(Observation::FunctionCallReceived(it)),
                ..
            }) => Ok(Some(it)),
            Some(_) | None => Ok(None),
        }
    }

    /// The tool of a call; none where no call was received there, or its session is sealed and the key is not here.
    ///
    /// # Errors
    /// Whatever keeps the record from being read.
    pub async fn tool_of(&self, session: SessionId, call: Seq) -> Result<Option<String>, Error> {
        match self.call_received(session, call).await {
            Ok(received) => Ok(received.and_then(|it| it.name)),
            Err(Error::Sealed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
