//! Commands accept every id of a request or a call that `pending`, `log` and `audit` print.

use std::sync::Arc;

use recount::prelude::*;
use tokio::sync::Semaphore;

use crate::answering::parked;
use crate::program::Bench;
use crate::service::{Service, runtime};
use crate::settling::{agent, cut_off};

#[test]
fn request_is_named_by_session_and_seq() {
    let bench = Bench::new();
    let (_simulator, _, request) = parked(&bench);
    let waiting = &bench.run("pending j --json").json_lines()[0];
    let session = waiting["session"].as_str().unwrap();
    let (seq, call) = (&waiting["seq"], &waiting["call"]);
    let shown = format!("session {session}, seq {seq}");
    bench.run("pending j").ends_with(0).prints(&[&shown]);
    bench
        .run(&format!("deny j {session} {call}"))
        .fails(1, "unknown-request");
    let denied = bench.run(&format!("deny j {} {seq} --json", &session[..13]));
    assert_eq!(denied.ends_with(0).json()["request"], *request);
    for command in ["approve --yes", "deny", "settle --failed no"] {
        bench
            .run(&format!("{command} j {session} #{seq}"))
            .fails(3, "already-answered");
    }
}

#[test]
fn call_is_cancelled_by_every_id() {
    let mut service = Service::start();
    let waits = |service: &Service, key: &str| {
        let waiting = service.run("pending j --json").ends_with(0).json_lines();
        waiting[0][key].clone()
    };
    let request = service.ask_for("refund");
    let call = waits(&service, "call");
    let by_request = service.run(&format!("cancel j {} --json", &request[..13]));
    assert_eq!(by_request.ends_with(0).json()["call"], call);
    service
        .run(&format!("cancel j {request}"))
        .fails(1, "unknown-call");

    service.ask_for("leave");
    let call = waits(&service, "call");
    let by_seq = service.run(&format!("cancel j {} #{call} --json", service.session()));
    assert_eq!(by_seq.ends_with(0).json()["tool"], "leave");

    let call_id = service.ask_for("pay");
    let ticket = waits(&service, "ticket").to_string();
    let by_id = service.run(&format!("cancel j {call_id} --json"));
    assert_eq!(by_id.ends_with(0).json()["tool"], "pay");
    for ended in [&call_id, &ticket] {
        service
            .run(&format!("cancel j {ended}"))
            .fails(3, "call-settled");
    }
    service.shut_down();
}

#[test]
fn paused_call_is_named_by_session_and_seq() {
    let mut service = Service::start();
    service.ask_for("refund");
    service.ask_for("pay");
    let waiting = service.run("pending j --json").ends_with(0).json_lines();
    let (refund, pay) = (&waiting[0]["call"], &waiting[1]);
    let (session, call) = (service.session(), &pay["call"]);
    let shown = format!("session {session}, seq {call}");
    service.run("pending j").ends_with(0).prints(&[&shown]);
    let respond = |seq: &Value| {
        let given = format!("respond-call j {session} {seq} --response {{}} --json");
        service.run(&given)
    };
    respond(refund).fails(1, "unknown-call");
    let responded = respond(call).ends_with(0).json();
    assert_eq!(responded["call_id"], pay["call_id"]);
    service.shut_down();
}

#[test]
fn ended_call_is_reconciled_by_the_id_of_the_audit() {
    let (bench, runtime) = (Bench::new(), runtime());
    let url = cut_off(&bench, &runtime, InDoubt::SettleUnknown);
    let audited = bench.run("audit decisions j --json").ends_with(0);
    let audited = audited.json_lines().into_iter();
    let calls: Vec<Value> = audited.filter(|it| it["row"] == "call").collect();
    let reconcile = |nth: usize| {
        let call = &calls[nth];
        let id = call["call_id"].as_str().unwrap();
        let found = bench.run(&format!("reconcile j {} --failed no --json", &id[..13]));
        assert_eq!(found.ends_with(0).json()["call"], call["call"]);
        let whole = bench.run(&format!("reconcile j {id} --failed no"));
        whole.fails(3, "already-reconciled");
    };
    reconcile(0);
    let engine = runtime.block_on(async {
        let begun = Arc::new(Semaphore::new(0));
        let agent = agent(&url, InDoubt::SettleUnknown, &begun);
        let engine = Engine::builder(bench.path("j")).agent("support", agent);
        engine.open().await.unwrap()
    });
    reconcile(1);
    let shut_down = engine.shutdown(std::time::Duration::ZERO);
    runtime.block_on(shut_down).unwrap();
}
