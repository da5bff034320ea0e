//! A world: one session that a tenant may see, and two that are foreign to it.

use recount::engine::{ClaimRequest, EngineBuilder, LiveHandle, Operated, Operation, Updates};
use recount::ledger::HoldTarget;
use recount::prelude::{Actor, Agent, Engine, T, ToolConfirmation, json};
use recount::session::{AllowFor, Decision, Event, Identity, RequestId, Seq, SessionId};
use recount_server::{Access, Grant, Role};

use crate::bench::Bench;

/// A text in every foreign session, which no response to the tenant may contain.
pub(crate) const FOREIGN: &str = "foreign-text";

/// A session with one of everything that a route can name.
pub(crate) struct Place {
    pub(crate) session: SessionId,
    /// An open confirmation request.
    pub(crate) request: RequestId,
    /// The call of a standing leave, which has returned.
    pub(crate) ended: Seq,
    /// A call that waits for its result.
    pub(crate) paused: Seq,
    /// A standing leave.
    pub(crate) leave: Seq,
    /// A call that a client may claim.
    pub(crate) claimable: Seq,
    /// A call that the holder of the tokens has claimed as `held`.
    pub(crate) claimed: Seq,
    /// A legal hold on the session.
    pub(crate) hold: Seq,
}

/// A service with a session of the tenant `acme`, and two foreign sessions.
pub(crate) struct World {
    pub(crate) bench: Bench,
    /// A session of the agent `support` with the label `tenant=acme`.
    pub(crate) own: Place,
    /// A session of the same agent with another tenant.
    pub(crate) other_tenant: Place,
    /// A session of another agent with the same tenant.
    pub(crate) other_agent: Place,
}

impl World {
    pub(crate) async fn new() -> World {
        World::with(|access| access).await
    }

    /// A world whose service also admits others.
    pub(crate) async fn with(more: impl FnOnce(Access) -> Access) -> World {
        let bench = Bench::with(engine().await, more);
        World {
            own: place(&bench.engine, "support", "acme", "own-text").await,
            other_tenant: place(&bench.engine, "support", "globex", FOREIGN).await,
            other_agent: place(&bench.engine, "billing", "acme", FOREIGN).await,
            bench,
        }
    }

    /// A token with the role in the sessions of `support` for `acme`.
    pub(crate) fn tenant(&self, role: Role) -> String {
        let grant = Grant::everywhere(role).of_agent("support");
        self.bench
            .token("ada", &[grant.with_label("tenant", "acme")])
    }
}

/// An engine with the agents `support` and `billing`.
pub(crate) async fn engine() -> Engine {
    agents(Engine::in_memory()).open().await.unwrap()
}

/// Adds the agents `support` and `billing`.
pub(crate) fn agents(engine: EngineBuilder) -> EngineBuilder {
    let agent = || {
        let refund = T::simple("refund", "Refunds", |_| async {
            Ok(json!({"refunded": true}))
        });
        let mail = T::simple("mail", "Mails", |_| async { Ok(json!({"sent": true})) });
        let mail = T::may_allow_for_session(T::confirm(mail, "Send this mail?"));
        let ship = T::simple("ship", "Ships", |_| async {
            Ok(json!({"label": "printed"}))
        });
        let look = T::simple("look", "Looks", |args| async move {
            Ok(json!({"found": args["note"]}))
        });
        let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}});
        let pack = T::client("pack", "Packs an order", schema);
        Agent::new()
            .model("none")
            .strict()
            .tools(look)
            .tools(T::idempotent(pack))
            .tools(T::confirm(refund, "Refund this order?"))
            .tools(mail)
            .tools(T::long_running(ship))
    };
    engine.agent("support", agent()).agent("billing", agent())
}

/// The actor of a token of this name.
pub(crate) fn token_actor(name: &str) -> Actor {
    Actor::token(name).with_identity(Identity::of("recount"))
}

/// Opens a session with one of everything.
async fn place(engine: &Engine, agent: &str, tenant: &str, text: &str) -> Place {
    let opening = engine.session(agent).label("tenant", tenant);
    let handle = opening.external_id(text).open().await.unwrap();
    let (session, mut updates) = (handle.session_id(), handle.subscribe());
    let ada = || Actor::embedder("ada");
    call(&handle, "mail", text);
    let mail = asked(&handle, &mut updates).await;
    let five = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(5));
    let leave = engine.answer(mail.1, five, ada()).await.unwrap();
    recorded(&mut updates, "tool_returned").await;
    call(&handle, "ship", text);
    recorded(&mut updates, "tool_paused").await;
    let paused = handle.paused().await.unwrap()[0].call;
    call(&handle, "refund", text);
    let (_, request) = asked(&handle, &mut updates).await;
    let claimed = ready(&handle, &mut updates, text).await;
    let claim = ClaimRequest::new("held").of_call(session, claimed);
    engine.claim(&claim, token_actor("ada")).await.unwrap();
    let claimable = ready(&handle, &mut updates, text).await;
    let (target, reason) = (HoldTarget::Session(session), text.to_owned());
    let hold = Operation::PlaceHold { target, reason };
    let Operated::OnRecord(hold) = engine.operate(hold, ada()).await.unwrap() else {
        unreachable!("nothing refuses the hold");
    };
    Place {
        session,
        request,
        ended: mail.0,
        paused,
        leave,
        claimable,
        claimed,
        hold: hold.seq,
    }
}

/// Calls the tool of clients, and waits until the call is ready.
async fn ready(handle: &LiveHandle, updates: &mut Updates, text: &str) -> Seq {
    call(handle, "pack", text);
    let is_ready = |it: &Event| matches!(it, Event::Decided(Decision::CallReady(_)));
    let recorded = updates.wait_for(is_ready).await.unwrap();
    match &recorded.fact.event {
        Event::Decided(Decision::CallReady(it)) => it.call,
        other => unreachable!("{other:?}"),
    }
}

/// Waits until an event of this kind is recorded.
async fn recorded(updates: &mut Updates, kind: &str) {
    let found = updates.wait_for(|event| event.kind() == kind).await;
    assert!(found.is_some(), "the session has ended without {kind}");
}

/// Calls a tool without waiting for its outcome.
fn call(handle: &LiveHandle, tool: &str, text: &str) {
    let (handle, tool, args) = (handle.clone(), tool.to_owned(), json!({ "note": text }));
    let calling = async move {
        let by = Actor::embedder("pipeline");
        // Some calls wait to the end of the test.
        let _ = handle.call_function(&tool, args, by).await;
    };
    drop(tokio::spawn(calling));
}

/// Waits for the next confirmation request. Returns the call and the request.
async fn asked(handle: &LiveHandle, updates: &mut Updates) -> (Seq, RequestId) {
    recorded(updates, "confirmation_requested").await;
    let asked = handle.pending().await.unwrap().remove(0);
    (asked.call, asked.id)
}
