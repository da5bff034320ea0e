//! Tests of items that only the engine uses.

use serde_json::json;

use super::*;

#[test]
fn only_kinds_of_events_are_known() {
    let kinds = Observation::KINDS.iter().chain(Decision::KINDS);
    for kind in kinds {
        assert!(Event::is_known(kind), "{kind}");
    }
    assert!(!Event::is_known("no_such_kind"));
}

#[test]
fn a_body_is_written_behind_what_is_there() {
    let draining = RunnerDraining {
        reason: "deploy".to_owned(),
    };
    let ready = CallReady { call: Seq(5) };
    for event in [
        Event::Observed(draining.into()),
        Event::Decided(ready.into()),
    ] {
        let mut out = b"before ".to_vec();
        assert!(event.write_body(&mut out).is_ok());
        let expected = event.body().map(|body| format!("before {body}"));
        let written = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(expected.ok(), Some(written));
    }
}

#[test]
fn own_detachment_differs_from_one_in_a_takeover() {
    let gone = RunnerDetached::of_gone_process();
    assert!(gone.is_of_gone_process() && gone.not_begun.is_empty());
    let own = RunnerDetached {
        reason: "deploy".to_owned(),
        not_begun: Vec::new(),
    };
    assert!(!own.is_of_gone_process());
}

#[test]
fn only_an_object_in_text_is_found() {
    let found = |value| Json::of(&value).object_in_text();
    assert_eq!(
        found(json!("{\"n\": 1.0}")).map(|it| it.to_string()),
        Some(r#"{"n":1.0}"#.to_owned())
    );
    for other in [json!("[1]"), json!("n"), json!({"n": 1})] {
        assert_eq!(found(other), None);
    }
}

#[test]
fn borrowed_result_is_wrapped_like_an_owned_one() {
    for shape in [ResponseShape::Plain, ResponseShape::Envelope] {
        for result in [json!({"paid": true}), json!(7), json!(null)] {
            let expected = Json::of(&shape.success(result.clone(), None));
            assert_eq!(shape.success_text(&result), expected);
        }
    }
}
