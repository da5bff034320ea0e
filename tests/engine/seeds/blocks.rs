//! The list of all blocks, each with its test.

use std::collections::BTreeSet;

/// One block of code: its title and its test.
struct Block {
    title: &'static str,
    test: &'static str,
}

const fn compiles(title: &'static str, test: &'static str) -> Block {
    Block { title, test }
}

/// The blocks of the chapters "Per-Tool Policies" and "Tool System", in their order.
const BLOCKS: &[Block] = &[
    compiles(
        "policies: struct ToolPolicy",
        "a_tool_policy_has_the_four_fields",
    ),
    compiles(
        "policies: timeout",
        "a_tool_that_takes_too_long_ends_with_a_timeout",
    ),
    compiles(
        "policies: caching",
        "equal_calls_run_once_in_any_key_order_and_errors_not_cached",
    ),
    compiles(
        "policies: confirmation flag",
        "gate_without_approver_is_waived_on_record",
    ),
    compiles(
        "policies: confirmation provider",
        "call_denied_by_provider_does_not_run_and_is_cancelled",
    ),
    compiles(
        "policies: enum ToolExecutionMode",
        "an_execution_mode_is_standard_or_background",
    ),
    compiles(
        "policies: background, fluent",
        "background_call_is_acknowledged_and_result_scheduled",
    ),
    compiles(
        "policies: background, LiveSessionBuilder",
        "the_lower_builder_sets_the_mode_by_name",
    ),
    compiles(
        "policies: custom result formatting",
        "a_formatter_words_the_acknowledgement_and_the_result",
    ),
    compiles(
        "policies: default result formats",
        "the_default_words_are_these",
    ),
    compiles(
        "policies: combining",
        "policies_and_execution_modes_compose_on_one_tool",
    ),
    compiles("tools: SimpleTool", "a_closure_with_a_schema_is_a_tool"),
    compiles("tools: TypedTool", "struct_docs_and_defaults_make_schema"),
    compiles(
        "tools: #[tool]",
        "async_function_tool_has_optional_parameters",
    ),
    compiles("tools: trait ToolFunction", "a_type_of_ones_own_is_a_tool"),
    compiles(
        "tools: StreamingTool",
        "each_result_of_a_streaming_tool_reaches_the_model",
    ),
    compiles(
        "tools: InputStreamingTool",
        "a_tool_that_hears_the_user_ends_with_the_input",
    ),
    compiles(
        "tools: built-in tools",
        "service_side_tools_are_declared_by_methods_or_composed",
    ),
    compiles(
        "tools: per-tool policies",
        "a_timeout_a_cache_and_a_gate_stand_side_by_side",
    ),
    compiles(
        "tools: agent as tool",
        "an_agent_is_a_tool_and_shares_the_state_of_the_session",
    ),
    compiles(
        "tools: registration, ToolDispatcher",
        "dispatcher_serves_functions_and_streams",
    ),
    compiles(
        "tools: registration, T::",
        "functions_closures_and_tools_of_the_service_compose",
    ),
    compiles(
        "tools: registration, vector",
        "a_vector_of_functions_is_a_toolset",
    ),
    compiles(
        "tools: call handling",
        "program_answers_calls_itself_and_writes_findings_to_state",
    ),
    compiles(
        "tools: phase-scoped tools",
        "phase_has_own_tools_and_advances_by_state",
    ),
    compiles(
        "tools: long-running tools",
        "a_long_running_tool_tells_the_model_not_to_call_again",
    ),
    compiles(
        "tools: time limits and cancellation",
        "calls_have_a_time_limit_and_can_be_cancelled",
    ),
    compiles(
        "tools: background, fluent",
        "a_background_tool_may_have_a_formatter_and_another_none",
    ),
    compiles(
        "tools: background, LiveSessionBuilder",
        "the_lower_builder_runs_a_tool_in_the_background",
    ),
    compiles(
        "tools: custom result formatting",
        "a_background_tool_may_have_a_formatter_and_another_none",
    ),
    compiles(
        "tools: intercepting responses",
        "hook_changes_responses_before_model_and_record",
    ),
];

const TESTS: [&str; 5] = [
    include_str!("background.rs"),
    include_str!("hooks.rs"),
    include_str!("kinds.rs"),
    include_str!("policies.rs"),
    include_str!("registration.rs"),
];

#[test]
fn every_block_stands_in_a_test() {
    assert_eq!(BLOCKS.len(), 31);
    let titles: BTreeSet<&str> = BLOCKS.iter().map(|block| block.title).collect();
    assert_eq!(titles.len(), BLOCKS.len(), "two blocks have one title");
    for Block { title, test } in BLOCKS {
        let named = format!("fn {test}(");
        let tests = TESTS.iter().map(|text| text.matches(&named).count());
        assert_eq!(tests.sum::<usize>(), 1, "{title}: {test}");
    }
}
