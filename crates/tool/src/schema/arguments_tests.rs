use serde_json::json;

use super::*;

fn check(schema: Value, args: Value) -> Result<(), String> {
    ArgumentCheck::new(Some(&schema)).unwrap().check(&args, &[])
}

fn refused(schema: Value) -> String {
    ArgumentCheck::new(Some(&schema)).err().unwrap()
}

#[test]
fn without_a_schema_any_object_passes_and_nothing_else() {
    let any = ArgumentCheck::new(None).unwrap();
    assert_eq!(any.check(&json!({"a": [1]}), &[]), Ok(()));
    for (args, found) in [
        (json!(null), "null"),
        (json!([{}]), "array of 1"),
        (json!("{}"), "string \"{}\""),
        (json!(1), "number 1"),
    ] {
        assert_eq!(
            any.check(&args, &[]),
            Err(format!(
                "expected a JSON object of arguments, found {found}"
            ))
        );
    }
}

#[test]
fn the_string_false_is_no_boolean() {
    let schema = json!({"type": "object", "properties": {"confirmed": {"type": "boolean"}}});
    assert_eq!(check(schema.clone(), json!({"confirmed": false})), Ok(()));
    let complaint = check(schema, json!({"confirmed": "false"}));
    assert_eq!(
        complaint,
        Err("/confirmed: expected boolean, found string \"false\"".to_owned())
    );
}

#[test]
fn a_complaint_names_every_wrong_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let complaint = check(schema, json!({"unit": "k", "days": [1, 0, "x"], "more": 1}));
    let expected = "/days/1: must be >=1, but got 0, found number 0; \
                    /days/2: expected integer, found string \"x\"; \
                    /unit: value must be one of 'c', 'f', found string \"k\"; \
                    additionalProperties 'more' not allowed; missing properties 'city'";
    assert_eq!(complaint, Err(expected.to_owned()));
}

#[test]
fn complaint_stays_short() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let args: Map<String, Value> = (0..1000)
        .map(|n| (n.to_string(), "é".repeat(10_000).into()))
        .collect();
    let complaint = check(schema, args.into()).unwrap_err();
    assert!(complaint.len() < 2_000, "{}", complaint.len());
    assert!(complaint.ends_with("; and 992 more"), "{complaint}");
}

#[test]
fn upper_case_types_of_the_gemini_dialect_are_understood() {
    let schema = json!({
        "type": "OBJECT",
        "properties": {
            "reason": {"type": "STRING", "nullable": true},
            "kind": {"type": "STRING", "enum": ["a", "b"], "nullable": true},
            "confirmed": {"type": "BOOLEAN"},
            "tags": {"type": "ARRAY", "items": {"type": "INTEGER"}, "maxItems": "2"},
            "any": {"type": "TYPE_UNSPECIFIED"},
            "type": {"type": "NUMBER"},
        },
    });
    for good in [
        json!({"reason": null, "kind": null, "confirmed": true, "tags": [1, 2], "any": {},
            "type": 1.5}),
        json!({"reason": "x", "kind": "a", "any": "STRING"}),
    ] {
        assert_eq!(check(schema.clone(), good), Ok(()));
    }
    for bad in [
        json!({"reason": 1}),
        json!({"kind": "c"}),
        json!({"confirmed": "true"}),
        json!({"tags": [1, 2, 3]}),
        json!({"tags": ["1"]}),
        json!({"type": "1"}),
    ] {
        assert!(check(schema.clone(), bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn references_inside_a_schema_are_followed_and_a_cycle_ends() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}},
        }},
    });
    assert_eq!(
        check(
            schema.clone(),
            json!({"tree": {"next": {"next": {"v": 1}}}})
        ),
        Ok(())
    );
    let complaint = check(schema, json!({"tree": {"next": {"v": "1"}}}));
    assert_eq!(
        complaint,
        Err("/tree/next/v: expected integer, found string \"1\"".to_owned())
    );
    // A schema that only refers to itself has nothing to check, and must not hang.
    drop(ArgumentCheck::new(Some(&json!({"$ref": "#"}))).map(|check| check.check(&json!({}), &[])));
}

#[test]
fn references_out_of_a_schema_are_rejected() {
    for target in [
        "file:///etc/passwd",
        "http://127.0.0.1:1/x",
        "other.json",
        "recount:/elsewhere",
    ] {
        let text = refused(json!({"type": "object", "properties": {"a": {"$ref": target}}}));
        assert!(text.contains("not followed"), "{target}: {text}");
    }
}

#[test]
fn an_invalid_schema_is_refused_with_its_place() {
    assert_eq!(
        refused(json!("x")),
        "expected a JSON object, found string \"x\""
    );
    assert_eq!(
        refused(json!({"type": "string"})),
        "expected a schema of type \"object\", found type string \"string\""
    );
    let text = refused(json!({"type": "object", "properties": {"n": {"type": "intger"}}}));
    assert!(text.starts_with("/properties/n/type: "), "{text}");
    let text = refused(json!({"type": "object", "properties": {"n": {"pattern": "("}}}));
    assert!(text.contains('('), "{text}");
    assert!(!text.contains(LOCATION), "{text}");
}

#[test]
fn complaint_quotes_no_secret() {
    let schema = json!({
        "type": "object",
        "properties": {
            "card": {
                "type": "object",
                "properties": {"number": {"type": "string", "pattern": "^x"}},
            },
            "pin": {"type": "integer", "maximum": 9},
            "cents": {"type": "integer"},
        },
    });
    let check = ArgumentCheck::new(Some(&schema)).unwrap();
    let secret = ["/card/number".to_owned(), "/pin".to_owned()];
    for args in [
        json!({"card": {"number": "hidden"}}),
        json!({"card": {"number": {"a": "hidden"}}}),
        json!({"card": "hidden"}),
        json!({"card": ["hidden"]}),
        json!({"pin": "hidden"}),
    ] {
        let error = check.check(&args, &secret).unwrap_err();
        assert!(!error.contains("hidden"), "{error}");
        assert!(error.contains("the value is secret"), "{error}");
    }
    let error = check.check(&json!({"cents": "shown", "pin": 1}), &secret);
    assert_eq!(
        error.unwrap_err(),
        "/cents: expected integer, found string \"shown\""
    );
    let error = check.check(&json!("hidden"), &secret).unwrap_err();
    assert!(!error.contains("hidden"), "{error}");
}

/// The pattern of zod for an e-mail address.
const EMAIL: &str = concat!(
    r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]",
    r"@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
);

#[test]
fn patterns_with_look_around_are_checked() {
    let email = json!({"type": "string", "pattern": EMAIL});
    for schema in [
        json!({"type": "object", "properties": {"to": email}}),
        json!({"type": "object", "properties": {"to": {"anyOf": [email, {"type": "null"}]}}}),
        json!({"type": "object", "properties": {"to": {"$ref": "#/$defs/e"}},
            "$defs": {"e": email}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"to": email}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
            "properties": {"to": email}}),
    ] {
        assert_eq!(
            check(schema.clone(), json!({"to": "ada@example.com"})),
            Ok(())
        );
        let error = check(schema, json!({"to": "ada..b@example.com"})).unwrap_err();
        assert!(
            error.contains("/to: does not match pattern") && error.contains("found string"),
            "{error}"
        );
    }
}

#[test]
fn names_of_properties_are_checked_by_such_patterns() {
    let schema = json!({"type": "object", "patternProperties": {"^(?!x-)": {"type": "integer"},
        "^(?=y)": {}},
        "additionalProperties": false});
    assert_eq!(check(schema.clone(), json!({"a.b": 1})), Ok(()));
    assert!(check(schema.clone(), json!({"a": "1"})).is_err());
    let error = check(schema, json!({"x-a": 1})).unwrap_err();
    assert_eq!(error, "additionalProperties 'x-a' not allowed");
    let names = json!({"type": "object", "propertyNames": {"pattern": "^(?!x-)"}});
    assert_eq!(check(names.clone(), json!({"a": 1})), Ok(()));
    assert!(check(names, json!({"x-a": 1})).is_err());
}

#[test]
fn pattern_that_takes_too_many_steps_is_a_verdict() {
    let schema = json!({"type": "object", "properties": {"a": {"pattern": "^(?:(?=a)a+)+$"}}});
    let long = format!("{}b", "a".repeat(60));
    let error = check(schema.clone(), json!({"a": long})).unwrap_err();
    assert!(
        error.contains("cannot be told within the allowed steps"),
        "{error}"
    );
    assert_eq!(check(schema, json!({"b": long})), Ok(()));
}

#[test]
fn anchors_are_followed() {
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#n"}},
        "$defs": {"n": {"$anchor": "n", "type": "integer"}}});
    assert_eq!(check(schema.clone(), json!({"a": 1})), Ok(()));
    assert!(check(schema, json!({"a": "1"})).is_err());
}
#[test]
fn long_values_are_cut_in_messages() {
    let long = "x".repeat(40_000);
    let choices: Vec<_> = (0..5_000).map(|at| format!("choice {at}")).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "pattern": {"pattern": "^a+$"},
            "format": {"format": "email"},
            "enum": {"enum": choices},
            "const": {"const": long},
            "number": {"type": "string"}
        },
        "additionalProperties": false
    });
    let check = ArgumentCheck::new(Some(&schema)).unwrap();
    let keys = ["pattern", "format", "enum", "const", "number", &long];
    for key in keys {
        let value = if key == "number" {
            json!(vec![1; 9_000])
        } else {
            json!(long.clone() + "y")
        };
        let Err(said) = check.check(&json!({ key: value }), &[]) else {
            // A format may be an annotation only.
            assert_eq!(key, "format");
            continue;
        };
        assert!(said.len() < 1_000, "{}: {} bytes", key.len(), said.len());
    }
}

#[test]
fn patterns_too_large_to_compile_are_refused_with_their_place() {
    let large = "(a{1000}){1000}";
    for (schema, place) in [
        (json!({"pattern": large}), "/properties/a/pattern: "),
        (
            json!({"patternProperties": {large: {}}}),
            "/properties/a/patternProperties/(a{1000}){1000}: ",
        ),
        (
            json!({"propertyNames": {"pattern": large}}),
            "/properties/a/propertyNames/pattern: ",
        ),
        (
            json!({"anyOf": [{}, {"pattern": format!("^(?!x){large}")}]}),
            "/properties/a/anyOf/1/pattern: ",
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        let error = refused(schema.clone());
        assert!(
            error.starts_with(place) && error.contains("size"),
            "{error}"
        );
        assert_eq!(check_schema(&schema), Err(error.clone()));
        assert_eq!(fits_schema(&schema, &json!({})), Err(error));
        assert!(invalid_places(&schema).len() < 2);
    }
    assert!(check_pattern(large).is_err_and(|it| it.contains("size")));
    let long = "(".repeat(10_000);
    assert!(refused(json!({"pattern": long})).len() < 500);
}
