//! One tool of a server.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::policy::InDoubt;
use recount_session::{Json, ToolPolicy};
use recount_tool::{
    Pending, PolicyTool, Ticket, ToolContext, ToolError, ToolFunction, ToolOutcome, Toolset,
};
use serde_json::Value;

use super::remote::{Answer, Remote};
use super::task;
use crate::definitions::definition::{Definition, declared};
use crate::settings::error::{McpError, McpMistake};
use crate::settings::pattern;

/// One tool of a server.
struct McpTool {
    remote: Arc<Remote>,
    definition: Definition,
}

/// Returns the tools of a server, with the policies from its settings.
pub(crate) fn toolset(
    remote: &Arc<Remote>,
    definitions: Vec<Definition>,
) -> Result<Toolset, McpError> {
    let server = &remote.server;
    let names: Vec<&str> = definitions.iter().map(|it| it.name.as_str()).collect();
    let unfit = |pattern: &&String| !names.iter().any(|name| pattern::fits(pattern, name));
    let patterns = server.policies.iter().map(|(pattern, _)| pattern);
    let mistakes: Vec<McpMistake> = patterns
        .filter(unfit)
        .map(|pattern| McpMistake::Pattern {
            pattern: pattern.clone(),
            tools: names.join(", "),
        })
        .collect();
    if !mistakes.is_empty() {
        return Err(McpError::Tools {
            server: remote.name.clone(),
            mistakes,
        });
    }
    Ok(tools_of(remote, definitions))
}

/// Returns these tools, whether or not each policy of the settings fits one of them.
pub(super) fn tools_of(remote: &Arc<Remote>, definitions: Vec<Definition>) -> Toolset {
    let tools = definitions.into_iter().map(|it| tool(remote, it));
    tools.fold(Toolset::new(), |all, tool| all | tool)
}

fn tool(remote: &Arc<Remote>, definition: Definition) -> PolicyTool {
    let server = &remote.server;
    let whole = declared(&remote.name, &definition);
    let (name, repeatable) = (definition.name.clone(), definition.repeatable);
    let function = McpTool {
        remote: remote.clone(),
        definition,
    };
    let policy = ToolPolicy {
        timeout: server.timeout,
        ..ToolPolicy::default()
    };
    let mut tool = PolicyTool::new(Arc::new(function), policy).with_definition(whole);
    if server.trusts_hints && repeatable {
        tool = tool.with_in_doubt(InDoubt::Retry);
    }
    for (pattern, policy) in &server.policies {
        if !pattern::fits(pattern, &name) {
            continue;
        }
        tool = tool.with_policy(policy.clone());
        if policy.in_doubt != InDoubt::default() {
            tool = tool.with_in_doubt(policy.in_doubt);
        }
    }
    tool
}

impl McpTool {
    /// Calls the tool and waits for the result, even if the server creates a task.
    async fn result(&self, args: Value, context: Option<&ToolContext>) -> Result<Json, ToolError> {
        match self.remote.call(&self.definition, args, context).await? {
            Answer::Result(result) => Ok(result),
            Answer::Task(task) => self.remote.outcome_of(&task.task_id).await,
        }
    }
}

#[async_trait]
impl ToolFunction for McpTool {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn description(&self) -> &str {
        &self.definition.description
    }

    fn parameters(&self) -> Option<Value> {
        Some(self.definition.parameters.clone())
    }

    fn implementation(&self) -> Option<Value> {
        self.remote.server.implementation()
    }

    fn takes_confirmation(&self) -> bool {
        self.definition.takes_confirmation
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        self.result(args, None).await.map(|it| it.to_value())
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let result = self.result(args, Some(&context)).await;
        result.map(|it| it.to_value())
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        if context.ticket().is_none() {
            let result = self.result(args, Some(&context)).await;
            return result.map_or_else(ToolOutcome::Failed, ToolOutcome::Text);
        }
        match self
            .remote
            .call(&self.definition, args, Some(&context))
            .await
        {
            Ok(Answer::Result(result)) => ToolOutcome::Text(result),
            Ok(Answer::Task(task)) => {
                let state = task::state(&task);
                // Removing a secret from the id would make it useless for following the task.
                if self.remote.redacted_value(state.clone()) != state {
                    let what = "the server took the call on as a task whose id holds a secret, so it cannot be followed";
                    return ToolOutcome::Failed(ToolError::UnknownOutcome(what.to_owned()));
                }
                let interim = self.remote.redacted_value(task::interim(&task));
                Pending::with_interim(interim).with_state(state).into()
            }
            Err(error) => ToolOutcome::Failed(error),
        }
    }

    fn follows(&self) -> bool {
        true
    }

    async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        let followed = self.follow_text(ticket, state).await;
        followed.map(|result| result.map(|it| it.to_value()))
    }

    async fn follow_text(&self, _ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        // A call paused because its tool was declared long-running has no task.
        let id = task::id_in(&state)?;
        Some(self.remote.outcome_of(id).await)
    }

    async fn call_off(&self, _ticket: &Ticket, state: Value) {
        if let Some(id) = task::id_in(&state) {
            self.remote.cancel(id).await;
        }
    }

    async fn shut_down(&self) {
        self.remote.close().await;
    }
}
