use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::session::policy::ToolPolicy;
use crate::tool::{SimpleTool, T};

fn tool(name: &str) -> Toolset {
    T::simple(name, "Does it", |_| async { Ok(json!({})) })
}

fn mistakes(tools: Toolset) -> Vec<String> {
    let error = ToolDispatcher::new().register(tools).unwrap_err();
    error.mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_name_is_registered_once() {
    assert_eq!(
        mistakes(tool("a") | tool("a")),
        ["tool \"a\" is registered twice"]
    );
    let mut tools = ToolDispatcher::new();
    tools.register(tool("a")).unwrap();
    let function: Arc<dyn ToolFunction> =
        Arc::new(SimpleTool::new("a", "other", None, |_| async {
            Ok(json!(1))
        }));
    let error = tools.register_function(function).unwrap_err();
    assert_eq!(
        error.mistakes,
        [ToolMistake::Duplicate {
            tool: "a".to_owned()
        }]
    );
    assert_eq!(
        tools
            .catalog()
            .get("a")
            .map(|declared| declared.description.as_str()),
        Some("Does it")
    );
}

#[test]
fn all_mistakes_are_reported_at_once_and_nothing_is_registered() {
    let schema = |schema| T::simple_with("b", "", schema, |_| async { Ok(json!({})) });
    let set = tool("fine")
        | tool("not fine")
        | schema(json!({"type": "nothing"}))
        | T::timeout(tool("c"), Duration::ZERO);
    let mut tools = ToolDispatcher::new();
    let error = tools.register(set).unwrap_err();
    let text = error.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, start) in lines.iter().zip([
        "tool \"not fine\": expected a name",
        "tool \"b\": invalid parameter schema: ",
        "tool \"c\": expected a timeout",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
    assert!(tools.is_empty());
}

#[test]
fn a_name_is_what_the_service_takes() {
    for good in ["a", "A_b:c.d-9", "x".repeat(64).as_str()] {
        assert!(ToolDispatcher::new().register(tool(good)).is_ok(), "{good}");
    }
    for bad in ["", "a b", "ä", "a/b", "x".repeat(65).as_str()] {
        assert_eq!(mistakes(tool(bad)).len(), 1, "{bad}");
    }
}

#[test]
fn catalog_and_policies_do_not_depend_on_the_order_of_registration() {
    let forward = {
        let mut tools = ToolDispatcher::new();
        tools
            .register(tool("a") | T::confirm(tool("b"), "sure?"))
            .unwrap();
        tools
    };
    let backward = {
        let mut tools = ToolDispatcher::new();
        tools.register(T::confirm(tool("b"), "sure?")).unwrap();
        tools.register(tool("a")).unwrap();
        tools
    };
    assert_eq!(forward.catalog().hash(), backward.catalog().hash());
    assert_eq!(forward.policies().hash(), backward.policies().hash());
    assert_eq!(forward.names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(forward.policies().of("b"), &ToolPolicy::gate("sure?"));
    assert_eq!(forward.policies().tools.len(), 1);
}

#[test]
fn arguments_are_checked_by_the_schema_of_their_own_tool() {
    let mut tools = ToolDispatcher::new();
    let schema = json!({"type": "object", "required": ["x"]});
    tools
        .register(tool("any") | T::simple_with("strict", "", schema, |_| async { Ok(json!({})) }))
        .unwrap();
    assert_eq!(tools.check_arguments("any", &json!({})), Ok(()));
    assert_eq!(tools.check_arguments("strict", &json!({"x": 1})), Ok(()));
    assert_eq!(
        tools.check_arguments("strict", &json!({})),
        Err("missing properties 'x'".to_owned())
    );
    assert_eq!(
        tools.check_arguments("nope", &json!({})),
        Err("no tool is named \"nope\"".to_owned())
    );
}
