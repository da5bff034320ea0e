use recount_session::PolicyChanges;
use recount_session::policy::Repeats;

use super::*;
use crate::policy_file::parse;
use crate::policy_file::reading::tests::{WHOLE, mistakes, whole};

#[test]
fn toml_and_json_are_equal() {
    let value: Value = serde_json::from_str(WHOLE).unwrap();
    let text = toml::to_string(&value).unwrap();
    assert_eq!(parse(&text), Ok(whole()));
    assert_eq!(parse(""), Ok(PolicyChanges::default()));
}

#[test]
fn every_mistake_of_toml_has_its_line() {
    let text = "timeout = 5\n\n[tools.pay]\nconfirm = \"Pay?\"\ncolour = \"red\"\n\n[[phases]]\n\
                instruction = \"x\"\n";
    let expected = [
        "line 1: timeout: expected a time of at least 1 ms such as \"500ms\", \"10s\", \"2m\" or \
         \"1h\", or false, found 5",
        "line 5: tools.pay.colour: unknown key; expected one of confirm, confirm_when, \
         confirm_expires_after, confirm_on_expiry, confirm_payload, confirm_edits, approvers, \
         not_requester, quorum, may_allow_for_session, acknowledge, acknowledge_after, \
         keep_reason, withdraw_on_cancel, timeout, in_doubt, cached, background, retry, \
         limit_per_session, limit_per_minute, phases, when, repeats, interim_status, progress, \
         max_open_requests",
        "line 7: phases.0.name: expected a text, found nothing",
    ];
    assert_eq!(mistakes(text), expected);
}

#[test]
fn lines_of_many_mistakes_are_found_in_toml() {
    let wrong: String = (0..20_000).map(|it| format!("wrong{it} = 1\n")).collect();
    let found = parse(&format!("{wrong}timeout = \"1s\""))
        .unwrap_err()
        .mistakes;
    assert_eq!((found.len(), found[19_999].line), (20_000, Some(20_000)));
}

#[test]
fn number_that_is_not_finite_is_a_mistake_with_its_line() {
    let text =
        "[tools.pay]\nconfirm = true\nconfirm_when = { compares = [\"args:cents\", \">\", nan] }\n";
    assert_eq!(
        mistakes(text),
        ["line 3: tools.pay.confirm_when.compares.2: expected a number, found NaN"]
    );
    assert_eq!(
        mistakes("[tools.\"\"]\nconfirm = true\n"),
        ["line 1: tools.: expected the name of a tool, found an empty one"]
    );
    let off = parse("[tools.pay]\nrepeats = false\n").unwrap();
    assert_eq!(off.tools["pay"].repeats, Some(Repeats::Run));
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    let syntax = mistakes("a = 1\n[[tools]\n");
    assert!(
        syntax.len() == 1 && syntax[0].starts_with("line 2: expected TOML: "),
        "{syntax:?}"
    );
}

#[test]
fn toml_line_is_that_of_the_nearest_key() {
    let text =
        "timeout = 1\n\n[tools.pay]\nconfirm = 1\n[[phases]]\nname = \"a\"\n[[phases]]\nname = 2\n";
    for (steps, expected) in [
        (&["timeout"] as &[&str], 1),
        (&["tools", "pay", "confirm"], 4),
        (&["tools", "pay", "gone"], 3),
        (&["phases", "1", "name"], 8),
    ] {
        let path: Vec<String> = steps.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(Places::of(text).line(&path), Some(expected), "{steps:?}");
    }
}
