//! The content of a message: the part of the records that its sink may have.

use std::collections::BTreeMap;

use recount::ledger::{Error, Ledger};
use recount::session::{
    Actor, CancelReason, ConfirmationRequested, Decision, Event, Fact, FunctionCallReceived,
    ObjectHash, Observation, Outcome, RequestId, Seq, SessionId, SessionOpened, Timestamp,
};
use uuid::Uuid;

use super::notice::{About, Digest, Notice};
use crate::routing::Names;
use crate::values::{Detail, Occasion};

/// The content of a message. A part that its sink may not have is `None`.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub(crate) id: Uuid,
    pub(crate) occasion: Occasion,
    pub(crate) at: Timestamp,
    pub(crate) link: Option<String>,
    pub(crate) session: Option<SessionId>,
    pub(crate) record: Option<Seq>,
    pub(crate) call: Option<Seq>,
    pub(crate) request: Option<RequestId>,
    /// The time of the request.
    pub(crate) since: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) decision: Option<&'static str>,
    pub(crate) outcome: Option<&'static str>,
    pub(crate) tool: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) by: Option<String>,
    /// The arguments as JSON, in which sealed values are replaced.
    pub(crate) arguments: Option<String>,
    pub(crate) hint: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) digest: Option<Digest>,
}

/// The base of the links in messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Option<String>);

/// The value in place of a sealed argument.
const SEALED: &str = "(sealed)";

impl Links {
    pub(crate) fn under(base: Option<&str>) -> Links {
        Links(base.map(|it| it.trim_end_matches('/').to_owned()))
    }

    fn to_call(&self, session: SessionId, call: Option<Seq>) -> Option<String> {
        let base = self.0.as_ref()?;
        let session = session.0;
        Some(match call {
            Some(call) => format!("{base}/sessions/{session}/calls/{}", call.0),
            None => format!("{base}/sessions/{session}"),
        })
    }

    fn to_inbox(&self) -> Option<String> {
        Some(format!("{}/inbox", self.0.as_ref()?))
    }
}

/// The records that a message is about.
struct Records {
    opened: Option<SessionOpened>,
    call: Option<FunctionCallReceived>,
    record: Option<Fact>,
    request: Option<(Timestamp, ConfirmationRequested)>,
    /// True if the session is sealed.
    is_sealed: bool,
}

impl Content {
    /// The content without anything from the journal.
    pub(crate) fn of(notice: &Notice) -> Content {
        Content {
            id: notice.id,
            occasion: notice.occasion,
            at: notice.at,
            link: None,
            session: None,
            record: None,
            call: None,
            request: None,
            since: None,
            expires: None,
            decision: None,
            outcome: None,
            tool: None,
            agent: None,
            external_id: None,
            on_behalf_of: None,
            labels: BTreeMap::new(),
            by: None,
            arguments: None,
            hint: None,
            reason: None,
            digest: None,
        }
    }

    /// Reads the content of a message. A session that cannot be read gives ids and times only.
    ///
    /// # Errors
    /// The error of the journal itself.
    pub(crate) async fn read(
        ledger: &Ledger,
        notice: &Notice,
        detail: Detail,
        links: &Links,
    ) -> Result<Content, Error> {
        let mut content = Content::of(notice);
        let (session, record, call) = match &notice.about {
            About::Nothing => return Ok(content),
            About::Digest(digest) => {
                content.digest = Some(digest.clone());
                content.link = links.to_inbox();
                return Ok(content);
            }
            About::Call {
                session,
                record,
                call,
            } => (*session, *record, *call),
        };
        content.session = Some(session);
        content.record = Some(record);
        content.call = call;
        content.link = links.to_call(session, call);
        match Records::read(ledger, session, record, call).await {
            Ok(records) => content.fill(session, &records, detail),
            Err(error @ Error::Journal(_)) => return Err(error),
            Err(error) => tracing::debug!(%session, %error, "a message has ids only"),
        }
        Ok(content)
    }

    fn fill(&mut self, session: SessionId, records: &Records, detail: Detail) {
        // Content of a sealed session leaves it in names at most.
        let detail = match records.is_sealed {
            true => detail.min(Detail::Names),
            false => detail,
        };
        let request = self.fill_outcome(records);
        if let Some(request) = request {
            self.request = Some(session.request_id(request));
        }
        if let Some((at, question)) = &records.request {
            self.since = Some(*at);
            self.expires = question.expires_at_us;
        }
        if detail >= Detail::Names {
            self.fill_names(records);
        }
        if detail >= Detail::Arguments {
            self.fill_arguments(records);
        }
    }

    /// Fills the decision and the outcome. Returns the request.
    fn fill_outcome(&mut self, records: &Records) -> Option<Seq> {
        let record = records.record.as_ref()?;
        if let Some(request) = request_of(record) {
            self.decision = decision_of(&record.event);
            return Some(request);
        }
        if let Event::Decided(Decision::ResponseIssued(it)) = &record.event {
            self.outcome = Some(word(it.outcome));
        }
        None
    }

    fn fill_names(&mut self, records: &Records) {
        if let Some(opened) = &records.opened {
            self.agent = Some(opened.agent.clone());
            self.external_id.clone_from(&opened.external_id);
            self.on_behalf_of.clone_from(&opened.on_behalf_of);
            self.labels.clone_from(&opened.labels);
        }
        self.tool = records.call.as_ref().and_then(|it| it.name.clone());
        let event = records.record.as_ref().map(|it| &it.event);
        if let Some(Event::Observed(Observation::ConfirmationAnswered(it))) = event {
            let Actor { name, .. } = &it.by;
            self.by = Some(name.clone());
        }
    }

    fn fill_arguments(&mut self, records: &Records) {
        let event = records.record.as_ref().map(|it| &it.event);
        if let Some(Event::Observed(Observation::ConfirmationAnswered(it))) = event {
            self.reason.clone_from(&it.reason);
        }
        let question = records.request.as_ref().map(|(_, it)| it);
        self.hint = question.and_then(|it| it.hint.clone());
        let Some(call) = &records.call else { return };
        let Some(args) = &call.args else { return };
        // A request for arguments that an approver has changed does not show those of the model.
        let is_bound =
            |it: &ConfirmationRequested| it.args_sha256 == ObjectHash::of(args.as_str().as_bytes());
        if question.is_none_or(is_bound) {
            self.arguments = without_sealed(args.as_str(), &call.sealed_args);
        }
    }

    /// The arguments for a text.
    pub(super) fn arguments_text(&self) -> String {
        self.arguments.clone().unwrap_or_default()
    }
}

impl Records {
    async fn read(
        ledger: &Ledger,
        session: SessionId,
        record: Seq,
        call: Option<Seq>,
    ) -> Result<Records, Error> {
        let first = ledger.entries(session, Seq(1), 1).await?;
        let is_sealed = first.first().is_some_and(|it| it.is_sealed());
        let fact = ledger.fact(session, record).await?;
        let request = match fact.as_ref().and_then(request_of) {
            Some(request) => ledger.fact(session, request).await?,
            None => None,
        };
        let request = request.and_then(|fact| match fact.event {
            Event::Decided(it) => Some((fact.at, it.question()?.clone())),
            Event::Observed(_) => None,
        });
        Ok(Records {
            opened: opened(ledger, session).await?,
            call: match call {
                Some(call) => received(ledger, session, call).await?,
                None => None,
            },
            record: fact,
            request,
            is_sealed,
        })
    }
}

/// The names by which a call is routed.
pub(crate) async fn names_of(
    ledger: &Ledger,
    session: SessionId,
    call: Seq,
) -> Result<Names, Error> {
    let opened = opened(ledger, session).await?;
    let call = received(ledger, session, call).await?;
    let (agent, labels) = opened.map(|it| (it.agent, it.labels)).unzip();
    Ok(Names {
        tool: call.and_then(|it| it.name),
        agent,
        labels: labels.unwrap_or_default(),
    })
}

async fn opened(ledger: &Ledger, session: SessionId) -> Result<Option<SessionOpened>, Error> {
    let fact = ledger.fact(session, Seq(1)).await?;
    let Some(Event::Observed(Observation::SessionOpened(opened))) = fact.map(|it| it.event) else {
        return Ok(None);
    };
    Ok(Some(opened))
}

async fn received(
    ledger: &Ledger,
    session: SessionId,
    call: Seq,
) -> Result<Option<FunctionCallReceived>, Error> {
    let fact = ledger.fact(session, call).await?;
    let Some(Event::Observed(Observation::FunctionCallReceived(call))) = fact.map(|it| it.event)
    else {
        return Ok(None);
    };
    Ok(Some(call))
}

/// The request that a record asks, answers or ends.
fn request_of(fact: &Fact) -> Option<Seq> {
    if let Event::Observed(Observation::ConfirmationAnswered(it)) = &fact.event {
        return Some(it.request);
    }
    let Event::Decided(decision) = &fact.event else {
        return None;
    };
    if decision.question().is_some() {
        return Some(fact.seq);
    }
    if let Decision::ConfirmationExpired(it) = decision {
        return Some(it.request);
    }
    if let Decision::ConfirmationWithdrawn(it) = decision {
        return Some(it.request);
    }
    None
}

/// The word for the end of a request.
fn decision_of(event: &Event) -> Option<&'static str> {
    if let Event::Observed(Observation::ConfirmationAnswered(it)) = event {
        return Some(match (it.confirmed, it.found.is_some()) {
            (_, true) => "settled",
            (true, false) => "approved",
            (false, false) => "denied",
        });
    }
    if let Event::Decided(Decision::ConfirmationExpired(it)) = event {
        return Some(match it.goes_on {
            true => "allowed_unanswered",
            false => "expired",
        });
    }
    let Event::Decided(Decision::ConfirmationWithdrawn(it)) = event else {
        return None;
    };
    Some(match it.reason {
        CancelReason::Model
        | CancelReason::Operator
        | CancelReason::SessionClosed
        | CancelReason::RunnerGone
        | CancelReason::ToolEnded
        | CancelReason::ParentEnded => "withdrawn",
    })
}

/// The word for the end of a call, as the journal spells it.
const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Interim => "interim",
        Outcome::Returned => "returned",
        Outcome::Failed => "failed",
        Outcome::Supplied => "supplied",
        Outcome::Refused => "refused",
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::Unknown => "unknown",
        Outcome::Withdrawn => "withdrawn",
    }
}

/// The arguments with [`SEALED`] in place of each sealed value.
fn without_sealed(args: &str, sealed: &[String]) -> Option<String> {
    if sealed.is_empty() {
        return Some(args.to_owned());
    }
    let mut value: serde_json::Value = serde_json::from_str(args).ok()?;
    for pointer in sealed {
        // A pointer to nothing would leave a sealed value in the message.
        *value.pointer_mut(pointer)? = SEALED.into();
    }
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_arguments_are_replaced() {
        let args = r#"{"cents":4200,"card":{"$sealed":"v1.abc"}}"#;
        let shown = without_sealed(args, &["/card".to_owned()]).unwrap();
        assert!(!shown.contains("v1.") && shown.contains(SEALED), "{shown}");
        assert_eq!(without_sealed(args, &["/other".to_owned()]), None);
        let exact = r#"{"a":1.50}"#;
        assert_eq!(without_sealed(exact, &[]).unwrap(), exact);
    }

    #[test]
    fn links_lead_to_the_card() {
        let session = SessionId(Uuid::from_u128(7));
        let links = Links::under(Some("https://recount.example/ops/"));
        let link = links.to_call(session, Some(Seq(5))).unwrap();
        let session = session.0;
        let expected = format!("https://recount.example/ops/sessions/{session}/calls/5");
        assert_eq!(link, expected);
        assert_eq!(Links::under(None).to_inbox(), None);
    }
}
