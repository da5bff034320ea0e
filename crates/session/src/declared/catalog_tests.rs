use proptest::prelude::*;

use super::*;
use std::time::Duration;

use crate::policies::policy::InDoubt;

fn declaration(schema: Value) -> ToolDeclaration {
    ToolDeclaration::new("pay", "Pays").with_parameters(schema)
}

fn contract(schema: Value) -> ObjectHash {
    contract_hash(&declaration(schema), &ToolPolicy::default())
}

#[test]
fn an_absent_field_is_not_written() {
    let mut catalog = Catalog::default();
    catalog.insert(ToolDeclaration::new("pay", "Pays"));
    assert_eq!(
        String::from_utf8_lossy(&catalog.to_bytes()),
        r#"{"tools":{"pay":{"description":"Pays","name":"pay"}}}"#
    );
}

#[test]
fn a_full_declaration_reads_back() -> Result<(), serde_json::Error> {
    let mut catalog = Catalog::default();
    catalog.insert(ToolDeclaration {
        behavior: Some(Behavior::NonBlocking),
        kind: ToolKind::LongRunning,
        ..declaration(json!({"type": "object"}))
    });
    assert_eq!(Catalog::from_bytes(&catalog.to_bytes())?, catalog);
    Ok(())
}

#[test]
fn fields_of_a_later_version_are_passed_over() -> Result<(), serde_json::Error> {
    let read = Catalog::from_bytes(br#"{"colour":1,"tools":{"pay":{"name":"pay","icon":"x"}}}"#)?;
    assert_eq!(read.get("pay"), Some(&ToolDeclaration::new("pay", "")));
    Ok(())
}

#[test]
fn a_property_named_like_an_annotation_belongs_to_the_contract() {
    let with = contract(json!({"properties": {"description": {"type": "string"}}}));
    let without = contract(json!({"properties": {}}));
    assert_ne!(with, without);
}

#[test]
fn data_that_looks_like_an_annotation_belongs_to_the_contract() {
    assert_ne!(
        contract(json!({"enum": [{"title": "a"}]})),
        contract(json!({"enum": [{"title": "b"}]}))
    );
}

#[test]
fn gate_rule_type_and_required_belong_to_the_contract() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let base = contract(schema.clone());
    let gated = ToolPolicy {
        confirm: true,
        ..ToolPolicy::default()
    };
    let retried = ToolPolicy {
        in_doubt: InDoubt::Retry,
        ..ToolPolicy::default()
    };
    let limited = ToolPolicy {
        timeout: Some(Duration::from_millis(1)),
        ..ToolPolicy::default()
    };
    assert_ne!(contract_hash(&declaration(schema.clone()), &gated), base);
    assert_ne!(contract_hash(&declaration(schema.clone()), &retried), base);
    assert_eq!(contract_hash(&declaration(schema.clone()), &limited), base);
    assert_ne!(
        contract(json!({"type": "object", "properties": {"n": {"type": "number"}}})),
        base
    );
    assert_ne!(
        contract(
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        ),
        base
    );
    assert_ne!(
        contract_hash(&ToolDeclaration::new("pay", "Pays"), &ToolPolicy::default()),
        base
    );
    assert_ne!(
        declaration_hash(&declaration(schema.clone()), &limited),
        declaration_hash(&declaration(schema), &gated)
    );
}

/// Adds annotations with the given text to a schema and to every schema inside it.
fn annotated(schema: &Value, text: &str) -> Value {
    map_schema(schema, &|mut keywords| {
        for annotation in [
            "title",
            "description",
            "examples",
            "default",
            "$comment",
            "deprecated",
            "readOnly",
            "writeOnly",
        ] {
            keywords.insert(annotation.to_owned(), json!(text));
        }
        keywords
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "minimum": 1})),
        Just(json!({"enum": ["title", {"description": 1}]})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let names = prop::sample::select(vec!["title", "default", "n", "properties"]);
        prop_oneof![
            prop::collection::btree_map(names, inner.clone(), 0..3)
                .prop_map(|properties| json!({"type": "object", "properties": properties})),
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner, 1..3).prop_map(|any| json!({"anyOf": any})),
        ]
    })
}

proptest! {
    #[test]
    fn rewording_keeps_the_contract_and_changes_the_declaration(
        schema in schema(),
        text in "[a-z]{1,8}"
    ) {
        let before = declaration(schema.clone());
        let mut after = declaration(annotated(&schema, &text));
        after.description = format!("Pays {text}");
        let policy = ToolPolicy::default();
        prop_assert_eq!(contract_hash(&before, &policy), contract_hash(&after, &policy));
        prop_assert_ne!(declaration_hash(&before, &policy), declaration_hash(&after, &policy));
    }

    #[test]
    fn different_schemas_have_different_contracts(one in schema(), other in schema()) {
        prop_assert_eq!(one == other, contract(one) == contract(other));
    }
}
