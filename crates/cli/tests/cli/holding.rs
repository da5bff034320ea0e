//! Legal holds, with a service and without one.

use serde_json::json;

use crate::program::Bench;
use crate::sealing::{paused, run};
use crate::service::Service;

#[test]
fn held_session_is_not_erased() {
    let bench = Bench::new();
    let (_simulator, _) = paused(&bench);
    let session = bench.session("j");
    let listed = run(&bench, "a", "pending j --keys k --json").ends_with(0);
    let request = listed.json_lines()[0]["request"].clone();
    let deny = format!("deny j {} --keys k", request.as_str().unwrap());
    run(&bench, "a", &deny).ends_with(0);
    bench
        .run("holds j")
        .ends_with(0)
        .prints(&["Nothing is held."]);

    let by_id = format!("hold j {session} --reason matter-17 --as ada --json");
    let held = bench.run(&by_id).ends_with(0).json();
    let hold = held["hold"].as_u64().unwrap();
    assert_eq!(held["target"], json!({"session": session}));
    // The command again adds nothing.
    assert_eq!(bench.run(&by_id).ends_with(0).json()["hold"], hold);
    let by_label = "hold j --label matter=18 --reason matter-18 --as ada";
    bench.run(by_label).ends_with(0).prints(&[
        " on sessions with the label matter=18 (identity not verified) by \"ada\": matter-18",
        "recount unhold PATH",
    ]);
    bench.run("holds j").ends_with(0).prints(&[
        &format!("{hold}  session {session}\n  held (identity not verified) by \"ada\", "),
        "sessions with the label matter=18",
    ]);
    run(&bench, "a", "sessions j --keys k")
        .ends_with(0)
        .prints(&[&format!("kept from erasure by hold {hold} ")]);
    let listed = run(&bench, "a", "sessions j --keys k --json").ends_with(0);
    assert_eq!(listed.json()["holds"].as_array().unwrap().len(), 1);

    let erase = format!("erase j {session} --reason ticket-17 --keys k --as eve --yes");
    run(&bench, "a", &erase).fails(3, "held").prints_error(&[
        &format!("under hold {hold} on session {session}, placed by unchecked \"ada\" at 20"),
        " UTC: matter-17",
        &format!("`recount unhold PATH {hold} --reason TEXT` releases it"),
    ]);
    let release = format!("unhold j {hold} --reason settled --as bob");
    bench.run(&release).ends_with(0).prints(&[
        &format!("Hold {hold} released (identity not verified) by \"bob\", recorded at seq "),
        "Holds still in force: 1",
    ]);
    bench
        .run(&release)
        .fails(3, "hold-released")
        .prints_error(&["was released before, by unchecked \"bob\": settled"]);
    run(&bench, "a", &erase).ends_with(0);
    bench.run(&by_id).fails(3, "session-erased");
    bench.run("verify j").ends_with(0);
    bench.run("audit decisions j").ends_with(0).prints(&[
        &format!("unchecked \"ada\" held session {session}: matter-17"),
        &format!("unchecked \"bob\" released hold {hold}: settled"),
    ]);
    let all = bench.run("holds j --all --json").ends_with(0).json_lines();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["released"]["reason"], "settled");
    assert_eq!(all[1]["released"], json!(null));
}

#[test]
fn hold_is_placed_and_released_through_service() {
    let mut service = Service::start();
    service.ask_for("refund");
    let session = service.session();
    let held = service.run(&format!("hold j {session} --reason counsel --json"));
    let held = held.ends_with(0).json();
    assert!(held["service"].is_number(), "{held}");
    let hold = held["hold"].as_u64().unwrap();
    service
        .run("sessions j")
        .ends_with(0)
        .prints(&[&format!("kept from erasure by hold {hold} by ")]);
    service
        .run(&format!("unhold j {hold} --reason settled"))
        .ends_with(0)
        .prints(&["released by "]);
    service
        .run("unhold j 999 --reason x")
        .fails(3, "unknown-hold");
    service
        .run(&format!("hold j {session} --reason="))
        .fails(2, "no-reason");
    assert!(service.run("holds j --json").ends_with(0).out.is_empty());
    service.shut_down();
    service.run("verify j").ends_with(0);
}
