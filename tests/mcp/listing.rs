//! The tools that a server lists, and the listings that are rejected.

use recount::mcp::{McpError, McpMistake, McpServer};
use recount::prelude::*;
use recount::session::catalog::contract_hash;
use recount::session::policy::InDoubt;

use crate::server::stdio;

/// A schema that checks one value in 2^64 ways.
fn bomb() -> Value {
    let level = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({"allOf": [next, next]}))
    };
    let mut defs: serde_json::Map<String, Value> = (0..64).map(level).collect();
    defs.insert("d64".to_owned(), json!({}));
    json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
}

fn names(tools: &Toolset) -> Vec<&str> {
    tools.tools().iter().map(PolicyTool::name).collect()
}

#[tokio::test]
async fn tools_are_listed_with_their_schemas_under_a_prefix() {
    let tools = T::mcp(stdio(&json!({})).prefix("far_")).await.unwrap();
    assert_eq!(names(&tools)[..3], ["far_echo", "far_read", "far_env"]);
    let declared = tools.tools()[2].declaration();
    assert_eq!(declared.parameters.unwrap()["required"], json!(["name"]));
    assert_eq!(tools.tools()[0].declaration().description, "Gives back");
}

#[tokio::test]
async fn all_that_is_wrong_with_tools_is_said_at_once() {
    let object = json!({"type": "object"});
    let config = json!({"tools": [
        {"name": "a b", "inputSchema": object},
        {"name": "twice", "inputSchema": object},
        {"name": "twice", "inputSchema": object},
        {"name": "no_object", "inputSchema": {"type": "string"}},
        {"name": "no_schema", "inputSchema": {"type": "object",
            "properties": {"a": {"type": "text"}}}},
        {"name": "bomb", "inputSchema": bomb()},
        {"name": "elsewhere", "inputSchema": {"$ref": "https://example.com/schema.json"}},
    ]});
    let Err(McpError::Tools { server, mistakes }) = T::mcp(stdio(&config).strict()).await else {
        panic!("the tools were taken");
    };
    assert_eq!(server, "test");
    let tools: Vec<String> = mistakes
        .iter()
        .map(|it| match it {
            McpMistake::Name { tool } => format!("name {tool}"),
            McpMistake::Twice { tool } => format!("twice {tool}"),
            McpMistake::Schema { tool, reason } => {
                assert!(!reason.is_empty());
                format!("schema {tool}")
            }
            McpMistake::Field { tool, field, .. } => format!("field {tool} {field}"),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        tools,
        [
            "twice twice",
            "name a b",
            "schema no_object",
            "field no_schema inputSchema/properties/a/type",
            "schema bomb",
            "schema elsewhere"
        ]
    );
    let told = McpError::Tools { server, mistakes }.to_string();
    assert!(
        told.contains("\"test\"") && told.contains("\"no_object\""),
        "{told}"
    );
}

#[tokio::test]
async fn a_list_without_an_end_is_refused() {
    let told = T::mcp(stdio(&json!({"endless": true}))).await.unwrap_err();
    let told = told.to_string();
    assert!(
        told.contains("it does not list its tools: ") && told.contains("100 pages"),
        "{told}"
    );
}

#[tokio::test]
async fn decoration_of_a_tool_is_no_part_of_the_contract() {
    let contract = async |icon: &str| {
        let echo = json!({"name": "echo", "inputSchema": {"type": "object"},
            "icons": [{"src": icon}],
            "_meta": {"shown": icon}});
        let tools = T::mcp(stdio(&json!({"tools": [echo]}))).await.unwrap();
        {
            let tool = &tools.tools()[0];
            contract_hash(&tool.declaration(), tool.policy())
        }
    };
    let bright = contract("https://a.example/bright.png").await;
    assert_eq!(contract("https://a.example/dark.png").await, bright);
}

#[tokio::test]
async fn names_that_meet_are_refused_and_a_prefix_tells_them_apart() {
    let one = T::mcp(stdio(&json!({}))).await.unwrap();
    let other = T::mcp(stdio(&json!({})).prefix("b_")).await.unwrap();
    let own = T::simple("echo", "Ours", |_| async { Ok(Value::Null) });
    let mut tools = ToolDispatcher::new();
    tools.register(one.clone() | other).unwrap();
    let told = tools.register(own).unwrap_err().to_string();
    assert_eq!(
        told,
        "tool \"echo\" is registered twice, by the MCP server \"test\" and by something else; a \
        prefix tells them apart: \
         McpServer::prefix, or --mcp-prefix"
    );
}

#[tokio::test]
async fn policies_apply_by_name_and_pattern_and_must_match_something() {
    let server = stdio(&json!({}))
        .prefix("t_")
        .policy("t_e*", ToolPolicy::gate("Really?"))
        .policy(
            "t_fail",
            ToolPolicy {
                in_doubt: InDoubt::Ask,
                ..ToolPolicy::default()
            },
        );
    let tools = T::mcp(server).await.unwrap();
    let gated = tools.tools().iter().filter(|it| it.requires_confirmation());
    let gated: Vec<&str> = gated.map(PolicyTool::name).collect();
    assert_eq!(gated, ["t_echo", "t_env"]);
    let fail = tools.tools().iter().find(|it| it.name() == "t_fail");
    assert_eq!(fail.unwrap().policy().in_doubt, InDoubt::Ask);

    let server = stdio(&json!({})).policy("write_*", ToolPolicy::gate("Write?"));
    let told = T::mcp(server).await.unwrap_err().to_string();
    assert!(
        told.starts_with(
            "MCP server \"test\": the policy for \"write_*\" fits no tool; there are echo, read,"
        ),
        "{told}"
    );
}

#[tokio::test]
async fn a_hint_of_the_server_changes_a_rule_only_where_it_is_trusted() {
    let rules = |tools: Toolset| {
        let rules = tools.tools().iter().map(|it| it.policy().in_doubt);
        rules.take(2).collect::<Vec<_>>()
    };
    let plain = T::mcp(stdio(&json!({}))).await.unwrap();
    assert_eq!(rules(plain), [InDoubt::SettleUnknown; 2]);
    let trusted = T::mcp(stdio(&json!({})).trusting_hints()).await.unwrap();
    assert_eq!(rules(trusted), [InDoubt::SettleUnknown, InDoubt::Retry]);
    // A policy that names a more careful rule takes precedence over the server.
    let asks = ToolPolicy {
        in_doubt: InDoubt::Ask,
        ..ToolPolicy::default()
    };
    let server = stdio(&json!({})).trusting_hints().policy("read", asks);
    let careful = T::mcp(server).await.unwrap();
    assert_eq!(rules(careful), [InDoubt::SettleUnknown, InDoubt::Ask]);
}

#[tokio::test]
async fn the_whole_definition_is_part_of_the_contract() {
    let contract = async |config: Value| {
        let tools = T::mcp(stdio(&config)).await.unwrap();
        let tool = &tools.tools()[0];
        contract_hash(&tool.declaration(), tool.policy())
    };
    let before = contract(json!({})).await;
    assert_eq!(contract(json!({})).await, before);
    let reworded = contract(json!({"description": "Gives back, and keeps a copy"})).await;
    assert_ne!(reworded, before);
}

#[tokio::test]
async fn missing_server_is_reported_with_its_stderr_and_no_secret() {
    let told = T::mcp("no-such-program --flag").await.unwrap_err();
    assert!(
        told.to_string().starts_with(
            "cannot connect to the MCP server \"no-such-program\": cannot \
            start \"no-such-program\": "
        ),
        "{told}"
    );
    let server = stdio(&json!({"hangs_up": true})).env("LICENCE", "the licence");
    let told = T::mcp(server).await.unwrap_err().to_string();
    assert!(
        told.starts_with("cannot connect to the MCP server \"test\": ")
            && told.contains("[hidden] has expired"),
        "{told}"
    );
    for (server, problem) in [
        (McpServer::from("'"), "expected a command line or a URL"),
        (McpServer::http("ftp://host/"), "expected a URL such as"),
        (
            McpServer::http("https://host/").header("a b", "c"),
            "expected the name of a header, found \"a b\"",
        ),
        (
            McpServer::http("https://host/").header("x", "geheim\n"),
            "the value of the header \"x\" has letters",
        ),
    ] {
        let Err(McpError::Address { problem: told, .. }) = T::mcp(server).await else {
            panic!("{problem}");
        };
        assert!(told.contains(problem) && !told.contains("geheim"), "{told}");
    }
}
