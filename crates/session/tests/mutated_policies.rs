//! Mutated policy sets: a set with a field removed, widened or misspelt never lets a call run that
//! the whole set holds.
//!
//! [`FIELDS`] is the table of fields. Each row has a session in which the field holds a call. Then
//! a runner attaches with the mutated set, as after a bad deploy or an altered object. The held
//! call must not start. A misspelt field is an unknown one, so a reader of rules 2 refuses the set.

#![expect(
    clippy::expect_used,
    reason = "a test that meets the impossible must stop"
)]

use recount_session::testing::{History, Toolbox, history, toolbox};
use recount_session::{Actor, AllowFor, Event, PolicySet, Seq, ToolConfirmation};
use serde_json::{Value, json};

/// A field that holds calls.
struct Field {
    /// The policy set, as JSON.
    set: &'static str,
    /// The JSON Pointer of the field in the set.
    pointer: &'static str,
    /// Values of the field that hold less.
    wider: &'static [&'static str],
    /// The events under the whole set. The last call is the held one.
    held: fn(History) -> History,
}

fn call(told: History) -> History {
    told.call("c1", "pay", json!({"cents": 4200}))
}

fn second_call(told: History) -> History {
    let told = call(told).started().returned(json!({"paid": true}));
    told.call("c2", "pay", json!({"cents": 1}))
}

/// A call beyond a leave that allowed one call. The flag permits the leave, which is used up.
fn call_beyond_a_leave(told: History) -> History {
    let asked = call(told).asked();
    let allowed = asked.granted_for("ada", AllowFor::Count(1));
    let allowed = allowed.returned(json!({"paid": true}));
    let second = allowed.call("c2", "pay", json!({"cents": 1})).started();
    let second = second.returned(json!({"paid": true}));
    second.call("c3", "pay", json!({"cents": 1})).asked()
}

/// A call beside another one that waits for approval.
fn call_beside_a_waiting_one(told: History) -> History {
    call(told).asked().call("c2", "pay", json!({"cents": 1}))
}

/// The fields. A new field that holds calls gets a row.
const FIELDS: [Field; 8] = [
    Field {
        set: r#"{"tools":{"pay":{"confirm":{}}}}"#,
        pointer: "/tools/pay/confirm",
        wider: &[
            r#"{"when":{"is_true":"never"}}"#,
            r#"{"asks_program":true}"#,
        ],
        held: call,
    },
    Field {
        set: r#"{"tools":{"pay":{"confirm":{"when":{"exists":"args:/cents"}}}}}"#,
        pointer: "/tools/pay/confirm/when",
        wider: &[r#"{"is_true":"never"}"#],
        held: call,
    },
    Field {
        set: r#"{"tools":{"pay":{"when":{"is_true":"verified"}}}}"#,
        pointer: "/tools/pay/when",
        wider: &[r#"{"not":{"is_true":"verified"}}"#],
        held: call,
    },
    Field {
        set: r#"{"tools":{"pay":{"limits":{"per_session":1}}}}"#,
        pointer: "/tools/pay/limits/per_session",
        wider: &["2", "null"],
        held: second_call,
    },
    Field {
        set: r#"{"phases":[{"name":"verify","tools":[]}],"tools":{}}"#,
        pointer: "/phases/0/tools",
        wider: &[r#"["pay"]"#],
        held: call,
    },
    Field {
        set: r#"{"tools":{"pay":{"confirm":{"may_allow_for_session":true}}}}"#,
        pointer: "/tools/pay/confirm/may_allow_for_session",
        wider: &[],
        held: call_beyond_a_leave,
    },
    Field {
        set: r#"{"tools":{"pay":{"confirm":{"max_open_requests":1}}}}"#,
        pointer: "/tools/pay/confirm/max_open_requests",
        wider: &["2", "null"],
        held: call_beside_a_waiting_one,
    },
    Field {
        set: r#"{"max_open_requests":1,"tools":{"pay":{"confirm":{}}}}"#,
        pointer: "/max_open_requests",
        wider: &["2", "null"],
        held: call_beside_a_waiting_one,
    },
];

/// The kinds of mutations.
#[derive(Debug)]
enum Mutation {
    Removed,
    Widened(&'static str),
    Misspelt,
}

impl Field {
    fn mutations(&self) -> impl Iterator<Item = Mutation> {
        let widened = self.wider.iter().map(|it| Mutation::Widened(it));
        [Mutation::Removed, Mutation::Misspelt]
            .into_iter()
            .chain(widened)
    }

    fn whole(&self) -> Value {
        serde_json::from_str(self.set).expect("JSON")
    }

    /// The set after a mutation.
    fn mutated(&self, mutation: &Mutation) -> Value {
        let mut set = self.whole();
        let (parent, key) = self.pointer.rsplit_once('/').expect("a pointer");
        let parent = set.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent = parent.expect("an object");
        let value = parent.remove(key).expect("the field");
        match mutation {
            Mutation::Removed => {}
            Mutation::Widened(wider) => {
                let wider = serde_json::from_str(wider).expect("JSON");
                parent.insert(key.to_owned(), wider);
            }
            Mutation::Misspelt => {
                parent.insert(misspelt(key), value);
            }
        }
        set
    }
}

fn misspelt(key: &str) -> String {
    format!("{key}x")
}

fn tools(set: &Value) -> Toolbox {
    let policies = PolicySet::from_bytes(set.to_string().as_bytes());
    toolbox()
        .plain("pay")
        .with_policies(policies.expect("a policy set"))
}

/// The number of starts of a call.
fn starts(told: &History, call: Seq) -> usize {
    let started = told.facts().iter().filter(|fact| match &fact.event {
        Event::Decided(recount_session::Decision::CallStarted(it)) => it.call == call,
        Event::Decided(_) | Event::Observed(_) => false,
    });
    started.count()
}

/// A deploy of another set: in the attached process, after its end, and with a new connection.
const DEPLOYS: [fn(History, &Toolbox) -> History; 3] = [
    |told, tools| told.attached(tools),
    |told, tools| told.detached().attached(tools),
    |told, tools| told.disconnected().detached().attached(tools).connected(),
];

#[test]
fn mutated_set_lets_no_held_call_run() {
    for field in &FIELDS {
        let begun = history()
            .opened("support")
            .attached(&tools(&field.whole()))
            .connected();
        let held = (field.held)(begun);
        let call = held.call_seq();
        assert_eq!(starts(&held, call), 0, "{} holds nothing", field.pointer);
        for mutation in field.mutations() {
            let mutated = tools(&field.mutated(&mutation));
            for (deploy, number) in DEPLOYS.iter().zip(1..) {
                let after = deploy(held.clone(), &mutated);
                let place = format!("{} {mutation:?}, deploy {number}", field.pointer);
                assert_eq!(starts(&after, call), 0, "{place}\n{}", after.story());
            }
        }
    }
}

#[test]
fn misspelt_field_is_refused_under_rules_2() {
    for field in &FIELDS {
        let whole = field.set.as_bytes();
        let found = PolicySet::unknown_field(whole).expect("a policy set");
        assert_eq!(found, None, "{}", field.pointer);
        let set = field.mutated(&Mutation::Misspelt).to_string();
        let found = PolicySet::unknown_field(set.as_bytes()).expect("a policy set");
        assert_eq!(found.as_deref(), Some(misspelt(field.pointer).as_str()));
    }
}

/// A bound in an answer is recorded, and a set without the flag gives no leave for it. A later set
/// with the flag does not revive it.
#[test]
fn answer_before_the_flag_gives_no_leave() {
    let set = |flag: bool| {
        let gate = json!({"may_allow_for_session": flag});
        tools(&json!({"tools": {"pay": {"confirm": gate}}}))
    };
    let begun = history()
        .opened("support")
        .attached(&set(false))
        .connected();
    let asked = call(begun).asked();
    let bound = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(9));
    let answer = bound.into_record(asked.request(), Actor::os_user("ada"));
    let approved = asked.observed(answer).returned(json!({"paid": true}));
    for deploy in DEPLOYS {
        let second = deploy(approved.clone(), &set(true)).call("c2", "pay", json!({"cents": 1}));
        assert_eq!(starts(&second, second.call_seq()), 0, "{}", second.story());
    }
}

/// A leave ends with each mutation of the set that gave it, also if the set comes back.
#[test]
fn leave_ends_with_every_mutation_of_its_policy() {
    let people = json!([{"names": [{"issuer": "embedder", "subject": "ada"}]}]);
    let gate = json!({
        "approvers": people,
        "may_allow_for_session": true,
        "max_open_requests": 3,
        "not_requester": true,
        "quorum": 1,
    });
    let whole = json!({"tools": {"pay": {"confirm": gate}}});
    let begun = history()
        .opened_for("support", "carol")
        .attached(&tools(&whole))
        .connected();
    let asked = call(begun).asked();
    let given = asked
        .granted_for("ada", AllowFor::Count(9))
        .returned(json!({"paid": true}));
    let fields: Vec<String> = gate
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    for field in fields {
        let mut set = whole.clone();
        let gate = set
            .pointer_mut("/tools/pay/confirm")
            .and_then(Value::as_object_mut);
        gate.expect("an object").remove(&field);
        for deploy in DEPLOYS {
            let changed = deploy(given.clone(), &tools(&set));
            let back = deploy(changed.clone(), &tools(&whole));
            for told in [changed, back] {
                let second = told.call("c2", "pay", json!({"cents": 1}));
                assert_eq!(
                    starts(&second, second.call_seq()),
                    0,
                    "{field}\n{}",
                    second.story()
                );
            }
        }
    }
    let same = given.call("c2", "pay", json!({"cents": 1}));
    assert_eq!(starts(&same, same.call_seq()), 1);
}

/// An altered object has another address, so no record of the whole set names it.
#[test]
fn mutated_set_has_another_hash() {
    for field in &FIELDS {
        let hash = |set: &Value| {
            let set = PolicySet::from_bytes(set.to_string().as_bytes());
            set.expect("a policy set").hash()
        };
        for mutation in field.mutations() {
            let (whole, mutated) = (hash(&field.whole()), hash(&field.mutated(&mutation)));
            assert_ne!(whole, mutated, "{} {mutation:?}", field.pointer);
        }
    }
}
