//! A session survives every fault of the service. Every script of `fixtures/scripts/faults` is
//! played over real sockets, against an engine with a journal on disk.
//!
//! For each script the laws hold on the journal, and the events and the received messages match the
//! snapshot. No task and no socket is left. No clock runs by itself: only the steps below advance
//! the time of the engine, the sockets and the script.

mod ending;
mod scene;
mod steps;
mod till;

use std::collections::BTreeSet;

use steps::Step::{self, *};

macro_rules! faults {
    ($($name:ident: [$($step:expr),* $(,)?];)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                let ending = scene::play(stringify!($name), &[$($step),*]).await;
                insta::assert_snapshot!(stringify!($name), ending);
            }
        )+

        const TOLD: &[&str] = &[$(stringify!($name)),+];
    };
}

// The steps of the user and the approver, and the events to wait for. The script defines the
// service.
faults! {
    cancelled_before_the_response: [
        Say("Ship order 7."), Record("call_started"), Say("Stop!"), Record("turn_completed"),
        STILL_THERE, Record("turn_completed"),
    ];
    cancelled_during_the_response: [
        Say("Follow order 7."), Received(r#""step":1"#), Say("Stop!"), Record("turn_completed"),
        STILL_THERE, Record("turn_completed"),
    ];
    cancelled_while_the_response_is_on_its_way: [
        Say("Pay."), Record("responses_sent"), TakeBack("c1"), Record("call_cancellation_received"),
        ReadOn, Received("paid"), STILL_THERE, Record("turn_completed"),
    ];
    cancelled_after_the_response: [Say("Pay."), Record("turn_completed")];
    cancelled_while_a_person_decides: [
        Say("Refund it."), Record("confirmation_requested"), Say("Stop!"), Record("turn_completed"),
        Approve, Record("turn_completed"),
    ];
    cancelled_in_the_background: [
        Say("Search."), Received("running"), Say("Stop!"), Record("turn_completed"), STILL_THERE,
        Record("turn_completed"),
    ];
    cancelled_for_a_call_that_never_was: [Say("Hello!"), Record("turn_completed")];

    go_away_while_nothing_is_under_way: [Record("connected"), Record("turn_completed")];
    go_away_during_a_call: [
        Say("Ship order 7."), Record("go_away_received"), Release, Record("connected"),
        Say("Thanks."), Record("turn_completed"), Record("turn_completed"),
    ];
    go_away_before_a_call_ends: [
        Say("Ship order 7."), Record("switch_planned"), Pass(8_000), Record("connected"), Release,
        Received("shipped"), Record("turn_completed"),
    ];
    go_away_without_the_time_it_promised: [
        Say("Ship order 7."), Record("reconnect_scheduled"), Pass(1_000), Record("connected"),
        Release, Received("shipped"), Record("turn_completed"),
    ];

    closed_again_and_again: [
        Say("Hello!"), AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED,
        Record("turn_completed"),
    ];
    closed_for_good: [
        Say("Everything."), AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED, AGAIN,
        WAITED, Record("reconnects_exhausted"),
    ];
    closed_for_what_was_said_once: [Say("Hello!"), AGAIN, WAITED, Record("turn_completed")];
    closed_for_what_was_said_twice: [Say("Hello!"), AGAIN, WAITED, Record("reconnects_exhausted")];
    closed_before_the_setup: [
        Say("Hello!"), AGAIN, WAITED, AGAIN, WAITED, AGAIN, WAITED, Record("turn_completed"),
    ];
    closed_instead_of_the_first_setup_complete: [];
    closed_during_a_call: [
        Say("Ship order 7."), AGAIN, WAITED, Record("connected"), Release, Received("shipped"),
        Record("turn_completed"),
    ];
    closed_during_work_in_the_background: [
        Say("Search."), Received("running"), Say("And?"), AGAIN, WAITED, Record("turn_completed"),
        Release, Received("found"), Record("turn_completed"),
    ];
    closed_while_a_person_decides: [
        Say("Refund it."), Record("confirmation_requested"), AGAIN, WAITED, Record("connected"),
        Approve, Received("refunded"), Record("turn_completed"),
    ];
    closed_while_a_result_is_awaited: [
        Say("Order a lamp."), Record("tool_paused"), AGAIN, WAITED, Record("connected"), Days(10),
        Say("Any news?"), Record("turn_completed"), Update(r#"{"packed":true}"#),
        Received("packed"), Respond(r#"{"shipped":true}"#), Received("shipped"),
        Record("turn_completed"),
    ];
    closed_on_a_response: [Say("Pay."), AGAIN, WAITED, Record("turn_completed")];

    paused_for_ten_days: [
        Say("Order a lamp."), Record("tool_paused"), Record("turn_completed"), Days(5),
        Say("Any news?"), Record("turn_completed"), Update(r#"{"packed":true}"#),
        Received("packed"), Days(5), Say("And now?"), Record("turn_completed"),
        Respond(r#"{"shipped":true}"#), Record("turn_completed"),
    ];

    handle_renewed: [
        Say("Hello!"), Record("turn_completed"), Say("Bye!"), AGAIN, WAITED,
        Record("turn_completed"),
    ];
    handle_withheld_during_a_call: [
        Say("Ship order 7."), Record("call_started"), Say("How long?"), AGAIN, WAITED,
        Record("connected"), Release, Received("shipped"), Record("turn_completed"),
    ];
    handle_older_than_the_last_words: [
        Say("My name is Ada."), Record("turn_completed"), Say("Who am I?"), AGAIN, WAITED,
        Record("turn_completed"),
    ];
    handle_expired: [
        Say("My name is Ada."), Record("turn_completed"), Say("Who am I?"), AGAIN, WAITED,
        Record("turn_completed"),
    ];
    handle_that_the_service_does_not_know: [Say("Hello!"), AGAIN, WAITED, Record("turn_completed")];
    handle_that_the_service_fails_on: [
        Say("Hello!"), AGAIN, WAITED, AGAIN, WAITED, Record("turn_completed"),
    ];

    call_delivered_twice: [
        Say("Ship order 7."), Record("function_call_received"), Record("function_call_received"),
        Release, Record("turn_completed"),
    ];
    call_shown_in_the_turn_too: [
        Say("Ship order 7."), Record("call_started"), Release, Record("turn_completed"),
    ];
    call_repeated_under_a_new_id: [
        Say("Ship order 7."), Record("call_started"), Record("call_started"), Release,
        Record("responses_sent"), Release, Record("turn_completed"),
    ];
    call_repeated_while_its_result_is_awaited: [
        Say("Order a lamp."), Record("tool_paused"), Received("pending"), Record("turn_completed"),
        Respond(r#"{"shipped":true}"#), Record("turn_completed"), Say("Order another one."),
        Record("tool_paused"),
    ];
    call_delivered_again_after_resuming: [
        Say("Ship order 7."), AGAIN, WAITED, Record("function_call_received"),
        Record("function_call_received"), Release, Record("turn_completed"),
    ];
    calls_in_parallel: [
        Say("Everything."), Received("paid"), Record("confirmation_requested"), Approve,
        Received("refunded"), Release, Record("turn_completed"),
    ];
    call_while_another_waits: [
        Say("Ship order 7."), Record("call_started"), Say("Pay."), Record("turn_completed"),
        Release, Record("turn_completed"),
    ];
    turn_complete_right_after_a_call: [
        Say("Ship order 7."), Record("turn_completed"), Release, Record("turn_completed"),
    ];

    silence_instead_of_the_first_setup_complete: [SetupUnanswered(1)];
    silence_instead_of_setup_complete: [
        Say("Hello!"), AGAIN, WAITED, SetupUnanswered(2), AGAIN, WAITED, Record("turn_completed"),
    ];
    words_instead_of_setup_complete: [];
    slow_reader: [
        Say("Ship order 7."), Record("call_started"), TalkUntilItReads, Received("shipped"),
        Record("turn_completed"), STILL_THERE, Record("turn_completed"),
    ];
    malformed_arguments: [Say("Pay."), Record("turn_completed")];
    malformed_frames: [Say("Hello!"), Record("turn_completed")];
    bytes_that_are_no_text: [Say("Hello!"), Record("turn_completed")];
    burst_of_3000_frames: [
        Say("Ship order 7."), Received("paid"), Release, Record("turn_completed"),
    ];
    audio_at_50_frames_a_second: [
        Say("Sing!"), Hear(50), Record("turn_completed"), Speak(50), Record("turn_completed"),
        Release, Record("responses_sent"),
    ];
    audio_cut_short: [Say("Sing!"), Hear(5), Say("Stop!"), Record("turn_completed")];
    unknown_field_in_the_setup: [];
}

const STILL_THERE: Step = Say("Are you still there?");

/// The engine will connect again.
const AGAIN: Step = Record("reconnect_scheduled");

/// Longer than any wait before a reconnect, and shorter than the timeout of a tool.
const WAITED: Step = Pass(4_000);

/// A new script needs its steps above and a reviewed snapshot.
#[test]
fn every_script_is_played() {
    let folder = scene::folder().read_dir().unwrap();
    let scripts: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let told: BTreeSet<String> = TOLD.iter().map(ToString::to_string).collect();
    assert_eq!(scripts, told);
}
