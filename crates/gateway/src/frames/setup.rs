//! The parts of a client's setup and context updates that the gateway acts on.

use std::fmt;

use recount::live::wire::{ClientMessage, FunctionDeclaration, Tool};
use recount::session::ResumptionHandle;
use serde_json::Value;

use super::FrameError;
use super::client::{ClientFrame, class_of};
use super::json_schema::json_schema;
use super::members::{Members, elements, object_of};

/// The first message of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The model as the client wrote it, such as `models/gemini-3.8-live`.
    pub(crate) model: String,
    /// True if the client asks for resumption handles.
    pub(crate) asks_for_handles: bool,
    /// The handle of the conversation that the client resumes.
    pub(crate) handle: Option<ResumptionHandle>,
    /// The functions that the client declares.
    pub(crate) declared: Vec<Declared>,
    /// True if the vendor transcribes the user's speech.
    pub(crate) transcribes_input: bool,
    /// True if the vendor transcribes the model's speech.
    pub(crate) transcribes_output: bool,
}

/// A change of instruction or tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContextUpdate {
    /// The rest of its message, if that may have words. `None` if it has none.
    pub(crate) words_beside: Option<String>,
    /// The functions that replace those in force. `None` if these stay.
    pub(crate) declared: Option<Vec<Declared>>,
}

/// A function that a client declares.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The name.
    pub(crate) name: String,
    /// The description for the model.
    pub(crate) description: Option<String>,
    /// The JSON Schema of the arguments. `None` if the declaration has none.
    pub(crate) parameters: Option<Value>,
    /// `BLOCKING` or `NON_BLOCKING`. `None` leaves it to the model.
    pub(crate) behavior: Option<String>,
}

impl Declared {
    /// The size of its texts, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let description = self.description.as_ref().map_or(0, String::len);
        let parameters = self
            .parameters
            .as_ref()
            .map_or(0, |it| it.to_string().len());
        self.name.len() + description + parameters
    }
}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declared")
            .field("name", &self.name)
            .field("behavior", &self.behavior)
            .finish_non_exhaustive()
    }
}

impl Setup {
    /// Reads the setup of a message.
    ///
    /// # Errors
    /// An error if the message has no setup, can be read in two ways, or has a known field of the
    /// wrong type.
    pub(crate) fn read(frame: &str) -> Result<Setup, FrameError> {
        let mut members = Members::of_frame(frame)?;
        let Some(setup) = members.take("setup")? else {
            return Err(FrameError::Missing("setup"));
        };
        let mut inside = object_of("setup", setup.value)?;
        // Taken only to reject keys that resemble theirs.
        inside.take("model")?;
        inside.take("tools")?;
        if let Some(resumption) = inside.take("sessionResumption")? {
            object_of("sessionResumption", resumption.value)?.take("handle")?;
        }
        let message = ClientMessage::decode(frame)?;
        let setup = message.setup.ok_or(FrameError::Missing("setup"))?;
        let resumption = setup.session_resumption;
        let asks_for_handles = resumption.is_some();
        let handle = resumption.and_then(|it| it.handle);
        let handle = handle.filter(|it| !it.is_empty());
        Ok(Setup {
            model: setup.model,
            asks_for_handles,
            handle: handle.map(ResumptionHandle::new),
            declared: declared(&setup.tools)?,
            transcribes_input: setup.input_audio_transcription.is_some(),
            transcribes_output: setup.output_audio_transcription.is_some(),
        })
    }
}

impl ContextUpdate {
    /// Reads the context update of a message.
    ///
    /// # Errors
    /// An error if the message has no context update, can be read in two ways, or has a known field
    /// of the wrong type.
    pub(crate) fn read(frame: &str) -> Result<ContextUpdate, FrameError> {
        let mut members = Members::of_frame(frame)?;
        let Some(update) = members.take("contextUpdate")? else {
            return Err(FrameError::Missing("contextUpdate"));
        };
        let words_beside = words_in(members.rest())?;
        let mut inside = object_of("contextUpdate", update.value)?;
        let Some(wrapper) = inside.take("tools")? else {
            return Ok(ContextUpdate {
                words_beside,
                declared: None,
            });
        };
        let list = object_of("tools", wrapper.value)?.take("tools")?;
        let list = list.map(|it| elements("tools", it.value)).transpose()?;
        let message = ClientMessage::decode(frame)?;
        let update = message.context_update.unwrap_or_default();
        // A wrapper of the wrong type is no wrapper to the reader, but may be one to the vendor.
        let tools = update.tools.ok_or(FrameError::Missing("tools"))?;
        // So is a list with a tool that the reader cannot read.
        if tools.tools.len() != list.unwrap_or_default().len() {
            return Err(FrameError::Missing("functionDeclarations"));
        }
        Ok(ContextUpdate {
            words_beside,
            declared: Some(declared(&tools.tools)?),
        })
    }
}

/// Returns the rest of a message if it is of a class that may have words.
fn words_in(rest: Option<String>) -> Result<Option<String>, FrameError> {
    let class = rest.as_deref().map(class_of).transpose()?;
    let has_words = matches!(
        class,
        Some(ClientFrame::RealtimeText | ClientFrame::Content)
    );
    Ok(rest.filter(|_| has_words))
}

/// Collects the declarations of all tools.
fn declared(tools: &[Tool]) -> Result<Vec<Declared>, FrameError> {
    let declarations = tools.iter().flat_map(|it| it.function_declarations.iter());
    declarations.map(declaration).collect()
}

fn declaration(it: &FunctionDeclaration) -> Result<Declared, FrameError> {
    let parameters = match (&it.parameters_json_schema, &it.parameters) {
        (Some(schema), _) => Some(schema.to::<Value>()?),
        (None, Some(schema)) => Some(json_schema(schema)),
        (None, None) => None,
    };
    Ok(Declared {
        name: it.name.clone(),
        description: it.description.clone(),
        parameters,
        behavior: it.behavior.clone(),
    })
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn setup_is_read_in_both_spellings() {
        let camel = r#"{"setup":{"model":"models/m","sessionResumption":{"handle":"secret-1"},
            "inputAudioTranscription":{},"tools":[{"googleSearch":{}},{"functionDeclarations":[
            {"name":"pay","description":"Pays","parameters":{"type":"OBJECT","properties":
            {"snake_key":{"type":"STRING"}}},"behavior":"BLOCKING"}]},{"functionDeclarations":
            [{"name":"look","parametersJsonSchema":{"type":"object","x_y":1}}]}]}}"#;
        let snake = camel
            .replace("sessionResumption", "session_resumption")
            .replace("inputAudioTranscription", "input_audio_transcription")
            .replace("functionDeclarations", "function_declarations")
            .replace("parametersJsonSchema", "parameters_json_schema");
        let setup = Setup::read(camel).unwrap();
        assert_eq!(Setup::read(&snake).unwrap(), setup);
        assert_eq!(setup.model, "models/m");
        assert!(setup.asks_for_handles && setup.transcribes_input && !setup.transcribes_output);
        assert_eq!(setup.handle.as_ref().unwrap().reveal(), "secret-1");
        assert!(!format!("{setup:?}").contains("secret-1"));
        let [pay, look] = &setup.declared[..] else {
            unreachable!("two functions")
        };
        assert_eq!(
            (pay.name.as_str(), pay.description.as_deref()),
            ("pay", Some("Pays"))
        );
        assert_eq!(pay.behavior.as_deref(), Some("BLOCKING"));
        let parameters = json!({"type": "object", "properties": {"snake_key": {"type": "string"}}});
        assert_eq!(pay.parameters, Some(parameters));
        assert_eq!(look.parameters, Some(json!({"type": "object", "x_y": 1})));
        assert_eq!((&look.description, &look.behavior), (&None, &None));
    }

    #[test]
    fn empty_handle_is_no_handle() {
        for (resumption, asks) in [
            (r#","sessionResumption":{"handle":""}"#, true),
            (r#","sessionResumption":{}"#, true),
            (r#","sessionResumption":null"#, false),
            ("", false),
        ] {
            let frame = format!(r#"{{"setup":{{"model":"m"{resumption}}}}}"#);
            let setup = Setup::read(&frame).unwrap();
            assert_eq!(
                (setup.asks_for_handles, setup.handle),
                (asks, None),
                "{frame}"
            );
        }
    }

    #[test]
    fn update_replaces_clears_or_keeps_tools() {
        let read = |frame: &str| ContextUpdate::read(frame).unwrap().declared;
        assert_eq!(read(r#"{"contextUpdate":{"systemInstruction":{}}}"#), None);
        assert_eq!(
            read(r#"{"context_update":{"tools":{"tools":[]}}}"#),
            Some(Vec::new())
        );
        assert_eq!(read(r#"{"contextUpdate":{"tools":{}}}"#), Some(Vec::new()));
        let ping = r#"{"contextUpdate":{"tools":{"tools":[{"functionDeclarations":[
            {"name":"ping","behavior":"NON_BLOCKING"}]}]}}}"#;
        let declared = read(ping).unwrap();
        assert_eq!((declared.len(), declared[0].name.as_str()), (1, "ping"));
        assert_eq!(declared[0].parameters, None);
    }

    #[test]
    fn setup_read_in_two_ways_is_refused() {
        for frame in [
            r#"{"setup":{"model":"a","model":"b"}}"#,
            r#"{"setup":{"model":"a","tools":[],"Tools":[]}}"#,
            r#"{"setup":{"model":"a","Tools":[]}}"#,
            r#"{"setup":{"model":"a","session_resumption":{"handle":"x","Handle":"y"}}}"#,
            r#"{"setup":{"model":"a","sessionResumption":{"HANDLE":"y"}}}"#,
            r#"{"setup":{"model":"a","tools":[{"functionDeclarations":[{"description":"d"}]}]}}"#,
            r#"{"setup":{"model":7}}"#,
            r#"{"clientContent":{}}"#,
        ] {
            let refused = Setup::read(frame).unwrap_err();
            assert!(!refused.to_string().is_empty(), "{frame}");
        }
        for frame in [
            r#"{"contextUpdate":{"tools":[]}}"#,
            r#"{"contextUpdate":{"tools":{"tools":7}}}"#,
            r#"{"contextUpdate":{"tools":{"tools":[{"functionDeclarations":[{"name":7}]}]}}}"#,
            r#"{"contextUpdate":{"tools":{"tools":[],"TOOLS":[]}}}"#,
            r#"{"setup":{}}"#,
        ] {
            assert!(ContextUpdate::read(frame).is_err(), "{frame}");
        }
    }
}
