//! A malformed part of a message costs only itself: the calls beside it run.

use recount::prelude::{LiveHandle, json};
use recount::simulator::Event as Heard;

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

const GOOD: &str = r#"{"id":"good","name":"pay","args":{"cents":1}}"#;

/// The outcome of frames with good calls and a malformed part.
struct Became {
    runs: usize,
    /// The recorded calls, as JSON.
    calls: String,
    /// The records of frames that could not be read, as JSON.
    rejected: String,
    /// The tool responses that the model accepted.
    responses: String,
}

async fn frame(frame: &str) -> Became {
    frames(&[frame]).await
}

async fn frames(frames: &[&str]) -> Became {
    let raw = frames.iter().map(|frame| json!({ "raw": frame }));
    let send = json!({"on": {"text": "go"}, "send": raw.collect::<Vec<_>>()});
    let script = format!("{send}\n{{\"on\": \"otherwise\", \"send\": []}}\n");
    let stage = Stage::new(&script, |agent| agent).await;
    let live = stage.gone().await;
    settle().await;
    let became = Became {
        runs: stage.till.runs(),
        calls: bodies(&stage, &live, "function_call_received").await,
        rejected: bodies(&stage, &live, "frame_rejected").await,
        responses: responses(&stage),
    };
    stage.end(live).await;
    became
}

async fn bodies(stage: &Stage, live: &LiveHandle, kind: &str) -> String {
    let events = stage.events(live, kind).await;
    let bodies = events.iter().map(|it| it.body().unwrap());
    bodies.collect::<Vec<_>>().join("\n")
}

fn responses(stage: &Stage) -> String {
    let transcript = stage.model.transcript();
    let sent = transcript
        .entries()
        .iter()
        .filter_map(|it| match &it.event {
            Heard::Received { message, .. } => {
                message.tool_response.as_ref().map(|_| message.encode())
            }
            _ => None,
        });
    sent.collect::<Vec<_>>().join("\n")
}

/// A call whose id can be read is a call: it is recorded with its problem, and is rejected.
#[tokio::test(start_paused = true)]
async fn malformed_call_is_refused_and_the_others_run() {
    for (bad, problem) in [
        (
            r#"{"id":"bad","name":"pay","args":{"a":1},"args":{"a":2}}"#,
            "args: expected",
        ),
        (
            r#"{"id":"bad","name":7,"args":{}}"#,
            "name: expected a string",
        ),
        (
            r#"{"id":"bad","name":"\ud800","args":{}}"#,
            "name: expected a string",
        ),
        (
            r#"{"id":"bad","name":"pay","willContinue":"no"}"#,
            "willContinue: expected a boolean",
        ),
    ] {
        for calls in [calls(&[GOOD, bad]), calls(&[bad, GOOD])] {
            let became = frame(&calls).await;
            let Became {
                runs,
                calls: recorded,
                rejected,
                responses,
            } = became;
            assert_eq!(runs, 1, "{calls}");
            assert_eq!(recorded.lines().count(), 2, "{calls}: {recorded}");
            assert!(recorded.contains(problem), "{calls}: {recorded}");
            assert_eq!(rejected, "", "{calls}");
            assert!(responses.contains("\"paid\":true"), "{calls}: {responses}");
            let refused = responses.contains("\"id\":\"bad\"") && responses.contains("\"error\"");
            assert!(refused, "{calls}: {responses}");
        }
    }
}

/// Without a readable id no response is possible.
#[tokio::test(start_paused = true)]
async fn call_without_readable_id_is_rejected_alone() {
    for (bad, problem) in [
        (
            r#"{"id":7,"name":"pay","args":{}}"#,
            "[1].id: expected a string, found a number",
        ),
        (
            r#"{"id":"\ud800","name":"pay","args":{}}"#,
            "[1].id: expected a string",
        ),
        (
            r#"{"id":"a","id":"b","name":"pay"}"#,
            "[1].id: expected the field once",
        ),
        ("null", "[1]: expected an object, found null"),
        (r#"["pay"]"#, "[1]: expected an object, found a list"),
    ] {
        let other = GOOD.replace("good", "other").replace('1', "2");
        let became = frame(&calls(&[GOOD, bad, &other])).await;
        assert_eq!(became.runs, 2, "{bad}");
        assert_eq!(became.calls.lines().count(), 2, "{bad}: {}", became.calls);
        assert_eq!(
            became.rejected.lines().count(),
            1,
            "{bad}: {}",
            became.rejected
        );
        assert!(
            became.rejected.contains(problem),
            "{bad}: {}",
            became.rejected
        );
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_member_beside_a_call_is_rejected_alone() {
    for (member, problem) in [
        (
            r#""sessionResumptionUpdate":{"newHandle":5}"#,
            "newHandle: expected a string",
        ),
        (
            r#""session_resumption_update":[]"#,
            "sessionResumptionUpdate: expected an object",
        ),
        (r#""goAway":"soon""#, "goAway: expected an object"),
        (r#""setupComplete":7"#, "setupComplete: expected an object"),
        (
            r#""toolCallCancellation":{"ids":"x"}"#,
            "ids: expected a list",
        ),
        (
            r#""toolCallCancellation":{"ids":[7,"x"]}"#,
            "ids[0]: expected a string",
        ),
        (
            r#""serverContent":{"turnComplete":"yes"}"#,
            "turnComplete: expected a boolean",
        ),
        (
            r#""goAway":{},"goAway":{}"#,
            "goAway: expected the field once",
        ),
    ] {
        let became = frame(&format!(
            r#"{{"toolCall":{{"functionCalls":[{GOOD}]}},{member}}}"#
        ))
        .await;
        assert_eq!(became.runs, 1, "{member}");
        assert!(
            became.responses.contains("\"paid\":true"),
            "{member}: {}",
            became.responses
        );
        assert_eq!(
            became.rejected.lines().count(),
            1,
            "{member}: {}",
            became.rejected
        );
        assert!(
            became.rejected.contains(problem),
            "{member}: {}",
            became.rejected
        );
    }
    // Malformed token counts are ignored.
    let counts = format!(r#"{{"toolCall":{{"functionCalls":[{GOOD}]}},"usageMetadata":"x"}}"#);
    assert_eq!(frame(&counts).await.runs, 1);
}

fn calls(calls: &[&str]) -> String {
    format!(
        r#"{{"toolCall":{{"functionCalls":[{}]}}}}"#,
        calls.join(",")
    )
}

/// Without an id, the function's name is the address, as for every call without an id.
///
/// Without either there is no address, and no response.
#[tokio::test(start_paused = true)]
async fn malformed_call_without_id_is_answered_by_its_name_only() {
    let named = r#"{"name":"ship","args":{},"willContinue":"no"}"#;
    let became = frame(&calls(&[named, GOOD])).await;
    assert_eq!((became.runs, became.rejected.as_str()), (1, ""));
    let problem = "[0].willContinue: expected a boolean, found a string";
    assert!(became.responses.contains(problem), "{}", became.responses);
    let unnamed = became.responses.contains(r#"{"name":"ship","#);
    assert!(unnamed, "{}", became.responses);
    for bad in [
        r#"{"name":7}"#,
        r#"{"id":"","name":7}"#,
        r#"{"id":null,"name":[]}"#,
    ] {
        let became = frame(&calls(&[bad, GOOD])).await;
        assert_eq!(became.runs, 1, "{bad}");
        assert_eq!(became.calls.lines().count(), 1, "{bad}: {}", became.calls);
        let problem = "[0].name: expected a string, found";
        assert!(
            became.rejected.contains(problem),
            "{bad}: {}",
            became.rejected
        );
        assert_eq!(
            became.responses.lines().count(),
            1,
            "{bad}: {}",
            became.responses
        );
    }
}

/// The next frame names the malformed call again: nothing runs by its id, and it has one response.
#[tokio::test(start_paused = true)]
async fn id_of_a_malformed_call_is_used_up() {
    let bad = r#"{"id":"bad","name":"pay","willContinue":"no"}"#;
    let part = r#"{"jsonPath":"$.cents","numberValue":2}"#;
    for next in [
        r#"{"toolCallCancellation":{"ids":["bad"]}}"#.to_owned(),
        calls(&[r#"{"id":"bad","name":"pay","args":{"cents":2}}"#]),
        calls(&[&format!(r#"{{"id":"bad","partialArgs":[{part}]}}"#)]),
        calls(&[bad]),
    ] {
        let became = frames(&[&calls(&[bad]), &next, &calls(&[GOOD])]).await;
        assert_eq!(became.runs, 1, "{next}");
        assert_eq!(became.rejected, "", "{next}");
        let answered = became.responses.matches(r#""id":"bad""#).count();
        assert_eq!(answered, 1, "{next}: {}", became.responses);
    }
}

fn piece(text: &str, id: &str, name: &str, more: bool) -> String {
    let part = json!({"jsonPath": "$.to", "stringValue": text, "willContinue": more});
    format!(r#"{{"id":{id},"name":"{name}","partialArgs":[{part}],"willContinue":{more}}}"#)
}

/// A malformed piece rejects every streamed call of its function.
///
/// It may belong to any of them, and none may run with a hole in its arguments. Each has one
/// response, even if its end never arrives.
#[tokio::test(start_paused = true)]
async fn lost_piece_refuses_the_calls_under_way() {
    let (first, last) = (
        piece("Pa", "\"p\"", "pay", true),
        piece("s", "\"p\"", "pay", false),
    );
    let lost = piece("ri", "7", "pay", true);
    let one_frame = calls(&[&first, &lost, &last, GOOD]);
    let (first, last) = (calls(&[&first]), calls(&[&last]));
    let good = calls(&[GOOD]);
    for all in [
        vec![one_frame.as_str()],
        vec![&first, &calls(&[&lost]), &last, &good],
        vec![&first, &calls(&[&lost]), &good],
        vec![&first, "no JSON", &last, &good],
        vec![&first, r#"{"toolCall":{"functionCalls":7}}"#, &last, &good],
    ] {
        let became = frames(&all).await;
        assert_eq!(became.runs, 1, "{all:?}");
        assert_eq!(
            became.rejected.lines().count(),
            1,
            "{all:?}: {}",
            became.rejected
        );
        assert_eq!(became.calls.lines().count(), 2, "{all:?}: {}", became.calls);
        assert!(
            became.calls.contains("could not be read"),
            "{}",
            became.calls
        );
        let answered = became.responses.matches(r#""id":"p""#).count();
        assert_eq!(answered, 1, "{all:?}: {}", became.responses);
    }
}

/// A part that clearly belongs to no streamed call does not reject one.
#[tokio::test(start_paused = true)]
async fn malformed_part_beside_a_streamed_call_is_rejected_alone() {
    let first = calls(&[&piece("Pa", "\"p\"", "pay", true)]);
    let last = calls(&[&piece("ris", "\"p\"", "pay", false)]);
    for bad in [
        calls(&[r#"{"id":7,"name":"ship","args":{}}"#]),
        calls(&[r#"{"id":"q","name":"pay","args":{},"willContinue":"no"}"#]),
        r#"{"goAway":5}"#.to_owned(),
        r#"{"serverContent":{"turnComplete":"yes"}}"#.to_owned(),
    ] {
        let became = frames(&[&first, &bad, &last]).await;
        assert_eq!(became.runs, 1, "{bad}: {}", became.calls);
        assert!(
            became.calls.contains(r#"{"to":"Paris"}"#),
            "{bad}: {}",
            became.calls
        );
    }
}
