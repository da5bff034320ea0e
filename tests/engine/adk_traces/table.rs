//! The table of traces: those that come out the same, and the rule for each that does not.
//!
//! A rule is named by its number in the list of what a conforming engine does, and in words.

use super::ours::Scene;

pub(crate) struct Row {
    /// The name of the file without its extension.
    pub(crate) trace: &'static str,
    /// True if the row also covers the trace with `.resumable` in its name.
    pub(crate) resumable: bool,
    pub(crate) verdict: Verdict,
    pub(crate) scene: Scene,
    /// The reply to the client's messages in each turn; missing entries mean `ok`.
    pub(crate) replies: &'static [&'static str],
}

pub(crate) enum Verdict {
    /// The projection is the same after each message.
    Same,
    /// Our projection differs by a rule, and is `ours` after each message.
    Differs {
        by: &'static str,
        ours: &'static [&'static str],
    },
}

const ONE: bool = false;
const BOTH: bool = true;

const fn same(trace: &'static str, resumable: bool) -> Row {
    Row {
        trace,
        resumable,
        verdict: Verdict::Same,
        scene: Scene::AsShown,
        replies: &[],
    }
}

const fn differs(
    trace: &'static str,
    resumable: bool,
    by: &'static str,
    ours: &'static [&'static str],
) -> Row {
    Row {
        verdict: Verdict::Differs { by, ours },
        ..same(trace, resumable)
    }
}

impl Row {
    const fn in_scene(self, scene: Scene) -> Row {
        Row { scene, ..self }
    }

    const fn answered(self, replies: &'static [&'static str]) -> Row {
        Row { replies, ..self }
    }
}

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    same("confirm_approve", BOTH),
    same("confirm_approve_model_id", BOTH),
    differs("confirm_crash_after_approval", BOTH,
        "35: cut off after its start, a call is in doubt and does not run again by itself",
        &["transfer: waits", "transfer: yes; ran transfer 1",
        "transfer: yes, told unknown_outcome; ran transfer 1"])
        .in_scene(Scene::DiesInFirstRun { took_effect: true })
        .answered(&["ok", "ok", "already_answered"]),
    same("confirm_custom_basetool_deny", BOTH),
    same("confirm_deny", BOTH),
    same("confirm_deny_then_approve", BOTH).answered(&["ok", "ok", "already_answered"]),
    same("confirm_dynamic", BOTH).in_scene(Scene::AsksAbove { amount: 1000 }),
    differs("confirm_in_tool_deny", BOTH,
        "39: the answer reaches the run that asked, so the body runs once",
        &["book_leave: waits; ran book_leave 1",
        r#"book_leave: no, told {"status":"rejected"}; ran book_leave 1"#])
        .in_scene(Scene::AsksInPlace),
    differs("confirm_in_tool_payload", BOTH,
        "39: the payload reaches the run that asked, so the body runs once",
        &["book_leave: waits; ran book_leave 1",
        r#"book_leave: yes, told {"approved_days":3,"status":"ok"}; ran book_leave 1"#])
        .in_scene(Scene::AsksInPlace),
    differs("confirm_long_running_gated", BOTH,
        "49: the approval starts it once, the later response settles it", &["transfer: waits",
        "transfer: yes, paused; ran transfer 1", "transfer: yes, paused; ran transfer 1",
        r#"transfer: yes, told {"status":"settled"}; ran transfer 1"#])
        .answered(&["ok", "ok", "already_answered"]),
    differs("confirm_malformed_confirmed_int", BOTH, "38: only a boolean is an answer",
        &["transfer: waits", "transfer: waits",
        r#"transfer: yes, told {"amount":50,"status":"ok","to":"bob"}; ran transfer 1"#])
        .answered(&["ok", "malformed_answer"]),
    same("confirm_malformed_confirmed_null", BOTH).answered(&["ok", "malformed_answer"]),
    same("confirm_malformed_confirmed_string_maybe", BOTH).answered(&["ok", "malformed_answer"]),
    differs("confirm_malformed_confirmed_string_yes", BOTH, "38: only a boolean is an answer",
        &["transfer: waits", "transfer: waits",
        r#"transfer: yes, told {"amount":50,"status":"ok","to":"bob"}; ran transfer 1"#])
        .answered(&["ok", "malformed_answer"]),
    differs("confirm_malformed_empty", BOTH, "38: only a boolean is an answer", &["transfer: waits",
        "transfer: waits", r#"transfer: yes, told {"output":null}; ran transfer 1"#])
        .answered(&["ok", "malformed_answer"]),
    same("confirm_malformed_hint_echo", BOTH).answered(&["ok", "ok", "already_answered"]),
    same("confirm_malformed_other_key", BOTH).answered(&["ok", "malformed_answer"]),
    same("confirm_malformed_result_wrapped", BOTH).answered(&["ok", "malformed_answer"]),
    differs("confirm_malformed_snake_extra", BOTH, "38: unknown keys are no error",
        &["transfer: waits",
        r#"transfer: yes, told {"amount":50,"status":"ok","to":"bob"}; ran transfer 1"#,
        r#"transfer: yes, told {"amount":50,"status":"ok","to":"bob"}; ran transfer 1"#])
        .answered(&["ok", "ok", "already_answered"]),
    same("confirm_malformed_wrapped_json", BOTH).answered(&["ok", "ok", "already_answered"]),
    same("confirm_next_turns", BOTH),
    same("confirm_no_response_id", BOTH).answered(&["ok", "missing_id"]),
    same("confirm_original_id", BOTH).answered(&["ok", "awaits_confirmation"]),
    same("confirm_parallel_mixed", BOTH),
    same("confirm_predicate_changed", BOTH),
    same("confirm_subagent", BOTH),
    same("confirm_text_instead", BOTH),
    differs("confirm_tool_raises", BOTH, "36: a failure is the outcome, and the approval is used",
        &["transfer: waits", "transfer: yes, told execution_failed; ran transfer 1",
        "transfer: yes, told execution_failed; ran transfer 1"])
        .answered(&["ok", "ok", "already_answered"]),
    same("confirm_tool_removed", BOTH).in_scene(Scene::GoneAtSecondMessage)
        .answered(&["ok", "tool_gone"]),
    same("confirm_twice", BOTH).answered(&["ok", "ok", "already_answered"]),
    same("confirm_two_both", BOTH),
    same("confirm_two_mixed", BOTH),
    same("confirm_unknown_id", BOTH).answered(&["ok", "unknown_id"]),
    same("confirm_user_sends_function_call", BOTH).answered(&["function_call"]),
    same("confirm_with_text", BOTH).answered(&["ok", "mixed_with_text"]),
    same("confirm_wrong_name", BOTH).answered(&["ok", "wrong_name"]),
    same("crash_before_model", BOTH),
    differs("crash_before_tool", ONE, "35: what had not taken effect runs once after the restart",
        &["get_time: ", r#"get_time: told {"output":null}; ran get_time 1"#])
        .in_scene(Scene::DiesInFirstRun { took_effect: false }),
    same("crash_before_tool.resumable", ONE).in_scene(Scene::DiesInFirstRun { took_effect: false }),
    same("http_api_server", ONE).answered(&["ok", "ok", "unknown_id"]),
    same("http_run_live_ws", ONE).answered(&["ok", "ok", "awaits_confirmation"]),
    same("http_web_ui_minimum", ONE),
    same("js_confirm_approve", ONE),
    differs("js_confirm_concurrent_twice", ONE,
        "33: of two answers at the same time the first counts",
        &["transfer: waits", r#"transfer: yes, told {"status":"ok"}; ran transfer 1"#])
        .answered(&["ok", "already_answered ok"]),
    same("js_confirm_deny", ONE),
    differs("js_confirm_malformed_empty", ONE, "38: only a boolean is an answer",
        &["transfer: waits", "transfer: waits"]).answered(&["ok", "malformed_answer"]),
    same("js_confirm_malformed_extra", ONE),
    differs("js_confirm_malformed_other_key", ONE, "38: only a boolean is an answer",
        &["transfer: waits", "transfer: waits"]).answered(&["ok", "malformed_answer"]),
    differs("js_confirm_malformed_string_yes", ONE, "38: only a boolean is an answer",
        &["transfer: waits", "transfer: waits"]).answered(&["ok", "malformed_answer"]),
    same("js_confirm_malformed_wrapped", ONE),
    same("js_confirm_text_after", ONE),
    same("js_confirm_twice", ONE).answered(&["ok", "ok", "already_answered"]),
    same("js_confirm_unknown_id", ONE).answered(&["ok", "unknown_id"]),
    same("live_confirm", ONE).answered(&["ok", "awaits_confirmation"]),
    differs("live_confirm_in_tool", ONE,
        "37: what answers the call is no answer, so the run still waits",
        &["book_leave: waits; ran book_leave 1", "book_leave: waits; ran book_leave 1"])
        .in_scene(Scene::AsksInPlace).answered(&["ok", "awaits_confirmation"]),
    same("live_lro_dict", ONE).answered(&["ok", "ok", "already_on_record", "unknown_id"]),
    same("live_lro_none", BOTH),
    differs("live_non_blocking", ONE,
        "52: acknowledged first, then the result in the words of the formatter",
        &[concat!(
            r#"slow: told {"result":{"n":1},"status":"completed","tool":"slow"}; slow: told "#,
            r#"{"result":{"n":2},"status":"completed","tool":"slow"}; ran slow 2"#,
        )])
        .in_scene(Scene::Background { fails: false }),
    differs("live_non_blocking_raises", ONE, "53: a failure is told",
        &[r#"slow: told {"error":"it raised","status":"error","tool":"slow"}; ran slow 1"#])
        .in_scene(Scene::Background { fails: true }),
    differs("live_streaming_tool", ONE, "57: the last of several responses ends the call",
        &[r#"watch: told {"status":"completed"}; ran watch 3"#]).in_scene(Scene::Streams),
    differs("lro_answer_plain_call", BOTH, "47: after the final response, further ones are refused",
        &[r#"get_time: told {"city":"Oslo","time":"12:00"}; ran get_time 1"#,
        r#"get_time: told {"city":"Oslo","time":"12:00"}; ran get_time 1"#])
        .answered(&["ok", "call_settled"]),
    same("lro_dict", BOTH),
    differs("lro_falsy", BOTH, "8: only null says nothing; {} is news",
        &["ask_approval: paused, told {}; ran ask_approval 1",
        r#"ask_approval: told {"status":"approved"}; ran ask_approval 1"#])
        .in_scene(Scene::ReturnsEmptyObject),
    same("lro_invocation_id_only", BOTH),
    same("lro_invocation_id_with_answer", BOTH),
    same("lro_no_id", BOTH).answered(&["ok", "missing_id"]),
    same("lro_none", BOTH),
    same("lro_none_no_model_id", BOTH),
    same("lro_parallel_plain", BOTH),
    same("lro_sequential", BOTH),
    same("lro_text_meanwhile", BOTH),
    same("lro_tool_recalls", BOTH),
    differs("lro_twice", BOTH, "47: after the final response, further ones are refused",
        &["ask_approval: paused; ran ask_approval 1",
        r#"ask_approval: told {"status":"approved"}; ran ask_approval 1"#,
        r#"ask_approval: told {"status":"approved"}; ran ask_approval 1"#,
        r#"ask_approval: told {"status":"approved"}; ran ask_approval 1"#])
        .answered(&["ok", "ok", "already_on_record", "already_supplied"]),
    same("lro_two", BOTH),
    same("lro_unknown_id", BOTH).answered(&["ok", "unknown_id"]),
    same("restart_lro", BOTH),
];
