//! The spans of calls, and of outcomes that are found later.

use recount::session::{
    Decision, Fact, Finding, FunctionCallReceived, Json, Outcome, OutcomeFound, PolicyDecided,
    ResultReused, Seq, SpanOf, Timestamp, ToolReturned,
};

use super::naming;
use super::tracer::Tracer;
use crate::span::{Attributes, Span};

/// A call that has not ended.
#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) tool: String,
    wire_id: Option<String>,
    received: Timestamp,
    /// The call of the agent that made it.
    parent: Option<Seq>,
    by_program: bool,
    /// The arguments, if they are part of the content.
    args: Option<Json>,
    policy: Option<PolicyDecided>,
    reused: Option<Seq>,
    /// The kind of the last failure.
    error_kind: Option<String>,
    /// The last response that a tool or a person gave, if it is part of the content.
    result: Option<(Seq, Json)>,
}

impl Tracer {
    pub(super) fn received(&mut self, it: &FunctionCallReceived, fact: &Fact) {
        // A redelivery is recorded, but is not another call.
        if !self.session.calls.contains_key(&fact.seq) {
            return;
        }
        let call = OpenCall {
            tool: naming::name(it.name.as_deref().unwrap_or_default()),
            wire_id: it.id.as_deref().map(naming::name),
            received: fact.at,
            parent: it.parent,
            by_program: it.by.is_some(),
            args: it.args.clone().filter(|_| self.content.arguments),
            policy: None,
            reused: None,
            error_kind: None,
            result: None,
        };
        self.calls.insert(fact.seq, call);
    }

    pub(super) fn judged(&mut self, it: &PolicyDecided) {
        if let Some(call) = self.calls.get_mut(&it.call) {
            call.policy = Some(it.clone());
        }
    }

    pub(super) fn reused(&mut self, it: &ResultReused) {
        if let Some(call) = self.calls.get_mut(&it.call) {
            call.reused = Some(it.of);
        }
    }

    pub(super) fn returned(&mut self, it: &ToolReturned, fact: &Fact) {
        if let Some(call) = self.calls.get_mut(&it.call) {
            call.error_kind = it.error_kind.as_deref().map(naming::name);
        }
        self.supplied(it.call, &it.response, fact);
    }

    /// Keeps a response that may become the call's result.
    pub(super) fn supplied(&mut self, call: Seq, response: &Json, fact: &Fact) {
        let wanted = self.content.results;
        if let Some(call) = self.calls.get_mut(&call).filter(|_| wanted) {
            call.result = Some((fact.seq, response.clone()));
        }
    }

    /// Takes over the arguments that an approver wrote.
    pub(super) fn take_edited_args(&mut self, call: Seq) {
        let open = self.session.calls.get(&call);
        if let (Some(open), Some(call)) = (open, self.calls.get_mut(&call))
            && call.args.is_some()
        {
            call.args = Some(open.args.clone());
        }
    }

    /// Ends the span of a call that has ended with this decision.
    pub(super) fn end_call(
        &mut self,
        seq: Seq,
        decision: &Decision,
        fact: &Fact,
        spans: &mut Vec<Span>,
    ) {
        let ended = self.session.settled.get(&seq).copied();
        let Some(settled) = ended.filter(|it| it.at == fact.seq) else {
            return;
        };
        let Some(call) = self.calls.remove(&seq) else {
            return;
        };
        if let Outcome::Unknown | Outcome::TimedOut = settled.outcome {
            self.unknown.insert(seq, (fact.at, call.tool.clone()));
        }
        let mut attributes = self.attributes_of(seq, &call);
        attributes.text("recount.outcome", naming::outcome(settled.outcome));
        attributes.number("recount.attempts", u64::from(settled.attempts));
        let error = naming::error_of(settled.outcome);
        if let Some((kind, _)) = error {
            let own = call.error_kind.as_deref();
            let own = own.filter(|_| settled.outcome == Outcome::Failed);
            attributes.text("error.type", own.unwrap_or(kind));
        }
        if let Some(result) = self.result_of(&call, decision) {
            naming::content(&mut attributes, "gen_ai.tool.call.result", &result);
        }
        let parent = SpanOf::Session;
        let parent = call.parent.map_or(parent, SpanOf::Call);
        spans.push(Span {
            parent: Some(self.session.id.span_id(parent)),
            name: naming::about_tool("execute_tool", &call.tool),
            attributes: attributes.done(),
            error: error.map(|(_, message)| message),
            ..self.span(SpanOf::Call(seq), call.received, fact)
        });
    }

    fn attributes_of(&self, seq: Seq, call: &OpenCall) -> Attributes {
        let mut attributes = Attributes::default();
        let id = self.session.id.call_id(seq).to_string();
        attributes.text("gen_ai.operation.name", "execute_tool");
        self.add_common(&mut attributes);
        attributes.text("gen_ai.tool.name", &*call.tool);
        attributes.text("gen_ai.tool.type", "function");
        let wire_id = call.wire_id.clone();
        attributes.text("gen_ai.tool.call.id", wire_id.unwrap_or_else(|| id.clone()));
        attributes.text("recount.call.id", id);
        attributes.number("recount.call.seq", seq.0);
        let made_by = match (call.by_program, call.parent) {
            (true, _) => "program",
            (false, Some(_)) => "agent",
            (false, None) => "model",
        };
        attributes.text("recount.call.made_by", made_by);
        if let Some(policy) = &call.policy {
            attributes.text("recount.policy.verdict", naming::verdict(policy.verdict));
            attributes.text("recount.policy.rule", naming::rule(policy.rule));
        }
        if let Some(of) = call.reused {
            attributes.number("recount.reused.seq", of.0);
        }
        if let Some(args) = &call.args {
            let key = "gen_ai.tool.call.arguments";
            naming::content(&mut attributes, key, args.as_str());
        }
        attributes
    }

    /// The response that the model gets, if it is part of the content.
    fn result_of(&self, call: &OpenCall, decision: &Decision) -> Option<String> {
        let Decision::ResponseIssued(issued) = decision else {
            return None;
        };
        if !self.content.results {
            return None;
        }
        if let Some(own) = &issued.response {
            return Some(own.as_str().to_owned());
        }
        let given = call.result.as_ref();
        let given = given.filter(|(seq, _)| issued.of == Some(*seq));
        given.map(|(_, response)| response.as_str().to_owned())
    }

    /// Makes the span of the wait for an outcome, or keeps the outcome as the call's result.
    pub(super) fn outcome_found(&mut self, it: &OutcomeFound, fact: &Fact, spans: &mut Vec<Span>) {
        if let Finding::Done(result) = &it.found {
            self.supplied(it.call, result, fact);
        }
        // Only the first finding about a call that has ended counts.
        let counts = self.session.reconciled.get(&it.call);
        if counts.is_none_or(|it| it.at != fact.seq) {
            return;
        }
        let Some((since, tool)) = self.unknown.remove(&it.call) else {
            return;
        };
        let mut attributes = Attributes::default();
        self.add_common(&mut attributes);
        attributes.text("gen_ai.tool.name", &*tool);
        attributes.number("recount.call.seq", it.call.0);
        let (found, error) = match &it.found {
            Finding::Done(_) => ("done", None),
            Finding::Failed(_) => ("failed", Some("the call had failed")),
        };
        attributes.text("recount.found", found);
        attributes.text_if_any("error.type", error.map(|_| "failed"));
        self.people().add(&mut attributes, &it.by);
        spans.push(Span {
            parent: Some(self.span_of_call(it.call)),
            name: naming::about_tool("await_outcome", &tool),
            attributes: attributes.done(),
            error,
            ..self.span(SpanOf::Outcome(fact.seq), since, fact)
        });
    }
}
