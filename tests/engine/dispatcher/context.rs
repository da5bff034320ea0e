//! The context of a tool without an engine equals the one with an engine: services, events, and
//! arguments parsed from text.

use async_trait::async_trait;
use recount::prelude::*;
use recount::session::{Event, Observation};
use recount::tool::ToolEvent;
use serde::{Deserialize, Serialize};

struct Rates {
    eur: u64,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Quoted {
    cents: u64,
}

impl ToolEvent for Quoted {
    const NAME: &'static str = "quoted";
}

struct Quote;

#[async_trait]
impl ToolFunction for Quote {
    fn name(&self) -> &str {
        "quote"
    }
    fn description(&self) -> &str {
        "Quotes a price"
    }
    fn parameters(&self) -> Option<Value> {
        Some(
            json!({"type": "object", "properties": {"units": {"type": "integer"}},
                "required": ["units"]}),
        )
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("needs a context".into()))
    }
    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        let rates = context.service::<Rates>();
        let rates = rates.ok_or_else(|| ToolError::Other("there are no rates".into()))?;
        let cents = args
            .get("units")
            .and_then(Value::as_u64)
            .unwrap_or_default()
            * rates.eur;
        context.emit(&Quoted { cents })?;
        Ok(json!({ "cents": cents }))
    }
}

fn dispatcher() -> ToolDispatcher {
    let mut tools = ToolDispatcher::new().with_service(Rates { eur: 7 });
    tools.register(Quote).unwrap();
    tools
}

#[tokio::test]
async fn services_reach_the_tool_and_its_events_are_on_record() {
    let tools = dispatcher();
    let quoted = tools.call_function("quote", json!({"units": 3})).await;
    assert_eq!(quoted, Ok(json!({"cents": 21})));
    let events = tools.recorded();
    let events = events.iter().filter_map(|fact| Quoted::read(&fact.event));
    let events: Vec<Quoted> = events.map(Result::unwrap).collect();
    assert_eq!(events, [Quoted { cents: 21 }]);
}

#[tokio::test]
async fn arguments_in_a_text_are_read_out_of_it_and_the_text_is_kept() {
    let tools = dispatcher();
    let text = json!("{\"units\": 2}");
    assert_eq!(
        tools.call_function("quote", text).await,
        Ok(json!({"cents": 14}))
    );
    let received = tools
        .recorded()
        .into_iter()
        .find_map(|fact| match fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => Some(it),
            Event::Observed(_) | Event::Decided(_) => None,
        });
    let received = received.unwrap();
    assert_eq!(received.args.unwrap().as_str(), r#"{"units":2}"#);
    assert_eq!(
        received.original_args.unwrap().as_str(),
        r#""{\"units\": 2}""#
    );
    let wrong = tools.call_function("quote", json!("[1]")).await;
    assert!(matches!(wrong, Err(ToolError::InvalidArgs(_))), "{wrong:?}");
}
