//! Tests that names and words in code equal their recorded spelling.

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn spelt(it: impl Serialize) -> serde_json::Value {
    json!(it)
}

#[test]
fn words_equal_their_recorded_spelling() {
    for it in [FoundAs::Done, FoundAs::Failed] {
        assert_eq!(spelt(it), it.as_str());
    }
    for it in [
        Hook::OnToolCall,
        Hook::BeforeToolResponse,
        Hook::ConfirmWhen,
    ] {
        assert_eq!(spelt(it), it.as_str());
    }
    for it in [
        FunctionResponseScheduling::Silent,
        FunctionResponseScheduling::WhenIdle,
        FunctionResponseScheduling::Interrupt,
    ] {
        assert_eq!(spelt(it), it.as_str());
    }
    for it in [InDoubt::Retry, InDoubt::Ask, InDoubt::SettleUnknown] {
        assert_eq!(spelt(it), it.as_str());
    }
}

#[test]
fn every_kind_of_open_work_has_a_word_of_its_own() {
    let kinds = [
        OpenKind::Session,
        OpenKind::Confirmation,
        OpenKind::Paused,
        OpenKind::Calls,
        OpenKind::Ready,
        OpenKind::Running,
        OpenKind::Untold,
        OpenKind::Pause,
        OpenKind::Leave,
        OpenKind::Closing,
    ];
    assert_eq!(
        kinds.map(OpenKind::as_str),
        [
            "session",
            "confirmation",
            "paused",
            "calls",
            "ready",
            "running",
            "untold",
            "pause",
            "leave",
            "closing"
        ]
    );
}

#[test]
fn every_process_derives_the_same_outside_ids() {
    let session = SessionId(Uuid::from_u128(7));
    let name = |text: &str| Uuid::new_v5(&session.0, text.as_bytes());
    for seq in [Seq(1), Seq(42), Seq(u64::MAX)] {
        assert_eq!(session.call_id(seq).0, name(&format!("call:{seq}")));
        assert_eq!(session.request_id(seq).0, name(&format!("request:{seq}")));
        let key = session.idempotency_key(seq);
        assert_eq!(key, name(&format!("idempotency:{seq}")));
    }
}

#[test]
fn handle_reveals_its_text_and_a_hash_fingerprint() {
    let handle = ResumptionHandle::new("very-secret");
    assert_eq!(handle.reveal(), "very-secret");
    assert_eq!(handle.fingerprint(), "b644133604bf9963");
}

#[test]
fn a_handle_is_good_for_two_hours() {
    assert_eq!(HANDLE_LIFE_MS, 7_200_000);
}

#[test]
fn frames_are_counted_with_their_bytes() {
    let mut audio = Frames::default();
    audio.count(640);
    audio.count(2);
    let (frames, bytes) = (2, 642);
    assert_eq!(audio, Frames { frames, bytes });
}

#[test]
fn effects_name_the_call_they_are_owed_for() {
    let (call, request, attempt, runner) = (Seq(5), Seq(7), 1, Seq(2));
    let due_us = Timestamp(0);
    let deadlines = [
        Deadline::Run { call, attempt },
        Deadline::Confirmation { call, request },
        Deadline::Retry { call, attempt },
        Deadline::Lease { call, attempt },
        Deadline::Acknowledgement { call },
    ];
    let timers = deadlines.map(|deadline| Effect::ArmTimer { deadline, due_us });
    let others = [
        Effect::RunTool {
            call,
            attempt,
            runner,
        },
        Effect::AskHook {
            hook: Hook::OnToolCall,
            call,
            of: None,
            runner,
        },
        Effect::AskConfirmation { call, request },
        Effect::SendResponse {
            response: Seq(9),
            call,
            epoch: Seq(3),
            as_conversation: false,
        },
        Effect::CloseSession { of: Seq(9), call },
    ];
    for effect in timers.into_iter().chain(others) {
        assert_eq!(effect.call(), Some(call), "{effect:?}");
    }
    assert_eq!(Effect::Connect.call(), None);
    let (phase, epoch) = (Seq(4), Seq(3));
    assert_eq!(Effect::SendInstruction { phase, epoch }.call(), None);
}

#[test]
fn decode_error_has_the_error_of_serde_as_source() {
    let wrong = Event::decode("runner_detached", "{}");
    let because = |error: &DecodeError| std::error::Error::source(error).map(ToString::to_string);
    let wrong = wrong.as_ref().err().and_then(because);
    assert!(wrong.is_some_and(|it| it.contains("missing field `reason`")));
    let unknown = Event::decode("no_such_kind", "{}");
    assert_eq!(unknown.as_ref().err().and_then(because), None);
}
