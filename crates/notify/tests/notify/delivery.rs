//! The messages of a webhook.

use recount::prelude::{Agent, Engine, T, ToolConfirmation, ToolContext, TypedTool, Value, json};
use recount::session::Edits;
use recount_notify::{Detail, Filter, Occasion, Pattern, Route};
use serde_json::Map;

use crate::receiver::Receiver;
use crate::world::{World, route, webhook};

const EVERY: &[Occasion] = &Occasion::LISTED;

#[tokio::test]
async fn asked_and_decided_are_delivered() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![route("ops", EVERY)]);
    let notifier = world.notify(settings).await;
    let asked = world.ask("refund").await;
    let message = receiver.next().await;
    assert_eq!(message.kind(), "recount.asked");
    let data = message.json()["data"].clone();
    let (session, call) = (asked.session.0, asked.call.0);
    let link = format!("https://recount.example/sessions/{session}/calls/{call}");
    assert_eq!(data["link"], link.as_str());
    assert_eq!(data["request"], asked.id.0.to_string());
    assert_eq!(
        (&data["tool"], &data["agent"]),
        (&"refund".into(), &"support".into())
    );
    assert_eq!(data["labels"]["tenant"], "acme");
    assert_eq!(data["id"], message.id().as_str());
    assert!(data.get("arguments").is_none() && data.get("hint").is_none());
    world
        .answer(&asked, ToolConfirmation::denied("too much"))
        .await;
    let message = receiver.next().await;
    assert_eq!(message.kind(), "recount.decided");
    let data = message.json()["data"].clone();
    assert_eq!(
        (&data["decision"], &data["by"]),
        (&"denied".into(), &"ada".into())
    );
    assert!(
        data.get("reason").is_none(),
        "the reason is no name: {data}"
    );
    let status = notifier.sinks().await.unwrap();
    assert_eq!((status[0].kind, status[0].failures), ("webhook", 0));
}

#[tokio::test]
async fn message_has_as_much_as_its_sink_may_have() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let sink = |name: &str, detail| {
        let mut sink = webhook(name, &receiver);
        sink.detail = detail;
        sink
    };
    let sinks = vec![sink("bare", Detail::None), sink("whole", Detail::Arguments)];
    let routes = vec![route("bare", EVERY), route("whole", EVERY)];
    let _notifier = world.notify(world.settings(sinks, routes)).await;
    world.ask("refund").await;
    let (one, other) = (receiver.next().await, receiver.next().await);
    let is_whole = one.text.contains("1001");
    let (whole, bare) = if is_whole { (one, other) } else { (other, one) };
    let data = whole.json()["data"].clone();
    assert_eq!(data["arguments"]["order"], "1001");
    assert_eq!(data["hint"], "Refund this order?");
    let text = data["text"].as_str().unwrap();
    assert!(
        text.contains("\\u{202e}") && !text.contains('\u{202e}'),
        "{text}"
    );
    for hidden in ["refund", "support", "acme", "1001"] {
        assert!(!bare.text.contains(hidden), "{}", bare.text);
    }
    assert_ne!(bare.id(), whole.id());
}

/// A tool asks within its run, with the arguments that an approver has changed. Those of the model
/// are not what the person would approve.
#[tokio::test]
async fn arguments_that_an_approver_changed_are_left_out() {
    let (mut world, mut receiver) = (World::new().await, Receiver::start().await);
    let asks = |_: Map<String, Value>, context: ToolContext| async move {
        context.request_confirmation("Send it now?").await?;
        Ok(json!({"sent": true}))
    };
    let send = TypedTool::with_context("send", "Sends", asks);
    let send = T::confirm_edits(T::confirm(send, "Send?"), Edits::Allowed);
    let agent = Agent::new().model("none").strict().tools(send);
    let engine = Engine::in_memory().clock(world.clock.clone());
    world.engine = engine.agent("support", agent).open().await.unwrap();
    let mut sink = webhook("ops", &receiver);
    sink.detail = Detail::Arguments;
    let routes = vec![route("ops", &[Occasion::Asked])];
    let _notifier = world.notify(world.settings(vec![sink], routes)).await;
    let asked = world.ask("send").await;
    let data = receiver.next().await.json()["data"].clone();
    assert_eq!(
        (&data["hint"], &data["arguments"]["order"]),
        (&"Send?".into(), &"1001".into())
    );
    let edited = ToolConfirmation::confirmed().with_args(json!({"order": "1002"}));
    world.answer(&asked, edited).await;
    let message = receiver.next().await;
    let data = message.json()["data"].clone();
    assert_eq!(data["hint"], "Send it now?");
    assert!(data.get("arguments").is_none(), "{data}");
    assert!(!message.text.contains("1001"), "{}", message.text);
}

#[tokio::test]
async fn route_is_only_about_its_calls() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let only_pay = Route {
        filter: Filter {
            tools: vec![Pattern::new("p*")],
            ..Filter::default()
        },
        ..route("ops", EVERY)
    };
    let settings = world.settings(vec![webhook("ops", &receiver)], vec![only_pay]);
    let _notifier = world.notify(settings).await;
    world.ask("refund").await;
    world.ask("pay").await;
    assert_eq!(receiver.next().await.json()["data"]["tool"], "pay");
}

#[tokio::test]
async fn failing_sink_delays_no_other_one() {
    let (world, mut receiver) = (World::new().await, Receiver::start().await);
    let mut down = webhook("down", &receiver);
    // A port on which no program listens.
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    down.target = crate::world::webhook_at("down", &url).target;
    let sinks = vec![down, webhook("up", &receiver)];
    let routes = vec![route("down", EVERY), route("up", EVERY)];
    let notifier = world.notify(world.settings(sinks, routes)).await;
    for _ in 0..3 {
        world.ask("refund").await;
        assert_eq!(receiver.next().await.kind(), "recount.asked");
    }
    let status = notifier.sinks().await.unwrap();
    assert_eq!((status[0].name.as_str(), status[0].delivered), ("down", 0));
    assert_eq!(status[0].dead_letters, []);
}
