//! The schema of the journal: every event, with all its fields and with its required ones.
//!
//! A new field must be optional, and nothing is renamed or removed since journals are kept. The
//! full examples are Rust literals, so a new field stops the build here. The optional fields are
//! found by leaving them out.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroU32;

use recount_session::*;
use serde::Serialize;
use serde_json::Value;

#[test]
fn every_kind_has_an_example() {
    let shown: BTreeSet<&str> = examples().iter().map(Event::kind).collect();
    let known: BTreeSet<&str> = Observation::KINDS
        .iter()
        .chain(Decision::KINDS)
        .copied()
        .collect();
    assert_eq!(shown, known);
}

#[test]
fn every_body_reads_back_and_writes_the_same_bytes() {
    for event in examples() {
        for body in [full(&event), minimal(&event)] {
            let read = Event::decode(event.kind(), &body);
            let read = read.unwrap_or_else(|error| panic!("{error}: {body}"));
            assert_eq!(full(&read), body);
        }
    }
}

#[test]
fn a_full_body_reads_back_as_the_event_it_was() {
    for event in examples() {
        let read = Event::decode(event.kind(), &full(&event));
        assert_eq!(read.ok(), Some(event));
    }
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    for event in examples() {
        for body in [full(&event), minimal(&event)] {
            let later = body.replacen('{', r#"{"of_a_later_version":{"x":[1]},"#, 1);
            let read = Event::decode(event.kind(), &later.replace(",}", "}"));
            let read = read.unwrap_or_else(|error| panic!("{error}: {later}"));
            assert_eq!(full(&read), body);
        }
    }
}

#[test]
fn an_unknown_kind_and_a_body_of_another_shape_are_told_apart() {
    let unknown = Event::decode("call_pondered", "{}");
    assert!(matches!(unknown, Err(DecodeError::UnknownKind(kind)) if kind == "call_pondered"));
    let other = Event::decode("call_ready", r#"{"call":"five"}"#);
    assert!(matches!(other, Err(DecodeError::Body { kind, .. }) if kind == "call_ready"));
}

#[test]
fn the_schema_is_as_it_was() {
    let mut schema = String::new();
    for event in examples() {
        let (kind, full, minimal) = (event.kind(), full(&event), minimal(&event));
        writeln!(schema, "{kind} {full}").expect("a string takes text");
        if minimal != full {
            writeln!(schema, "{kind} {minimal}").expect("a string takes text");
        }
    }
    insta::assert_snapshot!(schema);
}

#[test]
fn the_words_are_as_they_were() {
    fn line<T: Serialize>(name: &str, values: &[T]) -> String {
        let words = values
            .iter()
            .map(|value| serde_json::to_string(value).expect("a word"));
        format!("{name}: {}\n", words.collect::<Vec<_>>().join(" "))
    }
    let (call, request, epoch) = (Seq(1), Seq(2), Seq(3));
    let words = [
        line("outcome", &OUTCOMES),
        line(
            "verdict",
            &[
                Verdict::Allowed,
                Verdict::Ask,
                Verdict::AskProgram,
                Verdict::Refused,
            ],
        ),
        line("rule", &rules_of_verdicts()),
        line("about", &[About::Gate, About::InDoubt, About::Tool]),
        line(
            "cancel_reason",
            &[
                CancelReason::Model,
                CancelReason::Operator,
                CancelReason::SessionClosed,
                CancelReason::RunnerGone,
                CancelReason::ToolEnded,
                CancelReason::ParentEnded,
            ],
        ),
        line(
            "route",
            &[
                Route::ToolResponse { epoch },
                Route::Conversation { epoch },
                Route::Parked,
                Route::Connect,
                Route::Notify,
                Route::Caller,
                Route::Parent,
            ],
        ),
        line(
            "deadline",
            &[
                Deadline::Run { call, attempt: 1 },
                Deadline::Confirmation { call, request },
                Deadline::Retry { call, attempt: 2 },
                Deadline::Lease { call, attempt: 1 },
                Deadline::Acknowledgement { call },
            ],
        ),
        line(
            "author",
            &[
                Author::Tool { call, attempt: 1 },
                Author::Hook("extract".into()),
                Author::Program(ada()),
            ],
        ),
        line(
            "hook",
            &[
                Hook::OnToolCall,
                Hook::BeforeToolResponse,
                Hook::ConfirmWhen,
            ],
        ),
        line(
            "scheduling",
            &[
                FunctionResponseScheduling::Silent,
                FunctionResponseScheduling::WhenIdle,
                FunctionResponseScheduling::Interrupt,
            ],
        ),
        line(
            "comparison",
            &[
                Comparison::Less,
                Comparison::AtMost,
                Comparison::AtLeast,
                Comparison::Greater,
            ],
        ),
        line(
            "condition",
            &[
                S::is_true("a"),
                S::exists("a"),
                S::equals("a", 1),
                S::compares("a", Comparison::AtMost, 1),
                S::and([S::is_true("a")]),
                S::or([S::is_true("a")]),
                S::not(S::is_true("a")),
            ],
        ),
        line(
            "response_shape",
            &[ResponseShape::Plain, ResponseShape::Envelope],
        ),
        line("speaker", &[Speaker::User, Speaker::Model]),
        line(
            "authenticated_by",
            &[
                Authentication::Embedder,
                Authentication::Token,
                Authentication::OsUser,
                Authentication::None,
            ],
        ),
        line(
            "actor",
            &[
                ActorKind::Engine,
                ActorKind::Model,
                ActorKind::User,
                ActorKind::Tool,
                ActorKind::Person,
                ActorKind::Clock,
            ],
        ),
        line(
            "in_doubt",
            &[InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown],
        ),
    ];
    insta::assert_snapshot!(words.concat());
}

const OUTCOMES: [Outcome; 11] = [
    Outcome::Interim,
    Outcome::Returned,
    Outcome::Failed,
    Outcome::Supplied,
    Outcome::Refused,
    Outcome::Denied,
    Outcome::Expired,
    Outcome::TimedOut,
    Outcome::Cancelled,
    Outcome::Unknown,
    Outcome::Withdrawn,
];

/// The rules of verdicts. A new rule stops the build here.
fn rules_of_verdicts() -> Vec<Rule> {
    let after = |rule: &Rule| match rule {
        Rule::MissingName => Some(Rule::UnknownTool),
        Rule::UnknownTool => Some(Rule::MalformedArgs),
        Rule::MalformedArgs => Some(Rule::InvalidArgs),
        Rule::InvalidArgs => Some(Rule::Phase),
        Rule::Phase => Some(Rule::Condition),
        Rule::Condition => Some(Rule::Cached),
        Rule::Cached => Some(Rule::Pending),
        Rule::Pending => Some(Rule::Limit),
        Rule::Limit => Some(Rule::Confirm),
        Rule::Confirm => Some(Rule::Default),
        Rule::Default => None,
    };
    std::iter::successors(Some(Rule::MissingName), after).collect()
}

fn full(event: &Event) -> String {
    event.body().expect("every body can be written")
}

/// Returns the body without its optional fields, in their written order.
fn minimal(event: &Event) -> String {
    let body: Value = serde_json::from_str(&full(event)).expect("a body is JSON");
    let fields = body.as_object().expect("a body is an object");
    let mut kept = fields.clone();
    for field in fields.keys() {
        let mut without = kept.clone();
        without.remove(field);
        if Event::decode(event.kind(), &Value::Object(without.clone()).to_string()).is_ok() {
            kept = without;
        }
    }
    let read = Event::decode(event.kind(), &Value::Object(kept).to_string());
    full(&read.expect("what was left out may be absent"))
}

/// Every event with all its fields.
fn examples() -> Vec<Event> {
    let observed = observations().into_iter().map(Event::Observed);
    observed
        .chain(decisions().into_iter().map(Event::Decided))
        .collect()
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("an example is JSON")
}

fn ada() -> Actor {
    Actor::os_user("ada")
}

fn needs() -> Needs {
    let approvers = Approvers::roles(["finance"])
        .or(Approvers::groups(["eu"]))
        .or(Approvers::names([Person::os_user("ada")]));
    Needs {
        approvers: [approvers].into(),
        not_requester: true,
        requester: Some(Requester {
            issuer: Some("embedder".into()),
            name: "billing".into(),
        }),
        quorum: NonZeroU32::new(2),
    }
}

fn hash(of: &str) -> ObjectHash {
    ObjectHash::of(of.as_bytes())
}

const EPOCH: Seq = Seq(3);
const CALL: Seq = Seq(5);
const DUE: Timestamp = Timestamp(1_763_700_000_000_000);

fn observations() -> Vec<Observation> {
    vec![
        SessionOpened {
            agent: "support".into(),
            external_id: Some("ticket-7".into()),
            labels: [("tenant".into(), "acme".into())].into(),
            on_behalf_of: Some("customer-7".into()),
            rules: 1,
            program: "recount 0.1.0".into(),
        }
        .into(),
        RunnerAttached {
            agent: "support".into(),
            catalog: hash("catalog"),
            policies: hash("policies"),
            rules: 1,
            program: "recount 0.1.0".into(),
            gates: Gates::waived("no durable journal"),
            goes_on: true,
        }
        .into(),
        CatalogChanged {
            catalog: hash("catalog"),
            policies: hash("policies"),
            rules: 2,
        }
        .into(),
        RunnerDetached {
            reason: "shutdown".into(),
            not_begun: Vec::new(),
        }
        .into(),
        RunnerDetached {
            reason: "shutdown".into(),
            not_begun: vec![Start {
                call: Seq(9),
                attempt: 1,
            }],
        }
        .into(),
        Connected {
            model: "models/gemini-live".into(),
            endpoint: "wss://example.org:443".into(),
            phase: Some(Seq(4)),
            capabilities: Some(Capabilities::default()),
            non_blocking: vec!["refund".into()],
            resumed: Some("c0ffee0123456789".into()),
        }
        .into(),
        SwitchPlanned {
            epoch: EPOCH,
            due_us: DUE,
        }
        .into(),
        ReconnectScheduled {
            attempt: 2,
            due_us: DUE,
            resumes: Some("c0ffee0123456789".into()),
        }
        .into(),
        ConnectFailed {
            attempt: 1,
            code: Some(1007),
            reason: "Request contains an invalid argument.".into(),
            rejected: Some("c0ffee0123456789".into()),
        }
        .into(),
        ReconnectsExhausted {
            attempts: 8,
            reason: "The service is currently unavailable.".into(),
        }
        .into(),
        HistorySent {
            epoch: EPOCH,
            after: Seq(0),
            through: Seq(39),
            turns: 12,
            left_out: 3,
            answer_wanted: true,
            form: HistoryForm::Announced,
        }
        .into(),
        RunnerDraining {
            reason: "the engine shuts down".into(),
        }
        .into(),
        Disconnected {
            epoch: EPOCH,
            code: Some(1006),
            reason: "gone".into(),
        }
        .into(),
        GoAwayReceived {
            epoch: EPOCH,
            time_left: Some("10s".into()),
        }
        .into(),
        ResumptionHandleReceived {
            epoch: EPOCH,
            resumable: true,
            fingerprint: Some("9f86d081884c7d65".into()),
            expires_at_us: Some(Timestamp(1_795_190_587_112_345)),
        }
        .into(),
        FunctionCallReceived {
            epoch: EPOCH,
            id: Some("fc-1".into()),
            name: Some("refund".into()),
            args: Some(json(
                r#"{ "order_id": "1001", "cents": 9007199254740993, "rate": 1.0 }"#,
            )),
            malformed_args: Some(MalformedArgs {
                text: "{".into(),
                problem: "not JSON".into(),
            }),
            invalid_args: Some("cents is not a string".into()),
            sealed_args: vec!["/card/number".into()],
            original_args: Some(json(r#""{\"order_id\":\"1001\"}""#)),
            by: Some(ada()),
            parent: Some(Seq(2)),
            beyond_max: Some(128),
            key: Some("refund-of-order-1001".into()),
        }
        .into(),
        CallCancellationReceived {
            epoch: EPOCH,
            ids: vec!["fc-1".into(), "fc-2".into()],
        }
        .into(),
        ToolReturned {
            call: CALL,
            attempt: 1,
            failed: true,
            response: json(r#"{"error":"no such order","kind":"execution_failed"}"#),
            error_kind: Some("execution_failed".into()),
            scheduling: Some(FunctionResponseScheduling::Interrupt),
            ends_session: Some("the user said goodbye".into()),
        }
        .into(),
        LlmAsked {
            call: Seq(5),
            attempt: 1,
            turn: 2,
            of: "0/verifier".into(),
            model: "gemini-2.5-flash".into(),
            request_sha256: hash("request"),
        }
        .into(),
        LlmReplied {
            call: Seq(5),
            attempt: 1,
            turn: 2,
            parts: vec![
                LlmPart {
                    text: Some("Let me see.".into()),
                    signature: None,
                },
                LlmPart {
                    text: None,
                    signature: Some("c2ln".into()),
                },
            ],
            usage: Some(json(r#"{"totalTokenCount":42}"#)),
        }
        .into(),
        ToolYielded {
            call: CALL,
            attempt: 1,
            runner: Some(Seq(2)),
            response: json(r#"{"step":2}"#),
        }
        .into(),
        ToolEventEmitted {
            call: CALL,
            attempt: 1,
            name: "escalated".into(),
            data: json(r#"{"to":"ada"}"#),
        }
        .into(),
        StateChanged {
            changes: vec![
                StateChange {
                    key: "turn:amount".into(),
                    value: json("9007199254740993"),
                },
                StateChange {
                    key: "plan".into(),
                    value: json("null"),
                },
            ],
            author: Author::Tool {
                call: CALL,
                attempt: 1,
            },
        }
        .into(),
        InstructionSent {
            epoch: EPOCH,
            phase: Seq(4),
        }
        .into(),
        HookAnswered {
            hook: Hook::BeforeToolResponse,
            call: CALL,
            of: Some(Seq(8)),
            response: Some(json(r#"{"sky":"clear"}"#)),
            failure: Some("it panicked".into()),
            gated: Some(true),
            by: Some(ada()),
        }
        .into(),
        ToolPaused {
            call: CALL,
            attempt: 1,
            interim: Some(json(r#"{"ticket":7}"#)),
            state: Some(json(r#"{"job":17}"#)),
        }
        .into(),
        ToolAsked {
            call: CALL,
            attempt: 1,
            hint: "How many days?".into(),
            payload_schema: Some(json(r#"{"type":"integer"}"#)),
            state: json(r#"{"wanted":5}"#),
            expires_after_ms: Some(600_000),
            in_place: true,
        }
        .into(),
        ConfirmationAnswered {
            request: Seq(7),
            confirmed: true,
            reason: Some("a good customer".into()),
            payload: Some(json(r#"{"limit":50}"#)),
            edited_args: Some(json(r#"{"cents":4000}"#)),
            extra: Some(json(r#"{"ticket":"T-9"}"#)),
            found: None,
            allow_for: None,
            by: ada(),
        }
        .into(),
        ConfirmationAnswered {
            request: Seq(9),
            confirmed: false,
            reason: None,
            payload: None,
            edited_args: None,
            extra: None,
            found: Some(Finding::Done(json(r#"{"receipt":17}"#))),
            allow_for: None,
            by: ada(),
        }
        .into(),
        ConfirmationAnswered {
            request: Seq(11),
            confirmed: true,
            reason: None,
            payload: None,
            edited_args: None,
            extra: None,
            found: None,
            allow_for: Some(AllowFor::Count(5)),
            by: ada(),
        }
        .into(),
        LeaveRevoked {
            leave: Seq(12),
            by: ada(),
            reason: Some("wrong tool".into()),
            rules: 2,
        }
        .into(),
        ApprovalGiven {
            request: Seq(7),
            reason: Some("a good customer".into()),
            payload: Some(json(r#"{"limit":50}"#)),
            edited_args: Some(json(r#"{"cents":4000}"#)),
            extra: Some(json(r#"{"ticket":"T-9"}"#)),
            allow_for: Some(AllowFor::Until(DUE)),
            by: ada(),
        }
        .into(),
        AnswerRefused {
            request: Seq(7),
            refusal: "already_answered".into(),
            by: ada(),
            last_recorded: true,
        }
        .into(),
        ResponseSupplied {
            call: CALL,
            response: json(r#"{"shipped":true}"#),
            will_continue: true,
            by: ada(),
        }
        .into(),
        CallClaimed {
            call: Seq(5),
            attempt: 1,
            claim: "w7-0001".into(),
            by: Actor::token("warehouse"),
            until_us: Timestamp(1_763_700_060_000_000),
            rules: 2,
        }
        .into(),
        LeaseRenewed {
            call: Seq(5),
            attempt: 1,
            claim: "w7-0001".into(),
            by: Actor::token("warehouse"),
            until_us: Timestamp(1_763_700_120_000_000),
            rules: 2,
        }
        .into(),
        ClaimEnded {
            call: Seq(5),
            attempt: 1,
            claim: "w7-0001".into(),
            reason: Some("the printer is out of paper".into()),
            not_begun: true,
            by: Actor::token("warehouse"),
            rules: 2,
        }
        .into(),
        DeadlinePassed {
            deadline: Deadline::Lease {
                call: Seq(5),
                attempt: 1,
            },
            due_us: Timestamp(1_763_700_060_000_000),
        }
        .into(),
        DeadlinePassed {
            deadline: Deadline::Acknowledgement { call: CALL },
            due_us: Timestamp(1_763_700_060_000_000),
        }
        .into(),
        OutcomeFound {
            attempt: Some(1),
            call: CALL,
            tool: "pay".into(),
            found: Finding::Failed("the bank refused it".into()),
            by: ada(),
        }
        .into(),
        ResponsesSent {
            epoch: EPOCH,
            responses: vec![Seq(10), Seq(12)],
        }
        .into(),
        DeadlinePassed {
            deadline: Deadline::Run {
                call: CALL,
                attempt: 1,
            },
            due_us: DUE,
        }
        .into(),
        ModelOutputReceived {
            epoch: EPOCH,
            text: "One moment.".into(),
        }
        .into(),
        TranscriptReceived {
            epoch: EPOCH,
            speaker: Speaker::User,
            text: "Hello?".into(),
        }
        .into(),
        UserTextSent {
            epoch: EPOCH,
            text: "Please refund it.".into(),
        }
        .into(),
        TurnCompleted {
            epoch: EPOCH,
            reason: Some("MALFORMED_FUNCTION_CALL".into()),
        }
        .into(),
        TurnInterrupted { epoch: EPOCH }.into(),
        MediaCounted {
            epoch: EPOCH,
            heard: MediaCount {
                audio: Frames {
                    frames: 50,
                    bytes: 96_000,
                },
                video: Frames::default(),
            },
            sent: MediaCount {
                audio: Frames {
                    frames: 25,
                    bytes: 16_000,
                },
                video: Frames {
                    frames: 1,
                    bytes: 20_480,
                },
            },
            withheld: MediaCount {
                audio: Frames {
                    frames: 5,
                    bytes: 3_200,
                },
                video: Frames::default(),
            },
        }
        .into(),
        UsageReported {
            epoch: EPOCH,
            usage: json(r#"{"totalTokenCount":42}"#),
        }
        .into(),
        FrameRejected {
            epoch: EPOCH,
            problem: "not JSON".into(),
        }
        .into(),
        OperatorCancelled {
            call: CALL,
            reason: Some("a test".into()),
            response: Some(json(r#"{"status":"cancelled","call_id":"c1"}"#)),
            by: ada(),
        }
        .into(),
        SessionClosed {
            reason: "done".into(),
            by: ada(),
        }
        .into(),
        Paused {
            scope: PauseScope::Tool("refund".into()),
            reason: Some("wrong prices".into()),
            by: ada(),
            journal_record: None,
            not_begun: vec![Start {
                call: CALL,
                attempt: 1,
            }],
            rules: RULES_OF_PAUSES,
        }
        .into(),
        Paused {
            scope: PauseScope::Everything,
            reason: None,
            by: ada(),
            journal_record: Some(Seq(7)),
            not_begun: Vec::new(),
            rules: RULES_OF_PAUSES,
        }
        .into(),
        Unpaused {
            scope: PauseScope::Agent("support".into()),
            reason: Some("fixed".into()),
            by: ada(),
            journal_record: Some(Seq(9)),
            rules: RULES_OF_PAUSES,
        }
        .into(),
    ]
}

fn decisions() -> Vec<Decision> {
    vec![
        PolicyDecided {
            call: CALL,
            verdict: Verdict::Refused,
            rule: Rule::UnknownTool,
            reason: Some("there is no tool named \"fly\"".into()),
            policies: Some(hash("policies")),
            inputs: Some(json(concat!(
                r#"{"phase":"verify","state":{"verified":true},"#,
                r#""used":{"session":7,"minute":3},"of":11}"#
            ))),
        }
        .into(),
        ResultReused {
            call: CALL,
            of: Seq(11),
        }
        .into(),
        BackgroundSpawned {
            call: CALL,
            attempt: 1,
            scheduling: FunctionResponseScheduling::WhenIdle,
        }
        .into(),
        RetryScheduled {
            call: CALL,
            attempt: 2,
            due_us: DUE,
        }
        .into(),
        PhaseEntered {
            phase: "inform".into(),
            from: Some("verify".into()),
            when: Some(S::compares("amount", Comparison::Greater, 1000)),
        }
        .into(),
        GateWaived {
            call: CALL,
            reason: "no durable journal".into(),
            unanswered: Some(Seq(7)),
        }
        .into(),
        LeaveUsed {
            call: CALL,
            leave: Seq(12),
            nth: 3,
            count: Some(5),
            until_us: Some(DUE),
        }
        .into(),
        ConfirmationRequested {
            call: CALL,
            about: About::Gate,
            hint: Some("Refund 42.00 EUR?".into()),
            args_sha256: hash("{}"),
            contract: hash("contract"),
            declaration: hash("declaration"),
            expires_at_us: Some(DUE),
            on_expiry: OnExpiry::Allow,
            payload_schema: Some(json(r#"{"type":"object"}"#)),
            asked: Some(Seq(8)),
            may_allow_for_session: true,
            needs: Some(Box::new(needs())),
        }
        .into(),
        ConfirmationExpired {
            call: CALL,
            request: Seq(7),
            goes_on: true,
        }
        .into(),
        ConfirmationWithdrawn {
            call: CALL,
            request: Seq(7),
            reason: CancelReason::Model,
        }
        .into(),
        ConfirmationReopened {
            request: Seq(7),
            contract_before: hash("before"),
            question: ConfirmationRequested {
                call: CALL,
                about: About::Gate,
                hint: Some("Refund 42.00 EUR?".into()),
                args_sha256: hash("{}"),
                contract: hash("contract"),
                declaration: hash("declaration"),
                expires_at_us: Some(DUE),
                on_expiry: OnExpiry::Deny,
                payload_schema: None,
                asked: None,
                may_allow_for_session: false,
                needs: None,
            },
        }
        .into(),
        CallReady { call: CALL }.into(),
        CallStarted {
            call: CALL,
            attempt: 1,
            runner: Seq(2),
            deadline_us: Some(DUE),
        }
        .into(),
        CallCancelled {
            call: CALL,
            reason: CancelReason::Model,
        }
        .into(),
        ResponseIssued {
            call: CALL,
            outcome: Outcome::Returned,
            of: Some(Seq(9)),
            response: Some(json(r#"{"error":"it was denied","kind":"cancelled"}"#)),
            route: Route::ToolResponse { epoch: EPOCH },
        }
        .into(),
        OutcomeReconciled {
            call: CALL,
            of: Seq(21),
            response: Some(json(r#"{"error":"the bank refused it"}"#)),
            route: Route::Conversation { epoch: EPOCH },
        }
        .into(),
        DeliveryChosen {
            response: Seq(10),
            route: Route::Conversation { epoch: Seq(20) },
        }
        .into(),
    ]
}

/// Tests of the published JSON Schema.
mod json_schema {
    use std::path::{Path, PathBuf};

    use boon::{Compiler, SchemaIndex, Schemas};

    use super::*;

    /// Compares with the published schema. `RECOUNT_WRITE_DOCS=1` writes it.
    #[test]
    fn published_schema_matches_the_events() {
        let schema =
            serde_json::to_string_pretty(&event_schema()).expect("a schema is JSON") + "\n";
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.schema.json");
        if std::env::var_os("RECOUNT_WRITE_DOCS").is_some() {
            std::fs::write(place, &schema).expect("the schema can be written");
        }
        let published = std::fs::read_to_string(place).unwrap_or_default();
        assert!(
            published == schema,
            "docs/events.schema.json does not match the events; \
             write it with RECOUNT_WRITE_DOCS=1, and name the change in CHANGELOG.md"
        );
    }

    #[test]
    fn examples_fit_their_schema_and_other_shapes_do_not() {
        let mut kinds = Kinds::new();
        for event in examples() {
            for body in [full(&event), minimal(&event)] {
                let told = kinds.fits(event.kind(), &body);
                assert_eq!(told, Ok(()), "{} {body}", event.kind());
            }
        }
        assert!(kinds.fits("call_ready", r#"{"call":"five"}"#).is_err());
        assert!(kinds.fits("call_ready", "{}").is_err());
        assert!(
            kinds
                .fits(
                    "policy_decided",
                    r#"{"call":5,"verdict":"perhaps","rule":"default"}"#
                )
                .is_err()
        );
    }

    #[test]
    fn every_record_of_every_old_journal_fits() {
        let mut kinds = Kinds::new();
        let mut records = 0;
        for path in corpus() {
            for line in std::fs::read_to_string(&path).expect("a text").lines() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                let (Some(kind), Some(body)) =
                    (line.get("kind").and_then(Value::as_str), line.get("body"))
                else {
                    continue;
                };
                if kind.starts_with("journal_") {
                    continue;
                }
                records += 1;
                assert_eq!(
                    kinds.fits(kind, &body.to_string()),
                    Ok(()),
                    "{}: {line}",
                    path.display()
                );
            }
        }
        assert!(records > 500, "{records}");
    }

    /// Returns every journal in `fixtures/journals`, of all rules.
    fn corpus() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/journals");
        let entries = |path: &Path| {
            let entries = std::fs::read_dir(path).expect("a directory");
            entries.map(|it| it.expect("an entry").path())
        };
        let folders = entries(&root).filter(|it| it.is_dir());
        folders.flat_map(|it| entries(&it)).collect()
    }

    /// The properties that the events had when they were first pinned, one on each line: the kind,
    /// or the shape within bodies, and the path of fields.
    const FIRST: &str = include_str!("event_schema/first_version.txt");

    /// The properties removed before any journal was kept: `question` replaces them. This list
    /// never grows.
    const REMOVED: [&str; 2] = [
        "confirmation_reopened.call",
        "confirmation_reopened.contract",
    ];

    #[test]
    fn later_properties_are_named_in_the_changelog() {
        let first: BTreeSet<&str> = FIRST.lines().collect();
        let of = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
        let begun: BTreeSet<String> = first.iter().map(|it| of(it)).collect();
        let changelog = include_str!("../../../CHANGELOG.md");
        // A field and its kind must be in one clause, so that a common field name does not match
        // with another kind.
        let changelog = changelog.split_whitespace().collect::<Vec<_>>().join(" ");
        let clauses = || changelog.split("; ").flat_map(|it| it.split(". "));
        let names = |clause: &str, name: &str| clause.contains(&format!("`{name}`"));
        let mut unnamed = properties(&event_schema());
        let taken_away = first.iter().filter(|it| !unnamed.contains(**it));
        let taken_away: Vec<&str> = taken_away.copied().collect();
        assert_eq!(taken_away, REMOVED, "nothing is taken away");
        for path in REMOVED {
            let (of, field) = path.split_once('.').expect("a kind and a field");
            let gone = |it: &str| it.contains("no longer has") && names(it, of) && names(it, field);
            assert!(clauses().any(gone), "{path}");
        }
        unnamed.retain(|path| {
            let (of, field) = (of(path), path.rsplit('.').next().unwrap_or_default());
            // A shape that is new as a whole is named as a whole.
            let named =
                clauses().any(|it| names(it, &of) && (!begun.contains(&of) || names(it, field)));
            !first.contains(path.as_str()) && !named
        });
        assert_eq!(
            unnamed,
            BTreeSet::new(),
            "name it in CHANGELOG.md, with its kind"
        );
    }

    /// Returns every property of a schema, as its kind or shape and the fields that lead to it.
    fn properties(schema: &Value) -> BTreeSet<String> {
        fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
            let Some(fields) = value.as_object() else {
                let items = value.as_array().into_iter().flatten();
                return items.for_each(|it| walk(it, path, found));
            };
            for (key, value) in fields {
                let named = value
                    .as_object()
                    .filter(|_| key == "properties" || key == "$defs");
                let Some(named) = named else {
                    walk(value, path, found);
                    continue;
                };
                for (name, value) in named {
                    let path = match key.as_str() {
                        "$defs" => name.clone(),
                        _ => format!("{path}.{name}"),
                    };
                    if key == "properties" {
                        found.insert(path.clone());
                    }
                    walk(value, &path, found);
                }
            }
        }
        let mut found = BTreeSet::new();
        walk(schema, "", &mut found);
        found
    }

    /// The compiled schemas of all kinds.
    struct Kinds {
        compiler: Compiler,
        schemas: Schemas,
    }

    impl Kinds {
        fn new() -> Kinds {
            let mut compiler = Compiler::new();
            compiler
                .add_resource("events.json", event_schema())
                .expect("a schema");
            Kinds {
                compiler,
                schemas: Schemas::new(),
            }
        }

        fn fits(&mut self, kind: &str, body: &str) -> Result<(), String> {
            let place = format!("events.json#/$defs/{kind}");
            let index: SchemaIndex = self
                .compiler
                .compile(&place, &mut self.schemas)
                .map_err(|error| error.to_string())?;
            let body: Value = serde_json::from_str(body).expect("JSON");
            self.schemas
                .validate(&body, index)
                .map_err(|error| error.to_string())
        }
    }
}
