//! The names and shapes that the code of the seeds relies on. The test is that it compiles.
//!
//! `tests/engine/seeds` holds every block of the two chapters and what each promises. This file
//! names what the blocks import by a glob, each at every path under which a program finds it.

use std::time::Duration;

use recount::prelude as all;
use recount::{adk, engine, session, tool};

/// The policy of the seeds: four fields, and defaults for the rest.
#[test]
fn tool_policy_is_written_as_the_seeds_write_it() {
    let policy = all::ToolPolicy {
        timeout: Some(Duration::from_secs(10)),
        cache: true,
        confirm: true,
        confirm_message: Some("Sure?".to_owned()),
        ..Default::default()
    };
    let gate = all::ToolPolicy::gate("Sure?");
    assert_eq!(policy.confirm_message, gate.confirm_message);
    // One type at three paths.
    let same: session::ToolPolicy = policy;
    let same: tool::ToolPolicy = same;
    assert!(same.confirm && same.cache);
}

#[test]
fn names_of_the_seeds_are_one_type_at_every_path() {
    fn same<T: ?Sized>(_: fn(&T), _: fn(&T)) {}
    macro_rules! at_both {
        ($($module:ident: $($name:ident),+;)+) => {
            $($(same::<all::$name>(|_| (), |_: &$module::$name| ());)+)+
        };
    }
    at_both! {
        engine: Agent, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
            StaticConfirmation, Ticket, ToolConfirmation, Updates;
        session: Actor, Comparison, Condition, FunctionResponseScheduling, InDoubt, RequestId, S,
            SessionId, ToolPolicy;
        tool: FunctionCall, InputEvent, LongRunningFunctionTool, PolicyTool, SimpleTool, State, T,
            ToolContext, ToolDispatcher, ToolError, ToolExecutionMode, Toolset;
    }
    same::<dyn all::ConfirmationProvider>(|_| (), |_: &dyn engine::ConfirmationProvider| ());
    same::<dyn all::ResultFormatter>(|_| (), |_: &dyn tool::ResultFormatter| ());
    same::<dyn all::ToolFunction>(|_| (), |_: &dyn tool::ToolFunction| ());
    same::<dyn all::StreamingTool>(|_| (), |_: &dyn tool::StreamingTool| ());
    same::<dyn all::InputStreamingTool>(|_| (), |_: &dyn tool::InputStreamingTool| ());
}

/// The names that no prelude exports, and the functions of ADK for Go.
#[test]
fn lower_names_of_the_seeds_stand_where_they_stood() {
    let _: fn(&str) -> tool::ToolError = |it| tool::ToolError::InvalidArgs(it.into());
    let _ = tool::DefaultResultFormatter;
    let _: Option<engine::SessionConfig> = None;
    let _: Option<engine::LiveSessionBuilder> = None;
    let _: fn(&all::FunctionCall) -> Result<all::FunctionCall, adk::OriginalCallError> =
        |it| adk::original_call_from(it);
    assert_eq!(adk::REQUEST_CONFIRMATION, "adk_request_confirmation");
    let answer = all::ToolConfirmation::confirmed();
    let said: (Option<String>, bool, Option<all::Value>) =
        (answer.hint, answer.confirmed, answer.payload);
    assert_eq!(said, (None, true, None));
    let mode = all::ToolExecutionMode::Background {
        formatter: None,
        scheduling: Some(all::FunctionResponseScheduling::WhenIdle),
    };
    assert!(matches!(mode, all::ToolExecutionMode::Background { .. }));
}
