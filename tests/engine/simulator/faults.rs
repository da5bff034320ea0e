//! The faults of a model: it interrupts, cancels, repeats, sends bursts, is silent or sends invalid
//! messages.

use std::time::Duration;

use super::*;

/// The actions that are due now and after every wait, and the total time.
fn runs_to_its_end(player: &mut Player, connection: ConnectionId) -> (Vec<Action>, Duration) {
    let mut actions = Vec::new();
    let mut time = Duration::ZERO;
    while let Some(wait) = player.wait(connection) {
        time += wait.duration;
        actions.extend(player.wake(connection, wait));
    }
    (actions, time)
}

#[test]
fn an_interruption_cuts_the_model_short_and_cancels_its_calls() {
    let mut player = Player::new(script(
        r#"{"on":{"text":"go"},"send":[{"call":[{"id":"c1","name":"a"}]},{"say":["One.","Two.","Three."],"every_ms":100}]}
           {"on":{"text":"stop"},"send":[{"interrupt":["c1"]}]}"#,
    ));
    let connection = connected(&mut player);
    let begun = does(&mut player, connection, &ClientMessage::user_text("go"));
    assert_eq!(begun.len(), 2, "the call, and the first piece: {begun:?}");
    let wait = player.wait(connection).unwrap();
    assert_eq!(wait.duration, Duration::from_millis(100));
    let second = player.wake(connection, wait);
    assert_eq!(second.len(), 1);

    let cut = does(&mut player, connection, &ClientMessage::user_text("stop"));
    assert_eq!(
        cut,
        [
            json!({"serverContent": {"interrupted": true}}),
            json!({"toolCallCancellation": {"ids": ["c1"]}}),
            json!({"serverContent": {"turnComplete": true}}),
        ]
    );
    assert_eq!(player.wait(connection), None, "nothing of the turn is left");
    assert!(
        player.wake(connection, wait).is_empty(),
        "nor by an old clock"
    );
    assert!(does(&mut player, connection, &answer("c1")).is_empty());
    assert_eq!(standings(&player), [(1, Standing::Cancelled)]);
}

#[test]
fn a_cancellation_comes_before_with_or_after_the_answer() {
    for (text, expected) in [
        (
            // The cancellation arrives with the call, so the response crosses it.
            r#"{"on":{"text":"go"},"send":[{"call":[{"id":"c1","name":"a"}]},{"cancel":["c1"]}]}"#,
            Standing::Cancelled,
        ),
        (
            // The cancellation follows the response, so it is too late.
            r#"{"on":{"text":"go"},"send":[{"call":[{"id":"c1","name":"a"}]}]}
               {"on":{"responses_to":["c1"]},"send":[{"cancel":["c1"]}]}"#,
            Standing::Accepted,
        ),
    ] {
        let mut player = Player::new(script(text));
        let connection = connected(&mut player);
        does(&mut player, connection, &ClientMessage::user_text("go"));
        does(&mut player, connection, &answer("c1"));
        assert_eq!(standings(&player), [(1, expected)]);
        let cancelled = player
            .transcript()
            .sent()
            .any(|(_, message)| message.tool_call_cancellation.is_some());
        assert!(cancelled);
    }
}

#[test]
fn a_call_comes_twice_and_again_under_a_new_id() {
    let mut player = Player::new(script(
        r#"{"on":{"text":"go"},"send":[
            {"serverContent":{"modelTurn":{"parts":[{"functionCall":{"id":"c1","name":"a"}}]}}},
            {"call":[{"id":"c1","name":"a"}]},
            {"call":[{"id":"c1","name":"a"}]},
            {"call":[{"id":"c2","name":"a"}]}]}"#
            .replace('\n', "")
            .as_str(),
    ));
    let connection = connected(&mut player);
    let sent = does(&mut player, connection, &ClientMessage::user_text("go"));
    assert_eq!(sent.len(), 4);
    assert_eq!(sent[1], sent[2]);
    for id in ["c1", "c1", "c2"] {
        does(&mut player, connection, &answer(id));
    }
    assert_eq!(
        standings(&player),
        [
            (1, Standing::Accepted),
            (1, Standing::AlreadyAnswered),
            (1, Standing::Accepted)
        ]
    );
}

#[test]
fn a_burst_comes_at_once_and_in_order() {
    let mut player = Player::new(script(concat!(
        r#"{"on":{"text":"go"},"send":[{"repeat":3000,"#,
        r#""send":[{"serverContent":{"inputTranscription":{"text":"word {n}"}}}]},"#,
        r#"{"call":[{"id":"c1","name":"a"}]}]}"#,
    )));
    let connection = connected(&mut player);
    let sent = does(&mut player, connection, &ClientMessage::user_text("go"));
    assert_eq!(sent.len(), 3_001);
    for (n, message) in (1..=3_000).zip(&sent) {
        let text = &message["serverContent"]["inputTranscription"]["text"];
        assert_eq!(text, &json!(format!("word {n}")));
    }
    assert!(sent[3_000]["toolCall"].is_object());
}

#[test]
fn audio_has_fifty_numbered_frames_a_second() {
    let mut player = Player::new(script(
        r#"{"on":{"text":"sing"},"send":[{"audio":{"frames":150,"every_ms":20}},{"say":"La."}]}"#,
    ));
    let connection = connected(&mut player);
    let mut frames = player.receive(connection, &ClientMessage::user_text("sing"));
    assert_eq!(frames.len(), 1);
    let (rest, time) = runs_to_its_end(&mut player, connection);
    frames.extend(rest);
    assert_eq!(time, Duration::from_secs(3));
    let numbers: Vec<u32> = frames
        .iter()
        .filter_map(|action| match action {
            Action::Send(message) => {
                let turn = message.server_content.as_ref()?.model_turn.as_ref()?;
                let sound = turn.parts[0].inline_data.as_ref()?.bytes()?;
                assert_eq!(sound.len(), 960);
                Some(u32::from_le_bytes(sound[..4].try_into().unwrap()))
            }
            Action::SendRaw(_) | Action::Read(_) | Action::Close { .. } => None,
        })
        .collect();
    assert_eq!(numbers, (0..150).collect::<Vec<u32>>());
    assert_eq!(
        frames.len(),
        153,
        "the words and the end of the turn follow"
    );
}

#[test]
fn a_setup_may_be_answered_with_silence_or_a_close() {
    let mut player = Player::new(script(
        r#"{"on":"connect","connection":1,"send":[{"close":{"code":1013}}]}
           {"on":"setup","connection":2,"complete":false}
           {"on":"setup","connection":3,"complete":false,"send":[{"close":{"code":1008,"reason":"no"}}]}
           {"on":"setup","connection":4,"complete":false,"send":[{"wait_ms":60000},{"setupComplete":{}}]}
           {"on":"otherwise","send":[{"say":"Hello."}]}"#,
    ));
    let first = player.connect();
    assert_eq!(
        player.due(first),
        [Action::Close {
            code: 1013,
            reason: String::new()
        }]
    );
    let second = player.connect();
    assert!(player.receive(second, &setup()).is_empty());
    assert!(
        player
            .receive(second, &ClientMessage::user_text("hello?"))
            .is_empty(),
        "not even then"
    );
    assert!(!player.transcript().is_closed(second));
    let third = player.connect();
    assert_eq!(does(&mut player, third, &setup()), [json!(1008)]);
    let fourth = player.connect();
    assert!(player.receive(fourth, &setup()).is_empty());
    let (late, time) = runs_to_its_end(&mut player, fourth);
    assert_eq!(time, Duration::from_secs(60));
    assert_eq!(
        late,
        [Action::Send(Box::new(ServerMessage::setup_complete()))]
    );
    assert_eq!(
        says(&mut player, fourth, &ClientMessage::user_text("hello?")),
        ["Hello."],
        "late is not never"
    );
}

#[test]
fn speech_and_marks_of_activity_are_heard() {
    let realtime = |text: &str| ClientMessage::decode(&format!(r#"{{"realtimeInput":{text}}}"#));
    let mut player = Player::new(script(
        r#"{"on":"activity_start","send":[{"say":"start"}]}
           {"on":{"audio":3},"send":[{"say":"three"}]}
           {"on":"activity_end","send":[{"say":"end"}]}
           {"on":"audio_stream_end","send":[{"say":"off"}]}"#,
    ));
    let connection = connected(&mut player);
    let audio = r#"{"audio":{"data":"AAAA","mimeType":"audio/pcm;rate=16000"}}"#;
    let chunk = concat!(
        r#"{"media_chunks":[{"data":"AA-_","mime_type":"audio/pcm"},{"data":"AAAA","#,
        r#""mime_type":"image/png"}]}"#,
    );
    let said: Vec<String> = [
        r#"{"activityStart":{}}"#,
        audio,
        chunk,
        audio,
        audio,
        r#"{"activity_end":{}}"#,
        r#"{"audioStreamEnd":true}"#,
    ]
    .into_iter()
    .flat_map(|input| says(&mut player, connection, &realtime(input).unwrap()))
    .collect();
    assert_eq!(said, ["start", "three", "end", "off"]);
}

#[test]
fn nonsense_goes_out_as_written() {
    let mut player = Player::new(script(concat!(
        r#"{"on":{"text":"go"},"send":[{"raw":"{not json"},{"raw":"[]","opcode":"text"},"#,
        r#"{"raw_base64":"//4="},{"raw":"{\"error\":{\"code\":500}}"},{"say":"Sorry."}]}"#,
    )));
    let connection = connected(&mut player);
    let sent = player.receive(connection, &ClientMessage::user_text("go"));
    let raw: Vec<(&[u8], bool)> = sent
        .iter()
        .filter_map(|action| match action {
            Action::SendRaw(frame) => Some((frame.bytes.as_slice(), frame.is_text)),
            Action::Send(_) | Action::Read(_) | Action::Close { .. } => None,
        })
        .collect();
    assert_eq!(
        raw,
        [
            (b"{not json".as_slice(), false),
            (b"[]", true),
            (&[0xff, 0xfe], false),
            (br#"{"error":{"code":500}}"#, false)
        ]
    );
    assert_eq!(sent.len(), 7, "and the model goes on");
}
