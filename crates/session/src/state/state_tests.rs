//! The queries of a session, and the objects that its records name.

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
fn model_waits_from_call_until_response_is_sent() {
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
fn model_does_not_wait_for_old_or_cancelled_calls() {
    let called = support().call("c1", "look", json!({})).started();
    assert!(!waits(&called.clone().taken_back("c1")));
    let lost = called.disconnected();
    assert!(!waits(&lost));
    let next = lost.connected();
    assert!(!waits(&next));
    // Its outcome is sent as conversation, so the model does not wait for it.
    assert!(!waits(&next.returned(json!({}))));
}

#[test]
fn model_does_not_wait_for_program_calls() {
    assert!(!waits(&support().program_call("look", json!({})).started()));
}

#[test]
fn conversation_resumes_whole_with_a_newer_handle() {
    let whole = |history: &History| history.session().resumes_whole();
    // Without a resumable conversation, a fresh one loses nothing.
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
    // The model does not know of calls that the program makes.
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
fn only_the_model_answers_user_input() {
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
fn agents_model_does_not_change_the_conversation() {
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
fn session_pauses_if_all_open_calls_wait_outside() {
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
    // A call that waits for a runner does not wait for anything outside.
    let ready = support().detached().call("c1", "look", json!({}));
    assert!(!pauses(&ready));
}

#[test]
fn agent_pauses_with_its_calls_but_is_not_listed() {
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
fn library_adopts_catalogs_policies_or_both() {
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
fn library_adopts_policies_that_are_no_catalog() {
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
fn snapshot_names_the_objects_it_needs() {
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
