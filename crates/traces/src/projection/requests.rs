//! The spans of confirmation requests: the waits for people.

use recount::session::{
    About, AnswerRefused, ApprovalGiven, ConfirmationAnswered, ConfirmationRequested, Fact,
    Finding, RequestState, Seq, SpanOf, Timestamp,
};

use super::naming;
use super::tracer::Tracer;
use crate::span::{Attribute, Attributes, Span, SpanEvent, Value};

/// A confirmation request that waits for an answer.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    call: Seq,
    tool: String,
    asked: Timestamp,
    about: About,
    approvals_needed: u32,
    /// The approvals that did not decide, and the refused answers.
    events: Vec<SpanEvent>,
}

impl Tracer {
    pub(super) fn asked(&mut self, it: &ConfirmationRequested, fact: &Fact) {
        let tool = self.calls.get(&it.call).map(|it| it.tool.clone());
        let request = OpenRequest {
            call: it.call,
            tool: tool.unwrap_or_default(),
            asked: fact.at,
            about: it.about,
            approvals_needed: it.needs.as_ref().map_or(1, |needs| needs.approvals()),
            events: Vec::new(),
        };
        self.requests.insert(fact.seq, request);
    }

    /// Adds an approval that counts without deciding.
    pub(super) fn approved(&mut self, it: &ApprovalGiven, fact: &Fact) {
        let request = self.session.requests.get(&it.request);
        let asking = request.and_then(|it| it.asking.as_ref());
        if !asking.is_some_and(|it| it.given.iter().any(|one| one.at == fact.seq)) {
            return;
        }
        let event = self.event_of("approval", fact, &it.by);
        if let Some(open) = self.requests.get_mut(&it.request) {
            open.events.push(event);
        }
    }

    pub(super) fn answer_refused(&mut self, it: &AnswerRefused, fact: &Fact) {
        let mut event = self.event_of("refused_answer", fact, &it.by);
        event.attributes.push(Attribute {
            key: "recount.refusal".to_owned(),
            value: Value::Text(naming::name(&it.refusal)),
        });
        if let Some(open) = self.requests.get_mut(&it.request) {
            open.events.push(event);
        }
    }

    /// Ends a request with the answer that decided it.
    pub(super) fn answered(
        &mut self,
        it: &ConfirmationAnswered,
        fact: &Fact,
        spans: &mut Vec<Span>,
    ) {
        // The request of an answer that may not decide stays open.
        let request = self.session.requests.get(&it.request);
        let is_decided = request.is_some_and(|request| match &request.state {
            RequestState::Answered(answered) => answered.at == fact.seq,
            RequestState::Open
            | RequestState::Expired { .. }
            | RequestState::Withdrawn { .. }
            | RequestState::Superseded { .. } => false,
        });
        if !is_decided {
            return;
        }
        let end = match (&it.found, it.confirmed) {
            (Some(Finding::Done(_)), _) => "settled_as_done",
            (Some(Finding::Failed(_)), _) => "settled_as_failed",
            (None, true) => "approved",
            (None, false) => "denied",
        };
        if let Some(call) = self.requests.get(&it.request).map(|it| it.call) {
            self.take_edited_args(call);
            if let Some(Finding::Done(result)) = &it.found {
                self.supplied(call, result, fact);
            }
        }
        self.request_ended(it.request, end, Some(it), fact, spans);
    }

    pub(super) fn request_ended(
        &mut self,
        request: Seq,
        end: &'static str,
        answer: Option<&ConfirmationAnswered>,
        fact: &Fact,
        spans: &mut Vec<Span>,
    ) {
        let Some(open) = self.requests.remove(&request) else {
            return;
        };
        let mut attributes = Attributes::default();
        self.add_common(&mut attributes);
        attributes.text("gen_ai.tool.name", &*open.tool);
        attributes.number("recount.call.seq", open.call.0);
        let id = self.session.id.request_id(request).to_string();
        attributes.text("recount.request.id", id);
        attributes.text("recount.request.about", naming::about(open.about));
        attributes.text("recount.request.end", end);
        let needed = u64::from(open.approvals_needed);
        attributes.number("recount.request.approvals_needed", needed);
        if let Some(answer) = answer {
            let is_edited = answer.edited_args.is_some();
            attributes.flag("recount.request.edited", is_edited);
            attributes.flag("recount.request.leave_given", answer.allow_for.is_some());
            self.people().add(&mut attributes, &answer.by);
        }
        // A denial is an answer. Only a request that no person answered is an error.
        let error = (end == "expired").then_some("no answer came in time");
        attributes.text_if_any("error.type", error.map(|_| "expired"));
        spans.push(Span {
            parent: Some(self.span_of_call(open.call)),
            name: naming::about_tool("await_approval", &open.tool),
            attributes: attributes.done(),
            events: open.events,
            error,
            ..self.span(SpanOf::Request(request), open.asked, fact)
        });
    }
}
