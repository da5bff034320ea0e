use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::approval::confirmation::StaticConfirmation;
use crate::kinds::simple::SimpleTool;
use crate::tools::t::T;
use recount_session::policy::ToolPolicy;
use recount_session::{InDoubt, S};

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
        "tool \"c\": timeout: expected at least 1 ms",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
    assert!(tools.is_empty());
}

#[test]
fn only_names_valid_for_the_service_are_accepted() {
    for good in ["a", "_9", "A_b:c.d-9", "x".repeat(64).as_str()] {
        assert!(ToolDispatcher::new().register(tool(good)).is_ok(), "{good}");
    }
    for bad in [
        "",
        "a b",
        "ä",
        "a/b",
        "123-tool",
        "-a",
        ".a",
        ":a",
        "x".repeat(65).as_str(),
    ] {
        assert_eq!(mistakes(tool(bad)).len(), 1, "{bad}");
    }
}

#[test]
fn registration_order_does_not_change_the_catalog() {
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

#[test]
fn impossible_policies_are_all_reported_at_once() {
    let zero = Duration::ZERO;
    let set = T::cached_for(tool("age"), zero)
        | T::confirm_within(tool("expiry"), "", zero)
        | T::acknowledge_after(tool("silence"), zero)
        | T::idempotent(T::retry(tool("once"), 1, zero))
        | T::limit_per_minute(T::limit_per_session(tool("never"), 0), 0)
        | T::max_open_requests(T::confirm(tool("unasked"), ""), 0)
        | T::in_phases(tool("nowhere"), Vec::<String>::new())
        | T::in_phases(T::in_phases(tool("disjoint"), ["a"]), ["b"])
        | T::when(
            tool("passing"),
            S::or([S::exists("temp:a"), S::is_true("b"), S::equals("", 1)]),
        )
        | T::secret(tool("secret"), "card")
        | T::category(T::category(tool("listed"), "action"), "context");
    assert_eq!(
        mistakes(set),
        [
            "tool \"age\": cached_for: expected at least 1 ms, found 0",
            "tool \"expiry\": confirm_within: expected at least 1 ms, found 0",
            "tool \"silence\": acknowledge_after: expected at least 1 ms, found 0",
            "tool \"once\": retry: expected at least 2 attempts, the first one counted, found 1",
            "tool \"never\": limit_per_session: expected at least 1, found 0",
            "tool \"never\": limit_per_minute: expected at least 1, found 0",
            "tool \"unasked\": max_open_requests: expected at least 1, found 0",
            "tool \"nowhere\": in_phases: expected at least one phase, found none, or lists that \
             have none in common",
            "tool \"disjoint\": in_phases: expected at least one phase, found none, or lists that \
             have none in common",
            "tool \"passing\": when: expected keys that stand on record, found a key of the state \
             must not be empty; \"temp:a\" is temporary: it is not on record, so nothing on record \
             may read or write it",
            "tool \"secret\": secret: expected a JSON Pointer such as \"/card/number\", found \
             \"card\"",
            "tool \"listed\": category: expected one, found \"action\" and \"context\"",
        ]
    );
}

#[test]
fn setting_of_a_missing_policy_is_a_mistake() {
    let mut policy = ToolPolicy {
        cache_max_age: Some(Duration::from_secs(1)),
        confirm_message: Some("sure?".to_owned()),
        ..ToolPolicy::default()
    };
    policy.gate_terms.expires_after = Some(Duration::from_secs(1));
    policy.gate_terms.max_open_requests = Some(1);
    let loose = || T::policy(tool("a"), policy.clone());
    assert_eq!(
        mistakes(loose()),
        [
            "tool \"a\": cached_for makes no sense: the tool is not cached",
            "tool \"a\": confirm_message makes no sense: no person is asked to confirm",
            "tool \"a\": confirm_expires_after makes no sense: no person is asked to confirm",
            "tool \"a\": max_open_requests makes no sense: no person is asked to confirm",
        ]
    );
    let held = T::cached(T::confirm(loose(), ""));
    assert!(ToolDispatcher::new().register(held).is_ok());
}

#[test]
fn acknowledgement_after_a_time_needs_calls_that_wait() {
    let schema = || json!({"type": "object"});
    let ship = || T::client("ship", "Ships", schema());
    let after = |tool| T::acknowledge_after(tool, Duration::from_secs(10));
    assert_eq!(
        mistakes(after(ship())),
        ["tool \"ship\": acknowledge_after makes no sense: no call of the tool waits for a person"]
    );
    for waits in [
        T::confirm(ship(), "Ship?"),
        T::in_doubt(ship(), InDoubt::Ask),
        // Such a tool may pause or ask by itself.
        tool("a"),
    ] {
        assert!(ToolDispatcher::new().register(after(waits)).is_ok());
    }
}

fn of_the_service() -> Toolset {
    T::google_search() | T::code_execution() | T::url_context()
}

#[test]
fn server_side_tool_keeps_its_raw_declaration() {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::category(of_the_service(), "search") | tool("a"))
        .unwrap();
    let declared: Vec<_> = tools
        .declarations()
        .into_iter()
        .map(|it| (it.name, it.server_side))
        .collect();
    let expected = [
        ("a", None),
        ("code_execution", Some(json!({"codeExecution": {}}))),
        ("google_search", Some(json!({"googleSearch": {}}))),
        ("url_context", Some(json!({"urlContext": {}}))),
    ];
    assert_eq!(
        declared,
        expected.map(|(name, declared)| (name.to_owned(), declared))
    );
    let listed: Vec<_> = tools.by_category("search").map(PolicyTool::name).collect();
    assert_eq!(listed, ["code_execution", "google_search", "url_context"]);
    assert_eq!(tools.by_category("other").count(), 0);
}

#[test]
fn the_raw_form_declares_one_thing_and_no_functions() {
    for good in [
        json!({"googleMaps": {"enableWidget": true}}),
        json!({"later": null}),
    ] {
        assert!(
            ToolDispatcher::new()
                .register(T::server_side("raw", good))
                .is_ok()
        );
    }
    for bad in [
        json!({}),
        json!("googleSearch"),
        json!({"a": 1, "b": 2}),
        json!({"functionDeclarations": []}),
        json!({"function_declarations": []}),
    ] {
        let reported = mistakes(T::server_side("raw", bad.clone()));
        assert_eq!(reported.len(), 1, "{bad}");
        assert!(
            reported
                .iter()
                .all(|it| it.starts_with("tool \"raw\": server_side: expected an object")),
            "{reported:?}"
        );
    }
}

#[test]
fn only_register_or_replace_replaces_a_name() {
    let other = || T::simple("a", "Does it otherwise", |_| async { Ok(json!({})) });
    let mut tools = ToolDispatcher::new();
    tools.register(tool("a") | tool("b")).unwrap();
    assert!(tools.register(other()).is_err());
    assert!(tools.register_or_replace(other() | other()).is_err());
    let described = |tools: &ToolDispatcher| -> Vec<String> {
        let declared = tools.declarations().into_iter();
        declared.map(|it| it.description).collect()
    };
    assert_eq!(described(&tools), ["Does it", "Does it"]);
    tools.register_or_replace(other() | tool("c")).unwrap();
    assert_eq!(
        described(&tools),
        ["Does it otherwise", "Does it", "Does it"]
    );
}

#[test]
fn added_dispatcher_keeps_its_time_limit() {
    let seconds = |limit| ToolDispatcher::new().with_timeout(Duration::from_secs(limit));
    let limit = |tools: Toolset| {
        let mut all = ToolDispatcher::new();
        all.register(tools).unwrap();
        all.policies().timeout
    };
    assert_eq!(limit(tool("a")), Some(Duration::from_secs(30)));
    assert_eq!(
        limit(tool("a") | seconds(60)),
        Some(Duration::from_secs(60))
    );
    for set in [seconds(60).into(), seconds(5).into()] {
        let both: Toolset = set;
        assert_eq!(limit(both | seconds(5)), Some(Duration::from_secs(5)));
    }
    let mut shorter = seconds(7);
    shorter.register(seconds(9)).unwrap();
    assert_eq!(shorter.policies().timeout, Some(Duration::from_secs(7)));
    assert_eq!(
        mistakes(seconds(0).into()),
        ["with_timeout: expected a default timeout of at least 1 ms, found 0"]
    );
}

#[test]
fn added_dispatcher_keeps_its_provider() {
    let with = |provider: &Arc<dyn ConfirmationProvider>| {
        ToolDispatcher::new().with_confirmation_provider(Arc::clone(provider))
    };
    let yes = StaticConfirmation::allow_all();
    let no = StaticConfirmation::deny_all("no");
    let provider_of = |mut dispatcher: ToolDispatcher, tools: Toolset| {
        dispatcher.register(tools).unwrap();
        dispatcher.confirmation_provider().cloned()
    };
    let is = |found: Option<Arc<dyn ConfirmationProvider>>, expected| {
        found.is_some_and(|it| Arc::ptr_eq(&it, expected))
    };
    assert!(provider_of(ToolDispatcher::new(), tool("a")).is_none());
    let set = tool("a") | with(&yes) | with(&yes);
    assert!(is(provider_of(ToolDispatcher::new(), set), &yes));
    assert!(is(provider_of(with(&no), with(&yes).into()), &no));
    assert_eq!(
        mistakes(tool("a") | with(&yes) | with(&no)),
        ["expected one confirmation provider, found two"]
    );
}

/// A builder's short name and `T`'s declare the same tool; other declarations of one name collide.
#[test]
fn identical_server_side_tools_are_one() {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::google_search() | T::google_search())
        .unwrap();
    tools.register(T::google_search()).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["google_search"]);
    let function = || T::simple("look", "Looks", |_| async { Ok(json!({})) });
    assert!(
        ToolDispatcher::new()
            .register(function() | function())
            .is_err()
    );
}
