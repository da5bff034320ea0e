//! An operator cancels open calls, with a service and without one, also calls whose tool is gone.

use recount::prelude::*;

use crate::answering::{parked, refunds};
use crate::program::Bench;
use crate::service::{Service, runtime};
use crate::settling::cut_off;

const OTHER_TOOLS: &str = r#"
[[tool]]
name = "look_up"
description = "Looks up an order"
command = ["true"]
"#;

#[test]
fn cancelled_call_does_not_run_when_its_tool_returns() {
    let bench = Bench::new();
    let (_simulator, url, request) = parked(&bench);
    bench.run(&format!("approve j {request}")).ends_with(0);
    let id = bench.session("j");
    bench.write("other.toml", OTHER_TOOLS);
    let resume = format!("run --endpoint {url} --journal j --resume {id}");
    bench
        .run(&format!("{resume} --tools other.toml"))
        .ends_with(0);
    let open = || bench.run("sessions j --json").ends_with(0).json_lines()[0]["open"].clone();
    assert_eq!(open()["ready"], 1, "it has no tool to run");

    let log = bench.run(&format!("log j {id} --json")).json_lines();
    let called = log.iter().find(|it| it["kind"] == "function_call_received");
    let call = called.unwrap()["seq"].as_u64().unwrap();
    bench
        .run(&format!("cancel j {id} {}", call + 1))
        .fails(3, "unknown-call");
    let cancel = format!("cancel j {id} {call} --as ada --reason twice");
    let cancelled = bench.run(&format!("{cancel} --json")).ends_with(0).json();
    assert_eq!(
        (&cancelled["tool"], &cancelled["call"]),
        (&"refund".into(), &call.into())
    );
    assert_eq!(cancelled["by"]["authenticated_by"], "none");
    assert!(cancelled["service"].is_null());
    assert_eq!(cancelled["attempts"], 0);
    assert!(open().get("ready").is_none());
    bench
        .run(&cancel)
        .fails(3, "call-settled")
        .prints_error(&["an operator cancelled it at ", ", seq "]);
    bench
        .run(&format!("log j {id} --full"))
        .ends_with(0)
        .prints(&["refund cancelled (identity not verified) by \"ada\": twice"]);

    bench
        .run(&format!("{resume} --tools tools.toml"))
        .ends_with(0)
        .prints(&["sent to the model: refund"]);
    assert_eq!(refunds(&bench), 0);
}

#[test]
fn waiting_call_is_cancelled_through_its_service() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let call = service.run("pending j --json").json_lines()[0]["call"].clone();
    let cancelled = service.run(&format!("cancel j {} {call}", service.session()));
    cancelled
        .ends_with(0)
        .prints(&["refund cancelled by ", "by the running service"]);
    service
        .run(&format!("approve j {request}"))
        .fails(3, "request-withdrawn")
        .prints_error(&["an operator cancelled the call"]);
    assert_eq!(service.refunds(), 0);

    service.ask_for("pay");
    let paused = service.run("pending j --json").json_lines();
    let call = paused[0]["call"].clone();
    let cancelled = service.run(&format!("cancel j {} {call} --json", service.session()));
    assert_eq!(
        cancelled.ends_with(0).json()["attempts"],
        1,
        "it had paused"
    );
    service.shut_down();
}

#[test]
fn cancelling_an_interrupted_call_says_that_it_had_started() {
    let (bench, runtime) = (Bench::new(), runtime());
    cut_off(&bench, &runtime, InDoubt::Ask);
    let waiting = bench.run("pending j --json").ends_with(0).json_lines();
    let call = |nth: usize| waiting[nth]["call"].as_u64().unwrap();
    let cancel = |call: u64| format!("cancel j {} {call}", bench.session("j"));
    bench.run(&cancel(call(0))).ends_with(0).prints(&[
        "pay cancelled by ",
        "; it had started, and its effects stay",
    ]);
    let second = bench
        .run(&format!("{} --json", cancel(call(1))))
        .ends_with(0)
        .json();
    assert_eq!(second["attempts"], 1);
}

#[test]
fn cancelling_an_ended_call_is_refused_with_advice() {
    let (bench, runtime) = (Bench::new(), runtime());
    cut_off(&bench, &runtime, InDoubt::SettleUnknown);
    let log = format!("log j {} --json", bench.session("j"));
    let log = bench.run(&log).json_lines();
    let called = log.iter().find(|it| it["kind"] == "function_call_received");
    let call = called.unwrap()["seq"].as_u64().unwrap();
    bench
        .run(&format!("cancel j {} {call}", bench.session("j")))
        .fails(3, "call-settled")
        .prints_error(&["its outcome is unknown at ", "`recount reconcile`"]);
}
