//! The blocks about background execution.

use std::sync::Arc;

use recount::engine::LiveSessionBuilder;
use recount::prelude::*;
use recount::tool::{DefaultResultFormatter, FunctionCall, ResultFormatter};

use super::stage::{Stage, answers, config, dispatcher, play};

fn found(name: &str) -> Toolset {
    T::simple(name, "Finds", |_| async { Ok(json!({"found": 3})) })
}

fn when(scheduling: &str) -> Option<String> {
    Some(scheduling.to_owned())
}

/// The responses to a background call in the default texts.
fn told(name: &str, scheduling: &str) -> Vec<(Value, Option<String>)> {
    vec![
        (
            json!({"status": "running", "tool": name}),
            when(scheduling).filter(|it| it == "SILENT"),
        ),
        (
            json!({"status": "completed", "tool": name, "result": {"found": 3}}),
            when(scheduling),
        ),
    ]
}

#[test]
fn an_execution_mode_is_standard_or_background() {
    let mode = ToolExecutionMode::Background {
        formatter: Some(Arc::new(DefaultResultFormatter)),
        scheduling: Some(FunctionResponseScheduling::Interrupt),
    };
    match mode {
        ToolExecutionMode::Standard => unreachable!(),
        ToolExecutionMode::Background {
            formatter,
            scheduling,
        } => {
            let _: Option<Arc<dyn ResultFormatter>> = formatter;
            assert_eq!(scheduling, Some(FunctionResponseScheduling::Interrupt));
        }
    }
    assert!(matches!(
        ToolExecutionMode::default(),
        ToolExecutionMode::Standard
    ));
}

#[tokio::test]
async fn background_call_is_acknowledged_and_result_scheduled() {
    let dispatcher = dispatcher(found("search_kb") | found("log_event"));

    let builder = Live::builder()
        .tools(dispatcher)
        .tool_background("search_kb") // WhenIdle scheduling by default
        .tool_background_with_scheduling(
            "log_event",
            FunctionResponseScheduling::Silent, // quiet integration
        );

    let calls = ["search_kb", "log_event"].map(|name| (name, json!({})));
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(stage.answers("c1"), told("search_kb", "WHEN_IDLE"));
    assert_eq!(stage.answers("c2"), told("log_event", "SILENT"));
}

#[tokio::test]
async fn the_lower_builder_sets_the_mode_by_name() -> Result<(), recount::engine::Error> {
    let dispatcher = dispatcher(found("search_kb"));
    let (config, model) = config(&[("search_kb", json!({}))]);

    let live = LiveSessionBuilder::new(config)
        .dispatcher(dispatcher)
        .tool_execution_mode(
            "search_kb",
            ToolExecutionMode::Background {
                formatter: None,
                scheduling: Some(FunctionResponseScheduling::WhenIdle),
            },
        )
        .connect()
        .await?;

    play(&live).await;
    assert_eq!(answers(&model, "c1"), told("search_kb", "WHEN_IDLE"));
    Ok(())
}

#[tokio::test]
async fn a_mode_for_a_tool_that_is_not_there_is_an_error() {
    let (config, _) = config(&[]);
    let refused = LiveSessionBuilder::new(config)
        .dispatcher(dispatcher(found("search_kb")))
        .tool_execution_mode(
            "serach_kb",
            ToolExecutionMode::Background {
                formatter: None,
                scheduling: None,
            },
        )
        .connect()
        .await;
    let told = refused.map(drop).unwrap_err().to_string();
    assert!(
        told.contains("serach_kb") && told.contains("search_kb"),
        "{told}"
    );
}

struct VoiceFriendlyFormatter;

impl ResultFormatter for VoiceFriendlyFormatter {
    fn format_running(&self, call: &FunctionCall) -> Value {
        json!({ "status": "searching", "for": call.args["query"] })
    }

    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
        match result {
            Ok(v) => json!({ "status": "found",  "tool": call.name, "data": v }),
            Err(e) => json!({ "status": "failed", "tool": call.name, "error": e.to_string() }),
        }
    }

    fn format_cancelled(&self, call_id: &str) -> Value {
        json!({ "status": "cancelled", "id": call_id })
    }
}

#[tokio::test]
async fn a_formatter_words_the_acknowledgement_and_the_result() {
    let search = T::simple("search_kb", "Searches", |args: Value| async move {
        match args["query"].as_str() {
            Some(_) => Ok(json!([7])),
            None => Err(ToolError::ExecutionFailed("no query".into())),
        }
    });

    // Register with custom formatter:
    let builder = Live::builder()
        .with_tools(search)
        .tool_background_with_formatter("search_kb", Arc::new(VoiceFriendlyFormatter));

    let calls = [
        ("search_kb", json!({"query": "refunds"})),
        ("search_kb", json!({})),
    ];
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    let expected = [
        (json!({"status": "searching", "for": "refunds"}), None),
        (
            json!({"status": "found", "tool": "search_kb", "data": [7]}),
            when("WHEN_IDLE"),
        ),
    ];
    assert_eq!(stage.answers("c1"), expected);
    let failed = json!({"status": "failed", "tool": "search_kb", "error": "no query"});
    assert_eq!(stage.answers("c2")[1].0, failed);
}

struct VerboseFormatter;

impl ResultFormatter for VerboseFormatter {
    fn format_running(&self, call: &FunctionCall) -> Value {
        json!({ "status": "searching", "query": call.args["query"] })
    }

    fn format_result(&self, call: &FunctionCall, result: Result<Value, ToolError>) -> Value {
        match result {
            Ok(val) => json!({ "status": "done", "tool": call.name, "result": val }),
            Err(e) => json!({ "status": "error", "tool": call.name, "error": e.to_string() }),
        }
    }

    fn format_cancelled(&self, call_id: &str) -> Value {
        json!({ "status": "cancelled", "call_id": call_id })
    }
}

#[tokio::test]
async fn a_background_tool_may_have_a_formatter_and_another_none() {
    use VerboseFormatter as MyFormatter;
    let dispatcher = dispatcher(found("search_knowledge_base") | found("analyze_doc"));

    let builder = Live::builder()
        .tools(dispatcher)
        .tool_background("search_knowledge_base")
        .tool_background_with_formatter("analyze_doc", Arc::new(MyFormatter));

    let calls = ["search_knowledge_base", "analyze_doc"].map(|name| (name, json!({})));
    let stage = Stage::set(builder, &calls).await;
    stage.play().await;
    assert_eq!(
        stage.answers("c1"),
        told("search_knowledge_base", "WHEN_IDLE")
    );
    assert_eq!(stage.answers("c2")[1].0["status"], "done");
}

#[tokio::test]
async fn the_lower_builder_runs_a_tool_in_the_background() -> Result<(), recount::engine::Error> {
    let dispatcher = dispatcher(found("search_knowledge_base"));
    let (config, model) = config(&[("search_knowledge_base", json!({}))]);

    let live = LiveSessionBuilder::new(config)
        .dispatcher(dispatcher)
        .tool_execution_mode(
            "search_knowledge_base",
            ToolExecutionMode::Background {
                formatter: None,
                scheduling: Some(FunctionResponseScheduling::WhenIdle),
            },
        )
        .connect()
        .await?;

    play(&live).await;
    let expected = told("search_knowledge_base", "WHEN_IDLE");
    assert_eq!(answers(&model, "c1"), expected);
    Ok(())
}

#[test]
fn the_default_words_are_these() {
    let call = FunctionCall {
        id: Some("fc_123".to_owned()),
        name: "search_kb".to_owned(),
        args: json!({}),
    };
    let words = DefaultResultFormatter;
    assert_eq!(
        words.format_running(&call),
        json!({ "status": "running",   "tool": "search_kb" })
    );
    assert_eq!(
        words.format_result(&call, Ok(json!({"found": 3}))),
        json!({ "status": "completed", "tool": "search_kb", "result": { "found": 3 } })
    );
    assert_eq!(
        words.format_result(&call, Err(ToolError::ExecutionFailed("away".into()))),
        json!({ "status": "error",     "tool": "search_kb", "error": "away" })
    );
    assert_eq!(
        words.format_cancelled("fc_123"),
        json!({ "status": "cancelled", "call_id": "fc_123" })
    );
}
