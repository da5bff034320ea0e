//! Every example of the manual can be played.

use super::*;

const MANUAL: &str = include_str!("../../../docs/simulator.md");

/// The texts in backticks in the table rows under a heading.
fn shown_under(heading: &str) -> Vec<&'static str> {
    let (_, section) = MANUAL.split_once(heading).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    rows.take_while(|line| line.starts_with('|'))
        .flat_map(|row| row.split('`').skip(1).step_by(2))
        .filter(|piece| piece.starts_with("{\"") || piece.starts_with('"'))
        .collect()
}

#[test]
fn every_whole_script_is_one() {
    let mut entries = 0;
    for block in MANUAL.split("```json\n").skip(1) {
        let (script, _) = block.split_once("```").unwrap();
        if script.contains("\"direction\"") {
            continue;
        }
        Script::parse(script).unwrap_or_else(|problem| panic!("{problem}:\n{script}"));
        entries += script.lines().count();
    }
    assert!(entries > 10, "{entries}");
}

#[test]
fn every_trigger_and_step_and_fault_is_one() {
    let triggers = shown_under("### `on`");
    let steps = shown_under("### `send`");
    let faults = shown_under("### The faults");
    let expectations = shown_under("## Several connections");
    assert!(
        triggers.len() > 10 && steps.len() > 15,
        "{triggers:?} {steps:?}"
    );
    assert!(faults.len() > 12 && expectations.len() > 4);
    let entries = triggers
        .iter()
        .map(|on| format!(r#"{{"on":{on}}}"#))
        .chain(
            steps
                .iter()
                .map(|step| format!(r#"{{"on":"setup","send":[{step}]}}"#)),
        )
        .chain(faults.iter().map(ToString::to_string))
        .chain(
            expectations
                .iter()
                .map(|it| format!(r#"{{"expect":{it}}}"#)),
        );
    for entry in entries {
        Script::parse(&entry).unwrap_or_else(|problem| panic!("{problem}: {entry}"));
    }
}

#[test]
fn every_field_of_the_service_is_one() {
    let (_, section) = MANUAL.split_once("## The service's own conduct").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut fields = 0;
    for field in rows.filter_map(|row| row.split('`').nth(1)) {
        let value = match field {
            "models" => "[]",
            "session_id" => "\"s\"",
            _ => "true",
        };
        Script::parse(&format!(r#"{{"service":{{"{field}":{value}}}}}"#)).unwrap();
        fields += 1;
    }
    assert_eq!(fields, 11);
}
