//! `recount state`: a session as of any of its records, and the changes between two of them.

use serde_json::{Value, json};

use crate::program::Bench;

/// The session of the demo, and the seqs of its first request and of the call of that.
fn asked(bench: &Bench) -> (String, u64, u64) {
    let id = bench.session("demo");
    let records = bench.run(&format!("log demo {id} --json")).json_lines();
    let asked = records
        .iter()
        .find(|it| it["kind"] == "confirmation_requested");
    let asked = asked.unwrap();
    let (seq, call) = (&asked["seq"], &asked["body"]["call"]);
    (id, seq.as_u64().unwrap(), call.as_u64().unwrap())
}

#[test]
fn state_has_calls_requests_and_pending_effects() {
    let bench = Bench::with_demo();
    let (id, seq, call) = asked(&bench);
    let state = |at: u64| {
        let shown = bench.run(&format!("state demo {id} --at {at} --json"));
        shown.ends_with(0).json()
    };
    let waits = state(seq);
    assert_eq!(
        (&waits["seq"], &waits["kind"]),
        (&json!(seq), &json!("confirmation_requested"))
    );
    let open = &waits["state"]["calls"][call.to_string()];
    assert_eq!(open["phase"]["name"], "awaiting_confirmation");
    assert_eq!(open["phase"]["request"], seq);
    assert_eq!(open["tool"], "refund");
    let asks = json!({"effect": "ask_confirmation", "call": call, "request": seq});
    let owed = |state: &Value| state["state"]["owed"].as_array().unwrap().clone();
    assert!(owed(&waits).contains(&asks), "{waits}");
    assert!(!owed(&state(seq - 1)).contains(&asks));
    assert_eq!(state(call)["state"]["due"], "policy_decided");
    assert_eq!(state(0)["state"]["calls"], json!({}));

    let last = bench.run(&format!("state demo {id} --json")).ends_with(0);
    let last = last.json();
    assert_eq!(
        (&last["seq"], &last["state"]["closed"]),
        (&last["records"], &json!(true))
    );
    let records = last["records"].as_u64().unwrap();
    let words = format!("after seq {seq} of {records}, confirmation_requested");
    bench
        .run(&format!("state demo {} --at {seq}", &id[..8]))
        .ends_with(0)
        .prints(&[
            &words,
            "refund",
            "awaiting_confirmation",
            "ask_confirmation",
            " UTC",
        ]);
    let nothing = format!("before the first of its {records} records");
    bench
        .run(&format!("state demo {id} --at 0"))
        .ends_with(0)
        .prints(&[&nothing]);
}

#[test]
fn pointer_names_a_part_or_an_open_call() {
    let bench = Bench::with_demo();
    let (id, seq, call) = asked(&bench);
    let part = |pointer: &str| {
        let shown = bench.run(&format!(
            "state demo {id} --at {seq} --pointer {pointer} --json"
        ));
        shown.ends_with(0).json()
    };
    let phase = part(&format!("/calls/{call}/phase"));
    assert_eq!(phase["state"]["name"], "awaiting_confirmation");
    let wire_id = part(&format!("/calls/{call}/wire_id"))["state"].clone();
    let by_wire_id = part(&format!("/calls/{}/phase", wire_id.as_str().unwrap()));
    assert_eq!(by_wire_id, phase);
    bench
        .run(&format!(
            "state demo {id} --at {seq} --pointer /calls/{call}/args"
        ))
        .ends_with(0)
        .prints(&["order_id", "1001", "amount_cents", "4200"]);

    bench
        .run(&format!("state demo {id} --at {seq} --pointer /calls/9999"))
        .fails(1, "names-nothing")
        .prints_error(&[
            "/calls has no \"9999\"",
            "help: there is ",
            &call.to_string(),
        ]);
    bench
        .run(&format!("state demo {id} --pointer /calls/{call}"))
        .fails(1, "names-nothing")
        .prints_error(&[&format!("call {call} has ended: /settled/{call}")]);
    bench
        .run(&format!("state demo {id} --pointer calls"))
        .fails(2, "names-nothing")
        .prints_error(&["expected a JSON Pointer", "\"calls\""]);
}

#[test]
fn changes_are_shown_forward_and_backward() {
    let bench = Bench::with_demo();
    let (id, seq, call) = asked(&bench);
    let changed = |from: u64, to: u64| {
        let told = bench.run(&format!("state demo {id} --at {from} --diff {to} --json"));
        let told = told.ends_with(0).json();
        assert_eq!((&told["from"], &told["to"]), (&json!(from), &json!(to)));
        told["changes"].as_array().unwrap().clone()
    };
    let pointer = format!("/calls/{call}/phase/name");
    let of_phase = |changes: &[Value]| {
        let found = changes.iter().find(|it| it["pointer"] == pointer.as_str());
        let found = found.unwrap_or_else(|| panic!("{changes:?}"));
        (found["before"].clone(), found["after"].clone())
    };
    let (before, after) = of_phase(&changed(seq - 1, seq));
    assert_eq!(
        (&before, &after),
        (&json!("gated"), &json!("awaiting_confirmation"))
    );
    assert_eq!(of_phase(&changed(seq, seq - 1)), (after, before));
    assert_eq!(changed(seq, seq), Vec::<Value>::new());

    let diff = format!("state demo {id} --at {} --diff {seq}", seq - 1);
    bench.run(&diff).ends_with(0).prints(&[
        &format!("from seq {} to seq {seq} of ", seq - 1),
        &pointer,
        "  - \"gated\"",
        "  + \"awaiting_confirmation\"",
        "/owed",
        "  + {\"effect\":\"ask_confirmation\"",
    ]);
    // A pointer limits the changes. A call that is on one side only is shown whole.
    let only = bench
        .run(&format!("{diff} --pointer /requests"))
        .ends_with(0);
    assert!(!only.out.contains("/calls") && only.out.contains(&format!("/requests/{seq}")));
    bench
        .run(&format!(
            "state demo {id} --at {seq} --diff 1 --pointer /calls/{call}"
        ))
        .ends_with(0)
        .prints(&["\"tool\":\"refund\""]);
    bench
        .run(&format!("state demo {id} --at {seq} --diff {seq}"))
        .ends_with(0)
        .prints(&["Nothing changed."]);
}

#[test]
fn missing_record_is_answered_with_the_last_seq() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    let last = bench.run(&format!("state demo {id} --json")).json();
    let (last, beyond) = (&last["records"], last["records"].as_u64().unwrap() + 1);
    for command in [
        format!("state demo {id} --at {beyond}"),
        format!("state demo {id} --at 3 --diff {beyond}"),
    ] {
        bench
            .run(&command)
            .fails(2, "no-such-record")
            .prints_error(&[
                &format!("ends with record {last}"),
                &format!("record {beyond}"),
            ]);
    }
    bench.run(&format!("state demo {id} --at -1")).ends_with(2);
}
