//! Paused calls: their results are supplied from outside, in a later process.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use proptest::prelude::*;
use recount::engine::{Error, Listener, LiveEvent};
use recount::prelude::*;
use recount::session::{CallId, Edits, Outcome, Rejection, Seq};
use recount::testing::Life;
use tokio::sync::Notify;

use crate::restart::world::{World, answer, is, resume, waiting};

/// A long-running tool whose result is supplied from outside.
fn handed_on() -> Toolset {
    T::long_running(T::simple("pay", "Has it paid", |_args| async {
        Ok(Value::Null)
    }))
}

fn paused(world: &World) -> Ticket {
    let life = world.life(world.agent(handed_on()));
    let live = life.run(async {
        let session = life.engine().session("support");
        let session = session.external_id("ticket-7").label("tenant", "acme");
        let live = session.connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("Please settle my bill.").await.unwrap();
        updates.wait_for(is("tool_paused")).await.unwrap();
        live
    });
    let paused = life.run(live.paused()).unwrap();
    assert_eq!(paused.len(), 1);
    assert_eq!(paused[0].external_id.as_deref(), Some("ticket-7"));
    assert_eq!(
        paused[0].labels.get("tenant").map(String::as_str),
        Some("acme")
    );
    life.crash();
    Ticket::from(&paused[0])
}

fn by() -> Actor {
    Actor::embedder("bank")
}

#[test]
fn a_result_that_comes_after_a_restart_is_told_on_resume() {
    let world = World::new();
    let ticket = paused(&world);
    let ticket: Ticket = serde_json::from_value(serde_json::to_value(&ticket).unwrap()).unwrap();
    let life = world.life(world.agent(handed_on()));
    assert_eq!(life.run(life.engine().paused()).unwrap().len(), 1);
    let response = FunctionResponse::new("pay", json!({"receipt": 17}));
    life.run(life.engine().respond(&ticket, response, by()))
        .unwrap();
    life.settle();
    assert_eq!(world.connections(), 1);
    assert_eq!(world.outcome(), Outcome::Supplied);
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"receipt":17}"#),
        "{told:?}"
    );
    assert_eq!(
        world.answered(),
        [""; 0],
        "nothing was said while it waited"
    );
    life.end();
}

#[test]
fn result_with_wrong_name_or_shape_is_rejected_call_stays_open() {
    let world = World::new();
    let ticket = paused(&world);
    let life = world.life(world.agent(handed_on()));
    let respond = |name: &str, value: Value| {
        let response = FunctionResponse::new(name, value);
        life.run(life.engine().respond(&ticket, response, by()))
    };
    match respond("refund", json!({"receipt": 17})) {
        Err(Error::Refused(Rejection::WrongName { expected, found })) => {
            assert_eq!((expected.as_str(), found.as_str()), ("pay", "refund"));
        }
        other => panic!("expected a refusal, found {other:?}"),
    }
    match respond("pay", json!([17])) {
        Err(Error::Refused(Rejection::ResponseNotAnObject)) => {}
        other => panic!("expected a refusal, found {other:?}"),
    }
    assert_eq!(life.run(life.engine().paused()).unwrap().len(), 1);
    life.settle();
    assert_eq!(
        world.count("call_started"),
        1,
        "nor does the tool run again"
    );
    respond("pay", json!({"receipt": 17})).unwrap();
    match respond("pay", json!({"receipt": 18})) {
        Err(Error::Refused(Rejection::AlreadySupplied { same: false, .. })) => {}
        other => panic!("expected a refusal, found {other:?}"),
    }
    match respond("pay", json!({"receipt": 17})) {
        Err(Error::Refused(Rejection::AlreadySupplied { same: true, .. })) => {}
        other => panic!("expected a refusal, found {other:?}"),
    }
    assert_eq!(world.outcome(), Outcome::Supplied);
    life.end();
}

#[test]
fn interim_results_are_sent_in_order_and_none_after_final() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(handed_on());
    let ticket = Ticket::from(&life.run(life.engine().paused()).unwrap()[0]);
    let news = |value: Value| {
        let news = FunctionResponse::new("pay", value);
        let taken = life.run(life.engine().update(&ticket, news, by()));
        life.settle();
        taken
    };
    news(json!({"step": 1})).unwrap();
    news(json!({"step": 2})).unwrap();
    assert_eq!(life.run(life.engine().paused()).unwrap().len(), 1);
    assert!(life.run(live.should_pause()).unwrap());
    assert_eq!(life.run(live.long_running_tool_ids()).unwrap().len(), 1);
    let done = FunctionResponse::new("pay", json!({"receipt": 17}));
    life.run(life.engine().respond(&ticket, done, by()))
        .unwrap();
    life.settle();
    let late = news(json!({"step": 3}));
    assert!(
        matches!(
            late,
            Err(Error::Refused(Rejection::AlreadySupplied {
                same: false,
                ..
            }))
        ),
        "{late:?}"
    );
    let told = [r#"{"step":1}"#, r#"{"step":2}"#, r#"{"receipt":17}"#];
    let transcript = world.model.transcript();
    let answers = transcript.answers();
    let answers = answers.map(|(_, response, _)| response.response.as_ref().unwrap().to_string());
    assert_eq!(answers.collect::<Vec<_>>(), told);
    let more: Vec<Option<bool>> = transcript
        .answers()
        .map(|(_, response, _)| response.will_continue)
        .collect();
    assert_eq!(more, [Some(true), Some(true), Some(false)]);
    assert!(!life.run(live.should_pause()).unwrap());
    assert_eq!(world.outcome(), Outcome::Supplied);
    life.end();
}

/// Supplies the result of the paused call. The error of a repetition says what is recorded.
fn responded(life: &Life, ticket: &Ticket, value: Value) -> Result<Seq, Error> {
    let response = FunctionResponse::new("pay", value);
    let taken = life.run(life.engine().respond(ticket, response, by()));
    life.settle();
    taken
}

fn is_on_record(taken: &Result<Seq, Error>) -> bool {
    match taken {
        Err(Error::Refused(Rejection::AlreadySupplied { same, .. })) => *same,
        other => panic!("expected what is on record, found {other:?}"),
    }
}

#[test]
fn repeated_result_is_recognized_despite_redacted_record() {
    const SECRET: &str = "4111111111111111";
    let paid = || json!({"receipt": 17, "card": SECRET});
    let hooked = |agent: Agent| {
        agent.before_tool_response(|responses, state| async move {
            let seen = state.get::<u64>("seen").unwrap_or_default();
            state.set("seen", seen + 1);
            let withheld = responses.into_iter().map(|mut it| {
                it.response["card"] = json!("[withheld]");
                it
            });
            withheld.collect()
        })
    };
    let redacted =
        |agent: Agent| agent.redact(|text| (text == SECRET).then(|| "[number]".to_owned()));
    let agents: [&dyn Fn(Agent) -> Agent; 3] =
        [&redacted, &hooked, &|agent| redacted(hooked(agent))];
    for made in agents {
        let world = World::new();
        let ticket = paused(&world);
        let life = world.life(made(world.agent(handed_on())));
        responded(&life, &ticket, paid()).unwrap();
        let (before, state) = (world.facts().len(), world.folded().state);
        assert!(is_on_record(&responded(&life, &ticket, paid())));
        let other = json!({"receipt": 18, "card": SECRET});
        assert!(!is_on_record(&responded(&life, &ticket, other)));
        life.end();
        let life = world.life(made(world.agent(handed_on())));
        assert!(is_on_record(&responded(&life, &ticket, paid())));
        life.end();
        // The comparison with the record changes nothing.
        assert_eq!(world.folded().state, state);
        let facts = world.facts();
        let supplied = facts.iter().skip(before);
        let supplied = supplied.filter(|it| it.event.kind() == "response_supplied");
        assert_eq!(supplied.count(), 0);
        let written: Vec<String> = facts
            .iter()
            .map(|it| it.event.body().unwrap())
            .filter(|body| body.contains(SECRET))
            .collect();
        assert_eq!(written, [""; 0]);
    }
}

#[test]
fn a_paused_call_is_listed_with_the_arguments_that_run() {
    for edits in [Edits::Allowed, Edits::ApprovedAnew] {
        let world = World::new();
        let gated = T::confirm_edits(T::confirm(handed_on(), "Pay this?"), edits);
        let (life, live) = world.asked_to_pay(gated);
        let edited = ToolConfirmation::confirmed().with_args(json!({"cents": 100}));
        answer(&life, waiting(&life), edited).unwrap();
        if edits == Edits::ApprovedAnew {
            let again = ToolConfirmation::confirmed().with_args(json!({"cents": 99}));
            answer(&life, waiting(&life), again).unwrap();
            answer(&life, waiting(&life), ToolConfirmation::confirmed()).unwrap();
        }
        let cents = if edits == Edits::ApprovedAnew {
            99
        } else {
            100
        };
        let paused = life.run(life.engine().paused()).unwrap().remove(0);
        assert_eq!(paused.args.to_value(), json!({"cents": cents}));
        let before = paused.args_before_edit.map(|it| it.to_value());
        assert_eq!(before, Some(json!({"cents": 4200})));
        drop(live);
        life.end();
    }
    let world = World::new();
    let _ticket = paused(&world);
    let life = world.life(world.agent(handed_on()));
    let paused = life.run(life.engine().paused()).unwrap().remove(0);
    assert_eq!(paused.args.to_value(), json!({"cents": 4200}));
    assert_eq!(paused.args_before_edit, None);
    life.end();
}

/// Three calls: `pay` is long-running, `wipe` is gated, and `ship` runs until a test ends it.
const EVERYTHING: &str = r#"
{"on": {"text": "everything"}, "send": [{"call": [{"id": "c1", "name": "pay"}, {"id": "c2", "name": "wipe"}, {"id": "c3", "name": "ship"}]}]}
{"on": {"text": "again"}, "send": [{"call": [{"id": "c4", "name": "pay"}]}]}
{"on": "otherwise", "once": false, "send": []}
"#;

/// The new `Paused` events of a listener.
fn told_paused(heard: &mut Listener) -> Vec<Vec<CallId>> {
    let mut told = Vec::new();
    while let Some(Some(event)) = heard.next().now_or_never() {
        if let LiveEvent::Paused {
            long_running_tool_ids,
        } = event
        {
            told.push(long_running_tool_ids.to_vec());
        }
    }
    told
}

#[test]
fn listener_learns_when_all_calls_wait_for_external_results() {
    let world = World::with(EVERYTHING);
    let shipped = Arc::new(Notify::new());
    let done = shipped.clone();
    let ship = T::simple("ship", "Ships", move |_| {
        let done = done.clone();
        async move {
            done.notified().await;
            Ok(json!({"shipped": true}))
        }
    });
    let wipe = T::simple("wipe", "Wipes", |_| async { Ok(json!({"wiped": true})) });
    let tools = handed_on() | T::confirm(wipe, "Wipe it?") | ship;
    let life = world.life(world.agent(tools));
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    let mut heard = live.listen();
    let says = |text: &str| {
        life.run(live.send_text(text)).unwrap();
        life.settle();
    };
    says("everything");
    assert_eq!(told_paused(&mut heard), [[]; 0], "one runs here");
    assert!(!life.run(live.should_pause()).unwrap());

    shipped.notify_one();
    life.settle();
    let paused = life.run(live.paused()).unwrap().remove(0);
    let asked = life.run(live.pending()).unwrap().remove(0);
    let name = |call| live.session_id().call_id(call);
    let both = vec![name(paused.call), name(asked.call)];
    assert_eq!(told_paused(&mut heard), std::slice::from_ref(&both));
    assert_eq!(life.run(live.long_running_tool_ids()).unwrap(), both);

    let ticket = Ticket::from(&paused);
    let news = FunctionResponse::new("pay", json!({"step": 1}));
    life.run(life.engine().update(&ticket, news, by())).unwrap();
    says("Hurry up!");
    assert_eq!(told_paused(&mut heard), [[]; 0], "it waits on");

    let yes = ToolConfirmation::confirmed();
    life.run(live.answer(asked.id, yes, by())).unwrap();
    life.settle();
    let one = [name(paused.call)];
    assert_eq!(told_paused(&mut heard), [one], "what was agreed to has run");

    let done = json!({"receipt": 17});
    life.run(live.respond(&ticket, done, by())).unwrap();
    life.settle();
    assert!(!life.run(live.should_pause()).unwrap());
    assert_eq!(told_paused(&mut heard), [[]; 0], "nothing is open");
    says("again");
    let again = life.run(live.paused()).unwrap().remove(0).call;
    assert_eq!(told_paused(&mut heard), [[name(again)]]);
    drop(live);
    life.end();
}

#[test]
fn invalid_call_of_long_running_tool_is_answered_at_once() {
    let script = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": "many"}}, {"id": "c2", "name": "pay", "args": {"cents": 0}}]}]}
{"on": "otherwise", "once": false, "send": []}
"#;
    let world = World::with(script);
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let tool = T::simple_with("pay", "Has it paid", schema, |args| async move {
        match args["cents"].as_i64() {
            Some(0) => Err(ToolError::InvalidArgs("nothing to pay".to_owned())),
            Some(_) | None => Ok(Value::Null),
        }
    });
    let (life, live) = world.asked_to_pay(T::long_running(tool));
    let mut heard = live.listen();
    life.settle();
    let answered = world.answered();
    assert_eq!(answered.len(), 2, "{answered:?}");
    for (answer, wrong) in answered.iter().zip(["integer", "nothing to pay"]) {
        let invalid = answer.contains(r#""kind":"invalid_args""#);
        assert!(invalid && answer.contains(wrong), "{answered:?}");
    }
    assert_eq!(world.count("call_started"), 1);
    assert!(life.run(live.paused()).unwrap().is_empty());
    assert!(!life.run(live.should_pause()).unwrap());
    assert_eq!(told_paused(&mut heard), [[]; 0]);
    drop(live);
    life.end();
}

/// The steps between interim results: a lost connection, a detach, a connect, or a dead process.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    News,
    Lost,
    Disconnected,
    Connected,
    Died,
}

fn meanwhile() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        4 => Just(Meanwhile::News),
        1 => Just(Meanwhile::Lost),
        1 => Just(Meanwhile::Disconnected),
        1 => Just(Meanwhile::Connected),
        1 => Just(Meanwhile::Died),
    ]
}

/// Supplies interim results between the steps, then the final result, which is 0.
///
/// Returns the number of interim results, and the results that the model received on each
/// connection.
fn told_in_order(steps: &[Meanwhile]) -> (u64, Vec<Vec<u64>>) {
    let script = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay"}]}, {"say": "It is under way."}]}
{"on": {"responses_to": ["c1"]}, "once": false, "send": [{"say": "I see."}]}
{"on": "otherwise", "once": false, "send": [{"say": "I see."}]}
"#;
    let world = World::with(script);
    let (mut life, live) = world.asked_to_pay(handed_on());
    let mut live = Some(live);
    let ticket = Ticket::from(&life.run(life.engine().paused()).unwrap()[0]);
    let news = |number: u64| FunctionResponse::new("pay", json!({"news": number}));
    let mut given = 0;
    for step in steps {
        match step {
            Meanwhile::News => {
                given += 1;
                let taken = life.engine().update(&ticket, news(given), by());
                life.run(taken).unwrap();
            }
            Meanwhile::Lost => world.model.drop_connection(1006, "gone"),
            Meanwhile::Disconnected => live = None,
            Meanwhile::Connected if live.is_none() => live = Some(resume(&life, ticket.session)),
            Meanwhile::Connected => world.clock.advance(std::time::Duration::from_secs(60)),
            Meanwhile::Died => {
                live = None;
                life.crash();
                life = world.life(world.agent(handed_on()));
            }
        }
        life.settle();
    }
    life.run(life.engine().respond(&ticket, news(0), by()))
        .unwrap();
    life.settle();
    assert!(
        life.run(life.engine().update(&ticket, news(99), by()))
            .is_err()
    );
    drop(live);
    life.settle();
    drop(resume(&life, ticket.session));
    life.end();
    let transcript = world.model.transcript();
    let mut told = vec![Vec::new(); transcript.connections()];
    for (on, message) in transcript.received().filter(|it| it.1.setup.is_none()) {
        let text = message.encode().replace('\\', "");
        let numbers = text.split(r#"{"news":"#).skip(1);
        let numbers = numbers.map(|it| it.split('}').next().unwrap().parse::<u64>().unwrap());
        told[on.0 as usize - 1].extend(numbers);
    }
    assert_eq!(world.outcome(), Outcome::Supplied);
    (given, told)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A result may be sent again after a lost connection, but never after a later one.
    #[test]
    fn interim_results_stay_in_order_through_losses(
        steps in proptest::collection::vec(meanwhile(), 0..14),
    ) {
        let (given, told) = told_in_order(&steps);
        let all: Vec<u64> = (1..=given).chain([0]).collect();
        let place = |number: &u64| all.iter().position(|it| it == number);
        for heard in &told {
            prop_assert!(heard.is_sorted_by_key(place), "{told:?}");
        }
        let mut first: Vec<u64> = Vec::new();
        for number in told.iter().flatten() {
            if !first.contains(number) {
                first.push(*number);
            }
        }
        prop_assert_eq!(first, all, "{:?}", told);
    }
}

#[test]
fn callbacks_run_for_final_result_and_not_for_interim_ones() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(handed_on());
    let ticket = Ticket::from(&life.run(live.paused()).unwrap()[0]);
    drop(live);
    life.end();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let (resumed, settled) = (heard.clone(), heard.clone());
    let engine = Engine::in_memory()
        .journal(world.journal.clone())
        .clock(world.clock.clone())
        .agent("support", world.agent(handed_on()))
        .on_resumed(move |it| resumed.lock().unwrap().push(format!("{} goes on", it.tool)))
        .on_settled(move |it| settled.lock().unwrap().push(format!("{:?}", it.outcome)));
    let life = Life::of(engine);
    let says = |value: Value| FunctionResponse::new("pay", value);
    let news = says(json!({"step": 1}));
    life.run(life.engine().update(&ticket, news, by())).unwrap();
    life.settle();
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
    let done = says(json!({"receipt": 17}));
    life.run(life.engine().respond(&ticket, done, by()))
        .unwrap();
    life.settle();
    assert_eq!(*heard.lock().unwrap(), ["pay goes on", "Supplied"]);
    life.end();
}
