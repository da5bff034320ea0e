//! What a session says of itself, and the objects that its records name.

use std::sync::Arc;

use serde_json::json;

use crate::testing::{History, Toolbox, called_by, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    let tools = toolbox().plain("look").gated("pay").long_running("ship");
    tools.agent("clerk", ["look", "ship"])
}

fn support() -> History {
    history().opened("support").attached(&tools()).connected()
}

fn waits(history: &History) -> bool {
    history.session().model_waits(|name| name == "look")
}

fn heard(history: &History, speaker: Speaker) -> TranscriptReceived {
    TranscriptReceived {
        epoch: history.epoch(),
        speaker,
        text: "Hm".to_owned(),
    }
}

#[test]
fn the_model_waits_from_its_call_until_the_response_has_left() {
    let called = support().call("c1", "look", json!({})).started();
    assert!(!waits(&support()));
    assert!(waits(&called));
    assert!(!called.session().model_waits(|_| false));
    let answered = called.returned(json!({}));
    assert!(waits(&answered));
    assert!(!answered.session().model_waits(|_| false));
    assert!(!waits(&answered.sent()));
}

#[test]
fn the_model_waits_for_no_call_of_another_connection_nor_for_one_that_it_took_back() {
    let called = support().call("c1", "look", json!({})).started();
    assert!(!waits(&called.clone().taken_back("c1")));
    let lost = called.disconnected();
    assert!(!waits(&lost));
    let next = lost.connected();
    assert!(!waits(&next));
    // Its outcome is told as conversation, for which nobody waits.
    assert!(!waits(&next.returned(json!({}))));
}

#[test]
fn the_model_does_not_wait_for_what_the_program_called() {
    assert!(!waits(&support().program_call("look", json!({})).started()));
}

#[test]
fn a_conversation_resumes_whole_where_its_handle_is_newer_than_what_was_said() {
    let whole = |history: &History| history.session().resumes_whole();
    // Where none can be resumed, nothing is lost by resuming none.
    assert!(whole(&support().user_text("Hello")));
    let handle = support().handle("h1");
    assert!(whole(&handle));
    for said in [
        handle.clone().user_text("Hello"),
        handle.clone().turn_ended(),
        handle.clone().call("c1", "look", json!({})),
        handle.clone().observed(heard(&handle, Speaker::User)),
        handle.clone().observed(heard(&handle, Speaker::Model)),
    ] {
        assert!(!whole(&said), "{}", said.story());
        assert!(whole(&said.clone().turn_ended().handle("h2")));
    }
    // What the program does by itself the model does not know of.
    assert!(whole(&handle.program_call("look", json!({}))));
}

#[test]
fn a_turn_is_open_from_the_first_word_to_its_end() {
    let open = |history: &History| history.session().turn_open;
    let support = support();
    assert!(!open(&support));
    for begun in [
        support.clone().user_text("Hello"),
        support.clone().observed(heard(&support, Speaker::User)),
        support.clone().observed(heard(&support, Speaker::Model)),
        support.clone().call("c1", "look", json!({})),
    ] {
        assert!(open(&begun));
        assert!(!open(&begun.clone().turn_ended()));
        assert!(!open(&begun.disconnected()));
    }
    assert!(!open(&support.program_call("look", json!({}))));
}

#[test]
fn words_are_answered_when_the_model_speaks_and_by_nobody_else() {
    let covers = |history: History| {
        let handle = history.handle("h1");
        let resumption = handle.session().resumption.as_ref();
        (resumption.map(|it| it.covers), handle.session().head)
    };
    let said = support().user_text("Hello");
    let before = said.session().head.0 - 1;
    let unanswered = [
        said.clone(),
        said.clone().program_call("look", json!({})),
        said.clone().observed(heard(&said, Speaker::User)),
    ];
    for history in unanswered {
        assert_eq!(covers(history).0, Some(Seq(before)));
    }
    let answered = [
        said.clone().observed(heard(&said, Speaker::Model)),
        said.clone().turn_ended(),
        said.call("c1", "look", json!({})),
    ];
    for history in answered {
        let (covered, head) = covers(history);
        assert_eq!(covered, Some(head));
    }
}

#[test]
fn what_an_agents_model_does_is_not_said_in_the_conversation() {
    let clerk = support().call("c1", "clerk", json!({})).asks_model();
    let parent = clerk.call_seq();
    let quiet = clerk.turn_ended().user_text("Still there?");
    let replied = quiet.clone().observed(quiet.llm_replied(1));
    let called = replied.observed(called_by(parent, "look"));
    assert!(called.session().calls.len() == 2);
    let covers = called.handle("h1");
    let resumption = covers.session().resumption.as_ref();
    assert_eq!(
        resumption.map(|it| it.covers),
        Some(quiet.session().head).map(|it| Seq(it.0 - 1))
    );
}

#[test]
fn a_session_pauses_where_all_that_is_open_waits_for_somebody_outside() {
    let pauses = |history: &History| history.session().should_pause();
    let names = |history: &History| history.session().long_running_tool_ids().len();
    assert!(!pauses(&support()));
    let asked = support().call("c1", "pay", json!({})).asked();
    assert!(pauses(&asked));
    let shipped = asked.call("c2", "ship", json!({})).started().paused(None);
    assert!(pauses(&shipped));
    assert_eq!(names(&shipped), 2);
    let looks = shipped.call("c3", "look", json!({})).started();
    assert!(!pauses(&looks));
    assert_eq!(names(&looks), 2);
    // A call that waits for a runner waits for nobody outside.
    let ready = support().detached().call("c1", "look", json!({}));
    assert!(!pauses(&ready));
}

#[test]
fn an_agent_pauses_with_its_calls_and_is_none_of_those_that_wait_outside() {
    let clerk = support().call("c1", "clerk", json!({})).asks_model();
    assert!(!clerk.session().should_pause());
    let shipping = clerk.model_calls(&["ship"]).started();
    assert!(!shipping.session().should_pause());
    let paused = shipping.paused(None);
    assert!(paused.session().should_pause());
    let name = paused.session().id.call_id(paused.call_seq());
    assert_eq!(paused.session().long_running_tool_ids(), [name]);
}

#[test]
fn a_library_takes_what_can_be_read_as_a_catalog_or_as_policies_or_as_both() {
    let (catalog, policies) = (tools().catalog().clone(), tools().policies().clone());
    let (of_catalog, of_policies) = (catalog.hash(), policies.hash());
    let mut library = Library::default();
    assert_eq!(
        library.missing(&[of_catalog, of_policies]),
        [of_catalog, of_policies]
    );
    assert!(library.adopt(of_catalog, &catalog.to_bytes()));
    assert_eq!(library.missing(&[of_catalog, of_policies]), [of_policies]);
    assert_eq!(library.catalog(&of_catalog), Some(&Arc::new(catalog)));
    assert!(library.adopt(of_policies, &policies.to_bytes()));
    assert_eq!(library.missing(&[of_catalog, of_policies]), []);
    assert_eq!(library.policies(&of_policies), Some(&Arc::new(policies)));
    let empty = ObjectHash::of(b"{}");
    assert!(library.adopt(empty, b"{}"));
    assert!(library.catalog(&empty).is_some() && library.policies(&empty).is_some());
    let other = ObjectHash::of(b"[7]");
    assert!(!library.adopt(other, b"[7]"));
    assert_eq!(library.missing(&[other]), [other]);
}

#[test]
fn a_library_may_have_policies_that_are_no_catalog() {
    let bytes = br#"{"tools":{"pay":{"confirm":{}}}}"#;
    let hash = ObjectHash::of(bytes);
    let mut library = Library::default();
    assert!(library.adopt(hash, bytes));
    assert!(library.catalog(&hash).is_none());
    assert!(
        library
            .policies(&hash)
            .is_some_and(|it| it.of("pay").confirm)
    );
}

#[test]
fn a_snapshot_names_the_objects_without_which_it_cannot_be_restored() {
    let session = support();
    let bytes = snapshot::of(session.session()).unwrap_or_default();
    let read = snapshot::Snapshot::read(&bytes);
    let mut expected = [tools().catalog().hash(), tools().policies().hash()];
    expected.sort_unstable();
    assert_eq!(
        read.as_ref().map(snapshot::Snapshot::objects),
        Some(&expected[..])
    );
    let mut library = Library::default();
    assert!(read.is_some_and(|it| it.restored(library.clone()).is_none()));
    library.add_catalog(
        tools().catalog().hash(),
        Arc::new(tools().catalog().clone()),
    );
    library.add_policies(
        tools().policies().hash(),
        Arc::new(tools().policies().clone()),
    );
    let again = snapshot::Snapshot::read(&bytes).and_then(|it| it.restored(library));
    assert_eq!(again.as_ref(), Some(session.session()));
}
