//! Definitions and results that break the protocol. Each costs no more than itself.

use recount::mcp::{McpError, McpMistake, McpServer};
use recount::prelude::*;
use recount::session::catalog::contract_hash;

use crate::server::stdio;

const EMAIL: &str = concat!(
    r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]",
    r"@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
);

fn raw(tools: Value, answers: Value) -> McpServer {
    stdio(&json!({"raw": {"tools": tools, "answers": answers}}))
}

fn odd() -> Value {
    let of = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
    json!([
        {"name": "good", "inputSchema": of(json!({"type": "integer"}))},
        {"name": "email", "inputSchema": of(json!({"type": "string", "pattern": EMAIL}))},
        {"name": "int", "inputSchema": of(json!({"type": "int"}))},
        {"name": "nulls", "inputSchema": {"type": "object", "properties": null}},
        {"name": "list", "inputSchema": of(json!({"type": "array",
            "items": [{"type": "string"}]}))},
        {"name": "anchor", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#x"}},
            "$defs": {"x": {"$anchor": "x", "type": "integer"}}}},
        {"name": "a name", "inputSchema": of(json!({}))},
        {"name": "y".repeat(65), "inputSchema": of(json!({}))},
        {"name": "123-tool", "inputSchema": of(json!({}))},
        {"name": "bare"},
        {"name": "hint", "inputSchema": of(json!({})), "annotations": {"readOnlyHint": "yes"}},
        {"name": "broken", "inputSchema": of(json!({"type": "string", "pattern": "("}))},
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "good", "inputSchema": {"type": "object"}},
    ])
}

#[tokio::test]
async fn odd_definition_costs_no_other_tool() {
    let tools = T::mcp(raw(odd(), json!({}))).await.unwrap();
    let names: Vec<&str> = tools.tools().iter().map(PolicyTool::name).collect();
    let long = names.iter().find(|it| it.starts_with("yyy")).unwrap();
    assert_eq!(long.len(), 64);
    let expected = [
        "good",
        "email",
        "int",
        "nulls",
        "list",
        "anchor",
        "a_name",
        long,
        "_123-tool",
        "bare",
        "hint",
        "broken",
    ];
    assert_eq!(names, expected);
    let loosened = |name: &str| {
        let tool = tools.tools().iter().find(|it| it.name() == name).unwrap();
        tool.declaration().definition.unwrap()["loosened"].clone()
    };
    // A pattern that is no regular expression is recorded as not checked.
    assert!(
        loosened("broken")[0]
            .as_str()
            .unwrap()
            .starts_with("/properties/a/pattern: not checked")
    );
    assert_eq!(
        (loosened("good"), loosened("email")),
        (Value::Null, Value::Null)
    );
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    for (tool, right, wrong) in [
        (
            "email",
            json!("ada@example.com"),
            json!("ada..b@example.com"),
        ),
        ("int", json!(1), json!("1")),
        ("list", json!(["x"]), json!([1])),
        ("anchor", json!(1), json!("1")),
    ] {
        let check = |a: Value| dispatcher.check_arguments(tool, &json!({"a": a}));
        assert_eq!(check(right), Ok(()), "{tool}");
        assert!(check(wrong).is_err(), "{tool}");
    }
    let called = dispatcher.call_function("a_name", json!({"a": 1})).await;
    assert_eq!(called.unwrap()["structuredContent"]["name"], "a name");
}

#[tokio::test]
async fn strict_server_has_each_mistake_named() {
    let Err(McpError::Tools { mistakes, .. }) = T::mcp(raw(odd(), json!({})).strict()).await else {
        panic!("the tools were taken");
    };
    let told: Vec<String> = mistakes.iter().map(McpMistake::to_string).collect();
    for expected in [
        "tool \"int\": inputSchema/properties/a/type: \"int\", read as \"integer\"",
        "tool \"nulls\": inputSchema/properties: ",
        "tool \"list\": inputSchema/properties/a/items: ",
        "tool \"a name\": name: expected 1 to 64 letters",
        "tool \"bare\": inputSchema: missing",
        "tool \"hint\": annotations/readOnlyHint: ",
        "tool \"broken\": inputSchema/properties/a/pattern: not checked",
        "tool \"text\": invalid schema",
        "tool \"number 14\": name: ",
        "tool \"good\" is listed twice",
    ] {
        assert!(
            told.iter().any(|it| it.starts_with(expected)),
            "{expected}: {told:#?}"
        );
    }
}

#[tokio::test]
async fn tools_are_chosen_and_renamed_by_name() {
    let server = raw(odd(), json!({}))
        .prefix("t_")
        .include(["t_g*", "t_e*", "t_a name"])
        .exclude(["t_email"])
        .alias("t_a name", "named");
    let tools = T::mcp(server).await.unwrap();
    let names: Vec<&str> = tools.tools().iter().map(PolicyTool::name).collect();
    assert_eq!(names, ["t_good", "named"]);
}

#[tokio::test]
async fn server_without_a_usable_tool_is_refused() {
    let none = json!([{"name": "text", "inputSchema": {"type": "string"}}]);
    let told = T::mcp(raw(none, json!({}))).await.unwrap_err().to_string();
    assert!(told.contains("\"text\""), "{told}");
}

#[tokio::test]
async fn other_command_of_a_server_is_another_contract() {
    let contract = async |server: McpServer| {
        let tools = T::mcp(server).await.unwrap();
        let tool = &tools.tools()[0];
        contract_hash(&tool.declaration(), tool.policy())
    };
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let config = json!({"raw": {"tools": odd(), "answers": {}}});
    let with = |more: &str| {
        let args = ["--exact", "the_server", "--nocapture", more];
        let server = McpServer::stdio(program, args.into_iter().filter(|it| !it.is_empty()));
        server
            .named("test")
            .env(crate::server::CONFIG, config.to_string())
    };
    let before = contract(with("")).await;
    assert_eq!(contract(with("")).await, before);
    assert_ne!(contract(with("--quiet")).await, before);
}

#[tokio::test]
async fn payload_reaches_a_tool_that_declares_it_and_no_other() {
    let tools = json!([
        {"name": "knows", "inputSchema": {"type": "object"},
            "_meta": {"recount/confirmation": true}},
        {"name": "not", "inputSchema": {"type": "object"}},
    ]);
    let asks = |name: &str| {
        let mut policy = ToolPolicy::gate("Really?");
        policy.gate_terms.payload = Some(json!({"type": "object"}));
        raw(tools.clone(), json!({})).policy(name, policy)
    };
    let mut dispatcher = ToolDispatcher::new().with_confirmation_provider(std::sync::Arc::new(
        |_: ConfirmationRequest| async {
            ToolConfirmation::confirmed().with_payload(json!({"from": "Monday"}))
        },
    ));
    dispatcher
        .register(T::mcp(asks("knows")).await.unwrap())
        .unwrap();
    let called = dispatcher.call_function("knows", json!({})).await.unwrap();
    assert_eq!(
        called["structuredContent"]["_meta"]["recount/confirmation"],
        json!({"confirmed": true, "payload": {"from": "Monday"}})
    );
    let mut other = ToolDispatcher::new();
    let told = other.register(T::mcp(asks("not")).await.unwrap());
    let told = told.unwrap_err().to_string();
    assert!(told.contains("confirm_payload"), "{told}");
}

#[tokio::test]
async fn result_in_newer_words_is_a_result() {
    let answers = json!({
        "newer": {"content": [{"type": "hologram", "data": "x"}, {"type": "text", "text": "a"}]},
        "null": {"content": null},
        "both": {"content": null, "structuredContent": {"a": 1}},
        "fails": {"content": [{"type": "hologram"}, {"type": "text", "text": "no paper"}],
            "isError": true},
        "odd": "done",
    });
    let names = ["newer", "null", "both", "fails", "odd"];
    let tools = names.map(|it| json!({"name": it, "inputSchema": {"type": "object"}}));
    let tools = T::mcp(raw(json!(tools), answers)).await.unwrap();
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    let call = async |name: &str| dispatcher.call_function(name, json!({})).await;
    assert_eq!(
        call("newer").await,
        Ok(json!({"content": [{"type": "hologram", "data": "x"}, {"type": "text", "text": "a"}]}))
    );
    assert_eq!(call("null").await, Ok(json!({"content": []})));
    assert_eq!(
        call("both").await,
        Ok(json!({"structuredContent": {"a": 1}}))
    );
    assert_eq!(
        call("fails").await,
        Err(ToolError::ExecutionFailed("no paper".into()))
    );
    let odd = call("odd").await.unwrap_err();
    assert_eq!(odd.kind(), "unknown_outcome", "{odd}");
}
