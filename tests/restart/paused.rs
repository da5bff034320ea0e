//! A call goes on outside, and its result comes in another life of the process.

use recount::engine::Error;
use recount::prelude::*;
use recount::session::{Edits, Outcome, Rejection, Seq};
use recount::testing::Life;

use crate::world::{World, answer, is, resume, waiting};

/// A tool that hands the payment on; its result comes from outside.
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
fn a_result_under_another_name_or_of_another_shape_is_refused_and_the_call_stays_open() {
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
fn news_is_recorded_and_told_in_its_order_and_after_the_last_word_there_is_no_more() {
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

/// Gives the result of the one paused call; how it was taken, with whatever is on record already.
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
fn a_result_that_comes_again_is_the_same_also_where_the_record_has_it_without_its_secrets() {
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
        // What is compared is not told, and changes nothing.
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
