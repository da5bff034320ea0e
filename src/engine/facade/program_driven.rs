//! Sessions that a program drives without a model, and changes of a session's tools.

use serde_json::Value;
use tokio::sync::oneshot;

use crate::engine::error::Error;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::inputs::callers::{BegunCall, Key, KeyedOutcome, ProgramCall};
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::session::{Actor, Json, Rejection, Seq, SessionId};
use crate::tool::{ToolChanges, ToolError};

impl Engine {
    /// Returns a handle of an existing session, without a connection to a model.
    ///
    /// The effects that the session owes are started, as [`resume`](Engine::resume) does: approved
    /// calls run, and interrupted ones are handled by their rule.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let look = T::simple("look", "Looks", |_| async { Ok(json!({"found": 1})) });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(look)).open().await?;
    /// let id = engine.session("orders").open().await?.session_id();
    /// let session = engine.reopen(id).await?;
    /// let looked = session.call_function("look", json!({}), Actor::embedder("pipeline")).await;
    /// assert_eq!(looked, Ok(json!({"found": 1})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the session or its agent is unknown, or the session cannot be read.
    pub async fn reopen(&self, session: SessionId) -> Result<LiveHandle, Error> {
        let agent = self.agent_of(session).await?;
        self.inner.ledger.own(session).await?;
        let handle = self.handle(session, agent, Begin::Resume);
        // The session is read before the caller gets it.
        handle.session().await?;
        Ok(handle)
    }
}

impl LiveHandle {
    /// Calls a function as a model would, and waits for its outcome. No model gets it.
    ///
    /// A text pipeline can thus use the same tools, policies and journal. The result is the
    /// response as recorded: a result that is no object is under `output`. The result of a
    /// streaming tool is the array of its recorded results. Arguments may be a string that contains
    /// an object.
    ///
    /// Dropping the future does not affect the call. Its end then goes to the engine's
    /// [`on_settled`](crate::engine::EngineBuilder::on_settled), as it does if this process is
    /// gone.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let add = T::simple("add", "Adds", |args| async move {
    ///     Ok(json!(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)))
    /// });
    /// let agent = Agent::new().model("none").tools(add);
    /// let engine = Engine::in_memory().agent("sums", agent).open().await?;
    /// let session = engine.session("sums").open().await?;
    /// let sum = session
    ///     .call_function("add", json!({"a": 2, "b": 3}), Actor::embedder("pipeline"))
    ///     .await;
    /// assert_eq!(sum, Ok(json!({"output": 5})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The reason why the call failed, in the text that a model would get.
    pub async fn call_function(
        &self,
        name: &str,
        args: Value,
        by: Actor,
    ) -> Result<Value, ToolError> {
        let refused = |error: Error| ToolError::NotAvailable(error.to_string());
        self.engine.expect_room().map_err(refused)?;
        let (caller, answer) = oneshot::channel();
        // A program may not send what no model could, such as unlimited nesting.
        let args = Json::parse(&args.to_string())
            .map_err(|problem| ToolError::InvalidArgs(format!("the arguments are {problem}")))?;
        let call = ProgramCall {
            name: name.to_owned(),
            args,
            by,
            key: None,
        };
        let input = Input::CallFunction(call, caller);
        let _ = self.task.inbox.send(self.engine.input(input));
        let stopped = |_| ToolError::Other(self.task.stopped(self.session).to_string());
        answer.await.map_err(stopped)?
    }

    /// Calls a function as [`call_function`](LiveHandle::call_function) does, with an idempotency
    /// key of the caller: the same key and the same text are the same call.
    ///
    /// A repeated call returns the outcome of the first one, or waits for it, also after a restart
    /// and in another process. Of several callers at the same time, one call runs. The text is the
    /// tool's name and the arguments; the order of keys does not matter, except within a secret
    /// argument.
    ///
    /// A key is 1 to 200 bytes long. It is recorded in clear, so it must not be a secret. It is
    /// known for the life of its session, and in this session only.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::session::Rejection;
    ///
    /// let pay = T::simple("pay", "Pays", |args| async move {
    ///     Ok(json!({"paid": args["cents"]}))
    /// });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(pay)).open().await?;
    /// let session = engine.session("orders").open().await?;
    /// let (key, by) = ("order-7", || Actor::embedder("pipeline"));
    /// let first = session.call_with_key("pay", json!({"cents": 7}), key, by()).await?;
    /// assert_eq!(first.result, Ok(json!({"paid": 7})));
    /// let again = session.call_with_key("pay", json!({"cents": 7}), key, by()).await?;
    /// assert_eq!((again.call, again.repeated), (first.call, true));
    /// assert_eq!(again.result, first.result);
    /// let other = session.call_with_key("pay", json!({"cents": 8}), key, by()).await;
    /// let Err(recount::engine::Error::Refused(Rejection::KeyReused { call })) = other else {
    ///     panic!("the key is of another call");
    /// };
    /// assert_eq!(call, first.call);
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the key is of a call with another text
    /// ([`Rejection::KeyReused`]), or if the key or the arguments do not fit a record. A call that
    /// is recorded and fails is no error: its [`result`](KeyedOutcome::result) has the reason.
    pub async fn call_with_key(
        &self,
        name: &str,
        args: Value,
        key: &str,
        by: Actor,
    ) -> Result<KeyedOutcome, Error> {
        let unfit = |problem| Error::Refused(Rejection::UnfitJson { problem });
        let args = Json::parse(&args.to_string()).map_err(unfit)?;
        let begun = self.begin_call(name, args, key, by).await?;
        let (call, repeated) = (begun.call, begun.repeated);
        let result = begun.outcome().await?;
        Ok(KeyedOutcome {
            call,
            repeated,
            result,
        })
    }

    /// Calls a function as [`call_with_key`](LiveHandle::call_with_key) does, and returns once the
    /// call is on record. The outcome can be awaited or left to the record.
    ///
    /// The arguments keep the digits of their numbers.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::session::Json;
    ///
    /// let pay = T::simple("pay", "Pays", |args| async move {
    ///     Ok(json!({"paid": args["cents"]}))
    /// });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(pay)).open().await?;
    /// let session = engine.session("orders").open().await?;
    /// let (args, by) = (Json::of(&json!({"cents": 7})), Actor::embedder("pipeline"));
    /// let begun = session.begin_call("pay", args, "order-7", by).await?;
    /// assert!(!begun.repeated);
    /// assert_eq!(begun.outcome().await?, Ok(json!({"paid": 7})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of [`call_with_key`](LiveHandle::call_with_key).
    pub async fn begin_call(
        &self,
        name: &str,
        args: Json,
        key: &str,
        by: Actor,
    ) -> Result<BegunCall, Error> {
        self.engine.expect_room()?;
        let (caller, answer) = oneshot::channel();
        let (taken, on_record) = oneshot::channel();
        let call = ProgramCall {
            name: name.to_owned(),
            args,
            by,
            key: Some(Key {
                key: key.to_owned(),
                taken,
            }),
        };
        let input = Input::CallFunction(call, caller);
        let _ = self.task.inbox.send(self.engine.input(input));
        let stopped = |_| self.task.stopped(self.session);
        let taken = on_record.await.map_err(stopped)??;
        Ok(BegunCall {
            call: taken.call,
            repeated: taken.repeated,
            session: self.session,
            task: self.task.clone(),
            answer,
        })
    }

    /// Changes the tools of a session that is played, to those of its fixture.
    #[cfg(feature = "play")]
    pub(crate) async fn change_tools_on_record(
        &self,
        changes: ToolChanges,
        policies: crate::session::PolicySet,
    ) -> Result<(), Error> {
        let changed = self
            .ask(|reply| Input::ChangeTools(changes, Some(policies), reply))
            .await;
        changed.map(drop)
    }

    /// Changes the tools of this session while it lives, for example to those of a client or of an
    /// MCP server that reports another list.
    ///
    /// It puts nothing in doubt: running calls go on, also those of tools that are gone. An
    /// approved call that has not started is asked about again if the contract of its tool changed,
    /// and waits while its tool is gone. Returns the `catalog_changed`, or `None` if the terms on
    /// record are the same after the change.
    ///
    /// A connected model learns of the change with its next connection, because a live connection
    /// cannot declare other tools. Until then a call of a tool that is gone is refused as unknown.
    ///
    /// The change lasts until the session is closed or this process ends. The next process begins
    /// with the tools of its agent.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::tool::ToolChanges;
    ///
    /// let look = T::simple("look", "Looks", |_| async { Ok(json!({"found": 1})) });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(look)).open().await?;
    /// let session = engine.session("orders").open().await?;
    /// let ship = T::simple("ship", "Ships", |_| async { Ok(json!({"shipped": true})) });
    /// session.change_tools(ToolChanges::new().with(ship).without("look")).await?;
    /// let shipped = session.call_function("ship", json!({}), Actor::embedder("pipeline")).await;
    /// assert_eq!(shipped, Ok(json!({"shipped": true})));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake, for example a tool to remove that is not there.
    /// Then nothing is changed. [`Error::Refused`] if the session is closed.
    pub async fn change_tools(&self, changes: ToolChanges) -> Result<Option<Seq>, Error> {
        let changed = self
            .ask(|reply| Input::ChangeTools(changes, None, reply))
            .await?;
        self.engine.follow_changed(self.session);
        Ok(changed)
    }
}
