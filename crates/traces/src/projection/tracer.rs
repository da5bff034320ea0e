//! The fold of a session's facts to spans.

use std::collections::BTreeMap;

use recount::session::{
    Decision, Event, Fact, Observation, Seq, Session, SessionId, SessionOpened, SpanId, SpanOf,
    Timestamp, evolve_in_place,
};

use super::calls::OpenCall;
use super::connections::{Model, OpenConnection};
use super::naming::{self, People};
use super::requests::OpenRequest;
use super::runs::OpenRun;
use crate::content::Content;
use crate::span::{Attributes, Kind, Link, Span, SpanEvent};

/// The label with the `traceparent` of the program that opened a session.
const TRACEPARENT: &str = "traceparent";

/// The fold of a session's facts to spans: each ends with a record, and is made with it.
///
/// The facts are applied from the first on, without gaps. A span contains nothing of later records,
/// so it never changes.
///
/// ```
/// use recount::session::testing::{history, toolbox};
/// use recount_traces::{Content, Tracer};
/// use serde_json::json;
///
/// let tools = toolbox().plain("pay");
/// let history = history().opened("support").attached(&tools).connected();
/// let history = history.call("c1", "pay", json!({})).started().returned(json!({"paid": true}));
/// let mut tracer = Tracer::new(history.session().id, false, Content::default());
/// *tracer.session_mut().library_mut() = history.session().library().clone();
/// let mut spans = Vec::new();
/// for fact in history.facts() {
///     spans.extend(tracer.apply(fact));
/// }
/// let names: Vec<_> = spans.iter().map(|it| it.name.as_str()).collect();
/// assert_eq!(names, ["run pay", "execute_tool pay"]);
/// ```
#[derive(Debug)]
pub struct Tracer {
    pub(super) session: Session,
    pub(super) sealed: bool,
    pub(super) content: Content,
    opened: Option<SessionOpened>,
    /// The model of the last connection.
    pub(super) model: Option<Model>,
    pub(super) connection: Option<OpenConnection>,
    pub(super) calls: BTreeMap<Seq, OpenCall>,
    /// The runs by their calls.
    pub(super) runs: BTreeMap<Seq, OpenRun>,
    pub(super) requests: BTreeMap<Seq, OpenRequest>,
    /// The calls whose outcome may be found after their end: the time of the end, and the tool.
    pub(super) unknown: BTreeMap<Seq, (Timestamp, String)>,
}

impl Tracer {
    /// Creates a tracer before the first fact. Spans of a sealed session have no `content`.
    pub fn new(session: SessionId, sealed: bool, content: Content) -> Tracer {
        Tracer {
            session: Session::new(session),
            sealed,
            content: if sealed { Content::default() } else { content },
            opened: None,
            model: None,
            connection: None,
            calls: BTreeMap::new(),
            runs: BTreeMap::new(),
            requests: BTreeMap::new(),
            unknown: BTreeMap::new(),
        }
    }

    /// Returns the folded session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the folded session, to add the objects that the next fact names to its library.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Applies the next fact. Returns the spans that end with it.
    pub fn apply(&mut self, fact: &Fact) -> Vec<Span> {
        let mut spans = Vec::new();
        evolve_in_place(&mut self.session, fact);
        match &fact.event {
            Event::Observed(observation) => self.observed(observation, fact, &mut spans),
            Event::Decided(decision) => self.decided(decision, fact, &mut spans),
        }
        spans
    }

    fn observed(&mut self, observation: &Observation, fact: &Fact, spans: &mut Vec<Span>) {
        match observation {
            Observation::SessionOpened(it) => self.opened = Some(it.clone()),
            Observation::FunctionCallReceived(it) => self.received(it, fact),
            Observation::ConfirmationAnswered(it) => self.answered(it, fact, spans),
            Observation::ApprovalGiven(it) => self.approved(it, fact),
            Observation::AnswerRefused(it) => self.answer_refused(it, fact),
            Observation::ToolReturned(it) => self.returned(it, fact),
            Observation::ResponseSupplied(it) => self.supplied(it.call, &it.response, fact),
            Observation::OutcomeFound(it) => self.outcome_found(it, fact, spans),
            Observation::Connected(it) => self.connected(it, fact, spans),
            Observation::Disconnected(it) => self.disconnected(it, fact, spans),
            Observation::RunnerAttached(_)
            | Observation::RunnerDetached(_)
            | Observation::CatalogChanged(_)
            | Observation::RunnerDraining(_)
            | Observation::GoAwayReceived(_)
            | Observation::SwitchPlanned(_)
            | Observation::ReconnectScheduled(_)
            | Observation::ConnectFailed(_)
            | Observation::ReconnectsExhausted(_)
            | Observation::HistorySent(_)
            | Observation::ResumptionHandleReceived(_)
            | Observation::HookAnswered(_)
            | Observation::CallCancellationReceived(_)
            | Observation::ToolYielded(_)
            | Observation::ToolPaused(_)
            | Observation::ToolAsked(_)
            | Observation::ToolEventEmitted(_)
            | Observation::CallClaimed(_)
            | Observation::LeaseRenewed(_)
            | Observation::ClaimEnded(_)
            | Observation::LlmAsked(_)
            | Observation::LlmReplied(_)
            | Observation::StateChanged(_)
            | Observation::LeaveRevoked(_)
            | Observation::ResponsesSent(_)
            | Observation::InstructionSent(_)
            | Observation::DeadlinePassed(_)
            | Observation::ModelOutputReceived(_)
            | Observation::TranscriptReceived(_)
            | Observation::UserTextSent(_)
            | Observation::TurnCompleted(_)
            | Observation::TurnInterrupted(_)
            | Observation::MediaCounted(_)
            | Observation::UsageReported(_)
            | Observation::FrameRejected(_)
            | Observation::OperatorCancelled(_)
            | Observation::SessionClosed(_)
            | Observation::Paused(_)
            | Observation::Unpaused(_) => {}
        }
        self.end_connection_that_is_gone(fact, spans);
        self.end_runs(observation, fact, spans);
        if let Observation::SessionClosed(_) = observation {
            spans.push(self.session_span(fact));
        }
    }

    fn decided(&mut self, decision: &Decision, fact: &Fact, spans: &mut Vec<Span>) {
        match decision {
            Decision::PolicyDecided(it) => self.judged(it),
            Decision::ConfirmationRequested(it) => self.asked(it, fact),
            Decision::ConfirmationReopened(it) => {
                self.request_ended(it.request, "superseded", None, fact, spans);
                self.asked(&it.question, fact);
            }
            Decision::ConfirmationExpired(it) => {
                let end = match it.goes_on {
                    true => "allowed_unanswered",
                    false => "expired",
                };
                self.request_ended(it.request, end, None, fact, spans);
            }
            Decision::ConfirmationWithdrawn(it) => {
                self.request_ended(it.request, "withdrawn", None, fact, spans);
            }
            Decision::CallStarted(it) => self.started(it, fact),
            Decision::ResultReused(it) => self.reused(it),
            Decision::CallCancelled(_)
            | Decision::ResponseIssued(_)
            | Decision::GateWaived(_)
            | Decision::LeaveUsed(_)
            | Decision::CallReady(_)
            | Decision::BackgroundSpawned(_)
            | Decision::RetryScheduled(_)
            | Decision::OutcomeReconciled(_)
            | Decision::DeliveryChosen(_)
            | Decision::PhaseEntered(_) => {}
        }
        if let Some(call) = decision.call() {
            self.end_run_of(call, fact, spans);
            self.end_call(call, decision, fact, spans);
        }
    }

    /// The span of the whole session, which ends with its close.
    fn session_span(&self, fact: &Fact) -> Span {
        let agent = self.session.agent.as_deref().unwrap_or_default();
        let mut attributes = Attributes::default();
        attributes.text("gen_ai.operation.name", "invoke_agent");
        self.add_common(&mut attributes);
        if let Some(model) = &self.model {
            attributes.text("gen_ai.request.model", &*model.name);
        }
        let opened = self.opened.as_ref();
        let labels = opened.map(|it| &it.labels);
        if let Some(opened) = opened.filter(|_| self.content.labels) {
            attributes.text_if_any("recount.external_id", opened.external_id.as_deref());
            for (key, value) in &opened.labels {
                attributes.text(format!("recount.label.{key}"), &**value);
            }
        }
        let caller = labels.and_then(|it| it.get(TRACEPARENT));
        let links = caller.and_then(|it| Link::of(it)).into_iter().collect();
        Span {
            parent: None,
            name: naming::about_tool("invoke_agent", agent),
            start: self.session.opened_at,
            attributes: attributes.done(),
            links,
            ..self.span(SpanOf::Session, self.session.opened_at, fact)
        }
    }

    /// Adds what every span has: the agent, the session, the model's provider.
    pub(super) fn add_common(&self, attributes: &mut Attributes) {
        // Required by the conventions. Without a model, the engine itself provides the agent.
        let provider = self.model.as_ref().map_or("recount", |it| it.provider);
        attributes.text("gen_ai.provider.name", provider);
        attributes.text_if_any("gen_ai.agent.name", self.session.agent.as_deref());
        attributes.text("gen_ai.conversation.id", self.session.id.to_string());
    }

    /// A span under that of the session, without a name and attributes.
    pub(super) fn span(&self, of: SpanOf, start: Timestamp, fact: &Fact) -> Span {
        let session = self.session.id;
        Span {
            trace_id: session.trace_id(),
            span_id: session.span_id(of),
            parent: Some(session.span_id(SpanOf::Session)),
            name: String::new(),
            kind: Kind::Internal,
            start,
            end: fact.at.max(start),
            attributes: Vec::new(),
            events: Vec::new(),
            links: Vec::new(),
            error: None,
            ended_by: fact.seq,
        }
    }

    pub(super) fn span_of_call(&self, call: Seq) -> SpanId {
        self.session.id.span_id(SpanOf::Call(call))
    }

    pub(super) fn people(&self) -> People {
        People {
            session: self.session.id,
            sealed: self.sealed,
            named: self.content.people,
        }
    }

    /// An event within a request's span, with its actor.
    pub(super) fn event_of(
        &self,
        name: &'static str,
        fact: &Fact,
        by: &recount::session::Actor,
    ) -> SpanEvent {
        let mut attributes = Attributes::default();
        self.people().add(&mut attributes, by);
        SpanEvent {
            name,
            at: fact.at,
            attributes: attributes.done(),
        }
    }
}
