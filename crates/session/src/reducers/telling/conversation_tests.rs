#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, given, history, toolbox};
use crate::*;

fn running() -> History {
    let tools = toolbox().plain("look").gated("pay");
    let opened = history().opened("support").attached(&tools);
    opened.connected().call("c1", "look", json!({})).started()
}

/// The responses owed to the model: the connection, and whether they go as conversation.
fn owed_routes(history: &History) -> Vec<(Seq, bool)> {
    let way = |effect| match effect {
        Effect::SendResponse {
            epoch,
            as_conversation,
            ..
        } => Some((epoch, as_conversation)),
        Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect
        | Effect::ArmTimer { .. } => None,
    };
    owed(history.session())
        .into_iter()
        .filter_map(way)
        .collect()
}

#[test]
fn on_its_own_connection_a_response_is_a_tool_response() {
    let returned = running().returned(json!({}));
    assert_eq!(owed_routes(&returned), [(returned.epoch(), false)]);
}

#[test]
fn on_a_later_connection_a_response_is_conversation() {
    let returned = running().disconnected().connected().returned(json!({}));
    assert_eq!(owed_routes(&returned), [(returned.epoch(), true)]);
}

#[test]
fn response_without_connection_is_parked_and_sent_on_the_next() {
    let parked = running().disconnected().returned(json!({}));
    assert_eq!(owed_routes(&parked), []);
    assert_eq!(parked.kinds().last(), Some(&"response_issued"));
    let told = parked.connected();
    assert_eq!(told.kinds().last(), Some(&"delivery_chosen"));
    assert_eq!(owed_routes(&told), [(told.epoch(), true)]);
}

#[test]
fn result_of_late_approval_is_sent_as_conversation() {
    let tools = toolbox().gated("pay");
    let asked = history()
        .opened("support")
        .attached(&tools)
        .connected()
        .call("c1", "pay", json!({}))
        .asked();
    let back = asked
        .disconnected()
        .detached()
        .later(10 * 86_400_000)
        .granted("ada");
    let paid = back
        .attached(&tools)
        .connected()
        .started()
        .returned(json!({"paid": true}));
    assert_eq!(owed_routes(&paid), [(paid.epoch(), true)]);
    assert_eq!(paid.session().settled[&paid.call_seq()].attempts, 1);
}

#[test]
fn sent_response_is_not_owed_and_later_traffic_confirms_it() {
    let sent = running().returned(json!({})).sent();
    assert_eq!(owed_routes(&sent), []);
    assert_eq!(sent.session().deliveries.len(), 1);
    assert!(sent.heard().session().deliveries.is_empty());
}

#[test]
fn unconfirmed_response_is_sent_again_on_next_connection() {
    let again = running()
        .returned(json!({}))
        .sent()
        .disconnected()
        .connected();
    assert_eq!(owed_routes(&again), [(again.epoch(), true)]);
}

#[test]
fn traffic_of_another_connection_proves_nothing() {
    let sent = running().returned(json!({})).sent();
    let stale = TurnCompleted {
        epoch: Seq(1),
        reason: None,
    };
    assert_eq!(sent.observed(stale).session().deliveries.len(), 1);
}

#[test]
fn a_send_on_another_connection_settles_nothing() {
    let owing = running().returned(json!({}));
    let responses = owing.session().deliveries.keys().copied().collect();
    let sent = owing.observed(ResponsesSent {
        epoch: Seq(1),
        responses,
    });
    assert_eq!(owed_routes(&sent).len(), 1);
}

#[test]
fn the_loss_of_an_older_connection_leaves_the_live_one_alone() {
    let running = running();
    let old = running.epoch();
    let live = running.connected();
    let reason = "late".to_owned();
    given(&live)
        .when(Disconnected {
            epoch: old,
            code: None,
            reason,
        })
        .then_nothing();
    let late = live.observed(Disconnected {
        epoch: old,
        code: None,
        reason: String::new(),
    });
    assert_eq!(late.session().connection, Some(late.epoch()));
}

#[test]
fn losing_a_connection_cancels_nothing() {
    let lost = running().disconnected();
    assert!(lost.current().phase.is_running());
}

#[test]
fn waiting_response_moves_to_the_new_connection() {
    let owing = running().returned(json!({}));
    let response = owing.session().head;
    let epoch = response.next();
    let (model, endpoint) = ("m".to_owned(), "e".to_owned());
    given(&owing)
        .when(Connected {
            model,
            endpoint,
            phase: None,
            capabilities: None,
            non_blocking: Vec::new(),
            resumed: None,
        })
        .then([DeliveryChosen {
            response,
            route: Route::Conversation { epoch },
        }
        .into()]);
}

#[test]
fn call_of_connection_being_left_starts_on_the_next() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let leaving = opened.switch_planned().call("c1", "look", json!({}));
    assert_eq!(leaving.kinds().last(), Some(&"call_ready"));
    let started = leaving.clone().disconnected();
    assert_eq!(started.kinds().last(), Some(&"call_started"));
    assert_eq!(
        leaving.disconnected().connected().session().leaving,
        None,
        "the next connection is not left"
    );
}

#[test]
fn older_call_starts_while_a_connection_is_being_left() {
    let tools = toolbox().gated("pay");
    let opened = history().opened("support").attached(&tools).connected();
    let asked = opened.call("c1", "pay", json!({})).asked().disconnected();
    let approved = asked.connected().switch_planned().granted("ada");
    assert_eq!(approved.kinds().last(), Some(&"call_started"));
}

#[test]
fn draining_runner_starts_nothing_and_next_one_does() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let waiting = opened.draining().call("c1", "look", json!({}));
    assert_eq!(waiting.kinds().last(), Some(&"call_ready"));
    let started = waiting.detached().attached(&tools);
    assert_eq!(started.kinds().last(), Some(&"call_started"));
}

#[test]
fn running_call_may_end_while_runner_drains() {
    let returned = running().draining().returned(json!({}));
    assert_eq!(returned.kinds().last(), Some(&"response_issued"));
}

fn covers(history: &History) -> Option<Seq> {
    let resumption = history.session().resumption.as_ref();
    resumption.map(|it| it.covers)
}

#[test]
fn handle_does_not_cover_unanswered_user_input() {
    let running = running();
    let handle = running.clone().handle("h1");
    assert_eq!(covers(&handle), Some(handle.session().head));
    let before = running.session().head;
    let said = running.user_text("Hello?").handle("h1");
    assert_eq!(covers(&said), Some(before));
}

#[test]
fn handle_stays_until_replaced_or_rejected() {
    let first = running().handle("h1");
    let epoch = first.epoch();
    let not_now = ResumptionHandleReceived {
        epoch,
        resumable: false,
        fingerprint: None,
        expires_at_us: None,
    };
    let rejected = |which: &str| ConnectFailed {
        attempt: 1,
        code: Some(1007),
        reason: "no".to_owned(),
        rejected: Some(which.to_owned()),
    };
    let kept = first.observed(not_now);
    let name = |history: &History| {
        let resumption = history.session().resumption.as_ref();
        resumption.map(|it| it.fingerprint.clone())
    };
    assert_eq!(name(&kept).as_deref(), Some("h1"));
    let renewed = kept.handle("h2");
    let other = renewed.clone().observed(rejected("h1"));
    assert_eq!(name(&other).as_deref(), Some("h2"));
    assert_eq!(name(&renewed.clone().observed(rejected("h2"))), None);
    assert_eq!(
        name(&renewed.clone().disconnected().resumed()).as_deref(),
        Some("h2")
    );
    assert_eq!(name(&renewed.disconnected().connected()), None);
}

#[test]
fn only_cancelled_responses_lose_their_id() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let one = opened.call("c1", "look", json!({"n": 1})).started();
    let two = one.returned(json!({})).call("c2", "look", json!({"n": 2}));
    let both = two.started().returned(json!({}));
    assert_eq!(
        owed_routes(&both),
        [(both.epoch(), false), (both.epoch(), false)]
    );
    let back = both.taken_back("c1");
    assert_eq!(
        owed_routes(&back),
        [(back.epoch(), true), (back.epoch(), false)]
    );
    let ids = back
        .session()
        .deliveries
        .values()
        .map(|it| it.wire_id.clone());
    assert_eq!(ids.collect::<Vec<_>>(), [None, Some("c2".to_owned())]);
}

#[test]
fn engine_response_moves_to_the_next_connection() {
    let opened = history().opened("support").attached(&toolbox()).connected();
    let refused = opened.call("c1", "nothing", json!({}));
    assert_eq!(owed_routes(&refused), [(refused.epoch(), false)]);
    let next = refused.disconnected().connected();
    assert_eq!(owed_routes(&next), [(next.epoch(), true)]);
}

#[test]
fn interim_result_moves_to_next_connection_acknowledgement_not() {
    let tools = toolbox().long_running("ship").gated("pay").acknowledges();
    let opened = history().opened("support").attached(&tools).connected();
    let asked = opened.clone().call("c1", "pay", json!({})).asked();
    assert_eq!(owed_routes(&asked).len(), 1);
    assert_eq!(owed_routes(&asked.disconnected().connected()), []);
    let shipping = opened.call("c1", "ship", json!({})).started();
    let told = shipping.paused(Some(json!({"status": "on its way"})));
    assert_eq!(owed_routes(&told).len(), 1);
    assert_eq!(owed_routes(&told.disconnected().connected()).len(), 1);
}
