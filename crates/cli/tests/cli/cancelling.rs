//! An open call is taken back by whoever may, beside a service and without one, also where no
//! program has its tool any more.

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
fn an_approved_call_whose_tool_is_gone_is_taken_back_and_does_not_run_when_it_is_there_again() {
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
        .complains(&["an operator cancelled it at ", ", seq "]);
    bench
        .run(&format!("log j {id} --full"))
        .ends_with(0)
        .says(&["refund cancelled by unchecked \"ada\": twice"]);

    bench
        .run(&format!("{resume} --tools tools.toml"))
        .ends_with(0)
        .says(&["told the model about refund"]);
    assert_eq!(refunds(&bench), 0);
}

#[test]
fn a_call_that_waits_for_a_person_is_taken_back_through_the_service_that_has_it() {
    let mut service = Service::start();
    let request = service.ask_for("refund");
    let call = service.run("pending j --json").json_lines()[0]["call"].clone();
    let cancelled = service.run(&format!("cancel j {} {call}", service.session()));
    cancelled
        .ends_with(0)
        .says(&["refund cancelled by ", "through the running service"]);
    service
        .run(&format!("approve j {request}"))
        .fails(3, "request-withdrawn")
        .complains(&["an operator cancelled the call"]);
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
fn who_takes_back_a_call_that_was_cut_off_is_told_that_it_had_been_started() {
    let (bench, runtime) = (Bench::new(), runtime());
    cut_off(&bench, &runtime, InDoubt::Ask);
    let waiting = bench.run("pending j --json").ends_with(0).json_lines();
    let call = |nth: usize| waiting[nth]["call"].as_u64().unwrap();
    let cancel = |call: u64| format!("cancel j {} {call}", bench.session("j"));
    bench.run(&cancel(call(0))).ends_with(0).says(&[
        "pay cancelled by ",
        "; it had been started, and what it has done stays done",
    ]);
    let second = bench
        .run(&format!("{} --json", cancel(call(1))))
        .ends_with(0)
        .json();
    assert_eq!(second["attempts"], 1);
}

#[test]
fn who_comes_behind_the_end_of_a_cut_off_call_is_told_how_to_say_what_became_of_it() {
    let (bench, runtime) = (Bench::new(), runtime());
    cut_off(&bench, &runtime, InDoubt::SettleUnknown);
    let log = format!("log j {} --json", bench.session("j"));
    let log = bench.run(&log).json_lines();
    let called = log.iter().find(|it| it["kind"] == "function_call_received");
    let call = called.unwrap()["seq"].as_u64().unwrap();
    bench
        .run(&format!("cancel j {} {call}", bench.session("j")))
        .fails(3, "call-settled")
        .complains(&["its outcome is unknown at ", "`recount reconcile`"]);
}
