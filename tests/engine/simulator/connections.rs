//! One conversation over several connections: handles, conditions on the next connection, and
//! messages that never arrive.

use super::*;

fn resuming(handle: Option<&str>) -> ClientMessage {
    let handle = handle.map_or_else(String::new, |it| format!(r#""handle":"{it}""#));
    let text = format!(r#"{{"setup":{{"model":"m","sessionResumption":{{{handle}}}}}}}"#);
    ClientMessage::decode(&text).unwrap()
}

fn update(handle: Option<&str>) -> Value {
    match handle {
        Some(handle) => {
            json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}})
        }
        None => json!({"sessionResumptionUpdate": {"resumable": false}}),
    }
}

const RESUMED: &str = r#"
    {"on":{"setup":"fresh"},"send":[{"handle":"h1"}]}
    {"on":{"text":"go"},"send":[{"no_handle":true},{"call":[{"id":"c1","name":"a"}]},{"go_away":"10s"},{"wait_ms":10000},{"close":{"code":1000}}]}
    {"on":{"setup":{"handle":"h1"}},"send":[{"handle":"h2"},{"say":"Welcome back."}]}
    {"expect":{"no_handle":true},"connection":1}
    {"expect":{"handle":"h1"},"connection":2}
    {"expect":{"told":"refund"},"connection":2}
    {"never":{"response_to":"c1"},"connection":2}
"#;

#[test]
fn conversation_continues_with_previous_handle() {
    let mut player = Player::new(script(RESUMED));
    let first = player.connect();
    assert_eq!(
        does(&mut player, first, &resuming(None)),
        [json!({"setupComplete": {}}), update(Some("h1"))]
    );
    let going = does(&mut player, first, &ClientMessage::user_text("go"));
    assert_eq!(going[0], update(None), "withheld while a call waits");
    assert_eq!(going[2], json!({"goAway": {"timeLeft": "10s"}}));
    let wait = player.wait(first).unwrap();
    let closed = player.wake(first, wait);
    assert!(matches!(closed[..], [Action::Close { code: 1000, .. }]));
    assert!(player.transcript().is_closed(first));

    assert_eq!(player.unmet().len(), 2, "the second connection is to come");
    let second = player.connect();
    assert_eq!(
        says(&mut player, second, &resuming(Some("h1"))),
        ["Welcome back."]
    );
    player.receive(second, &ClientMessage::user_text("The REFUND is through."));
    assert!(player.unmet().is_empty(), "{:?}", player.unmet());
    assert_eq!(player.transcript().handle_brought(second), Some("h1"));
    assert_eq!(player.transcript().received_on(second).count(), 2);
}

#[test]
fn a_rule_for_fresh_or_for_resumed_setups_takes_no_other() {
    let mut player = Player::new(script(
        r#"{"on":{"setup":"resumed"},"send":[{"say":"Welcome back."}]}
           {"on":{"setup":"fresh"},"send":[{"handle":"h1"},{"say":"Welcome."}]}"#,
    ));
    let first = player.connect();
    assert_eq!(says(&mut player, first, &resuming(None)), ["Welcome."]);
    player.disconnect(first, 1000, "");
    let second = player.connect();
    assert_eq!(
        says(&mut player, second, &resuming(Some("h1"))),
        ["Welcome back."]
    );
}

#[test]
fn failed_expectation_names_expected_and_received() {
    let mut player = Player::new(script(RESUMED));
    for _ in 0..2 {
        let connection = player.connect();
        player.receive(connection, &resuming(None));
        if connection.0 == 1 {
            player.receive(connection, &ClientMessage::user_text("go"));
            player.disconnect(connection, 1006, "");
        }
    }
    player.receive(ConnectionId(2), &answer("c1"));
    player.receive(ConnectionId(2), &ClientMessage::user_text("Hello?"));
    let unmet: Vec<String> = player.unmet().iter().map(ToString::to_string).collect();
    assert_eq!(
        unmet,
        [
            r#"line 6: expected a setup with the handle "h1" on connection 2, found no handle"#,
            r#"line 7: expected words of the user with "refund" on connection 2, found "Hello?""#,
            r#"line 8: expected never a response to "c1" on connection 2, found it"#,
        ]
    );
}

#[test]
fn a_handle_that_is_unknown_or_has_expired_is_refused() {
    let refused = [json!(1007)];
    let mut player = Player::new(script(
        r#"{"on":{"setup":"fresh"},"send":[{"handle":"h1"}]}
           {"on":{"text":"later"},"send":[{"expire":"h1"}]}"#,
    ));
    let first = player.connect();
    assert_eq!(does(&mut player, first, &resuming(Some("h1"))), refused);
    let second = player.connect();
    does(&mut player, second, &resuming(None));
    let third = player.connect();
    assert_eq!(
        does(&mut player, third, &resuming(Some("h1"))),
        [json!({"setupComplete": {}})],
        "issued on another connection of the conversation"
    );
    player.receive(third, &ClientMessage::user_text("later"));
    let fourth = player.connect();
    assert_eq!(does(&mut player, fourth, &resuming(Some("h1"))), refused);

    let mut lenient = Player::new(script(r#"{"service":{"accepts_any_handle":true}}"#));
    let connection = lenient.connect();
    assert_eq!(
        does(&mut lenient, connection, &resuming(Some("h1"))),
        [json!({"setupComplete": {}})]
    );
}

#[test]
fn handles_are_told_only_to_those_who_ask_for_them() {
    let mut player = Player::new(script(r#"{"on":"setup","send":[{"handle":"h1"}]}"#));
    let connection = player.connect();
    assert_eq!(
        does(&mut player, connection, &setup()),
        [json!({"setupComplete": {}})]
    );
}

#[test]
fn service_issues_handles_except_while_calls_wait() {
    let mut player = Player::new(script(
        r#"{"service":{"issues_handles":true,"session_id":"s-1"}}
           {"on":{"text":"go"},"send":[{"call":[{"id":"c1","name":"a"}]},{"serverContent":{"turnComplete":true}}]}
           {"on":{"responses_to":["c1"]},"send":[{"say":"Done."}]}"#,
    ));
    let first = player.connect();
    assert_eq!(
        does(&mut player, first, &resuming(None)),
        [
            json!({"setupComplete": {"sessionId": "s-1"}}),
            update(Some("handle-1"))
        ]
    );
    let going = does(&mut player, first, &ClientMessage::user_text("go"));
    assert_eq!(
        going[1..],
        [
            update(None),
            json!({"serverContent": {"turnComplete": true}})
        ]
    );
    let done = does(&mut player, first, &answer("c1"));
    assert_eq!(done.last(), Some(&update(Some("handle-2"))));
    let second = player.connect();
    assert_eq!(
        does(&mut player, second, &resuming(Some("handle-1")))[0],
        json!({"setupComplete": {"sessionId": "s-1"}}),
        "an older handle still resumes"
    );
}

#[test]
fn resuming_beside_an_open_connection_may_be_refused() {
    let mut player = Player::new(script(
        r#"{"service":{"refuses_overlap":true}}
           {"on":{"setup":"fresh"},"once":false,"send":[{"handle":"h1"}]}"#,
    ));
    let first = player.connect();
    does(&mut player, first, &resuming(None));
    let second = player.connect();
    assert_eq!(
        does(&mut player, second, &resuming(Some("h1"))),
        [json!(1011)]
    );
    player.disconnect(first, 1000, "");
    let third = player.connect();
    assert_eq!(
        does(&mut player, third, &resuming(Some("h1"))),
        [json!({"setupComplete": {}})]
    );
}

#[test]
fn a_message_is_expected_by_a_part_of_it() {
    let text = r#"{"expect":{"message":{"tool_response":{"functionResponses":[{"id":"c2","response":{"ok":true}}]}}}}
                  {"expect":{"message":{"setup":{"model":"other"}}}}"#;
    let mut player = Player::new(script(text));
    let connection = connected(&mut player);
    assert_eq!(player.unmet().len(), 2);
    let both = ClientMessage::tool_response([
        FunctionResponse::new("c1", "a", json!({"ok": false})),
        FunctionResponse::new("c2", "a", json!({"ok": true, "n": 1})),
    ]);
    player.receive(connection, &both);
    let unmet: Vec<String> = player.unmet().iter().map(ToString::to_string).collect();
    assert_eq!(
        unmet,
        [concat!(
            r#"line 2: expected a message with {"setup":{"model":"other"}}, found setup, "#,
            r#"toolResponse"#,
        )]
    );
}
