//! The free-running model: it answers by rules on any number of connections, and keeps no
//! transcript.

use super::*;

const RULES: &str = r#"
    {"when":"weather","say":"You asked: {text} It is sunny."}
    {"when":"refund","call":[{"name":"refund","args":{"note":"{text}"}},{"name":"mail"}],"then":"Done: {response}"}
"#;

fn free() -> Player {
    Player::new(script(RULES).with_echo())
}

#[test]
fn rules_answer_again_and_again_and_the_rest_is_echoed() {
    let mut player = free();
    for _ in 0..2 {
        let connection = connected(&mut player);
        for (said, answered) in [
            ("Weather?", "You asked: Weather? It is sunny."),
            ("Anything \"else\"?", "Anything \"else\"?"),
            ("Weather!", "You asked: Weather! It is sunny."),
        ] {
            let heard = says(&mut player, connection, &ClientMessage::user_text(said));
            assert_eq!(heard, [answered]);
        }
    }
}

#[test]
fn calls_have_ids_of_their_own_and_their_answers_are_spoken_of() {
    let mut player = free();
    let connection = connected(&mut player);
    for ids in [["call-1", "call-2"], ["call-3", "call-4"]] {
        let sent = does(
            &mut player,
            connection,
            &ClientMessage::user_text("refund \"it\""),
        );
        let calls = sent[0]["toolCall"]["functionCalls"].as_array().unwrap();
        assert_eq!([&calls[0]["id"], &calls[1]["id"]], ids);
        assert_eq!(calls[0]["args"], json!({"note": "refund \"it\""}));
        assert!(says(&mut player, connection, &answer(ids[1])).is_empty());
        assert_eq!(
            says(&mut player, connection, &answer(ids[0])),
            ["Done: {\"ok\":true}, {\"ok\":true}"]
        );
    }
}

#[test]
fn script_precedes_free_rules_and_those_precede_otherwise() {
    let mut player = Player::new(script(
        r#"{"when":"order","say":"free"}
           {"on":{"text":"order"},"send":[{"say":"scripted"}]}
           {"on":"otherwise","send":[{"say":"otherwise"}]}"#,
    ));
    let connection = connected(&mut player);
    let said: Vec<String> = ["order", "order", "else"]
        .into_iter()
        .flat_map(|text| says(&mut player, connection, &ClientMessage::user_text(text)))
        .collect();
    assert_eq!(said, ["scripted", "free", "otherwise"]);
}

/// A hundred clients at once. A load test with a thousand would measure the machine.
#[tokio::test]
async fn many_clients_talk_at_once_and_nothing_is_kept() {
    let simulator = Simulator::start(script(RULES).with_echo())
        .without_transcript()
        .listen("127.0.0.1:0")
        .await
        .unwrap();
    let mut sockets = Vec::new();
    for _ in 0..100 {
        sockets.push(connect(&simulator, "").await);
    }
    assert_eq!(simulator.sockets_open(), 100);
    for (n, socket) in sockets.iter_mut().enumerate() {
        send(socket, &ClientMessage::user_text(format!("Hello {n}"))).await;
    }
    for (n, socket) in sockets.iter_mut().enumerate() {
        let heard = receive(socket).await.server_content.unwrap();
        assert_eq!(heard.model_turn.unwrap().spoken(), format!("Hello {n}"));
    }
    drop(sockets);
    simulator.until_all_closed().await;
    assert!(simulator.transcript().entries().is_empty());
}
