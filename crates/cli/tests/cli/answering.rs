//! A request is answered once, from another process. The call runs once, in the next process that
//! serves the session.

use crate::program::Bench;

const SCRIPT: &str = concat!(
    r#"{"on": {"text": "please"}, "send": [{"call": [{"id": "r1", "name": "refund", "#,
    r#""args": {"order": "A-17"}}]}]}"#,
    "\n",
    r#"{"on": {"text": "refund"}, "send": [{"say": "It is decided."}]}"#,
    "\n",
);

/// A tools file with a refund that adds a line to a file.
pub(crate) const TOOLS: &str = r#"
[[tool]]
name = "refund"
description = "Refunds an order"
command = ["sh", "-c", "cat >/dev/null; echo refunded >>refunds.txt; echo '{\"refunded\": true}'"]
confirm = "Refund this order?"
"#;

/// A journal `j` with one open request. Returns the simulator, its URL and the request.
pub(crate) fn parked(bench: &Bench) -> (crate::program::Started, String, String) {
    bench.write("tools.toml", TOOLS);
    let (simulator, url) = bench.simulate(SCRIPT);
    let run = bench.run(&format!(
        "run --tools tools.toml --endpoint {url} --journal j --text please"
    ));
    let run = run
        .ends_with(0)
        .prints(&["refund is waiting for approval:", "--resume "]);
    let pending = bench.run("pending j --json").ends_with(0).json_lines();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0]["tool"], "refund");
    assert_eq!(pending[0]["args"]["order"], "A-17");
    assert_eq!(pending[0]["hint"], "Refund this order?");
    let request = pending[0]["request"].as_str().unwrap().to_owned();
    let command = format!("recount approve j {request}");
    assert!(run.out.contains(&command), "{run:#?}");
    bench
        .run("pending j")
        .ends_with(0)
        .prints(&[&command, r#"{"order":"A-17"}"#]);
    (simulator, url, request)
}

pub(crate) fn refunds(bench: &Bench) -> usize {
    std::fs::read_to_string(bench.path("refunds.txt")).map_or(0, |text| text.lines().count())
}

#[test]
fn one_of_many_simultaneous_answers_counts() {
    one_of_many_counts(&Bench::new(), None);
}

#[test]
fn file_of_a_killed_older_service_prevents_no_answer() {
    let left = r#"{"format":"recount-control","version":1,"address":"127.0.0.1:9","pid":4711}"#;
    one_of_many_counts(&Bench::new(), Some(left));
}

fn one_of_many_counts(bench: &Bench, control: Option<&str>) {
    let (_simulator, _, request) = parked(bench);
    if let Some(left) = control {
        bench.write("j/CONTROL", left);
    }
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let answering = (0..8).map(|number| {
            let said = if number % 2 == 0 { "approve" } else { "deny" };
            let command = format!("{said} j {request} --as person{number}");
            scope.spawn(move || bench.run(&command))
        });
        let answering: Vec<_> = answering.collect();
        answering.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (counted, others): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(|it| it.code == 0);
    assert_eq!(counted.len(), 1, "{others:#?}");
    for other in others {
        other.fails(3, "already-answered").prints_error(&["person"]);
    }
}

#[test]
fn first_answer_counts_and_the_second_is_refused() {
    let bench = Bench::new();
    let (_simulator, _, request) = parked(&bench);
    let approved = bench.run(&format!(
        "approve j {} --as ada --reason fine --json",
        &request[..6]
    ));
    let approved = approved.ends_with(0).json();
    assert_eq!(approved["confirmed"], true);
    assert_eq!(
        approved["by"]["authenticated_by"], "none",
        "the identity is not verified"
    );
    let seq = approved["seq"].to_string();
    let second = bench
        .run(&format!("deny j {request}"))
        .fails(3, "already-answered");
    second.prints_error(&[
        "approved (identity not verified) by \"ada\"",
        " UTC, ",
        &format!("seq {seq} of session"),
    ]);
    assert_eq!(refunds(&bench), 0, "the answer starts nothing");
    let session = bench.session("j");
    bench
        .run(&format!("log j {session} --full"))
        .ends_with(0)
        .prints(&[
            "refund approved (identity not verified) by \"ada\": fine",
            "refund ready to start",
            "refused: already answered",
        ]);
    bench.run("replay j").ends_with(0);
}

#[test]
fn an_approved_call_runs_once_when_the_session_is_resumed() {
    let bench = Bench::new();
    let (_simulator, url, request) = parked(&bench);
    bench
        .run(&format!("approve j {request}"))
        .ends_with(0)
        .prints(&["(os_user), recorded at seq "]);
    let resume = format!(
        "run --tools tools.toml --endpoint {url} --journal j --resume {}",
        bench.session("j")
    );
    bench.run(&resume).ends_with(0).prints(&[
        "refund started, attempt 1",
        "(sent as text)",
        "“It is decided.”",
    ]);
    assert_eq!(refunds(&bench), 1);
    bench
        .run("pending j")
        .ends_with(0)
        .prints(&["Nothing is pending."]);
    bench.run("verify j").ends_with(0);
    bench.run("replay j").ends_with(0);
}

#[test]
fn flag_answers_every_request() {
    let bench = Bench::new();
    bench.write("tools.toml", TOOLS);
    let script = SCRIPT.replace(r#"{"text": "refund"}"#, r#"{"responses_to": ["r1"]}"#);
    let (_simulator, url) = bench.simulate(&script);
    let run = format!("run --tools tools.toml --endpoint {url} --text please");
    bench
        .run(&format!("{run} --journal yes --approve-all"))
        .ends_with(0)
        .prints(&["refund ended: returned (sent as tool response)"]);
    assert_eq!(refunds(&bench), 1);
    let (_simulator, url) = bench.simulate(&script);
    let run = format!("run --tools tools.toml --endpoint {url} --text please");
    bench
        .run(&format!("{run} --journal no --deny-all"))
        .ends_with(0)
        .prints(&["refund ended: denied (sent as tool response)"]);
    assert_eq!(refunds(&bench), 1);
}

#[test]
fn answer_records_the_death_of_the_process_first() {
    let bench = Bench::new();
    bench.write("tools.toml", TOOLS);
    let (_simulator, url) = bench.simulate(SCRIPT);
    // The model does not react to the acknowledgement, so the program waits and can be killed.
    let run = format!("run --tools tools.toml --endpoint {url} --journal j --text please");
    let mut serving = bench.start(&run);
    serving.until("sent to the model: refund");
    serving.kill();
    let pending = bench.run("pending j --json").ends_with(0).json_lines();
    let request = pending[0]["request"].as_str().unwrap();
    bench.run(&format!("approve j {request}")).ends_with(0);
    let lines = bench
        .run(&format!("log j {} --json", bench.session("j")))
        .json_lines();
    let batch: Vec<&str> = lines[lines.len() - 4..]
        .iter()
        .map(|line| line["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        batch,
        [
            "disconnected",
            "runner_detached",
            "confirmation_answered",
            "call_ready"
        ]
    );
    let at: Vec<_> = lines[lines.len() - 4..]
        .iter()
        .map(|line| &line["at"])
        .collect();
    assert!(at.iter().all(|it| *it == at[0]), "one batch: {at:?}");
    assert_eq!(refunds(&bench), 0);
}
