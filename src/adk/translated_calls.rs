//! Calls, their confirmation requests and their responses as ADK events.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::event::{Call, CallArgs, Content, Event, Part, Response};
use super::request_confirmation::{Confirmation, REQUEST_CONFIRMATION, Unanswered};
use super::translation::Translation;
use crate::session::catalog::ToolKind;
use crate::session::{
    CallCancelled, CancelReason, ConfirmationAnswered, ConfirmationRequested, Fact, Finding,
    FunctionCallReceived, HookAnswered, Json, Outcome, ResponseIssued, ResponseSupplied, Seq,
    Wording,
};

/// The reason why a card ended without an answer.
#[derive(Clone, Copy)]
pub(super) enum CardEnd {
    Expired,
    /// It expired, and its call runs. No user confirmed that, so the card is not confirmed.
    AllowedUnanswered,
    Withdrawn(CancelReason),
    Superseded,
}

/// A response of the engine that the agent's hook has not seen yet.
#[derive(Clone, Debug)]
pub(super) struct Withheld {
    response: Response,
    /// The turn of the call.
    turn: Seq,
    is_interim: bool,
}

impl Translation {
    /// The event for a call, unless the session already had it. The service may deliver a call
    /// twice, and nothing ends a second card.
    pub(super) fn called(&mut self, fact: &Fact, it: &FunctionCallReceived) -> Option<Event> {
        self.session.calls.get(&fact.seq)?;
        self.begin_turn(fact.seq);
        // A later connection may reuse an id of the model, and the client would confuse the two
        // calls.
        let of_model = it.id.clone().filter(|id| self.shown.insert(id.clone()));
        let own = || self.session.id.call_id(fact.seq).to_string();
        let id = of_model.unwrap_or_else(own);
        let name = it.name.clone().unwrap_or_default();
        let args = it.args.clone().unwrap_or_else(Json::empty_object);
        let declared = self.session.terms.catalog.tools.get(&name);
        let long_running = declared.is_some_and(|tool| tool.kind == ToolKind::LongRunning);
        let call = Call {
            id: Some(id.clone()),
            name,
            args: CallArgs::Given(args),
        };
        self.calls.insert(fact.seq, (call.clone(), self.turn));
        let author = self.agent();
        let mut event = self.says(fact, &author, Part::FunctionCall(call));
        event.long_running_tool_ids = Some(long_running.then_some(id).into_iter().collect());
        Some(event)
    }

    pub(super) fn asked(&self, fact: &Fact, it: &ConfirmationRequested) -> Option<Event> {
        let (original, turn) = self.calls.get(&it.call)?;
        let asked = Unanswered::about(it.about, &original.name, it.hint.as_deref());
        let asked = match &it.payload_schema {
            Some(schema) => asked.asking_for(schema),
            None => asked,
        };
        // An earlier answer may have changed the arguments. The folded session has the arguments
        // that this request binds.
        let bound = self.session.calls.get(&it.call).map(|open| &open.args);
        let original = Call {
            args: bound.map_or(original.args.clone(), |args| CallArgs::Given(args.clone())),
            ..original.clone()
        };
        let confirmation = Confirmation {
            original_function_call: original.clone(),
            tool_confirmation: asked.clone(),
        };
        let call = confirmation.into_call(self.session.id.request_id(fact.seq));
        let id = call.id.clone();
        let mut event = self.says(fact, &self.agent(), Part::FunctionCall(call));
        event.invocation_id = self.invocation(*turn);
        event.long_running_tool_ids = Some(id.into_iter().collect());
        event.actions.skip_summarization = true;
        let waiting = original.id.clone().unwrap_or_default();
        let asked = BTreeMap::from([(waiting, asked)]);
        event.actions.requested_tool_confirmations = asked;
        Some(event)
    }

    pub(super) fn confirmed(&self, fact: &Fact, it: &ConfirmationAnswered) -> Option<Event> {
        let call = self.session.requests.get(&it.request)?.call;
        let (_, turn) = self.calls.get(&call)?;
        let answer = ClientAnswer {
            confirmed: it.confirmed,
            reason: it.reason.as_deref(),
            payload: it.payload.as_ref(),
            edited_args: it.edited_args.as_ref(),
            found: it.found.as_ref(),
        };
        let response = Response {
            id: self.session.id.request_id(it.request).to_string(),
            name: REQUEST_CONFIRMATION.to_owned(),
            response: answer.to_json(),
            scheduling: None,
        };
        let mut event = self.says(fact, "user", Part::FunctionResponse(response));
        event.invocation_id = self.invocation(*turn);
        Some(event)
    }

    /// The end of a card without an answer. Its author is the agent, because no user acted.
    pub(super) fn unanswered(
        &self,
        fact: &Fact,
        call: Seq,
        request: Seq,
        ended: CardEnd,
    ) -> Option<Event> {
        let (_, turn) = self.calls.get(&call)?;
        let (status, reason) = match ended {
            CardEnd::Expired => ("expired", "nobody answered in time"),
            CardEnd::AllowedUnanswered => (
                "allowed_unanswered",
                "no person answered in time, and the policy lets the call run",
            ),
            CardEnd::Withdrawn(reason) => ("withdrawn", reason.in_words()),
            CardEnd::Superseded => ("superseded", "the tool has changed; it is asked anew"),
        };
        let told = json!({"confirmed": false, "status": status, "reason": reason});
        let response = Response {
            id: self.session.id.request_id(request).to_string(),
            name: REQUEST_CONFIRMATION.to_owned(),
            response: Json::of(&told),
            scheduling: None,
        };
        Some(self.responds(fact, response, *turn))
    }

    /// The end of a call about which the model gets no response.
    pub(super) fn cancelled(&mut self, fact: &Fact, it: &CallCancelled) -> Option<Event> {
        let (call, turn) = self.calls.remove(&it.call)?;
        let error = format!("The call was cancelled: {}.", it.reason.in_words());
        let response = Response {
            id: call.id.unwrap_or_default(),
            name: call.name,
            response: Json::of(&json!({ "error": error })),
            scheduling: None,
        };
        Some(self.responds(fact, response, turn))
    }

    pub(super) fn issued(
        &mut self,
        fact: &Fact,
        it: &ResponseIssued,
        referred: Option<Json>,
    ) -> Option<Event> {
        let (call, turn) = self.calls.get(&it.call)?.clone();
        let is_interim = it.outcome == Outcome::Interim;
        if !is_interim {
            self.calls.remove(&it.call);
        }
        if it.of.is_some_and(|of| self.supplied.remove(&of)) && !is_interim {
            // `response_supplied` has already produced the event.
            return None;
        }
        let delivery = self.session.deliveries.get(&fact.seq);
        let response = Response {
            id: call.id.unwrap_or_default(),
            name: call.name,
            response: it.response.clone().or(referred)?,
            scheduling: delivery.and_then(|delivery| delivery.scheduling),
        };
        let is_withheld = delivery.is_some_and(|it| it.wording == Wording::AwaitingHook);
        if is_withheld {
            let withheld = Withheld {
                response,
                turn,
                is_interim,
            };
            self.withheld.insert(fact.seq, withheld);
            return None;
        }
        Some(self.responds(fact, response, turn))
    }

    /// The event for a response of the engine after the agent's hook has seen it.
    pub(super) fn reworded(&mut self, fact: &Fact, it: &HookAnswered) -> Option<Event> {
        let mut withheld = self.withheld.remove(&it.of?)?;
        if let Some(words) = &it.response {
            withheld.response.response = words.clone();
        }
        Some(self.responds(fact, withheld.response, withheld.turn))
    }

    /// The events for responses that no longer wait for the agent's hook.
    ///
    /// An agent without a hook sends them as issued. If a response is dropped while its hook has
    /// not answered, its content stays withheld, and the client still sees that the call ended.
    pub(super) fn released(&mut self, fact: &Fact) -> Vec<Event> {
        if self.withheld.is_empty() {
            return Vec::new();
        }
        let policies = &self.session.terms.policies;
        let has_hook = policies.hooks.before_tool_response;
        let notice = has_hook.then(|| {
            let error = policies
                .response
                .error("withheld", "the response was withheld");
            Json::of(&error)
        });
        let deliveries = &self.session.deliveries;
        let waits = |issued: &Seq| {
            let delivery = deliveries.get(issued);
            has_hook && delivery.is_some_and(|it| it.wording == Wording::AwaitingHook)
        };
        let ended = self.withheld.extract_if(.., |issued, _| !waits(issued));
        let ended: Vec<(Seq, Withheld)> = ended.collect();
        let mut events = Vec::new();
        for (issued, mut withheld) in ended {
            let is_dropped = !self.session.deliveries.contains_key(&issued);
            // The end of the call follows.
            if is_dropped && withheld.is_interim {
                continue;
            }
            if let Some(notice) = &notice {
                withheld.response.response = notice.clone();
            }
            events.push(self.responds(fact, withheld.response, withheld.turn));
        }
        events
    }

    fn responds(&self, fact: &Fact, response: Response, turn: Seq) -> Event {
        let mut event = self.by_agent(fact);
        event.invocation_id = self.invocation(turn);
        event.content = Some(Content {
            role: "user",
            parts: vec![Part::FunctionResponse(response)],
        });
        event
    }

    /// The event for a response that did not come from the agent.
    pub(super) fn answered(&mut self, fact: &Fact, it: &ResponseSupplied) -> Option<Event> {
        let (call, turn) = self.calls.get(&it.call)?;
        let response = Response {
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone(),
            response: it.response.clone(),
            scheduling: None,
        };
        let mut event = self.says(fact, "user", Part::FunctionResponse(response));
        event.invocation_id = self.invocation(*turn);
        self.supplied.insert(fact.seq);
        Some(event)
    }
}

/// An answer in the format of a client.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientAnswer<'a> {
    confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_args: Option<&'a Json>,
    /// The stated outcome of a call in doubt. Such an answer is no denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a Finding>,
}

impl ClientAnswer<'_> {
    fn to_json(&self) -> Json {
        // Recorded JSON was checked on entry; here it is one level deeper.
        let text = serde_json::to_string(self).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_else(|_| Json::empty_object())
    }
}
