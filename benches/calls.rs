//! The cost of a call in a session with 100 to 100,000 calls, in memory. The calls have an unknown
//! tool, wait for a person, or have ended. The cost of one call must not grow with the number of
//! the others.
#![expect(
    clippy::expect_used,
    reason = "a bench that meets the impossible must stop"
)]

use std::time::Instant;

use recount::session::{
    Decision, Event, FunctionCallReceived, Json, Observation, ResponsesSent, Seq, Session,
    SessionId, Timestamp, ToolReturned, step,
};
use recount::testing::{history, toolbox};

/// The numbers of calls in a session.
const CALLS: [u64; 4] = [100, 1_000, 10_000, 100_000];

/// The maximum growth of the cost of a call, from the second size to the last. Maps with 100,000
/// entries are deeper and exceed the CPU caches, which alone is a factor of about two.
const GROWTH_MAX: f64 = 4.0;

/// The kind of the calls.
#[derive(Clone, Copy)]
enum Kind {
    /// The tool is unknown: the call is refused, and its response waits to be sent.
    Unknown,
    /// A person is asked about each call.
    Gated,
    /// The tool returns, and the response is sent.
    Settled,
}

/// A session that is fed with observations.
struct Recorder {
    session: Session,
    at: Timestamp,
}

impl Recorder {
    /// Steps over an observation. Returns the responses that were issued.
    fn observed(&mut self, observation: Observation) -> Vec<Seq> {
        self.at = self.at.after_ms(1);
        let empty = Session::new(SessionId(uuid::Uuid::nil()));
        let session = std::mem::replace(&mut self.session, empty);
        let done = step(session, self.at, observation).expect("the decisions come to an end");
        self.session = done.session;
        let issued = done.facts.iter().filter_map(|fact| match &fact.event {
            Event::Decided(Decision::ResponseIssued(_)) => Some(fact.seq),
            Event::Decided(_) | Event::Observed(_) => None,
        });
        issued.collect()
    }
}

/// The time of a call, in microseconds.
fn measured(kind: Kind, calls: u64) -> f64 {
    let tools = toolbox().plain("look").gated("pay");
    let begun = history().opened("support").attached(&tools).connected();
    let epoch = begun.epoch();
    let mut recorder = Recorder {
        session: begun.session().clone(),
        at: begun.now(),
    };
    let name = match kind {
        Kind::Unknown => "nothing",
        Kind::Gated => "pay",
        Kind::Settled => "look",
    };
    let began = Instant::now();
    for n in 0..calls {
        let call = recorder.session.head.next();
        let received = FunctionCallReceived {
            epoch,
            id: Some(format!("c{n}")),
            name: Some(name.to_owned()),
            args: Some(Json::of(&serde_json::json!({"order": n}))),
            malformed_args: None,
            invalid_args: None,
            sealed_args: Vec::new(),
            original_args: None,
            by: None,
            parent: None,
            beyond_max: None,
            key: None,
        };
        recorder.observed(received.into());
        match kind {
            Kind::Unknown | Kind::Gated => {}
            Kind::Settled => {
                let returned = ToolReturned {
                    call,
                    attempt: 1,
                    failed: false,
                    response: Json::of(&serde_json::json!({"seen": true})),
                    error_kind: None,
                    scheduling: None,
                    ends_session: None,
                };
                let responses = recorder.observed(returned.into());
                recorder.observed(ResponsesSent { epoch, responses }.into());
            }
        }
    }
    began.elapsed().as_secs_f64() * 1e6 / calls as f64
}

fn main() {
    let is_test = std::env::args().any(|it| it == "--test" || it == "--quick");
    let sizes = if is_test { &CALLS[..2] } else { &CALLS[..] };
    println!("microseconds a call, by the calls of the session");
    for (name, kind) in [
        ("unknown", Kind::Unknown),
        ("gated", Kind::Gated),
        ("settled", Kind::Settled),
    ] {
        let figures: Vec<f64> = sizes.iter().map(|calls| measured(kind, *calls)).collect();
        let growth = figures.get(1).zip(figures.last());
        let growth = growth.map_or(1.0, |(small, large)| large / small);
        let verdict = if growth <= GROWTH_MAX { "ok" } else { "MISSED" };
        let told: Vec<String> = sizes
            .iter()
            .zip(&figures)
            .map(|(calls, us)| format!("{calls}: {us:.1}"))
            .collect();
        println!(
            "calls/{name:<8} {}; growth {growth:.2}, at most {GROWTH_MAX}: {verdict}",
            told.join(", ")
        );
    }
}
