//! Calls that two persons must approve, on the command line: with a running service and without
//! one.

use std::time::Duration;

use recount::control::os_user;
use recount::prelude::*;
use recount::session::{Approvers, Identity, Person};
use tokio::runtime::Runtime;

use crate::json_shape::Shapes;
use crate::pinned::assert_pinned;
use crate::program::{Bench, Run};
use crate::service::runtime;

/// An agent with a payment that two persons must approve: users of this system by these names, or
/// holders of the role `finance`.
fn agent(users: &[&str]) -> Agent {
    let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let names = users.iter().map(|it| Person::os_user(*it));
    let people = Approvers::roles(["finance"]).or(Approvers::names(names));
    let pay = T::quorum(T::approvers(T::confirm(pay, "Pay this?"), people), 2);
    Agent::new().model("none").tools(T::not_requester(pay))
}

/// An engine over the journal `j`, and a session in it.
struct Desk {
    bench: Bench,
    runtime: Runtime,
    engine: Engine,
    live: LiveHandle,
}

impl Desk {
    fn start(users: &[&str]) -> Desk {
        let (bench, runtime) = (Bench::new(), runtime());
        let (engine, live) = runtime.block_on(async {
            let engine = Engine::builder(bench.path("j")).agent("till", agent(users));
            let engine = engine.open().await.unwrap();
            let live = engine.session("till").open().await.unwrap();
            (engine, live)
        });
        Desk {
            bench,
            runtime,
            engine,
            live,
        }
    }

    /// Lets carol call the payment in the background, and returns the request about the call.
    fn asks(&self) -> String {
        let live = self.live.clone();
        self.runtime.block_on(async {
            let (mut updates, calling) = (live.subscribe(), live.clone());
            tokio::spawn(async move {
                let (args, carol) = (json!({"cents": 4200}), Actor::os_user("carol"));
                let _ = calling.call_function("pay", args, carol).await;
            });
            let asked = |event: &recount::session::Event| event.kind() == "confirmation_requested";
            updates.wait_for(asked).await.unwrap();
            let waiting = live.pending().await.unwrap();
            waiting.last().unwrap().id.to_string()
        })
    }

    /// Answers with yes as a holder of the role `finance`.
    fn approves(&self, request: &str, name: &str) {
        let finance = Identity::of("https://login.example").with_role("finance");
        let by = Actor::token(name).with_identity(finance);
        let request = serde_json::from_value(json!(request)).unwrap();
        let answered = self
            .engine
            .answer(request, ToolConfirmation::confirmed(), by);
        self.runtime.block_on(answered).unwrap();
    }

    fn shut_down(&self) {
        let ended = self.engine.shutdown(Duration::ZERO);
        self.runtime.block_on(ended).unwrap();
    }

    fn run(&self, arguments: &str) -> Run {
        self.bench.run(arguments)
    }
}

fn user() -> String {
    os_user::current().unwrap()
}

#[test]
fn second_person_decides_beside_a_service() {
    let user = user();
    let desk = Desk::start(&[&user]);
    let request = desk.asks();
    let still = format!("1 approval by one of: role finance, os_user:{user}; not by the requester");
    desk.run(&format!("approve j {request} --as bob"))
        .fails(3, "unverified-answer")
        .prints_error(&["whose name was verified; the request stays open"]);
    desk.run(&format!("approve j {request} --reason fine"))
        .ends_with(0)
        .prints(&[
            &format!("pay approved by {user} (token), recorded at seq "),
            &format!("1 of 2 approvals; still needed: {still} \"carol\"."),
            "The request stays open until then, and the call does not run.",
        ]);
    desk.run(&format!("approve j {request}"))
        .fails(3, "already-approved")
        .prints_error(&[
            "approved it before",
            ", and counts once; the request stays open",
        ]);
    desk.run("pending j").ends_with(0).prints(&[
        &format!("  approved by {user} (token) "),
        ": fine\n",
        &format!("  still needed: {still} \"carol\"\n"),
    ]);
    let audit = |options: &str| {
        let run = desk.run(&format!("audit decisions j {options}"));
        run.ends_with(0)
    };
    audit("--full").prints(&[&format!("open; approved before by {user}")]);
    desk.approves(&request, "ada");
    desk.run("pending j").prints(&["Nothing is pending."]);
    let by = format!("by {user} and by ada");
    audit("").prints(&[&format!("approved {by}, ")]);
    audit("--full").prints(&[&format!("approval requested; approved {by} after ")]);
    audit(&format!("--actor {user}")).prints(&["1 call of 1 session"]);
    desk.shut_down();
    audit("--html -").prints(&[&format!("approved before by {user} (token) "), ": fine"]);
    audit("--csv").prints(&[&format!("{user} (token) at ")]);
    desk.run("verify j").ends_with(0);
    desk.run("replay j").ends_with(0);
}

/// A directory of programs in which `id` names another user.
#[cfg(unix)]
fn as_user(desk: &Desk, name: &str, arguments: &str) -> Run {
    use std::os::unix::fs::PermissionsExt;
    let directory = desk.bench.path(name);
    std::fs::create_dir_all(&directory).unwrap();
    let id = directory.join("id");
    std::fs::write(&id, format!("#!/bin/sh\necho {name}\n")).unwrap();
    std::fs::set_permissions(&id, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = desk.bench.command(arguments);
    let output = command.env("PATH", directory).output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[cfg(unix)]
#[test]
fn two_users_approve_without_a_service() {
    let desk = Desk::start(&["ada", "bob", "carol"]);
    let (request, denied) = (desk.asks(), desk.asks());
    desk.shut_down();
    let approve = format!("approve j {request}");
    as_user(&desk, "mallory", &approve).fails(3, "not-an-approver");
    as_user(&desk, "carol", &approve)
        .fails(3, "is-the-requester")
        .prints_error(&["the requester of the call may not approve it"]);
    as_user(&desk, "ada", &approve)
        .ends_with(0)
        .prints(&["pay approved by ada (os_user)", "1 of 2 approvals; "]);
    as_user(&desk, "ada", &approve).fails(3, "already-approved");
    let decided = as_user(&desk, "bob", &format!("{approve} --json"));
    assert_eq!(decided.ends_with(0).json()["missing"], 0);
    as_user(&desk, "carol", &approve)
        .fails(3, "already-answered")
        .prints_error(&["the request was approved by bob (os_user)"]);
    // The requester may still say no.
    as_user(&desk, "carol", &format!("deny j {denied}"))
        .ends_with(0)
        .prints(&["pay denied by carol (os_user)"]);
    let sessions = desk.run("sessions j --json").ends_with(0).json_lines();
    assert_eq!(sessions[0]["open"]["ready"], 1);
    desk.run("replay j").ends_with(0);
}

#[test]
fn several_approvals_tell_what_each_still_needs() {
    let user = user();
    let desk = Desk::start(&[&user]);
    let (first, second) = (desk.asks(), desk.asks());
    desk.approves(&first, "ada");
    let several = desk
        .run(&format!("approve j {first} {second}"))
        .ends_with(0);
    let parts: Vec<&str> = several.out.split("pay approved by ").collect();
    let [_, decided, partly] = parts.as_slice() else {
        panic!("two rows: {several:#?}");
    };
    assert!(!decided.contains("still needed"), "{several:#?}");
    assert!(partly.contains("  1 of 2 approvals; still needed: 1 approval by "));
    let (third, fourth) = (desk.asks(), desk.asks());
    desk.shut_down();
    let several = desk
        .run(&format!("approve j {third} {fourth}"))
        .ends_with(0);
    assert_eq!(several.out.matches("1 of 2 approvals").count(), 2);
    assert!(!several.out.contains("start"), "{several:#?}");
}

#[test]
fn keys_of_quorums_are_as_they_were() {
    let user = user();
    let (desk, mut shapes) = (Desk::start(&[&user]), Shapes::default());
    let (first, second) = (desk.asks(), desk.asks());
    let mut add = |name, command: String| {
        shapes.add(name, &desk.run(&command).ends_with(0));
    };
    add(
        "approve the first of two",
        format!("approve j {first} --reason fine --json"),
    );
    desk.approves(&second, "ada");
    let third = desk.asks();
    add(
        "approve several of two",
        format!("approve j {second} {third} --json"),
    );
    add("pending with approvals", "pending j --json".to_owned());
    add(
        "audit decisions with approvals",
        "audit decisions j --json".to_owned(),
    );
    assert_pinned("json/quorum.txt", &shapes.text());
}
