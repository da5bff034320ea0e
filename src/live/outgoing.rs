//! Messages to the service: the setup, the user's text, responses.

use super::manner::Manner;
use super::schema::{SchemaForm, json_schema, lowered};
use super::wire::{
    ClientContent, ClientMessage, Content, ContextUpdate, FunctionDeclaration, FunctionResponse,
    Part, RawJson, RealtimeInput, Repeated, Schema as WireSchema, Setup, Tool,
};
use crate::session::catalog::Behavior;
use crate::session::{
    Capabilities, Catalog, Delivery, FunctionResponseScheduling, Json, ToolDeclaration,
};

/// Encodes the first message of a connection: the model, its instruction and its tools.
pub(crate) fn message(
    model: &str,
    instruction: Option<&str>,
    catalog: &Catalog,
    capabilities: Capabilities,
    manner: &Manner,
) -> String {
    let functions = functions(catalog).map(|tool| declaration(tool, capabilities));
    let functions: Vec<_> = functions.collect();
    let mut tools = Vec::new();
    if !functions.is_empty() {
        tools.push(Tool {
            function_declarations: functions.into(),
            ..Tool::default()
        });
    }
    tools.extend(catalog.tools.values().filter_map(server_side));
    let mut setup = Setup {
        model: model.to_owned(),
        system_instruction: instruction.map(|text| Content::text("user", text)),
        tools: if tools.is_empty() {
            Repeated::absent()
        } else {
            tools.into()
        },
        ..Setup::default()
    };
    manner.tell(&mut setup);
    ClientMessage::setup(setup).encode()
}

/// Returns the functions for which the model does not wait.
pub(crate) fn non_blocking(catalog: &Catalog, capabilities: Capabilities) -> Vec<String> {
    functions(catalog)
        .filter(|tool| behavior(tool, capabilities) == Behavior::NonBlocking)
        .map(|tool| tool.name.clone())
        .collect()
}

/// Encodes the user's text.
pub(crate) fn user_text(text: &str, capabilities: Capabilities) -> String {
    if capabilities.client_content {
        ClientMessage::user_text(text).encode()
    } else {
        realtime(text)
    }
}

/// Encodes a call's outcome as text in the conversation. A silent one asks for no answer, if the
/// model supports that.
pub(crate) fn told(
    text: &str,
    scheduling: Option<FunctionResponseScheduling>,
    capabilities: Capabilities,
) -> String {
    match scheduling {
        Some(FunctionResponseScheduling::Silent) if capabilities.client_content => aside(text),
        Some(
            FunctionResponseScheduling::Silent
            | FunctionResponseScheduling::WhenIdle
            | FunctionResponseScheduling::Interrupt,
        )
        | None => user_text(text, capabilities),
    }
}

/// Encodes a new instruction.
///
/// A model that supports it gets a context update. Otherwise the instruction is a text in the
/// conversation, which asks for no answer if the model supports that.
pub(crate) fn instruction(text: &str, capabilities: Capabilities) -> String {
    if capabilities.context_update {
        let instruction = Content {
            parts: vec![Part::text(text)].into(),
            ..Content::default()
        };
        return ClientMessage {
            context_update: Some(ContextUpdate {
                system_instruction: Some(instruction),
                ..ContextUpdate::default()
            }),
            ..ClientMessage::default()
        }
        .encode();
    }
    let text = format!("[instruction] From here on: {text}");
    if capabilities.client_content {
        aside(&text)
    } else {
        realtime(&text)
    }
}

/// Encodes a text that asks for no answer.
fn aside(text: &str) -> String {
    ClientMessage {
        client_content: Some(ClientContent {
            turns: vec![Content::text("user", text)].into(),
            turn_complete: Some(false),
            ..ClientContent::default()
        }),
        ..ClientMessage::default()
    }
    .encode()
}

/// Encodes the user's text as realtime input.
pub(super) fn realtime(text: &str) -> String {
    ClientMessage {
        realtime_input: Some(RealtimeInput {
            text: Some(text.to_owned()),
            ..RealtimeInput::default()
        }),
        ..ClientMessage::default()
    }
    .encode()
}

/// Encodes the response to a call of this connection.
pub(crate) fn tool_response(
    delivery: &Delivery,
    response: &Json,
    capabilities: Capabilities,
) -> String {
    let will_continue = delivery.will_continue;
    let will_continue = will_continue.filter(|_| capabilities.will_continue);
    let scheduling = delivery.scheduling;
    let scheduling = scheduling.filter(|_| capabilities.scheduling);
    let response = FunctionResponse {
        id: delivery.wire_id.clone(),
        name: Some(delivery.name.clone()),
        response: Some(RawJson::from(response)),
        will_continue,
        scheduling: scheduling.map(|it| it.as_str().to_owned()),
        ..FunctionResponse::default()
    };
    ClientMessage::tool_response([response]).encode()
}

/// The functions that the client runs.
fn functions(catalog: &Catalog) -> impl Iterator<Item = &ToolDeclaration> {
    let tools = catalog.tools.values();
    tools.filter(|tool| tool.server_side.is_none() && !tool.inner)
}

/// Returns whether the model waits for the tool. A tool that is not inline defaults to
/// non-blocking, because its responses may take long.
fn behavior(tool: &ToolDeclaration, capabilities: Capabilities) -> Behavior {
    let by_kind = (!tool.kind.is_inline()).then_some(Behavior::NonBlocking);
    capabilities.effective(tool.behavior.or(by_kind))
}

/// Encodes a tool that the service runs, as a separate entry of the tool list.
fn server_side(tool: &ToolDeclaration) -> Option<Tool> {
    let declared = tool.server_side.as_ref()?.as_object()?;
    let mut entry = Tool::default();
    for (name, value) in declared {
        entry.other.set(name.clone(), raw(value)?);
    }
    Some(entry)
}

fn declaration(tool: &ToolDeclaration, capabilities: Capabilities) -> FunctionDeclaration {
    let schema = tool.parameters.as_ref();
    let form = SchemaForm::of(capabilities);
    // A schema with types in capitals has the service's own format and its own field. All others
    // are JSON Schema.
    let capitals = schema
        .and_then(|schema| schema.get("type"))
        .and_then(|kind| kind.as_str())
        .is_some_and(|kind| kind.chars().all(|c| c.is_ascii_uppercase()));
    let (parameters, parameters_json_schema) = match (schema, form) {
        (Some(schema), SchemaForm::JsonSchema) if !capitals => (None, raw(&json_schema(schema))),
        (Some(schema), SchemaForm::JsonSchema | SchemaForm::Subset) => {
            let lowered = lowered(schema).map(|it| WireSchema::decode(&it.to_string()));
            (lowered.and_then(Result::ok), None)
        }
        (None, SchemaForm::JsonSchema | SchemaForm::Subset) => (None, None),
    };
    FunctionDeclaration {
        name: tool.name.clone(),
        description: Some(tool.description.clone()),
        parameters,
        parameters_json_schema,
        // Always sent, because the default differs between models.
        behavior: capabilities.async_tools.then(|| {
            match behavior(tool, capabilities) {
                Behavior::Blocking => "BLOCKING",
                Behavior::NonBlocking => "NON_BLOCKING",
            }
            .to_owned()
        }),
        ..FunctionDeclaration::default()
    }
}

fn raw(value: &serde_json::Value) -> Option<RawJson> {
    RawJson::parse(&value.to_string()).ok()
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::live::Platform;
    use crate::session::catalog::ToolKind;
    use crate::session::{FunctionResponseScheduling, Outcome, Route, Seq, Wording};
    use serde_json::{Value, json};

    #[test]
    fn setup_declares_every_tool_with_schema() {
        let mut catalog = Catalog::default();
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        catalog.insert(
            ToolDeclaration::new("weather", "Tells the weather").with_parameters(schema.clone()),
        );
        let sent = sent(&catalog, newest());
        assert_eq!(sent["setup"]["model"], "models/m");
        assert_eq!(
            sent["setup"]["systemInstruction"]["parts"][0]["text"],
            "Be brief."
        );
        let declared = &sent["setup"]["tools"][0]["functionDeclarations"][0];
        assert_eq!(declared["name"], "weather");
        assert_eq!(declared["parametersJsonSchema"], schema);
    }

    #[test]
    fn model_without_json_schema_gets_protocol_schema() {
        let mut catalog = Catalog::default();
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let capitals = json!({"type": "OBJECT", "properties": {"city": {"type": "STRING"}}});
        for (name, schema) in [("weather", &schema), ("weather_in_capitals", &capitals)] {
            catalog.insert(ToolDeclaration::new(name, "Tells").with_parameters(schema.clone()));
        }
        catalog.insert(
            ToolDeclaration::new("without", "Tells").with_parameters(json!({"type": "object"})),
        );
        let sent = sent(&catalog, Capabilities::of_model("2.5"));
        let declared = sent["setup"]["tools"][0]["functionDeclarations"]
            .as_array()
            .unwrap();
        assert_eq!(declared.len(), 3);
        assert_eq!(declared[0]["parameters"], capitals);
        assert_eq!(declared[1]["parameters"], capitals);
        assert_eq!(declared[2]["parameters"], Value::Null);
        assert!(!sent.to_string().contains("parametersJsonSchema"));
    }

    fn sent(catalog: &Catalog, capabilities: Capabilities) -> Value {
        let sent = message(
            "models/m",
            Some("Be brief."),
            catalog,
            capabilities,
            &Manner::default(),
        );
        serde_json::from_str(&sent).unwrap()
    }

    fn newest() -> Capabilities {
        Capabilities::of_model("gemini-3.8-live")
    }

    #[test]
    fn behavior_is_sent_only_to_models_that_know_it() {
        let mut catalog = Catalog::default();
        catalog.insert(ToolDeclaration::new("pay", "Pays"));
        catalog.insert(ToolDeclaration {
            behavior: Some(Behavior::NonBlocking),
            ..ToolDeclaration::new("search", "Searches")
        });
        catalog.insert(ToolDeclaration {
            kind: ToolKind::Streaming,
            ..ToolDeclaration::new("watch", "Watches")
        });
        let declared = |capabilities| {
            let sent = sent(&catalog, capabilities);
            let tools = &sent["setup"]["tools"][0]["functionDeclarations"];
            let tools = tools.as_array().unwrap().iter();
            let behaviors = tools.map(|it| it["behavior"].as_str().map(str::to_owned));
            let behaviors: Vec<Option<String>> = behaviors.collect();
            (behaviors, non_blocking(&catalog, capabilities))
        };
        let (said, effective) = declared(newest());
        let said: Vec<_> = said.iter().map(Option::as_deref).collect();
        let non_blocking = Some("NON_BLOCKING");
        assert_eq!(said, [Some("BLOCKING"), non_blocking, non_blocking]);
        assert_eq!(effective, ["search", "watch"]);
        let older = Capabilities::of(Platform::Vertex, "gemini-live-2.5-flash");
        assert_eq!(declared(older), (vec![None, None, None], Vec::new()));
    }

    #[test]
    fn model_without_turns_gets_realtime_text() {
        let synchronous = Capabilities::of_model("gemini-3.1-flash-live-preview");
        let silent = Some(FunctionResponseScheduling::Silent);
        for sent in [
            user_text("Hi", synchronous),
            told("Hi", silent, synchronous),
        ] {
            assert_eq!(sent, r#"{"realtimeInput":{"text":"Hi"}}"#);
        }
        assert!(instruction("Hi", synchronous).starts_with(r#"{"realtimeInput":{"text":"[i"#));
    }

    #[test]
    fn silent_text_asks_for_no_answer() {
        let asks = |scheduling| {
            let sent = told("paid", scheduling, Capabilities::of_model("2.5"));
            let sent: Value = serde_json::from_str(&sent).unwrap();
            sent["clientContent"]["turnComplete"].as_bool().unwrap()
        };
        assert!(!asks(Some(FunctionResponseScheduling::Silent)));
        assert!(asks(Some(FunctionResponseScheduling::WhenIdle)));
        assert!(asks(None));
    }

    #[test]
    fn server_side_tool_is_a_separate_entry() {
        let mut catalog = Catalog::default();
        catalog.insert(ToolDeclaration::new("weather", "Tells the weather"));
        let search = ToolDeclaration {
            kind: ToolKind::ServerSide,
            server_side: Some(json!({"googleSearch": {}})),
            ..ToolDeclaration::new("google_search", "")
        };
        catalog.insert(search);
        let sent: Value =
            serde_json::from_str(&message("m", None, &catalog, newest(), &Manner::default()))
                .unwrap();
        let tools = &sent["setup"]["tools"];
        assert_eq!(
            tools[0]["functionDeclarations"].as_array().unwrap().len(),
            1
        );
        assert_eq!(tools[1], json!({"googleSearch": {}}));
        assert_eq!(tools.as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_response_keeps_its_digits_and_its_id() {
        let response = Json::parse(r#"{"n":9007199254740993}"#).unwrap();
        let delivery = Delivery {
            call: Seq(5),
            wire_id: Some("c1".to_owned()),
            name: "count".to_owned(),
            outcome: Outcome::Returned,
            route: Route::Parked,
            will_continue: None,
            scheduling: None,
            wording: Wording::AsIssued,
            acknowledges: false,
            connects: None,
            sent: false,
        };
        let sent = tool_response(&delivery, &response, newest());
        assert!(
            sent.contains(r#""response":{"n":9007199254740993}"#),
            "{sent}"
        );
        assert!(
            sent.contains(r#""id":"c1""#) && !sent.contains("willContinue"),
            "{sent}"
        );
        let more = Delivery {
            wire_id: None,
            will_continue: Some(true),
            scheduling: Some(FunctionResponseScheduling::Silent),
            ..delivery
        };
        let older = Capabilities::of(Platform::Vertex, "2.5");
        let stripped = tool_response(&more, &response, older);
        assert!(!stripped.contains("willContinue") && !stripped.contains("scheduling"));
        let sent = tool_response(&more, &response, newest());
        assert!(
            sent.contains(r#""willContinue":true"#) && sent.contains(r#""scheduling":"SILENT""#),
            "{sent}"
        );
    }
}
