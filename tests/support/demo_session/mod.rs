//! The session of the demo: its script, its four tools, its simulated user and its outcomes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use recount::engine::Error;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{
    Decision, Event, Observation, Outcome, Phase, Session, evolve, response::error_response,
};
use recount::simulator::{Script, Standing, Transcript};
use recount::testing::{Crash, CrashingTool};
use recount::tool::SimpleTool;

/// The tool that may run again with the same key. Every other tool runs at most once.
pub(crate) const IDEMPOTENT: &str = "lookup_order";

/// The demo's script with two more inputs: `once again` and `that is all`.
///
/// The user says `once again` where the model's calls were lost with the process.
pub(crate) fn script() -> Script {
    let demo = include_str!("../../../fixtures/scripts/demo.jsonl");
    let asked = r#"{"on": {"text": "1001"}"#;
    let first = demo.lines().find(|line| line.starts_with(asked)).unwrap();
    let again = first.replacen(asked, r#"{"on": {"text": "once again"}"#, 1);
    let end = r#"{"on": {"text": "that is all"}, "once": false, "send": [{"say": "Goodbye."}]}"#;
    Script::parse(&format!("{again}\n{end}\n{demo}")).unwrap()
}

/// The demo's tools. Each body calls `ran` with the name of its tool.
pub(crate) fn tools(ran: impl Fn(&str) + Send + Sync + 'static, crash: &Arc<Crash>) -> Toolset {
    let ran = Arc::new(ran);
    let tool = |name: &'static str, result: Result<Value, ToolError>| {
        let ran = ran.clone();
        let body = move |_| {
            ran(name);
            let result = result.clone();
            async move { result }
        };
        Toolset::from(CrashingTool::new(
            SimpleTool::new(name, format!("Does {name}"), None, body),
            crash,
        ))
    };
    let lookup = tool("lookup_order", Ok(json!({"order": 1001, "cents": 4200})));
    let refund = tool("refund", Ok(json!({"refunded": true})));
    let ship = tool("ship_replacement", Ok(Value::Null));
    let declined = ToolError::ExecutionFailed("the card was declined".to_owned());
    let fee = tool("charge_restocking_fee", Err(declined));
    T::in_doubt(lookup, InDoubt::Retry)
        | T::confirm(refund, "Refund this order?")
        | T::long_running(ship)
        | fee
}

/// Opens the session, or resumes it.
pub(crate) async fn take_up(engine: &Engine) -> Result<LiveHandle, Error> {
    match engine.sessions().await?.first() {
        Some(session) => engine.resume(session.id).await,
        None => engine.session("support").connect().await,
    }
}

/// Sends text, answers and results until the session is complete.
///
/// It is complete once every call has ended and the model's reply shows that it received the
/// outcomes.
pub(crate) async fn see_through(live: &LiveHandle, text: &str) -> Result<(), Error> {
    let mut updates = live.subscribe();
    let mut asked = false;
    loop {
        for waiting in live.pending().await? {
            let answered = live
                .answer(
                    waiting.id,
                    ToolConfirmation::confirmed(),
                    Actor::embedder("ada"),
                )
                .await;
            refusal_apart(answered)?;
        }
        for paused in live.paused().await? {
            let result = json!({"tracking": "1Z"});
            let supplied = live
                .respond(&Ticket::from(&paused), result, Actor::embedder("warehouse"))
                .await;
            refusal_apart(supplied)?;
        }
        let state = live.session().await?;
        let nothing_left = state.calls.is_empty() && state.deliveries.values().all(|it| it.sent);
        if nothing_left && state.settled.len() == 4 {
            live.send_text("Thank you, that is all.").await?;
            updates.wait_for(is_goodbye).await;
            return Ok(());
        }
        if state.calls.is_empty() && state.settled.is_empty() && !asked {
            asked = true;
            live.send_text(text).await?;
        }
        updates.next().await;
    }
}

fn is_goodbye(event: &Event) -> bool {
    matches!(event, Event::Observed(Observation::ModelOutputReceived(it)) if it.text == "Goodbye.")
}

/// Ignores a rejection: another answer or the expiry may have come first.
fn refusal_apart<T>(answer: Result<T, Error>) -> Result<(), Error> {
    match answer {
        Ok(_) | Err(Error::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The result of one call, independent of the processes that served it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The outcome of the call.
    pub(crate) outcome: Outcome,
    /// The number of times that the body of the tool ran.
    pub(crate) runs: usize,
    /// The number of final outcomes on record.
    pub(crate) finals: usize,
    /// The texts about the call that the model received, without repetitions. A text may be sent
    /// twice, because a sent text may not have been delivered.
    pub(crate) told: BTreeSet<String>,
}

/// The result of every call of the session, by tool name.
pub(crate) type Outcomes = BTreeMap<String, Ended>;

/// The results, and the tools whose calls were cut off between start and result.
pub(crate) async fn outcomes(
    ledger: &Ledger,
    session: SessionId,
    ran: &[String],
    transcript: &Transcript,
) -> (Outcomes, BTreeSet<String>) {
    let mut told = told(transcript);
    let mut names = BTreeMap::new();
    let mut finals: BTreeMap<_, usize> = BTreeMap::new();
    let mut cut = BTreeSet::new();
    let mut state = Session::new(session);
    for fact in ledger
        .facts(session, recount::session::Seq(1), 10_000)
        .await
        .unwrap()
    {
        match &fact.event {
            Event::Observed(Observation::RunnerDetached(_)) => {
                let running = state.calls.values().filter(|call| is_running(&call.phase));
                cut.extend(running.map(|call| call.name.clone()));
            }
            Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                *finals.entry(it.call).or_default() += 1;
            }
            Event::Decided(Decision::CallCancelled(it)) => {
                *finals.entry(it.call).or_default() += 1;
            }
            Event::Observed(_) | Event::Decided(_) => {}
        }
        ledger.provide(&mut state, &fact).await.unwrap();
        state = evolve(state, &fact);
        // A model that sees the history and the repeated request calls twice with the same ids.
        // These are one call.
        let call = state.calls.get(&fact.seq);
        names.extend(call.map(|call| (fact.seq, call.name.to_string())));
    }
    assert_eq!(names.len(), 4, "each tool was called once: {names:?}");
    let ended = names.into_iter().map(|(seq, name)| {
        let ended = Ended {
            outcome: state.settled[&seq].outcome,
            runs: ran.iter().filter(|it| **it == name).count(),
            finals: finals[&seq],
            told: told.remove(&name).unwrap_or_default(),
        };
        (name, ended)
    });
    (ended.collect(), cut)
}

/// Asserts that every call ended as in `smooth`, except for calls that were cut off.
///
/// Calls that were cut off ended by their declared rule.
pub(crate) fn assert_as_uninterrupted(
    found: &(Outcomes, BTreeSet<String>),
    smooth: &Outcomes,
    when: &str,
) {
    let (outcomes, cut) = found;
    assert_eq!(outcomes.len(), smooth.len(), "{when}");
    for (name, ended) in outcomes {
        let smooth = &smooth[name];
        assert_eq!(ended.finals, 1, "{name} ended once, {when}: {found:#?}");
        if name == IDEMPOTENT {
            assert!(
                ended.runs <= 1 + usize::from(cut.contains(name)),
                "{name} {when}"
            );
            let again = Ended {
                runs: smooth.runs,
                ..ended.clone()
            };
            assert_eq!(&again, smooth, "{name} is run again, {when}");
        } else if cut.contains(name) {
            assert!(ended.runs <= 1, "{name} ran {} times, {when}", ended.runs);
            let unknown = Ended {
                outcome: Outcome::Unknown,
                runs: ended.runs,
                finals: 1,
                told: BTreeSet::from([UNKNOWN.to_owned()]),
            };
            assert_eq!(ended, &unknown, "{name} was cut off, {when}");
        } else {
            assert_eq!(ended, smooth, "{name} {when}; cut off: {cut:?}");
        }
    }
}

const UNKNOWN: &str = concat!(
    r#"{"error":"the call was interrupted after it had started; whether it took effect is "#,
    r#"unknown","kind":"unknown_outcome"}"#,
);

fn is_running(phase: &Phase) -> bool {
    matches!(phase, Phase::Running { .. })
}

/// The texts that the model received about each tool, as JSON, in a response or as text.
///
/// The notice that a call waits is left out, because it may not reach the model in time.
fn told(transcript: &Transcript) -> BTreeMap<String, BTreeSet<String>> {
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, response, standing) in transcript.answers() {
        assert!(
            standing != Standing::UnknownId,
            "the model never heard of {response:?}"
        );
        let words = response.response.as_ref().unwrap().as_str().to_owned();
        if words.contains("awaiting_confirmation") {
            continue;
        }
        let name = response.name.clone().unwrap();
        told.entry(name).or_default().insert(words);
    }
    // A fresh conversation gets several outcomes in one message, one per line.
    let texts: Vec<String> = transcript.told().map(|(_, text)| text).collect();
    for text in texts.iter().flat_map(|text| text.lines()) {
        let Some(outcome) = text.strip_prefix("[tool outcome] Your earlier call ") else {
            continue;
        };
        let (name, _) = outcome.split_once('(').unwrap();
        let (_, words) = outcome.split_once("Response: ").unwrap();
        told.entry(name.to_owned())
            .or_default()
            .insert(words.to_owned());
    }
    told
}

#[test]
fn the_unknown_outcome_is_told_in_these_words() {
    let told: Value = serde_json::from_str(UNKNOWN).unwrap();
    let words = told["error"].as_str().unwrap();
    assert_eq!(error_response("unknown_outcome", words), told);
}
