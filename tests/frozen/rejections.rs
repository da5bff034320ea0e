//! The text of every rejection of a command, and the code under which it is recorded.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use recount::session::{
    Actor, Answered, Authentication, Barred, CancelReason, ClaimRejection, FoundAs, JsonProblem,
    LeaveEnd, ObjectHash, Outcome, Pause, PauseScope, Reconciled, Rejection, Seq, SessionId,
    Supplied, Timestamp, UnfitAnswer, UnfitKey,
};

use crate::decisions::{all as every, outcome, reason};
use crate::pinned::assert_pinned;

/// Each rejection as its code, a mark if another answer may still count, and its text.
#[test]
fn rejections_are_as_they_were() {
    let mut text = String::new();
    for rejection in rejections() {
        let open = if rejection.leaves_open() {
            "open"
        } else {
            "over"
        };
        writeln!(text, "{} {open}: {rejection}", rejection.code()).unwrap();
    }
    for problem in json_problems() {
        writeln!(text, "json: {problem}").unwrap();
    }
    for unfit in [
        UnfitKey::Empty,
        UnfitKey::TooLong { bytes: 300 },
        UnfitKey::Temporary {
            key: "temp:x".into(),
        },
    ] {
        match unfit {
            UnfitKey::Empty | UnfitKey::TooLong { .. } | UnfitKey::Temporary { .. } => {
                writeln!(text, "key: {unfit}").unwrap();
            }
        }
    }
    assert_pinned("rejections.txt", &text);
}

/// A new variant first stops the build in `variant`, then fails here.
#[test]
fn every_rejection_has_an_example() {
    let shown: BTreeSet<usize> = rejections().iter().map(variant).collect();
    assert_eq!(shown, (0..VARIANTS).collect());
    let shown: BTreeSet<usize> = unfit_answers().iter().map(unfit_variant).collect();
    assert_eq!(shown, (0..UNFIT_VARIANTS).collect());
}

fn ada() -> Actor {
    Actor::os_user("ada")
}

fn unchecked() -> Actor {
    Actor {
        authenticated_by: Authentication::None,
        ..Actor::embedder("root")
    }
}

fn json_problems() -> Vec<JsonProblem> {
    let problems = vec![
        JsonProblem::Syntax("EOF while parsing a value at line 1 column 0".into()),
        JsonProblem::TooDeep,
        JsonProblem::DuplicateKey("a".into()),
        JsonProblem::LoneSurrogate,
        JsonProblem::ReservedKey("$sealed".into()),
    ];
    for problem in &problems {
        match problem {
            JsonProblem::Syntax(_)
            | JsonProblem::TooDeep
            | JsonProblem::DuplicateKey(_)
            | JsonProblem::LoneSurrogate
            | JsonProblem::ReservedKey(_) => {}
        }
    }
    problems
}

fn unfit_answers() -> Vec<UnfitAnswer> {
    let problem = || "expected a yes or a no".to_owned();
    vec![
        UnfitAnswer::Malformed { problem: problem() },
        UnfitAnswer::OtherRequest {
            expected: ObjectHash::of(b"a"),
            found: ObjectHash::of(b"b"),
        },
        UnfitAnswer::InvalidPayload { problem: problem() },
        UnfitAnswer::InvalidArgs { problem: problem() },
        UnfitAnswer::WrongName {
            expected: "adk_request_confirmation".into(),
            found: "pay".into(),
        },
        UnfitAnswer::AnswersTheCall { id: "c1".into() },
        UnfitAnswer::InvalidLeave { problem: problem() },
        UnfitAnswer::ForeignSession {
            session: SessionId(uuid::Uuid::nil()),
        },
    ]
}

fn answered(confirmed: bool, found: Option<FoundAs>, by: Actor) -> Rejection {
    Rejection::AlreadyAnswered(Answered {
        at: Seq(9),
        confirmed,
        found,
        by,
    })
}

/// The refusals of the stop switch.
fn paused() -> Vec<Rejection> {
    let pause = |scope: PauseScope, reason: Option<&str>| {
        Rejection::AlreadyPaused(Box::new(Pause {
            journal_record: scope.is_of_journal().then_some(Seq(9)),
            scope,
            reason: reason.map(str::to_owned),
            by: Actor::embedder("ada"),
            at: Seq(9),
            since: Timestamp(0),
        }))
    };
    let (tool, agent) = ("pay".to_owned(), "support".to_owned());
    vec![
        pause(PauseScope::Session, None),
        pause(PauseScope::Everything, Some("the bank is down")),
        Rejection::NotPaused {
            scope: PauseScope::Tool(tool.clone()),
        },
        Rejection::NotPaused {
            scope: PauseScope::Agent(agent),
        },
        Rejection::UnknownTool { tool },
    ]
}

fn rejections() -> Vec<Rejection> {
    let (call, at) = (Seq(5), Seq(9));
    let supplied = |same: bool| Rejection::AlreadySupplied {
        supplied: Supplied {
            at,
            response: ObjectHash::of(b"{}"),
            by: ada(),
        },
        same,
    };
    let reconciled = |found: FoundAs| {
        Rejection::AlreadyReconciled(Reconciled {
            at,
            found,
            by: ada(),
        })
    };
    let mut all = vec![
        Rejection::UnknownRequest { request: at },
        answered(true, None, ada()),
        answered(false, None, ada().as_program("nightly refunds")),
        answered(false, Some(FoundAs::Done), unchecked()),
        answered(false, Some(FoundAs::Failed), Actor::embedder("a (b)")),
        Rejection::RequestExpired { at, goes_on: false },
        Rejection::RequestExpired { at, goes_on: true },
        Rejection::RequestSuperseded { by: at },
        Rejection::ToolGone { tool: "pay".into() },
        Rejection::TooManyAnswers { max: 6 },
        Rejection::EditsNotAllowed,
        Rejection::NothingToSettle,
        Rejection::UnknownCall { call },
        Rejection::CallOpen {
            call,
            phase: "running",
        },
        reconciled(FoundAs::Done),
        reconciled(FoundAs::Failed),
        supplied(true),
        supplied(false),
        Rejection::CallNotPaused {
            call,
            phase: "running",
        },
        Rejection::WrongName {
            expected: "pay".into(),
            found: "ship".into(),
        },
        Rejection::ResponseNotAnObject,
        Rejection::UnfitState {
            problem: UnfitKey::Empty.to_string(),
        },
        Rejection::SessionClosed,
        Rejection::UnfitKey { bytes: 201 },
        Rejection::KeyReused { call },
        Rejection::TooLarge { bytes: 4_000_000 },
        Rejection::TooDeep,
        Rejection::UnfitJson {
            problem: JsonProblem::TooDeep,
        },
    ];
    all.extend(paused());
    all.extend(approving());
    all.extend(claims().into_iter().map(Rejection::Claim));
    all.extend(leaves());
    all.extend(unfit_answers().into_iter().map(Rejection::UnfitAnswer));
    let reasons = every(CancelReason::Model, reason).into_iter();
    all.extend(reasons.map(|reason| Rejection::RequestWithdrawn { at, reason }));
    for outcome in every(Outcome::Interim, outcome) {
        all.push(Rejection::CallSettled { call, outcome, at });
        all.push(Rejection::OutcomeKnown { call, outcome });
    }
    all
}

/// The rejections of answers to a request that has terms.
fn approving() -> Vec<Rejection> {
    let next = |barred: &Barred| match barred {
        Barred::Automatic => Some(Barred::Unverified),
        Barred::Unverified => Some(Barred::NotAnApprover),
        Barred::NotAnApprover => Some(Barred::Requester),
        Barred::Requester => Some(Barred::RequesterUnknown),
        Barred::RequesterUnknown => None,
    };
    let at = Seq(21);
    let mut all: Vec<Rejection> = every(Barred::Automatic, next)
        .into_iter()
        .map(Rejection::Barred)
        .collect();
    all.push(Rejection::AlreadyApproved { at });
    all.push(Rejection::OtherContent { at });
    all
}

fn claims() -> Vec<ClaimRejection> {
    let call = Seq(5);
    vec![
        ClaimRejection::NotForClients {
            call,
            tool: "look".into(),
        },
        ClaimRejection::NotReady {
            call,
            phase: "awaiting_confirmation",
        },
        ClaimRejection::AlreadyClaimed {
            call,
            attempt: 1,
            by: ada(),
            until: Timestamp(1_763_700_060_000_000),
        },
        ClaimRejection::StaleAttempt {
            call,
            attempt: 1,
            newest: 2,
        },
        ClaimRejection::NotTheHolder { call },
        ClaimRejection::ClaimEnded { call, attempt: 1 },
        ClaimRejection::UnfitClaim {
            problem: "it is empty",
        },
    ]
}

/// The rejections about standing leaves.
fn leaves() -> Vec<Rejection> {
    let (leave, at) = (Seq(9), Seq(12));
    let revoked = LeaveEnd::Revoked { at, by: ada() };
    let ended = [revoked, LeaveEnd::Changed { at }];
    let ended = ended.map(|end| Rejection::LeaveEnded {
        leave,
        end: Box::new(end),
    });
    let mut all = vec![
        Rejection::LeaveNotPermitted,
        Rejection::UnknownLeave { leave },
        Rejection::LeaveBarred(Barred::Automatic),
    ];
    all.extend(ended);
    all
}

const VARIANTS: usize = 37;

fn variant(rejection: &Rejection) -> usize {
    match rejection {
        Rejection::UnknownRequest { .. } => 0,
        Rejection::AlreadyAnswered(_) => 1,
        Rejection::RequestExpired { .. } => 2,
        Rejection::RequestWithdrawn { .. } => 3,
        Rejection::RequestSuperseded { .. } => 4,
        Rejection::UnfitAnswer(_) => 5,
        Rejection::ToolGone { .. } => 6,
        Rejection::EditsNotAllowed => 7,
        Rejection::NothingToSettle => 8,
        Rejection::UnknownCall { .. } => 9,
        Rejection::CallSettled { .. } => 10,
        Rejection::CallOpen { .. } => 11,
        Rejection::OutcomeKnown { .. } => 12,
        Rejection::AlreadyReconciled(_) => 13,
        Rejection::AlreadySupplied { .. } => 14,
        Rejection::CallNotPaused { .. } => 15,
        Rejection::WrongName { .. } => 16,
        Rejection::ResponseNotAnObject => 17,
        Rejection::UnfitState { .. } => 18,
        Rejection::SessionClosed => 19,
        Rejection::TooLarge { .. } => 20,
        Rejection::TooDeep => 21,
        Rejection::UnfitJson { .. } => 22,
        Rejection::TooManyAnswers { .. } => 23,
        Rejection::AlreadyPaused(_) => 24,
        Rejection::NotPaused { .. } => 25,
        Rejection::UnknownTool { .. } => 26,
        Rejection::Barred(_) => 27,
        Rejection::AlreadyApproved { .. } => 28,
        Rejection::OtherContent { .. } => 29,
        Rejection::UnfitKey { .. } => 30,
        Rejection::KeyReused { .. } => 31,
        Rejection::Claim(_) => 32,
        Rejection::LeaveNotPermitted => 33,
        Rejection::UnknownLeave { .. } => 34,
        Rejection::LeaveEnded { .. } => 35,
        Rejection::LeaveBarred(_) => 36,
    }
}

const UNFIT_VARIANTS: usize = 8;

fn unfit_variant(unfit: &UnfitAnswer) -> usize {
    match unfit {
        UnfitAnswer::Malformed { .. } => 0,
        UnfitAnswer::OtherRequest { .. } => 1,
        UnfitAnswer::InvalidPayload { .. } => 2,
        UnfitAnswer::InvalidArgs { .. } => 3,
        UnfitAnswer::WrongName { .. } => 4,
        UnfitAnswer::AnswersTheCall { .. } => 5,
        UnfitAnswer::ForeignSession { .. } => 6,
        UnfitAnswer::InvalidLeave { .. } => 7,
    }
}
