//! What we say to the service: the setup, the user's text, the responses.

use super::manner::Manner;
use super::schema::{SchemaForm, lowered};
use super::wire::{
    ClientContent, ClientMessage, Content, FunctionDeclaration, FunctionResponse, RawJson, Setup,
    Tool,
};
use crate::session::catalog::Behavior;
use crate::session::{Catalog, Delivery, Json, ToolDeclaration};

/// The first message of a connection: the model, what it is told to be, and the tools it has.
pub(crate) fn message(
    model: &str,
    instruction: Option<&str>,
    catalog: &Catalog,
    form: SchemaForm,
    manner: &Manner,
) -> String {
    let functions = catalog.tools.values().filter(|it| it.server_side.is_none());
    let functions: Vec<_> = functions.map(|tool| declaration(tool, form)).collect();
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
        generation_config: raw(&manner.generation_config()),
        system_instruction: instruction.map(|text| Content::text("user", text)),
        tools: tools.into(),
        ..Setup::default()
    };
    for (name, value) in manner.beside() {
        setup.other.set(name, RawJson::from(&value));
    }
    ClientMessage::setup(setup).encode()
}

/// What the user says.
pub(crate) fn user_text(text: &str) -> String {
    ClientMessage::user_text(text).encode()
}

/// The instruction of now: as an update of the context where the model takes one, otherwise as a word of ours in the
/// conversation that asks for no answer.
pub(crate) fn instruction(text: &str, context_update: bool) -> String {
    if context_update {
        let update = serde_json::json!({"systemInstruction": {"parts": [{"text": text}]}});
        return ClientMessage {
            context_update: raw(&update),
            ..ClientMessage::default()
        }
        .encode();
    }
    let told = Content::text("user", format!("[instruction] From here on: {text}"));
    ClientMessage {
        client_content: Some(ClientContent {
            turns: vec![told].into(),
            turn_complete: Some(false),
            ..ClientContent::default()
        }),
        ..ClientMessage::default()
    }
    .encode()
}

/// The response to a call of this connection.
pub(crate) fn tool_response(delivery: &Delivery, response: &Json) -> String {
    let response = FunctionResponse {
        id: delivery.wire_id.clone(),
        name: Some(delivery.name.clone()),
        response: RawJson::parse(response.as_str()).ok(),
        will_continue: delivery.will_continue,
        scheduling: delivery.scheduling.map(|it| it.as_str().to_owned()),
        ..FunctionResponse::default()
    };
    ClientMessage::tool_response([response]).encode()
}

/// A tool that the service runs itself: an entry of its own, as the normal form of the tool list has it.
fn server_side(tool: &ToolDeclaration) -> Option<Tool> {
    let declared = tool.server_side.as_ref()?.as_object()?;
    let mut entry = Tool::default();
    for (name, value) in declared {
        entry.other.set(name.clone(), raw(value)?);
    }
    Some(entry)
}

fn declaration(tool: &ToolDeclaration, form: SchemaForm) -> FunctionDeclaration {
    let schema = tool.parameters.as_ref();
    // The service's own Schema spells its types in capitals and has a field of its own; anything else is JSON Schema.
    let capitals = schema
        .and_then(|schema| schema.get("type"))
        .and_then(|kind| kind.as_str())
        .is_some_and(|kind| kind.chars().all(|c| c.is_ascii_uppercase()));
    let (parameters, parameters_json_schema) = match (schema, form) {
        (Some(schema), SchemaForm::JsonSchema) if !capitals => (None, raw(schema)),
        (Some(schema), SchemaForm::JsonSchema | SchemaForm::Subset) => {
            (lowered(schema).as_ref().and_then(raw), None)
        }
        (None, SchemaForm::JsonSchema | SchemaForm::Subset) => (None, None),
    };
    FunctionDeclaration {
        name: tool.name.clone(),
        description: Some(tool.description.clone()),
        parameters,
        parameters_json_schema,
        behavior: tool.behavior.map(|behavior| match behavior {
            Behavior::Blocking => "BLOCKING".to_owned(),
            Behavior::NonBlocking => "NON_BLOCKING".to_owned(),
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
    use crate::session::catalog::ToolKind;
    use crate::session::{FunctionResponseScheduling, Outcome, Route, Seq, Wording};
    use serde_json::{Value, json};

    #[test]
    fn the_setup_declares_every_tool_with_its_schema() {
        let mut catalog = Catalog::default();
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        catalog.insert(
            ToolDeclaration::new("weather", "Tells the weather").with_parameters(schema.clone()),
        );
        let sent = sent(&catalog, SchemaForm::JsonSchema);
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
    fn a_model_that_takes_no_json_schema_gets_the_protocols_own_form() {
        let mut catalog = Catalog::default();
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let capitals = json!({"type": "OBJECT", "properties": {"city": {"type": "STRING"}}});
        for (name, schema) in [("weather", &schema), ("weather_in_capitals", &capitals)] {
            catalog.insert(ToolDeclaration::new(name, "Tells").with_parameters(schema.clone()));
        }
        catalog.insert(
            ToolDeclaration::new("without", "Tells").with_parameters(json!({"type": "object"})),
        );
        let sent = sent(&catalog, SchemaForm::Subset);
        let declared = sent["setup"]["tools"][0]["functionDeclarations"]
            .as_array()
            .unwrap();
        assert_eq!(declared.len(), 3);
        assert_eq!(declared[0]["parameters"], capitals);
        assert_eq!(declared[1]["parameters"], capitals);
        assert_eq!(declared[2]["parameters"], Value::Null);
        assert!(!sent.to_string().contains("parametersJsonSchema"));
    }

    fn sent(catalog: &Catalog, form: SchemaForm) -> Value {
        let manner = Manner::default();
        let sent = message("models/m", Some("Be brief."), catalog, form, &manner);
        serde_json::from_str(&sent).unwrap()
    }

    #[test]
    fn a_tool_of_the_services_own_is_an_entry_of_its_own() {
        let mut catalog = Catalog::default();
        catalog.insert(ToolDeclaration::new("weather", "Tells the weather"));
        let search = ToolDeclaration {
            kind: ToolKind::ServerSide,
            server_side: Some(json!({"googleSearch": {}})),
            ..ToolDeclaration::new("google_search", "")
        };
        catalog.insert(search);
        let sent: Value = serde_json::from_str(&message(
            "m",
            None,
            &catalog,
            SchemaForm::JsonSchema,
            &Manner::default(),
        ))
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
            sent: false,
        };
        let sent = tool_response(&delivery, &response);
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
        let sent = tool_response(&more, &response);
        assert!(
            sent.contains(r#""willContinue":true"#) && sent.contains(r#""scheduling":"SILENT""#),
            "{sent}"
        );
    }
}
