//! Texts that are recorded or sent to the model, for every value of the types that have them.

use std::fmt::Write as _;

use recount::session::response::as_conversation;
use recount::session::{
    About, Actor, ActorKind, Authentication, CancelReason, FoundAs, Hook, InDoubt, Json, Leave,
    OnExpiry, OpenKind, Outcome, Phase, Seq, SessionId, Timestamp,
};

use crate::decisions::{all, outcome, reason};
use crate::pinned::assert_pinned;

#[test]
fn words_are_as_they_were() {
    let mut text = String::new();
    for outcome in all(Outcome::Interim, outcome) {
        writeln!(text, "outcome {outcome:?}: {}", outcome.in_words()).unwrap();
    }
    for reason in all(CancelReason::Model, reason) {
        writeln!(text, "reason {reason:?}: {}", reason.in_words()).unwrap();
    }
    for phase in std::iter::successors(Some(Phase::Received), after) {
        writeln!(text, "phase {} {:?}", phase.name(), phase.waits_for()).unwrap();
    }
    for kind in all(OpenKind::Session, open_kind) {
        writeln!(text, "open {}", kind.as_str()).unwrap();
    }
    for kind in all(ActorKind::Engine, actor_kind) {
        writeln!(text, "actor kind {}", kind.as_str()).unwrap();
    }
    for hook in all(Hook::OnToolCall, hook) {
        writeln!(text, "hook {}", hook.as_str()).unwrap();
    }
    for rule in all(InDoubt::Retry, in_doubt) {
        writeln!(text, "in doubt {}", rule.as_str()).unwrap();
    }
    for found in [FoundAs::Done, FoundAs::Failed] {
        writeln!(text, "found {}", found.as_str()).unwrap();
    }
    assert_pinned("words.txt", &text);
}

#[test]
fn actors_are_shown_as_they_were() {
    let mut text = String::new();
    for known in all(Authentication::Embedder, authentication) {
        for name in ["ada", "", " ada", "root (token)", "a\u{202e}b"] {
            let actor = Actor {
                authenticated_by: known,
                ..Actor::embedder(name)
            };
            let program = actor.clone().as_program("nightly refunds");
            writeln!(text, "{actor}\n{program}").unwrap();
        }
    }
    assert_pinned("actors.txt", &text);
}

/// The text with which the model learns the outcome of a call from an earlier connection.
#[test]
fn outcomes_are_told_as_they_were() {
    let args = Json::parse(r#"{"order": 7, "cents": 9007199254740993}"#).unwrap();
    let response = Json::parse(r#"{"refunded": true}"#).unwrap();
    let told = all(Outcome::Interim, outcome).into_iter();
    let told = told.map(|it| as_conversation("refund", &args, it, &response) + "\n");
    assert_pinned("conversation.txt", &told.collect::<String>());
}

/// Tickets, approvals and idempotency keys outlive the program that issued them.
#[test]
fn ids_are_derived_as_they_were() {
    let mut text = String::new();
    for session in [0, 0x0199_2a5e_7c1d_7000_8000_0000_0000_0001_u128] {
        let session = SessionId(uuid::Uuid::from_u128(session));
        for seq in [1, 5, 1_000_000, u64::MAX].map(Seq) {
            let (call, request) = (session.call_id(seq), session.request_id(seq));
            let key = session.idempotency_key(seq);
            writeln!(text, "{session} {seq}: {call} {request} {key}").unwrap();
        }
    }
    assert_pinned("ids.txt", &text);
}

fn after(phase: &Phase) -> Option<Phase> {
    let (at, due, leave) = (Seq(9), Timestamp(1), Leave::NotGated);
    let next = match phase {
        Phase::Received => Phase::AwaitingHook,
        Phase::AwaitingHook => Phase::Refused {
            reason: "there is no such tool".into(),
            kind: "not_found",
        },
        Phase::Refused { .. } => Phase::AwaitingVerdict,
        Phase::AwaitingVerdict => Phase::Gated,
        Phase::Gated => Phase::Asking { in_place: None },
        Phase::Asking { .. } => Phase::AwaitingConfirmation {
            request: at,
            about: About::Gate,
            expires_at: None,
            on_expiry: OnExpiry::Deny,
            expired: false,
            in_place: None,
        },
        Phase::AwaitingConfirmation { .. } => Phase::Withdrawn,
        Phase::Withdrawn => Phase::Approved { request: at },
        Phase::Approved { .. } => Phase::Unanswered { request: at },
        Phase::Unanswered { .. } => Phase::Denied {
            about: About::Gate,
            reason: None,
            expired: false,
        },
        Phase::Denied { .. } => Phase::Permitted { leave },
        Phase::Permitted { .. } => Phase::Ready { leave },
        Phase::Ready { .. } => Phase::Running {
            attempt: 1,
            runner: at,
            deadline: None,
            leave,
            out_of_doubt: false,
        },
        Phase::Running { .. } => Phase::AwaitingCalls { leave, open: 1 },
        Phase::AwaitingCalls { open: 1.., .. } => Phase::AwaitingCalls { leave, open: 0 },
        Phase::AwaitingCalls { open: 0, .. } => Phase::InDoubt { leave },
        Phase::InDoubt { .. } => Phase::Paused { interim: None },
        Phase::Paused { .. } => Phase::Returned {
            of: at,
            failed: false,
            again: None,
        },
        Phase::Returned { .. } => Phase::Retrying {
            attempt: 2,
            due,
            leave,
        },
        Phase::Retrying { .. } => Phase::Supplied { of: at },
        Phase::Supplied { .. } => Phase::Found {
            of: at,
            failed: None,
        },
        Phase::Found { .. } => Phase::TimedOut { again: leave },
        Phase::TimedOut { .. } => return None,
    };
    Some(next)
}

fn open_kind(kind: &OpenKind) -> Option<OpenKind> {
    match kind {
        OpenKind::Session => Some(OpenKind::Confirmation),
        OpenKind::Confirmation => Some(OpenKind::Paused),
        OpenKind::Paused => Some(OpenKind::Calls),
        OpenKind::Calls => Some(OpenKind::Ready),
        OpenKind::Ready => Some(OpenKind::Running),
        OpenKind::Running => Some(OpenKind::Claimable),
        OpenKind::Claimable => Some(OpenKind::Claimed),
        OpenKind::Claimed => Some(OpenKind::Untold),
        OpenKind::Untold => Some(OpenKind::Pause),
        OpenKind::Pause => Some(OpenKind::Leave),
        OpenKind::Leave => Some(OpenKind::Closing),
        OpenKind::Closing => None,
    }
}

fn actor_kind(kind: &ActorKind) -> Option<ActorKind> {
    match kind {
        ActorKind::Engine => Some(ActorKind::Model),
        ActorKind::Model => Some(ActorKind::User),
        ActorKind::User => Some(ActorKind::Tool),
        ActorKind::Tool => Some(ActorKind::Person),
        ActorKind::Person => Some(ActorKind::Program),
        ActorKind::Program => Some(ActorKind::Clock),
        ActorKind::Clock => None,
    }
}

fn authentication(known: &Authentication) -> Option<Authentication> {
    match known {
        Authentication::Embedder => Some(Authentication::Token),
        Authentication::Token => Some(Authentication::OsUser),
        Authentication::OsUser => Some(Authentication::None),
        Authentication::None => None,
    }
}

fn hook(hook: &Hook) -> Option<Hook> {
    match hook {
        Hook::OnToolCall => Some(Hook::BeforeToolResponse),
        Hook::BeforeToolResponse => Some(Hook::ConfirmWhen),
        Hook::ConfirmWhen => None,
    }
}

fn in_doubt(rule: &InDoubt) -> Option<InDoubt> {
    match rule {
        InDoubt::Retry => Some(InDoubt::Ask),
        InDoubt::Ask => Some(InDoubt::SettleUnknown),
        InDoubt::SettleUnknown => None,
    }
}
