//! The effect of every observation on a call in every phase, as one table.
//!
//! A phase that outlives a step has a block with a row for each kind of observation. The other
//! phases end within the step that begins them, so no observation ever meets them (a law checks
//! it). Their row lists the decisions that end them.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

#[path = "transitions/page.rs"]
mod page;

use recount_session::testing::{History, Toolbox, answer_to, history, toolbox, written};
use recount_session::*;
use serde_json::json;

/// A named history whose current call is in a lasting phase.
struct Station {
    name: &'static str,
    history: History,
}

fn tools() -> Toolbox {
    toolbox()
        .plain("look")
        .timeout_ms("look", 1_000)
        .gated("pay")
        .expires_ms("pay", 60_000)
        .gated("wipe")
        .withdraw_on_cancel("wipe")
        .gated("mail")
        .may_allow_for_session("mail")
        .plain("refund")
        .gated_by_program("refund")
        .plain("retry")
        .in_doubt("retry", InDoubt::Retry)
        .plain("ask")
        .in_doubt("ask", InDoubt::Ask)
        .long_running("order")
        .plain("again")
        .retried("again", 2, 100)
        .timeout_ms("again", 1_000)
        .plain("find")
        .cached("find")
        .streaming("watch")
        .background("watch", FunctionResponseScheduling::WhenIdle)
        .agent("clerk", ["look", "order"])
        .at_client("pack")
        .in_doubt("pack", InDoubt::Ask)
        .at_client("ship")
        .in_doubt("ship", InDoubt::Retry)
        .phases(PHASES_DECLARED.map(phase))
}

/// The last phase is entered when `done` is true, and has no tools.
const PHASES_DECLARED: [&str; 2] = ["open", "over"];

fn phase(name: &str) -> PhaseDeclaration {
    let over = name == "over";
    let to_over = Transition {
        to: "over".to_owned(),
        when: S::is_true("done"),
    };
    PhaseDeclaration {
        name: name.to_owned(),
        instruction: Some(format!("It is {name}.")),
        tools: over.then(BTreeSet::new),
        transitions: (!over).then_some(to_over).into_iter().collect(),
    }
}

fn opened() -> History {
    history().opened("support").attached(&tools()).connected()
}

/// A conversation whose agent has a hook for calls.
fn hooked() -> History {
    let hooks = Hooks {
        on_tool_call: true,
        before_tool_response: false,
    };
    let tools = tools().hooks(hooks);
    history().opened("support").attached(&tools).connected()
}

/// A conversation about a call that two persons must approve.
fn asks_two() -> History {
    let tools = tools().gated("wire").quorum("wire", 2);
    let opened = history().opened("support").attached(&tools).connected();
    opened.call("c1", "wire", json!({"n": 1})).asked()
}

/// A call that runs if no person answers.
fn runs_unanswered() -> History {
    let tools = tools().gated("send").expires_ms("send", 60_000);
    let tools = tools.runs_unanswered("send");
    let opened = history().opened("support").attached(&tools).connected();
    opened.call("c1", "send", json!({"n": 1})).asked()
}

/// A call that waits for a person, at the time from which its wait is acknowledged.
fn not_acknowledged() -> History {
    let tools = tools().acknowledges_after_ms(1_000);
    let opened = history().opened("support").attached(&tools).connected();
    let asked = opened.call("c1", "wipe", json!({"n": 1})).asked();
    asked.later(1_000)
}

fn call(name: &str) -> History {
    opened().call("c1", name, json!({"n": 1}))
}

/// An agent whose only call waits for a result from outside.
fn waits() -> History {
    let asking = call("clerk").started().asks_model();
    let agent = asking.call_seq();
    asking.model_calls(&["order"]).paused(None).at_call(agent)
}

/// The history after a pause of the session.
fn paused(history: History) -> History {
    history.commanded(Command::Pause(PauseCommand {
        tool: None,
        reason: None,
        by: Actor::embedder("ops"),
    }))
}

/// A call that a standing leave allows, and that waits for a slot.
fn by_leave() -> History {
    let given = call("mail").granted_for("ada", AllowFor::Count(2));
    given
        .attached(&tools().running_max(0))
        .call("c2", "mail", json!({"n": 1}))
}

fn stations() -> Vec<Station> {
    let station = |name, history| Station { name, history };
    vec![
        station("awaiting_confirmation: may it run?", call("pay").asked()),
        station(
            "awaiting_confirmation: withdrawn if the model takes it back",
            call("wipe").asked(),
        ),
        station(
            "awaiting_confirmation: not acknowledged so far",
            not_acknowledged(),
        ),
        station(
            "awaiting_confirmation: it runs without an answer",
            runs_unanswered(),
        ),
        station("awaiting_confirmation: two must agree", asks_two()),
        station(
            "awaiting_confirmation: one of two has agreed",
            asks_two().answered_by(Actor::os_user("bob"), ToolConfirmation::confirmed()),
        ),
        station(
            "awaiting_confirmation: may it run again?",
            call("ask").started().detached().asked(),
        ),
        station("awaiting_verdict: the program says", call("refund")),
        station(
            "ready: no runner",
            opened().detached().call("c1", "look", json!({"n": 1})),
        ),
        station(
            "ready: approved, no runner",
            opened()
                .detached()
                .call("c1", "pay", json!({"n": 1}))
                .granted("ada"),
        ),
        station(
            "ready: held by a pause",
            paused(opened()).call("c1", "look", json!({"n": 1})),
        ),
        station(
            "in_doubt: held by a pause",
            paused(call("retry").started())
                .detached()
                .attached(&tools()),
        ),
        station(
            "awaiting_confirmation: its answer may allow later calls",
            call("mail").asked(),
        ),
        station("ready: by a standing leave, no slot", by_leave()),
        station(
            "running: settled as unknown if cut off",
            call("look").started(),
        ),
        station("running: run again if cut off", call("retry").started()),
        station(
            "awaiting_confirmation: its tool waits where it stands",
            call("look").started().asks_in_place("and now?"),
        ),
        station(
            "in_doubt: no runner to run it again",
            call("retry").started().detached(),
        ),
        station(
            "running: in the background, one result after another",
            call("watch").started().yielded(json!({"step": 1})),
        ),
        station("running: run again if it fails", call("again").started()),
        station(
            "ready: an equal call runs",
            call("find").started().call("c2", "find", json!({"n": 1})),
        ),
        station(
            "retrying: the wait before another run",
            call("again").started().failed(json!({"error": "busy"})),
        ),
        station(
            "awaiting_hook: unknown if cut off",
            hooked().call("c1", "look", json!({"n": 1})),
        ),
        station(
            "awaiting_hook: asked again if cut off",
            hooked().call("c1", "retry", json!({"n": 1})),
        ),
        station(
            "running: an agent that asks its model",
            call("clerk").started().asks_model(),
        ),
        station("awaiting_calls: its call goes on elsewhere", waits()),
        station(
            "awaiting_calls: cut off while its model was asked",
            call("clerk").started().asks_model().detached(),
        ),
        station("ready: a client may claim it", call("pack")),
        station(
            "running: at a client, asked about if its lease passes",
            call("pack").claimed("w1", 60_000),
        ),
        station(
            "awaiting_confirmation: may a client run it again?",
            call("pack").claimed("w1", 60_000).timed_out().asked(),
        ),
        station(
            "in_doubt: a client may claim it again",
            call("ship").claimed("w1", 60_000).timed_out(),
        ),
        station(
            "paused: interim told",
            call("order").started().paused(Some(json!({"ticket": 7}))),
        ),
    ]
}

/// Histories that together pass through every phase.
fn passages() -> Vec<History> {
    vec![
        opened().call("c1", "nothing", json!({})),
        call("look").returned(json!({})),
        call("look").timed_out(),
        call("look").asks("and now?"),
        call("pay").granted("ada"),
        runs_unanswered().timed_out(),
        call("pay").denied("ada", None),
        call("pay").cancelled(),
        by_leave(),
        call("order").paused(None).supplied(json!({})),
        call("retry").detached(),
        call("again").failed(json!({"error": "busy"})),
        call("again").timed_out(),
        call("again").returned(json!({})),
        call("watch").yielded(json!({})).returned(json!({})),
        call("find")
            .returned(json!({}))
            .call("c2", "find", json!({"n": 1})),
    ]
}

/// True if an observation can meet the phase. A new phase stops the build here: add a station or a
/// passage for it.
fn lasts(phase: &Phase) -> bool {
    match phase {
        Phase::AwaitingConfirmation { .. }
        | Phase::AwaitingHook
        | Phase::AwaitingVerdict
        | Phase::Ready { .. }
        | Phase::Running { .. }
        | Phase::AwaitingCalls { .. }
        | Phase::InDoubt { .. }
        | Phase::Retrying { .. }
        | Phase::Paused { .. } => true,
        Phase::Received
        | Phase::Refused { .. }
        | Phase::Gated
        | Phase::Asking { .. }
        | Phase::Withdrawn
        | Phase::Approved { .. }
        | Phase::Unanswered { .. }
        | Phase::Denied { .. }
        | Phase::Permitted { .. }
        | Phase::Returned { .. }
        | Phase::Supplied { .. }
        | Phase::Found { .. }
        | Phase::TimedOut { .. } => false,
    }
}

/// The number of phases. `lasts` lists them all.
const PHASES: usize = 21;

#[test]
fn every_phase_meets_every_observation_as_the_table_says() {
    let mut table = String::new();
    let mut lasting = BTreeSet::new();
    for Station { name, history } in stations() {
        let phase = &history.current().phase;
        assert!(lasts(phase), "{name} does not last");
        assert!(name.starts_with(phase.name()), "{name} is {}", phase.name());
        lasting.insert(phase.name());
        writeln!(table, "== {name}").expect("a string takes text");
        let met = observations(&history);
        let kinds: BTreeSet<&str> = met
            .iter()
            .map(|(_, observation)| observation.kind())
            .collect();
        let missing: Vec<_> = Observation::KINDS
            .iter()
            .filter(|kind| !kinds.contains(*kind))
            .collect();
        assert!(missing.is_empty(), "{name} does not meet {missing:?}");
        for (which, observation) in met {
            writeln!(table, "{}", met_by(&history, which, observation))
                .expect("a string takes text");
        }
        table.push('\n');
    }
    table.push_str("== passed within a step\n");
    let passing = passing();
    for (phase, decisions) in &passing {
        let decisions: Vec<&str> = decisions.iter().copied().collect();
        writeln!(table, "{phase:<44} {}", decisions.join(" or ")).expect("a string takes text");
    }
    assert_eq!(
        lasting.len() + passing.len(),
        PHASES,
        "{lasting:?} {:?}",
        passing.keys()
    );
    insta::assert_snapshot!(table);
}

/// Checks the generated page of the documentation. `RECOUNT_WRITE_DOCS=1` writes it.
#[test]
fn generated_phases_page_matches_the_rules() {
    let meets = |Station { name, history }: Station| page::Meets {
        name,
        phase: history.current().phase.name(),
        rows: observations(&history)
            .into_iter()
            .map(|(which, observation)| met_by(&history, which, observation))
            .collect(),
    };
    let stations: Vec<page::Meets> = stations().into_iter().map(meets).collect();
    let page = page::page(&stations, &passing());
    let place = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/phases-of-a-call.md"
    );
    if std::env::var_os("RECOUNT_WRITE_DOCS").is_some() {
        std::fs::write(place, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(place).unwrap_or_default();
    assert!(
        written == page,
        "docs/phases-of-a-call.md does not match the rules; write it with RECOUNT_WRITE_DOCS=1"
    );
}

/// Returns the decisions that end each phase that does not last, over all passages.
fn passing() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut passing: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for history in passages() {
        let library = history.session().library().clone();
        let mut session = Session::with_library(history.session().id, library);
        let next = history.facts().iter().skip(1).map(|fact| fact.event.kind());
        for (fact, next) in history.facts().iter().zip(next) {
            session = evolve(session, fact);
            if let Some(call) = session.calls.get(&history.call_seq())
                && !lasts(&call.phase)
            {
                passing.entry(call.phase.name()).or_default().insert(next);
            }
        }
    }
    passing
}

/// The effect of an observation.
pub(crate) struct Met {
    /// The observation.
    pub(crate) what: String,
    /// The phase afterwards, or the end of the call, or `-` for no change.
    pub(crate) after: String,
    /// The kinds of the decisions.
    pub(crate) decisions: Vec<&'static str>,
}

impl Met {
    pub(crate) fn does_something(&self) -> bool {
        self.after != "-" || !self.decisions.is_empty()
    }
}

impl std::fmt::Display for Met {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Met {
            what,
            after,
            decisions,
        } = self;
        let row = format!("{what:<44} {after:<44} {}", decisions.join(", "));
        f.write_str(row.trim_end())
    }
}

fn met_by(history: &History, which: &str, observation: Observation) -> Met {
    let kind = observation.kind();
    let what = if which.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} ({which})")
    };
    let call = history.call_seq();
    let before = history.current().clone();
    let mut session = history.session().clone();
    for (_, tools) in terms() {
        let _ = tools.attached("support", session.library_mut());
    }
    let done = step(session, history.now(), observation).expect("the rules come to an end");
    let decisions = done
        .facts
        .iter()
        .skip(1)
        .map(|fact| fact.event.kind())
        .collect();
    let after = match (
        done.session.calls.get(&call),
        done.session.settled.get(&call),
    ) {
        (Some(after), None) if *after == before => "-".to_owned(),
        (Some(after), None) => {
            let lost = if after.model_lost_interest {
                ", model lost interest"
            } else {
                ""
            };
            format!("{}{lost}", after.phase.name())
        }
        (None, Some(settled)) => format!("settled: {}", word(&settled.outcome)),
        (open, settled) => panic!("{call} is {open:?} and {settled:?}"),
    };
    Met {
        what,
        after,
        decisions,
    }
}

/// Returns a request of a client.
fn of_client(call: Seq, attempt: u32, claim: &str, what: &str) -> Command {
    let until_us = Timestamp(1_763_700_090_000_000);
    Command::Claim(ClaimCommand {
        call,
        attempt: Some(attempt),
        claim: claim.to_owned(),
        by: Actor::embedder("warehouse"),
        action: match what {
            "claim" => ClaimAction::Claim { until_us },
            "renew" => ClaimAction::Renew { until_us },
            "give back" => ClaimAction::End {
                reason: None,
                not_begun: true,
            },
            _ => ClaimAction::Return {
                name: "look".to_owned(),
                response: Json::empty_object(),
                failed: None,
            },
        },
    })
}

fn claim_ended(call: Seq, attempt: u32, not_begun: bool) -> Observation {
    ClaimEnded {
        call,
        attempt,
        claim: "w1".into(),
        reason: None,
        not_begun,
        by: Actor::embedder("warehouse"),
        rules: 2,
    }
    .into()
}

fn word(outcome: &Outcome) -> String {
    let text = serde_json::to_string(outcome).expect("an outcome is a word");
    text.trim_matches('"').to_owned()
}

/// Returns the current call's id on the wire.
fn wire_id(history: &History) -> String {
    history.current().wire_id.clone().unwrap_or_default()
}

/// Returns every kind of observation. Those about a call occur once or more.
fn observations(history: &History) -> Vec<(&'static str, Observation)> {
    let (call, epoch, due_us) = (history.call_seq(), history.epoch(), history.now());
    let (attempt, by) = (history.attempt(), Actor::embedder("ops"));
    let request = match history.current().phase {
        Phase::AwaitingConfirmation { request, .. } => request,
        _ => Seq(999),
    };
    let response = Json::of(&json!({"ok": true}));
    let attached = terms().map(|(which, tools)| {
        let mut library = Library::default();
        (which, tools.attached("support", &mut library).into())
    });
    let returned = |attempt, failed| {
        let response = response.clone();
        ToolReturned {
            call,
            attempt,
            failed,
            response,
            error_kind: None,
            scheduling: None,
            ends_session: None,
        }
        .into()
    };
    let replied = |attempt, calls: bool| {
        let part = LlmPart {
            text: (!calls).then(|| "done".into()),
            signature: None,
        };
        LlmReplied {
            call,
            attempt,
            turn: 1,
            parts: vec![part],
            usage: None,
        }
        .into()
    };
    let answered = |request, confirmed| {
        let (reason, payload, by) = (None, None, by.clone());
        ConfirmationAnswered {
            request,
            confirmed,
            reason,
            payload,
            edited_args: None,
            extra: None,
            found: None,
            allow_for: None,
            by,
        }
        .into()
    };
    let settled = ConfirmationAnswered {
        request,
        confirmed: false,
        reason: None,
        payload: None,
        edited_args: None,
        extra: None,
        found: Some(Finding::Done(response.clone())),
        allow_for: None,
        by: by.clone(),
    }
    .into();
    let leave = history.session().leaves.keys().next().copied();
    let id = wire_id(history);
    let changed = |author, key| written(author, [(key, json!(true))]).into();
    let received = |id: &str| FunctionCallReceived {
        epoch,
        id: Some(id.into()),
        name: Some("look".into()),
        args: None,
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    let taken_back = |id: &str| CallCancellationReceived {
        epoch,
        ids: vec![id.into()],
    };
    vec![
        (
            "",
            SessionOpened {
                agent: "support".into(),
                external_id: None,
                on_behalf_of: None,
                labels: BTreeMap::new(),
                rules: RULES_MIN,
                program: "test".into(),
            }
            .into(),
        ),
        (
            "",
            RunnerDetached {
                reason: "shutdown".into(),
                not_begun: Vec::new(),
            }
            .into(),
        ),
        (
            "its tool had not begun",
            RunnerDetached {
                reason: "shutdown".into(),
                not_begun: vec![Start { call, attempt }],
            }
            .into(),
        ),
        (
            "another start of its tool had not begun",
            RunnerDetached {
                reason: "shutdown".into(),
                not_begun: vec![Start {
                    call,
                    attempt: attempt + 1,
                }],
            }
            .into(),
        ),
        (
            "",
            Connected {
                model: "m".into(),
                endpoint: "ws://127.0.0.1:1".into(),
                phase: None,
                capabilities: None,
                non_blocking: Vec::new(),
                resumed: None,
            }
            .into(),
        ),
        (
            "resumed",
            Connected {
                model: "m".into(),
                endpoint: "ws://127.0.0.1:1".into(),
                phase: None,
                capabilities: None,
                non_blocking: Vec::new(),
                resumed: Some("h1".into()),
            }
            .into(),
        ),
        (
            "",
            SwitchPlanned {
                epoch,
                due_us: history.now(),
            }
            .into(),
        ),
        (
            "",
            ReconnectScheduled {
                attempt: 1,
                due_us: history.now(),
                resumes: None,
            }
            .into(),
        ),
        (
            "",
            ConnectFailed {
                attempt: 1,
                code: Some(1011),
                reason: "busy".into(),
                rejected: None,
            }
            .into(),
        ),
        (
            "",
            ReconnectsExhausted {
                attempts: 1,
                reason: "busy".into(),
            }
            .into(),
        ),
        (
            "",
            HistorySent {
                epoch,
                after: Seq(0),
                through: epoch,
                turns: 1,
                left_out: 0,
                answer_wanted: false,
                form: HistoryForm::Turns,
            }
            .into(),
        ),
        (
            "",
            RunnerDraining {
                reason: "deploy".into(),
            }
            .into(),
        ),
        (
            "",
            Disconnected {
                epoch,
                code: None,
                reason: "gone".into(),
            }
            .into(),
        ),
        (
            "",
            GoAwayReceived {
                epoch,
                time_left: None,
            }
            .into(),
        ),
        (
            "",
            ResumptionHandleReceived {
                epoch,
                resumable: true,
                fingerprint: None,
                expires_at_us: None,
            }
            .into(),
        ),
        ("the same call again", received(&id).into()),
        ("another call", received("c8").into()),
        (
            "by a program",
            FunctionCallReceived {
                epoch: Seq(0),
                id: None,
                by: Some(by.clone()),
                ..received("")
            }
            .into(),
        ),
        ("this call", taken_back(&id).into()),
        ("an unknown call", taken_back("c9").into()),
        ("this attempt", returned(attempt, false)),
        ("this attempt, failed", returned(attempt, true)),
        ("an older attempt", returned(attempt.wrapping_sub(1), false)),
        (
            "wrong arguments",
            ToolReturned {
                call,
                attempt,
                failed: true,
                response: response.clone(),
                error_kind: Some("invalid_args".into()),
                scheduling: None,
                ends_session: None,
            }
            .into(),
        ),
        (
            "this attempt",
            LlmAsked {
                call,
                attempt,
                turn: 1,
                of: "clerk".into(),
                model: "m".into(),
                request_sha256: ObjectHash::of(b"{}"),
            }
            .into(),
        ),
        ("this attempt, in words", replied(attempt, false)),
        ("this attempt, with a call", replied(attempt, true)),
        ("an older attempt", replied(attempt.wrapping_sub(1), true)),
        (
            "by the model of this agent",
            FunctionCallReceived {
                epoch: Seq(0),
                parent: Some(call),
                ..received("a1")
            }
            .into(),
        ),
        (
            "this attempt",
            ToolYielded {
                call,
                attempt,
                runner: None,
                response: response.clone(),
            }
            .into(),
        ),
        (
            "an older attempt",
            ToolYielded {
                call,
                attempt: attempt.wrapping_sub(1),
                runner: None,
                response: response.clone(),
            }
            .into(),
        ),
        (
            "",
            ToolEventEmitted {
                call,
                attempt,
                name: "escalated".into(),
                data: response.clone(),
            }
            .into(),
        ),
        (
            "this attempt, to a phase",
            changed(Author::Tool { call, attempt }, "done"),
        ),
        (
            "an older attempt",
            changed(
                Author::Tool {
                    call,
                    attempt: attempt.wrapping_sub(1),
                },
                "done",
            ),
        ),
        (
            "a hook, to none",
            changed(Author::Hook("extract".into()), "other"),
        ),
        (
            "a program, to a phase",
            changed(Author::Program(by.clone()), "done"),
        ),
        (
            "",
            InstructionSent {
                epoch,
                phase: history
                    .session()
                    .phase
                    .as_ref()
                    .map_or(Seq(0), |it| it.entered),
            }
            .into(),
        ),
        (
            "the next run",
            DeadlinePassed {
                deadline: Deadline::Retry {
                    call,
                    attempt: attempt + 1,
                },
                due_us,
            }
            .into(),
        ),
        (
            "another run",
            DeadlinePassed {
                deadline: Deadline::Retry { call, attempt },
                due_us,
            }
            .into(),
        ),
        (
            "an acknowledgement",
            DeadlinePassed {
                deadline: Deadline::Acknowledgement { call },
                due_us,
            }
            .into(),
        ),
        (
            "a response",
            hook_answered(call, Some(response.clone()), None),
        ),
        ("nothing", hook_answered(call, None, None)),
        ("a failure", hook_answered(call, None, Some("it panicked"))),
        ("the gate holds", gate_said(call, Some(true))),
        ("the gate is open", gate_said(call, Some(false))),
        ("nothing of the gate", gate_said(call, None)),
        (
            "another call",
            hook_answered(Seq(998), Some(response.clone()), None),
        ),
        (
            "this attempt",
            ToolPaused {
                call,
                attempt,
                interim: Some(response.clone()),
                state: Some(response.clone()),
            }
            .into(),
        ),
        (
            "an older attempt",
            ToolPaused {
                call,
                attempt: attempt.wrapping_sub(1),
                interim: None,
                state: None,
            }
            .into(),
        ),
        (
            "this attempt",
            ToolAsked {
                call,
                attempt,
                hint: "and now?".into(),
                payload_schema: None,
                state: response.clone(),
                expires_after_ms: Some(60_000),
                in_place: false,
            }
            .into(),
        ),
        (
            "this attempt, in place",
            ToolAsked {
                call,
                attempt,
                hint: "and now?".into(),
                payload_schema: None,
                state: Json::of(&json!(null)),
                expires_after_ms: None,
                in_place: true,
            }
            .into(),
        ),
        ("yes", answered(request, true)),
        ("no", answered(request, false)),
        ("with what was found", settled),
        ("another request", answered(Seq(998), true)),
        (
            "",
            LeaveRevoked {
                leave: leave.unwrap_or(Seq(998)),
                by: by.clone(),
                reason: None,
                rules: 2,
            }
            .into(),
        ),
        (
            "",
            ApprovalGiven {
                request,
                reason: None,
                payload: None,
                edited_args: None,
                extra: None,
                allow_for: None,
                by: by.clone(),
            }
            .into(),
        ),
        (
            "",
            AnswerRefused {
                request,
                refusal: "malformed".into(),
                by: by.clone(),
                last_recorded: false,
            }
            .into(),
        ),
        (
            "",
            ResponseSupplied {
                call,
                response: response.clone(),
                will_continue: false,
                by: by.clone(),
            }
            .into(),
        ),
        (
            "news",
            ResponseSupplied {
                call,
                response: response.clone(),
                will_continue: true,
                by: by.clone(),
            }
            .into(),
        ),
        (
            "",
            OutcomeFound {
                call,
                tool: "look".into(),
                found: Finding::Done(response.clone()),
                by: by.clone(),
                attempt: None,
            }
            .into(),
        ),
        (
            "by the client of this attempt",
            OutcomeFound {
                call,
                tool: "look".into(),
                found: Finding::Done(response.clone()),
                by: by.clone(),
                attempt: Some(attempt),
            }
            .into(),
        ),
        (
            "the next attempt",
            CallClaimed {
                call,
                attempt: attempt + 1,
                claim: "w2".into(),
                by: by.clone(),
                until_us: due_us.after_ms(60_000),
                rules: 2,
            }
            .into(),
        ),
        (
            "this attempt",
            LeaseRenewed {
                call,
                attempt,
                claim: "w1".into(),
                by: Actor::embedder("warehouse"),
                until_us: due_us.after_ms(90_000),
                rules: 2,
            }
            .into(),
        ),
        ("its client gives up", claim_ended(call, attempt, false)),
        ("its client had not begun", claim_ended(call, attempt, true)),
        (
            "an older attempt",
            claim_ended(call, attempt.wrapping_sub(1), false),
        ),
        (
            "the lease, too early",
            DeadlinePassed {
                deadline: Deadline::Lease { call, attempt },
                due_us,
            }
            .into(),
        ),
        (
            "",
            ResponsesSent {
                epoch,
                responses: vec![],
            }
            .into(),
        ),
        (
            "this attempt",
            DeadlinePassed {
                deadline: Deadline::Run { call, attempt },
                due_us,
            }
            .into(),
        ),
        (
            "an older attempt",
            DeadlinePassed {
                deadline: Deadline::Run {
                    call,
                    attempt: attempt.wrapping_sub(1),
                },
                due_us,
            }
            .into(),
        ),
        (
            "this request",
            DeadlinePassed {
                deadline: Deadline::Confirmation { call, request },
                due_us,
            }
            .into(),
        ),
        (
            "another request",
            DeadlinePassed {
                deadline: Deadline::Confirmation {
                    call,
                    request: Seq(998),
                },
                due_us,
            }
            .into(),
        ),
        (
            "",
            ModelOutputReceived {
                epoch,
                text: "hm".into(),
            }
            .into(),
        ),
        (
            "",
            TranscriptReceived {
                epoch,
                speaker: Speaker::User,
                text: "well".into(),
            }
            .into(),
        ),
        (
            "",
            UserTextSent {
                epoch,
                text: "go on".into(),
            }
            .into(),
        ),
        (
            "",
            TurnCompleted {
                epoch,
                reason: None,
            }
            .into(),
        ),
        ("", TurnInterrupted { epoch }.into()),
        (
            "",
            MediaCounted {
                epoch,
                heard: MediaCount::default(),
                sent: MediaCount::default(),
                withheld: MediaCount::default(),
            }
            .into(),
        ),
        (
            "",
            UsageReported {
                epoch,
                usage: response.clone(),
            }
            .into(),
        ),
        (
            "",
            FrameRejected {
                epoch,
                problem: "no message".into(),
            }
            .into(),
        ),
        (
            "",
            OperatorCancelled {
                call,
                reason: None,
                by: by.clone(),
                response: None,
            }
            .into(),
        ),
        (
            "",
            SessionClosed {
                reason: "done".into(),
                by: by.clone(),
            }
            .into(),
        ),
    ]
    .into_iter()
    .chain(attached)
    .chain(pauses(call, attempt, &by))
    .chain(catalogs_changed())
    .collect()
}

/// Pauses, and their end.
fn pauses(call: Seq, attempt: u32, by: &Actor) -> Vec<(&'static str, Observation)> {
    let paused = |not_begun| Paused {
        scope: PauseScope::Session,
        reason: None,
        by: by.clone(),
        journal_record: None,
        not_begun,
        rules: RULES_OF_PAUSES,
    };
    let unpaused = Unpaused {
        scope: PauseScope::Session,
        reason: None,
        by: by.clone(),
        journal_record: None,
        rules: RULES_OF_PAUSES,
    };
    vec![
        ("", paused(Vec::new()).into()),
        (
            "its tool had not begun",
            paused(vec![Start { call, attempt }]).into(),
        ),
        ("", unpaused.into()),
    ]
}

fn hook_answered(call: Seq, response: Option<Json>, failure: Option<&str>) -> Observation {
    let by = response.as_ref().map(|_| Actor::embedder("on_tool_call"));
    HookAnswered {
        hook: Hook::OnToolCall,
        call,
        of: None,
        response,
        failure: failure.map(str::to_owned),
        gated: None,
        by,
    }
    .into()
}

fn gate_said(call: Seq, gated: Option<bool>) -> Observation {
    HookAnswered {
        hook: Hook::ConfirmWhen,
        call,
        of: None,
        response: None,
        failure: gated.is_none().then(|| "it panicked".to_owned()),
        gated,
        by: None,
    }
    .into()
}

/// The terms that a runner may attach with: those under which the call was received, and others.
/// Returns changes of the catalog while the runner stays.
fn catalogs_changed() -> impl Iterator<Item = (&'static str, Observation)> {
    const SOME: [&str; 4] = [
        "same tools",
        "contract changed",
        "every tool gated",
        "tools gone",
    ];
    let some = terms()
        .into_iter()
        .filter(|(which, _)| SOME.contains(which));
    some.map(|(which, tools)| (which, tools.taken_over(&mut Library::default()).into()))
}

fn terms() -> [(&'static str, Toolbox); 11] {
    let each = |change: fn(Toolbox, &str) -> Toolbox| {
        let every = [
            "look", "pay", "wipe", "mail", "refund", "retry", "ask", "order", "again", "find",
            "watch",
        ];
        every.into_iter().fold(tools(), change)
    };
    [
        ("same tools", tools()),
        ("tools reworded", each(|tools, name| tools.reworded(name))),
        ("contract changed", each(|tools, name| tools.changed(name))),
        ("every tool gated", each(|tools, name| tools.gated(name))),
        (
            "gated, gates waived",
            each(|tools, name| tools.gated(name)).gates_waived("no journal"),
        ),
        (
            "gated, no request may be open",
            each(|tools, name| tools.gated(name)).max_open_requests(0),
        ),
        ("no slot", tools().running_max(0)),
        (
            "nothing runs again",
            each(|tools, name| tools.in_doubt(name, InDoubt::SettleUnknown)),
        ),
        (
            "all in the background",
            each(|tools, name| tools.background(name, FunctionResponseScheduling::Silent)),
        ),
        ("other phases", tools().phases([phase("over")])),
        ("tools gone", each(|tools, name| tools.without(name))),
    ]
}

/// Checks the result of each command in each lasting phase.
#[test]
fn each_phase_answers_each_command_as_the_table_says() {
    let mut table = String::new();
    let stations = stations().into_iter().map(|it| (it.name, it.history));
    let ended = [
        ("settled: returned", call("look").returned(json!({}))),
        ("settled: denied", call("pay").denied("ada", None)),
        ("settled: expired", call("pay").timed_out()),
        ("settled: session closed", call("pay").closed()),
    ];
    for (name, history) in stations.chain(ended) {
        writeln!(table, "== {name}").expect("a string takes text");
        let asked = history.session().requests.keys().next_back();
        let (call, by) = (history.call_seq(), Actor::embedder("ops"));
        let response = Json::of(&json!({}));
        let change = |key: &str| StateChange {
            key: key.into(),
            value: response.clone(),
        };
        let supply = |name: &str, response: &Json| Command::SupplyResponse {
            call,
            name: name.into(),
            response: response.clone(),
            will_continue: false,
            by: by.clone(),
        };
        let named = history
            .session()
            .calls
            .get(&call)
            .map_or("look", |call| &call.name)
            .to_owned();
        let commands = [
            (
                "answer the last request",
                answer_to(asked.copied().unwrap_or(Seq(999)), true, None, "ops"),
            ),
            (
                "say what became of it",
                Command::AnswerConfirmation {
                    request: asked.copied().unwrap_or(Seq(999)),
                    answer: Ok(ToolConfirmation::found(Finding::Done(response.clone()))),
                    by: by.clone(),
                },
            ),
            (
                "allow later calls, too",
                Command::AnswerConfirmation {
                    request: asked.copied().unwrap_or(Seq(999)),
                    answer: Ok(ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(2))),
                    by: by.clone(),
                },
            ),
            (
                "revoke the first leave",
                Command::RevokeLeave {
                    leave: history
                        .session()
                        .leaves
                        .keys()
                        .next()
                        .copied()
                        .unwrap_or(Seq(999)),
                    reason: None,
                    by: by.clone(),
                },
            ),
            (
                "answer as a program",
                Command::AnswerConfirmation {
                    request: asked.copied().unwrap_or(Seq(999)),
                    answer: Ok(ToolConfirmation::confirmed()),
                    by: Actor::os_user("ops").as_program("nightly"),
                },
            ),
            ("answer the call itself", answer_to(call, true, None, "ops")),
            ("supply a response", supply(&named, &response)),
            ("supply under another name", supply("other", &response)),
            (
                "supply what is no object",
                supply(&named, &Json::of(&json!("yes"))),
            ),
            (
                "reconcile its outcome",
                Command::ReconcileOutcome {
                    call,
                    name: named.clone(),
                    found: Finding::failed("no"),
                    by: by.clone(),
                },
            ),
            (
                "cancel the call",
                Command::CancelCall {
                    call,
                    reason: None,
                    by: by.clone(),
                },
            ),
            (
                "cancel what is no call",
                Command::CancelCall {
                    call: Seq(999),
                    reason: None,
                    by: by.clone(),
                },
            ),
            ("claim it", of_client(call, 1, "w9", "claim")),
            ("claim it as start 2", of_client(call, 2, "w9", "claim")),
            ("renew its lease", of_client(call, 1, "w1", "renew")),
            ("give it back", of_client(call, 1, "w1", "give back")),
            ("return its result", of_client(call, 1, "w1", "return")),
            (
                "return by another claim",
                of_client(call, 1, "w9", "return"),
            ),
            (
                "change the state",
                Command::ChangeState {
                    changes: vec![change("session:plan")],
                    by: by.clone(),
                },
            ),
            (
                "change what is not on record",
                Command::ChangeState {
                    changes: vec![change("session:temp:draft")],
                    by: by.clone(),
                },
            ),
            (
                "pause the session",
                Command::Pause(PauseCommand {
                    tool: None,
                    reason: None,
                    by: by.clone(),
                }),
            ),
            (
                "pause a tool that is not there",
                Command::Pause(PauseCommand {
                    tool: Some("nothing".into()),
                    reason: None,
                    by: by.clone(),
                }),
            ),
            (
                "end the pause of the session",
                Command::Unpause(PauseCommand {
                    tool: None,
                    reason: None,
                    by: by.clone(),
                }),
            ),
            (
                "close",
                Command::CloseSession {
                    reason: "done".into(),
                    by: by.clone(),
                },
            ),
        ];
        for (what, command) in commands {
            let told = match admit(history.session(), command) {
                Ok(observation) => format!("taken: {}", observation.kind()),
                Err(rejection) => format!("{}: {rejection}", rejection.code()),
            };
            writeln!(table, "{what:<28} {told}").expect("a string takes text");
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}
