//! Further observations for histories: turns, state, instructions, agents, and calls by programs.

use serde_json::Value;

use super::history::History;
use super::toolbox::PROGRAM;
use crate::admission::claiming::{ClaimAction, ClaimCommand};
use crate::admission::command::Command;
use crate::calls::deliveries::Delivery;
use crate::deciding::rules::RULES_MIN;
use crate::deciding::step::owed;
use crate::json::Json;
use crate::record::approvals::answers::ToolConfirmation;
use crate::record::approvals::standing::AllowFor;
use crate::record::observation::{
    Author, Connected, FunctionCallReceived, InstructionSent, LlmAsked, LlmPart, LlmReplied,
    ResumptionHandleReceived, RunnerDraining, SessionClosed, SessionOpened, StateChange,
    StateChanged, SwitchPlanned, ToolReturned, ToolYielded, TurnCompleted, UserTextSent,
};
use crate::state::closing::Closing;
use crate::state::effect::Effect;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

impl History {
    /// Claims the next start of the current call for a client, for `ms` milliseconds.
    #[must_use]
    pub fn claimed(self, claim: &str, ms: u64) -> History {
        let claim = Command::Claim(ClaimCommand {
            call: self.call_seq(),
            attempt: None,
            claim: claim.to_owned(),
            by: Actor::embedder("warehouse"),
            action: ClaimAction::Claim {
                until_us: self.now().after_ms(ms),
            },
        });
        self.commanded(claim)
    }

    /// Approves the open request about the current call, and allows later calls of its tool.
    ///
    /// ```
    /// use recount_session::AllowFor;
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().gated("pay").may_allow_for_session("pay");
    /// let connected = history().opened("support").attached(&tools).connected();
    /// let asked = connected.call("c1", "pay", json!({}));
    /// let one_more = asked.granted_for("ada", AllowFor::Count(1));
    /// assert_eq!(one_more.call("c2", "pay", json!({})).started().attempt(), 1);
    /// ```
    #[must_use]
    pub fn granted_for(self, by: &str, bound: AllowFor) -> History {
        let request = self.request();
        let answer = Ok(ToolConfirmation::confirmed().and_allow_for(bound));
        let by = Actor::embedder(by);
        self.commanded(Command::AnswerConfirmation {
            request,
            answer,
            by,
        })
    }

    /// Revokes a standing leave.
    #[must_use]
    pub fn leave_revoked(self, leave: Seq, by: &str) -> History {
        self.commanded(Command::RevokeLeave {
            leave,
            reason: None,
            by: Actor::embedder(by),
        })
    }

    /// Ends the model's turn.
    #[must_use]
    pub fn turn_ended(self) -> History {
        let epoch = self.epoch();
        self.observed(TurnCompleted {
            epoch,
            reason: None,
        })
    }

    /// Opens the session for an agent that acts for this party.
    #[must_use]
    pub fn opened_for(self, agent: &str, party: &str) -> History {
        self.observed(SessionOpened {
            agent: agent.to_owned(),
            external_id: None,
            on_behalf_of: Some(party.to_owned()),
            labels: Default::default(),
            rules: RULES_MIN,
            program: PROGRAM.to_owned(),
        })
    }

    /// Answers the open request about the current call in the name of this actor.
    #[must_use]
    pub fn answered_by(self, by: Actor, answer: ToolConfirmation) -> History {
        let answer = self.answer_of(by, answer);
        self.commanded(answer)
    }

    /// Returns the command by which this actor answers the open request about the current call.
    #[must_use]
    pub fn answer_of(&self, by: Actor, answer: ToolConfirmation) -> Command {
        Command::AnswerConfirmation {
            request: self.request(),
            answer: Ok(answer),
            by,
        }
    }

    /// Writes one value of the state in the program's name; `null` removes it.
    ///
    /// ```
    /// use recount_session::testing::history;
    /// use serde_json::json;
    ///
    /// let told = history().opened("support").state("plan", json!("monthly"));
    /// assert_eq!(told.value("plan"), Some(json!("monthly")));
    /// ```
    #[must_use]
    pub fn state(self, key: &str, value: Value) -> History {
        let author = Author::Program(Actor::embedder("crm"));
        self.observed(written(author, [(key, value)]))
    }

    /// Writes one value of the state in the name of the current call's running tool.
    #[must_use]
    pub fn tool_state(self, key: &str, value: Value) -> History {
        let changed = self.tool_changed([(key, value)]);
        self.observed(changed)
    }

    /// Returns the observation that the tool of the current call writes these values.
    #[must_use]
    pub fn tool_changed<'k>(
        &self,
        changes: impl IntoIterator<Item = (&'k str, Value)>,
    ) -> StateChanged {
        let (call, attempt) = (self.call_seq(), self.attempt());
        written(Author::Tool { call, attempt }, changes)
    }

    /// Reports one of several results of the current call's tool.
    #[must_use]
    pub fn yielded(self, response: Value) -> History {
        let yielded = self.tool_yielded(&response);
        self.observed(yielded)
    }

    /// Returns the observation that the current call's tool reports one of several results.
    #[must_use]
    pub fn tool_yielded(&self, response: &Value) -> ToolYielded {
        ToolYielded {
            call: self.call_seq(),
            attempt: self.attempt(),
            runner: None,
            response: Json::of(response),
        }
    }

    /// Records the request of the current call's agent to its model.
    ///
    /// ```
    /// use recount_session::testing::{history, toolbox};
    /// use serde_json::json;
    ///
    /// let tools = toolbox().agent("clerk", ["look"]).plain("look").inner("look");
    /// let connected = history().opened("support").attached(&tools).connected();
    /// let called = connected.call("c1", "clerk", json!({}));
    /// let looks = called.asks_model().model_calls(&["look"]);
    /// assert_eq!(looks.current().name, "look");
    /// ```
    #[must_use]
    pub fn asks_model(self) -> History {
        let asked = self.llm_asked();
        self.observed(asked)
    }

    /// Returns the observation of the request of the current call's agent to its model.
    #[must_use]
    pub fn llm_asked(&self) -> LlmAsked {
        LlmAsked {
            call: self.call_seq(),
            attempt: self.attempt(),
            turn: self.turn(),
            of: "clerk".to_owned(),
            model: "scripted".to_owned(),
            request_sha256: ObjectHash::of(b"{}"),
        }
    }

    /// Returns the reply of the model of the current call's agent: a text, or this number of calls.
    #[must_use]
    pub fn llm_replied(&self, calls: usize) -> LlmReplied {
        let part = match calls {
            0 => LlmPart {
                text: Some("done".to_owned()),
                signature: None,
            },
            _ => LlmPart::default(),
        };
        LlmReplied {
            call: self.call_seq(),
            attempt: self.attempt(),
            turn: self.turn(),
            parts: vec![part; calls.max(1)],
            usage: None,
        }
    }

    fn turn(&self) -> u32 {
        let turns = self.current().agent.as_deref().map(|run| run.turns.len());
        turns.unwrap_or_default() as u32 + 1
    }

    /// Records a reply of the agent's model with these calls. The last of them becomes the current
    /// call.
    #[must_use]
    pub fn model_calls(self, names: &[&str]) -> History {
        let parent = self.call_seq();
        let replied = self.llm_replied(names.len());
        let mut told = self.observed(replied);
        for name in names {
            told = told.observed(called_by(parent, name));
        }
        told
    }

    /// Records the last reply of the agent's model, and the end of the agent's run.
    #[must_use]
    pub fn model_done(self) -> History {
        let replied = self.llm_replied(0);
        self.observed(replied)
            .returned(serde_json::json!({"output": "done"}))
    }

    /// Makes this call the current one.
    #[must_use]
    pub fn at_call(self, call: Seq) -> History {
        self.with_call(call)
    }

    /// Ends the tool of the current call with a failure of this kind.
    #[must_use]
    pub fn failed_as(self, kind: &str) -> History {
        let returned = self.tool_returned(true, &Value::Null);
        let error_kind = Some(kind.to_owned());
        self.observed(ToolReturned {
            error_kind,
            ..returned
        })
    }

    /// Ends the tool of the current call with a result and the wish to close the session.
    #[must_use]
    pub fn returned_and_ends(self, reason: &str) -> History {
        let returned = self.tool_returned(false, &serde_json::json!({"success": true}));
        let ends_session = Some(reason.to_owned());
        self.observed(ToolReturned {
            ends_session,
            ..returned
        })
    }

    /// Closes the session as a tool asked for. Changes nothing if no tool did.
    #[must_use]
    pub fn closed_by_its_tool(self) -> History {
        match self.session().closing.clone() {
            Some(Closing { reason, by, .. }) => self.observed(SessionClosed { reason, by }),
            None => self,
        }
    }

    /// Records a call that the embedding program makes itself.
    #[must_use]
    pub fn program_call(self, name: &str, args: Value) -> History {
        self.observed(called_by_program(name, &args))
    }

    /// Sends the owed instruction to the model. Changes nothing if none is owed.
    #[must_use]
    pub fn instructed(self) -> History {
        match self.instruction_owed() {
            Some((phase, epoch)) => self.observed(InstructionSent { epoch, phase }),
            None => self,
        }
    }

    /// Opens a connection whose setup contained the instruction of the phase.
    #[must_use]
    pub fn connected_and_instructed(self) -> History {
        let phase = self.session().phase.as_ref().map(|stay| stay.entered);
        self.observed(Connected {
            model: "models/test".to_owned(),
            endpoint: "ws://127.0.0.1:1".to_owned(),
            phase,
            capabilities: None,
            non_blocking: Vec::new(),
            resumed: None,
        })
    }

    /// Receives a handle for resuming the conversation, with the fingerprint `name`.
    ///
    /// ```
    /// use recount_session::testing::history;
    ///
    /// let told = history().opened("support").connected().handle("h1");
    /// let covers = told.session().resumption.as_ref().map(|it| it.covers);
    /// assert_eq!(covers, Some(told.session().head));
    /// ```
    #[must_use]
    pub fn handle(self, name: &str) -> History {
        let epoch = self.epoch();
        self.observed(ResumptionHandleReceived {
            epoch,
            resumable: true,
            fingerprint: Some(name.to_owned()),
            expires_at_us: None,
        })
    }

    /// Opens a connection that resumes the conversation by the newest handle.
    #[must_use]
    pub fn resumed(self) -> History {
        let handle = self.session().resumption.as_ref();
        let resumed = handle.map(|it| it.fingerprint.clone());
        self.observed(Connected {
            model: "models/test".to_owned(),
            endpoint: "ws://127.0.0.1:1".to_owned(),
            phase: None,
            capabilities: None,
            non_blocking: Vec::new(),
            resumed,
        })
    }

    /// Plans to leave the connection within 10 s.
    #[must_use]
    pub fn switch_planned(self) -> History {
        let (epoch, due_us) = (self.epoch(), self.now().after_ms(10_000));
        self.observed(SwitchPlanned { epoch, due_us })
    }

    /// Announces that the process will end soon.
    #[must_use]
    pub fn draining(self) -> History {
        let reason = "deploy".to_owned();
        self.observed(RunnerDraining { reason })
    }

    /// Sends text of the user.
    #[must_use]
    pub fn user_text(self, text: &str) -> History {
        let (epoch, text) = (self.epoch(), text.to_owned());
        self.observed(UserTextSent { epoch, text })
    }

    /// Returns the owed instruction: its `phase_entered`, and the connection.
    #[must_use]
    pub fn instruction_owed(&self) -> Option<(Seq, Seq)> {
        let owed = owed(self.session()).into_iter();
        owed.filter_map(|effect| match effect {
            Effect::SendInstruction { phase, epoch } => Some((phase, epoch)),
            Effect::RunTool { .. }
            | Effect::AskHook { .. }
            | Effect::AskConfirmation { .. }
            | Effect::SendResponse { .. }
            | Effect::CloseSession { .. }
            | Effect::Connect
            | Effect::ArmTimer { .. } => None,
        })
        .next()
    }

    /// Returns the current phase of the conversation.
    #[must_use]
    pub fn phase(&self) -> Option<&str> {
        let stay = self.session().phase.as_ref();
        stay.map(|stay| stay.phase.as_str())
    }

    /// Returns a value of the state.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Value> {
        self.session().value(key).map(Json::to_value)
    }

    /// Returns the undelivered responses about the current call, oldest first.
    #[must_use]
    pub fn told(&self) -> Vec<&Delivery> {
        let deliveries = self.session().deliveries.values();
        deliveries
            .filter(|delivery| delivery.call == self.call_seq())
            .collect()
    }
}

/// Returns the observation that the author writes these values at once; `null` removes a key.
#[must_use]
pub fn written<'k>(
    author: Author,
    changes: impl IntoIterator<Item = (&'k str, Value)>,
) -> StateChanged {
    let change = |(key, value): (&str, Value)| StateChange {
        key: key.to_owned(),
        value: Json::of(&value),
    };
    let changes = changes.into_iter().map(change).collect();
    StateChanged { changes, author }
}

/// Returns the observation that an agent's model calls a tool without arguments.
#[must_use]
pub fn called_by(parent: Seq, name: &str) -> FunctionCallReceived {
    FunctionCallReceived {
        epoch: Seq(0),
        id: Some("a1".to_owned()),
        name: Some(name.to_owned()),
        args: Some(Json::empty_object()),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: Some(parent),
        beyond_max: None,
        key: None,
    }
}

/// Returns the observation that the embedding program makes a call.
pub(super) fn called_by_program(name: &str, args: &Value) -> FunctionCallReceived {
    FunctionCallReceived {
        id: None,
        args: Some(Json::of(args)),
        by: Some(Actor::embedder("pipeline")),
        parent: None,
        ..called_by(Seq(0), name)
    }
}

/// Returns the response that an effect sends.
pub(super) fn response_of(effect: Effect) -> Option<Seq> {
    match effect {
        Effect::SendResponse { response, .. } => Some(response),
        Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect
        | Effect::ArmTimer { .. } => None,
    }
}

/// Returns the command that answers a request.
#[must_use]
pub fn answer_to(request: Seq, confirmed: bool, reason: Option<&str>, by: &str) -> Command {
    let mut answer = ToolConfirmation::default();
    answer.confirmed = confirmed;
    answer.reason = reason.map(str::to_owned);
    Command::AnswerConfirmation {
        request,
        answer: Ok(answer),
        by: Actor::embedder(by),
    }
}
