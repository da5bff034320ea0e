//! One tool of every kind. It does what its arguments say and keeps a log of its runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

/// The kind of a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Function,
    Typed,
    Custom,
    Streaming,
    LongRunning,
}

/// The behavior that a call asks for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doing {
    /// The run succeeds.
    Ok,
    /// The run fails.
    Fail,
    /// The first two runs fail.
    FailTwice,
    /// The run never ends.
    Hang,
    /// The first run never ends.
    HangOnce,
}

/// The arguments of a call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct Work {
    pub(crate) key: u64,
    pub(crate) doing: Doing,
    pub(crate) card: String,
}

/// One run, as the tool itself saw it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) work: Work,
    /// The idempotency key, if this kind of tool can see it.
    pub(crate) idempotency_key: Option<String>,
    /// True once its future is dropped.
    gone: Arc<AtomicBool>,
}

impl Run {
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

/// The runs that the tool saw.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) runs: Mutex<Vec<Run>>,
    /// The number of started runs.
    pub(crate) begun: watch::Sender<usize>,
}

struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Log {
    async fn work(&self, work: Work, idempotency_key: Option<String>) -> Result<Value, ToolError> {
        let gone = Arc::new(AtomicBool::new(false));
        let _gone = Gone(gone.clone());
        let run = {
            let mut runs = self.runs.lock().unwrap();
            let (key, doing) = (work.key, work.doing);
            runs.push(Run {
                work: work.clone(),
                idempotency_key,
                gone,
            });
            let same = |run: &&Run| run.work.key == key && run.work.doing == doing;
            runs.iter().filter(same).count()
        };
        self.begun.send_modify(|begun| *begun += 1);
        let fails = match work.doing {
            Doing::Ok => false,
            Doing::Fail => true,
            Doing::FailTwice => run < 3,
            Doing::Hang => std::future::pending().await,
            Doing::HangOnce if run == 1 => std::future::pending().await,
            Doing::HangOnce => false,
        };
        if fails {
            return Err(ToolError::ExecutionFailed("as asked".to_owned()));
        }
        Ok(json!({ "key": work.key }))
    }
}

fn read(args: Value) -> Result<Work, ToolError> {
    serde_json::from_value(args).map_err(|error| ToolError::InvalidArgs(error.to_string()))
}

struct Custom(Arc<Log>);

#[async_trait]
impl ToolFunction for Custom {
    fn name(&self) -> &str {
        NAME
    }
    fn description(&self) -> &str {
        DESCRIPTION
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it needs its context".to_owned()))
    }
    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let key = context.idempotency_key();
        self.0.work(read(args)?, Some(key)).await
    }
}

struct Streaming(Arc<Log>);

#[async_trait]
impl StreamingTool for Streaming {
    fn name(&self) -> &str {
        NAME
    }
    fn description(&self) -> &str {
        DESCRIPTION
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, _: mpsc::Sender<Value>) -> Result<(), ToolError> {
        Err(ToolError::Other("it needs its context".to_owned()))
    }
    async fn run_with_context(
        &self,
        args: Value,
        context: ToolContext,
        yield_tx: mpsc::Sender<Value>,
    ) -> Result<(), ToolError> {
        let key = context.idempotency_key();
        let given = self.0.work(read(args)?, Some(key)).await?;
        for value in [given, json!({"more": true})] {
            let sent = yield_tx.send(value).await;
            sent.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        }
        Ok(())
    }
}

/// The tool of a kind.
pub(crate) fn tool(kind: Kind, log: &Arc<Log>) -> Toolset {
    let log = log.clone();
    match kind {
        Kind::Function => T::simple(NAME, DESCRIPTION, move |args| {
            let log = log.clone();
            async move { log.work(read(args)?, None).await }
        }),
        Kind::Typed => T::typed(NAME, DESCRIPTION, move |work: Work| {
            let log = log.clone();
            async move { log.work(work, None).await }
        }),
        Kind::Custom => T::function(Arc::new(Custom(log))),
        Kind::Streaming => T::streaming(Arc::new(Streaming(log))),
        Kind::LongRunning => T::function(Arc::new(LongRunningFunctionTool::new(Arc::new(Custom(
            log,
        ))))),
    }
}

pub(crate) const NAME: &str = "work";
const DESCRIPTION: &str = "Works";
