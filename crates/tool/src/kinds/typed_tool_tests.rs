use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::dispatch::dispatcher::ToolDispatcher;
use crate::run::outcome::ToolOutcome;
use crate::tools::t::T;
use recount_session::{Seq, SessionId};

fn context() -> ToolContext {
    let session = SessionId(uuid::Uuid::nil());
    ToolContext::new(session, session.call_id(Seq(1)), 1, "key-1")
}

/// Runs the tool on arguments in this text.
async fn with_text(tool: &TypedTool, text: &str) -> Result<Value, ToolError> {
    let args = Json::parse(text).unwrap();
    let value = args.to_value();
    tool.call_with_context(value, context().with_args(args))
        .await
}

async fn refused(tool: &TypedTool, text: &str) -> String {
    match with_text(tool, text).await {
        Err(ToolError::InvalidArgs(message)) => message,
        other => format!("not refused: {other:?}"),
    }
}

/// A tool that returns the debug text of its arguments.
fn given<A: DeserializeOwned + JsonSchema + fmt::Debug + Send + 'static>() -> TypedTool {
    TypedTool::new(
        "t",
        "",
        |args: A| async move { Ok(format!("{args:?}").into()) },
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Units {
    Metric,
    Imperial,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by Debug")]
struct Stay {
    /// The destination
    city: String,
    nights: Option<u8>,
    #[serde(default)]
    units: Vec<Units>,
    guests: BTreeMap<u32, (String, bool)>,
}

#[tokio::test]
async fn arguments_that_fit_reach_the_closure_as_the_type() {
    let text = r#"{"city":"K\u00f6ln","units":["metric"],"guests":{"7":["Ada",true]},"more":1}"#;
    let seen = with_text(&given::<Stay>(), text).await.unwrap();
    let expected = Stay {
        city: "Köln".into(),
        nights: None,
        units: vec![Units::Metric],
        guests: BTreeMap::from([(7, ("Ada".into(), true))]),
    };
    assert_eq!(seen, format!("{expected:?}"));
    let value = serde_json::from_str(text).unwrap();
    assert_eq!(given::<Stay>().call(value).await.unwrap(), seen);
}

#[tokio::test]
async fn misfit_names_place_expected_and_found_value() {
    let tool = given::<Stay>();
    for (args, message) in [
        (r#"{"guests":{}}"#, "/city: expected a value, found nothing"),
        (
            r#"{"city":7,"guests":{}}"#,
            "/city: expected a string, found number 7",
        ),
        (
            r#"{"city":"a","nights":300,"guests":{}}"#,
            "/nights: expected u8, found number 300",
        ),
        (
            r#"{"city":"a","nights":1.5,"guests":{}}"#,
            "/nights: expected u8, found number 1.5",
        ),
        (
            r#"{"city":"a","nights":"3","guests":{}}"#,
            "/nights: expected u8, found string \"3\"",
        ),
        (
            r#"{"city":"a","units":["metric","old"],"guests":{}}"#,
            "/units/1: expected \"metric\" or \"imperial\", found string \"old\"",
        ),
        (
            r#"{"city":"a","guests":{"x/y":["Ada",true]}}"#,
            "/guests: expected u32, found string \"x/y\"",
        ),
        (
            r#"{"city":"a","guests":{"1":["Ada","no"]}}"#,
            "/guests/1/1: expected a boolean, found string \"no\"",
        ),
        (
            r#"{"city":"a","guests":{"1":["Ada",true,3]}}"#,
            "/guests/1: expected a shorter array, found more",
        ),
        (
            r#"{"city":"a","guests":{"1":["Ada"]}}"#,
            "/guests/1: expected a tuple of size 2, found 1 of them",
        ),
        (
            r#"{"city":null,"guests":[]}"#,
            "/city: expected a string, found null",
        ),
        (
            r#"{"city":"a","guests":[]}"#,
            "/guests: expected an object, found an array",
        ),
    ] {
        assert_eq!(refused(&tool, args).await, message, "{args}");
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Amount<N> {
    n: N,
}

async fn amount<N>(token: &str) -> Result<Value, ToolError>
where
    N: DeserializeOwned + JsonSchema + fmt::Debug + Send + 'static,
{
    with_text(&given::<Amount<N>>(), &format!("{{\"n\":{token}}}")).await
}

#[tokio::test]
async fn whole_numbers_are_exact_in_any_width_and_spelling() {
    async fn kept<N>(token: &str, number: &str)
    where
        N: DeserializeOwned + JsonSchema + fmt::Debug + Send + 'static,
    {
        let seen = amount::<N>(token).await;
        assert_eq!(seen, Ok(format!("Amount {{ n: {number} }}").into()));
    }
    let two_to_70 = "1180591620717411303424";
    kept::<u128>(two_to_70, two_to_70).await;
    kept::<i128>(&format!("-{two_to_70}"), &format!("-{two_to_70}")).await;
    kept::<i128>(&i128::MIN.to_string(), &i128::MIN.to_string()).await;
    kept::<u128>(&u128::MAX.to_string(), &u128::MAX.to_string()).await;
    kept::<u64>("18446744073709551615", "18446744073709551615").await;
    kept::<i64>("-9223372036854775808", "-9223372036854775808").await;
    kept::<u64>("9007199254740993", "9007199254740993").await;
    kept::<u8>("3.0", "3").await;
    kept::<i32>("-1.2e3", "-1200").await;
    kept::<f64>("0.1", "0.1").await;
    kept::<f64>("3", "3.0").await;
    kept::<Value>("9007199254740993", "Number(9007199254740993)").await;
    kept::<Value>("-0.5", "Number(-0.5)").await;
}

#[tokio::test]
async fn inexact_number_is_invalid_at_its_place() {
    async fn lost<N>(token: &str)
    where
        N: DeserializeOwned + JsonSchema + fmt::Debug + Send + 'static,
    {
        let message = format!(
            "/n: expected a number of fewer digits, found {token}, of which some would be lost"
        );
        assert_eq!(
            amount::<N>(token).await,
            Err(ToolError::InvalidArgs(message))
        );
    }
    lost::<f64>("1180591620717411303424").await;
    lost::<f64>("9007199254740993").await;
    lost::<f64>("0.12345678901234567891").await;
    lost::<f32>("16777217").await;
    lost::<Option<f64>>("9007199254740993").await;
    lost::<Value>("1180591620717411303424").await;
    lost::<Value>("0.12345678901234567891").await;
    let message = "/n: expected u64, found number 18446744073709551616";
    assert_eq!(
        amount::<u64>("18446744073709551616").await,
        Err(ToolError::InvalidArgs(message.into()))
    );
    let message = "/n: expected u128, found number -1";
    assert_eq!(
        amount::<u128>("-1").await,
        Err(ToolError::InvalidArgs(message.into()))
    );
}

#[tokio::test]
async fn buffered_float_loses_no_digits() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Flat {
        #[serde(flatten)]
        inner: Amount2,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Amount2 {
        n: f64,
        whole: u64,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "shown by Debug")]
    enum Shape {
        Circle { n: f64 },
        Grid { cells: Vec<u64> },
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Drawing {
        shapes: Vec<Shape>,
    }
    let message = |place: &str| {
        format!(
            "{place}: expected a number of fewer digits, found 9007199254740993, of which some \
             would be lost"
        )
    };
    assert_eq!(
        refused(&given::<Flat>(), r#"{"n":9007199254740993,"whole":1}"#).await,
        message("/n")
    );
    let fits = with_text(&given::<Flat>(), r#"{"n":1,"whole":9007199254740993}"#).await;
    assert!(fits.is_ok(), "{fits:?}");
    let shapes = concat!(
        r#"{"shapes":[{"kind":"Grid","cells":[9007199254740993]},{"kind":"Circle","#,
        r#""n":9007199254740993}]}"#,
    );
    assert_eq!(
        refused(&given::<Drawing>(), shapes).await,
        message("/shapes/1/n")
    );
}

#[tokio::test]
async fn enums_are_read_in_every_serde_form() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    enum Way {
        Walk,
        Bus(u8),
        Train(String, u8),
        Car { seats: u8 },
    }
    let tool = given::<Amount<Way>>();
    for (text, seen) in [
        (r#"{"n":"Walk"}"#, "Walk"),
        (r#"{"n":"W\u0061lk"}"#, "Walk"),
        (r#"{"n":{"Walk":null}}"#, "Walk"),
        (r#"{"n":{"Bus":7}}"#, "Bus(7)"),
        (r#"{"n":{"Train":["RE",1]}}"#, "Train(\"RE\", 1)"),
        (r#"{"n":{"Car":{"seats":4}}}"#, "Car { seats: 4 }"),
    ] {
        let seen = format!("Amount {{ n: {seen} }}");
        assert_eq!(with_text(&tool, text).await, Ok(seen.into()), "{text}");
    }
    assert_eq!(
        refused(&tool, r#"{"n":{"Car":{"seats":-4}}}"#).await,
        "/n/Car/seats: expected u8, found number -4"
    );
    assert_eq!(
        refused(&tool, r#"{"n":"Bus"}"#).await,
        "/n: expected an object with the variant's content, found string \"Bus\""
    );
    assert_eq!(
        refused(&tool, r#"{"n":"Walk","m":1}"#).await,
        "there is no \"m\", only \"n\""
    );
}

#[tokio::test]
async fn no_message_quotes_a_secret() {
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Card {
        number: u64,
        #[serde(flatten)]
        rest: Rest,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Rest {
        pin: u16,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "shown by Debug")]
    struct Payment {
        card: Card,
        cents: u32,
    }
    let tool = given::<Payment>();
    let refused = async |text: &str| {
        let args = Json::parse(text).unwrap();
        let secret = vec!["/card/number".to_owned(), "/card/pin".to_owned()];
        let context = context().with_args(args.clone()).with_secret(secret);
        let error = tool.call_with_context(args.to_value(), context).await;
        error.unwrap_err().to_string()
    };
    assert_eq!(
        refused(r#"{"card":{"number":"4111","pin":1},"cents":1}"#).await,
        "invalid arguments: /card/number: expected u64; what came is secret"
    );
    assert_eq!(
        refused(r#"{"card":{"number":4111,"pin":"0815"},"cents":1}"#).await,
        "invalid arguments: /card: expected u16; what came is secret"
    );
    assert_eq!(
        refused(r#"{"card":"4111 0815","cents":1}"#).await,
        "invalid arguments: /card: expected an object; what came is secret"
    );
    assert_eq!(
        refused(r#"{"card":{"number":4111,"pin":1},"cents":"one"}"#).await,
        "invalid arguments: /cents: expected u32, found string \"one\""
    );
    assert_eq!(
        refused(r#"{"card":{"number":4111},"cents":1}"#).await,
        "invalid arguments: /card/pin: expected a value, found nothing"
    );
}

#[tokio::test]
async fn text_that_differs_from_the_value_is_ignored() {
    let tool = given::<Amount<u8>>();
    let stale = context().with_args(Json::parse(r#"{"n":1}"#).unwrap());
    let seen = tool.call_with_context(json!({"n": 2}), stale).await;
    assert_eq!(seen, Ok("Amount { n: 2 }".into()));
}

#[tokio::test]
async fn a_context_reaches_the_closure_that_asks_for_it() {
    let tool = TypedTool::with_context(
        "t",
        "",
        |args: Amount<u8>, context: ToolContext| async move {
            Ok(json!([args.n, context.idempotency_key()]))
        },
    );
    let seen = with_text(&tool, r#"{"n":5}"#).await;
    assert_eq!(seen, Ok(json!([5, "key-1"])));
    let error = tool.call(json!({"n": 5})).await.unwrap_err();
    assert_eq!(error.kind(), "execution_failed");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "shown by Debug")]
struct Tree {
    label: String,
    children: Vec<Tree>,
    units: Option<Units>,
}

#[tokio::test]
async fn derived_schema_is_self_contained_and_checks_arguments() {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::typed("grow", "Grows", |tree: Tree| async move {
            Ok(tree.label.into())
        }))
        .unwrap();
    tools
        .register(T::typed("any", "Takes anything", |args: Value| async {
            Ok(args)
        }))
        .unwrap();
    assert_eq!(tools.catalog().get("any").unwrap().parameters, None);
    let leaf = json!({"label": "b", "children": [], "units": "metric"});
    let tree = json!({"label": "a", "children": [leaf]});
    assert_eq!(tools.check_arguments("grow", &tree), Ok(()));
    let odd = json!({"label": "a", "children": [{"label": 1, "children": []}]});
    assert_eq!(
        tools.check_arguments("grow", &odd),
        Err("/children/0/label: expected string, found number 1".into())
    );
    let grow = tools.get("grow").unwrap();
    let grown = grow.run(tree, context(), async |_| Ok(())).await;
    assert_eq!(grown, ToolOutcome::Returned("a".into()));
    // Only an object can be a call's arguments.
    let list = T::typed("list", "", |_: Vec<u8>| async { Ok(Value::Null) });
    assert!(tools.register(list).is_err());
}
