use serde_json::json;

use super::*;
use recount_session::Seq;

fn question(payload_schema: Option<Value>) -> ConfirmationRequested {
    let nothing = ObjectHash::of(b"");
    ConfirmationRequested {
        call: Seq(5),
        about: About::Gate,
        hint: None,
        args_sha256: nothing,
        contract: nothing,
        declaration: nothing,
        expires_at_us: None,
        on_expiry: recount_session::OnExpiry::Deny,
        payload_schema: payload_schema.as_ref().map(Json::of),
        asked: None,
        needs: None,
        may_allow_for_session: false,
    }
}

fn fit(
    question: &ConfirmationRequested,
    sealed: &[String],
    said: ToolConfirmation,
) -> Result<ToolConfirmation, UnfitAnswer> {
    let parameters = json!({"type": "object", "properties": {"cents": {"type": "integer"}},
        "required": ["cents"]});
    fit_tool(question, sealed, said, Some(&parameters))
}

fn fit_tool(
    question: &ConfirmationRequested,
    sealed: &[String],
    said: ToolConfirmation,
    parameters: Option<&Value>,
) -> Result<ToolConfirmation, UnfitAnswer> {
    let args = Json::of(&json!({"cents": 5000, "card": {"$sealed": "v1.x"}}));
    let asked = Asked {
        question,
        hash: Some(ObjectHash::of(b"the record")),
        args: &args,
        sealed,
        parameters,
    };
    asked.fit(said, |edited| Some(edited.clone()))
}

#[test]
fn an_answer_to_another_request_does_not_count() {
    let right = ToolConfirmation::confirmed().to_request(ObjectHash::of(b"the record"));
    assert!(fit(&question(None), &[], right).is_ok());
    let wrong = ToolConfirmation::denied("no").to_request(ObjectHash::of(b"another"));
    assert!(matches!(
        fit(&question(None), &[], wrong),
        Err(UnfitAnswer::OtherRequest { .. })
    ));
}

#[test]
fn only_an_approval_has_the_requested_payload() {
    let asked = question(Some(json!({"type": "object", "required": ["days"]})));
    for unfit in [None, Some(json!(null)), Some(json!({"day": 1}))] {
        let mut said = ToolConfirmation::confirmed();
        said.payload = unfit;
        assert!(matches!(
            fit(&asked, &[], said),
            Err(UnfitAnswer::InvalidPayload { .. })
        ));
    }
    let none = fit(&asked, &[], ToolConfirmation::confirmed()).err();
    let error = none.map(|it| it.to_string()).unwrap_or_default();
    assert!(error.contains("this has none"), "{error}");
    let said = ToolConfirmation::confirmed().with_payload(json!({"days": 3}));
    assert_eq!(
        fit(&asked, &[], said).map(|it| it.payload.is_some()),
        Ok(true)
    );
    assert!(fit(&asked, &[], ToolConfirmation::denied("no")).is_ok());
    let asked = question(Some(json!({"type": "boolean"})));
    let said = ToolConfirmation::confirmed().with_payload(json!(true));
    assert!(
        fit(&asked, &[], said).is_ok(),
        "a payload need not be an object"
    );
}

#[test]
fn edited_arguments_fit_the_schema_and_keep_sealed_parts() {
    let sealed = ["/card".to_owned()];
    let edit = |args: Value| {
        fit(
            &question(None),
            &sealed,
            ToolConfirmation::confirmed().with_args(args),
        )
    };
    assert!(edit(json!({"cents": 4000, "card": {"$sealed": "v1.x"}})).is_ok());
    for unfit in [
        json!([]),
        json!({"cents": "4000", "card": {"$sealed": "v1.x"}}),
        json!({"cents": 4000}),
        json!({"cents": 4000, "card": {"$sealed": "v1.y"}}),
        json!({"cents": 4000, "card": "4111"}),
    ] {
        assert!(
            matches!(edit(unfit.clone()), Err(UnfitAnswer::InvalidArgs { .. })),
            "{unfit}"
        );
    }
}

#[test]
fn edited_arguments_of_a_tool_without_a_schema_are_an_object() {
    let edit = |args: Value| {
        let said = ToolConfirmation::confirmed().with_args(args);
        fit_tool(&question(None), &[], said, None)
    };
    assert!(edit(json!({"anything": true})).is_ok());
    assert!(matches!(
        edit(json!([4000])),
        Err(UnfitAnswer::InvalidArgs { .. })
    ));
}

#[test]
fn edit_errors_do_not_quote_secrets() {
    let problem = |sealed: &[String]| {
        let args = json!({"cents": "40 or so", "card": {"$sealed": "v1.x"}});
        let said = ToolConfirmation::confirmed().with_args(args);
        match fit(&question(None), sealed, said) {
            Err(UnfitAnswer::InvalidArgs { problem }) => problem,
            other => unreachable!("{other:?}"),
        }
    };
    assert!(problem(&[]).contains("/cents"));
    let kept = problem(&["/card".to_owned()]);
    assert_eq!(kept, "the tool's schema has something against them");
}
