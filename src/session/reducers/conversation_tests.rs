#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::session::*;
use crate::testing::{History, given, history, toolbox};

fn running() -> History {
    let tools = toolbox().plain("look").gated("pay");
    let opened = history().opened("support").attached(&tools);
    opened.connected().call("c1", "look", json!({})).started()
}

/// The ways of what is owed to the model: the connection, and whether as conversation.
fn ways(history: &History) -> Vec<(Seq, bool)> {
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
    assert_eq!(ways(&returned), [(returned.epoch(), false)]);
}

#[test]
fn on_a_later_connection_a_response_is_told_as_conversation() {
    let returned = running().disconnected().connected().returned(json!({}));
    assert_eq!(ways(&returned), [(returned.epoch(), true)]);
}

#[test]
fn without_a_connection_a_response_is_parked_and_told_on_the_next() {
    let parked = running().disconnected().returned(json!({}));
    assert_eq!(ways(&parked), []);
    assert_eq!(parked.kinds().last(), Some(&"response_issued"));
    let told = parked.connected();
    assert_eq!(told.kinds().last(), Some(&"delivery_chosen"));
    assert_eq!(ways(&told), [(told.epoch(), true)]);
}

#[test]
fn an_approval_after_ten_days_and_a_restart_is_told_as_conversation() {
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
    assert_eq!(ways(&paid), [(paid.epoch(), true)]);
    assert_eq!(paid.session().settled[&paid.call_seq()].attempts, 1);
}

#[test]
fn sent_is_no_longer_owed_and_traffic_after_it_proves_that_it_arrived() {
    let sent = running().returned(json!({})).sent();
    assert_eq!(ways(&sent), []);
    assert_eq!(sent.session().deliveries.len(), 1);
    assert!(sent.heard().session().deliveries.is_empty());
}

#[test]
fn what_a_lost_connection_may_have_swallowed_is_told_again() {
    let again = running()
        .returned(json!({}))
        .sent()
        .disconnected()
        .connected();
    assert_eq!(ways(&again), [(again.epoch(), true)]);
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
    assert_eq!(ways(&sent).len(), 1);
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
fn a_response_that_waits_changes_to_conversation_when_its_connection_is_replaced() {
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
        })
        .then([DeliveryChosen {
            response,
            route: Route::Conversation { epoch },
        }
        .into()]);
}
