//! Tests of the strict reading of stored objects.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::declared::catalog::Catalog;
use crate::policies::policy::PolicySet;

/// The pointer of the first unknown field of a policy set.
fn unknown(text: &str) -> Option<String> {
    PolicySet::unknown_field(text.as_bytes()).unwrap_or_else(|error| Some(error.to_string()))
}

#[test]
fn unknown_field_is_found_at_every_depth() {
    let places = [
        (r#"{"tools":{},"x":1}"#, "/x"),
        (r#"{"tools":{"a":{"quorun":2}}}"#, "/tools/a/quorun"),
        (
            r#"{"tools":{"a":{"confirm":{"hnit":"?"}}}}"#,
            "/tools/a/confirm/hnit",
        ),
        (r#"{"tools":{"a/b~":{"x":null}}}"#, "/tools/a~1b~0/x"),
        (
            r#"{"hooks":{"on_tol_call":true},"tools":{}}"#,
            "/hooks/on_tol_call",
        ),
        (
            r#"{"phases":[{"name":"a"},{"name":"b","x":{}}],"tools":{}}"#,
            "/phases/1/x",
        ),
        (
            r#"{"phases":[{"name":"a","transitions":[{"to":"b","when":{"exists":"k"},"x":[]}]}]}"#,
            "/phases/0/transitions/0/x",
        ),
        (
            r#"{"tools":{"a":{"limits":{"per_sesion":1}}}}"#,
            "/tools/a/limits/per_sesion",
        ),
    ];
    for (text, place) in places {
        assert_eq!(unknown(text).as_deref(), Some(place), "{text}");
    }
    let catalog = br#"{"tools":{"a":{"kinb":"function","name":"a"}}}"#;
    let found = Catalog::unknown_field(catalog).ok().flatten();
    assert_eq!(found.as_deref(), Some("/tools/a/kinb"));
}

#[test]
fn explicit_default_is_a_known_field() {
    let texts = [
        r#"{}"#,
        r#"{ "tools" : { } }"#,
        r#"{"acknowledges":false,"hooks":{"on_tool_call":false},"phases":[],"running_max":null}"#,
        r#"{"on_settled":"park","response":"plain","timeout_ms":null,"tools":{}}"#,
        r#"{"tools":{"a":{"cache":null,"confirm":null,"limits":{},"repeats":"run","when":null}}}"#,
        r#"{"tools":{"a":{"confirm":{"asks_program":false,"edits":null,"payload":null}}}}"#,
        r#"{"tools":{"a":{"in_doubt":"settle_unknown","withdraw_on_cancel":false}}}"#,
        r#"{"phases":[{"instruction":null,"name":"a","tools":["y","x","x"],"transitions":[]}]}"#,
    ];
    for text in texts {
        assert_eq!(unknown(text), None, "{text}");
    }
    let catalog = br#"{"tools":{"a":{"agent":null,"inner":false,"kind":"function","name":"a"}}}"#;
    assert!(matches!(Catalog::unknown_field(catalog), Ok(None)));
}

#[test]
fn unknown_field_below_an_explicit_default_is_found() {
    let text = r#"{"hooks":{"on_tool_call":false,"x":1},"tools":{}}"#;
    assert_eq!(unknown(text).as_deref(), Some("/hooks/x"));
}

#[test]
fn free_form_values_have_any_key() {
    let policies = r#"{"tools":{"a":{"acknowledgement":{"x":{"y":1.50}},"confirm":{"payload":{
        "x-unknown":{"z":[{"k":1e3}]}},"when":{"equals":["k",{"any":{"key":null}}]}}}}}"#;
    assert_eq!(unknown(policies), None);
    let catalog = br#"{"tools":{"a":{"name":"a","parameters":{"x":{"x":1}},"server_side":{"q":{}},
        "definition":{"tool":{"x":[{"y":2}]}},"implementation":{"files":{"f":"0"}}}}}"#;
    assert!(matches!(Catalog::unknown_field(catalog), Ok(None)));
}

#[test]
fn catalog_is_no_policy_set() {
    let mut catalog = Catalog::default();
    catalog.insert(crate::ToolDeclaration::new("a", "Does a"));
    let bytes = catalog.to_bytes();
    assert!(matches!(Catalog::unknown_field(&bytes), Ok(None)));
    let found = PolicySet::unknown_field(&bytes).ok().flatten();
    assert_eq!(found.as_deref(), Some("/tools/a/description"));
}

/// Shapes for which serde passes unknown keys through a buffer.
#[derive(Default, Deserialize, PartialEq, Serialize)]
struct Shapes {
    #[serde(flatten)]
    inner: Inner,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    either: BTreeSet<Either>,
    #[serde(
        default,
        alias = "old_name",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    named: BTreeMap<String, Inner>,
}

#[derive(Default, Deserialize, PartialEq, Serialize)]
struct Inner {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(untagged)]
enum Either {
    Name(String),
    Role { role: String },
}

#[test]
fn flattened_and_untagged_fields_are_read_strictly() {
    let found = |text: &str| {
        super::unknown_field::<Shapes>(text.as_bytes())
            .ok()
            .flatten()
    };
    let known = r#"{"either":["z",{"role":"x"},"z"],"hint":null,"old_name":{"a":{"hint":"b"}}}"#;
    assert_eq!(found(known), None);
    assert_eq!(found(r#"{"hnit":"a"}"#).as_deref(), Some("/hnit"));
    let role = r#"{"either":["z",{"role":"x"},{"role":"y","x":1},"z"]}"#;
    assert_eq!(found(role).as_deref(), Some("/either/2/x"));
    let nested = r#"{"old_name":{"a":{"hnit":"b"}}}"#;
    assert_eq!(found(nested).as_deref(), Some("/old_name/a/hnit"));
}
