//! The catalog of a session's tools: the declarations for the model, and two hashes of each.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::schema::map_schema;
use crate::policies::policy::ToolPolicy;
use crate::values::known_fields;
use crate::values::object::{ObjectHash, canonical_json, object_bytes};

/// The declared tools of an agent by name, stored in the journal as one object.
///
/// ```
/// use recount_session::catalog::{Catalog, ToolDeclaration};
///
/// let mut catalog = Catalog::default();
/// catalog.insert(ToolDeclaration::new("get_weather", "Tells the weather"));
/// assert_eq!(Catalog::from_bytes(&catalog.to_bytes())?, catalog);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Catalog {
    /// The declarations by tool name.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolDeclaration>,
}

impl Catalog {
    /// Parses a stored catalog. Fields of later versions are ignored;
    /// [`unknown_field`](Catalog::unknown_field) finds them.
    ///
    /// # Errors
    /// An error if the bytes are not the JSON of a catalog.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Returns the JSON Pointer of the first field of a stored catalog that this program does not
    /// know.
    ///
    /// ```
    /// use recount_session::Catalog;
    ///
    /// let misspelt = br#"{"tools":{"pay":{"name":"pay","knid":"agent"}}}"#;
    /// let found = Catalog::unknown_field(misspelt)?;
    /// assert_eq!(found.as_deref(), Some("/tools/pay/knid"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// An error if the bytes are not the JSON of a catalog.
    pub fn unknown_field(bytes: &[u8]) -> Result<Option<String>, serde_json::Error> {
        known_fields::unknown_field::<Self>(bytes)
    }

    /// Adds a declaration under its own name. Returns the one it replaces.
    pub fn insert(&mut self, declaration: ToolDeclaration) -> Option<ToolDeclaration> {
        self.tools.insert(declaration.name.clone(), declaration)
    }

    /// Returns the declaration of a tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolDeclaration> {
        self.tools.get(name)
    }

    /// Returns the stored form: canonical JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        object_bytes(self)
    }

    /// Returns the hash of the stored form.
    #[must_use]
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.to_bytes())
    }
}

/// The declaration of one tool for the model.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolDeclaration {
    /// The name of the tool.
    pub name: String,
    /// The description for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of the arguments. `None`: any object is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The behavior of the model during a call, where the platform has this setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
    /// The kind of the tool, which determines how its results are handled.
    #[serde(default, skip_serializing_if = "ToolKind::is_function")]
    pub kind: ToolKind,
    /// The JSON Pointers of the secret arguments. They are sealed before the call is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret: Vec<String>,
    /// The category in listings, such as `action` or `context`. The model does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The declaration of a tool that the service runs itself, sent instead of a function
    /// declaration: `{"googleSearch":{}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side: Option<Value>,
    /// The whole definition by another program, such as an MCP server:
    /// `{"server": name, "tool": {…}}`. The model does not see it. It is part of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// The identity of the program that the tool runs. For a command, it is
    /// `{"program":"./refund.sh","args":"4f53cd…","files":{"./refund.sh":"9f86d0…"}}`. The model
    /// does not see it. It is part of the contract. Tools in Rust code have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Value>,
    /// True if only agents that name the tool may call it. It is not declared to the model of the
    /// conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
    /// The permissions of the tool if it is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentDeclaration>,
}

/// The permissions of an agent that is called as a tool.
///
/// ```json
/// {"tools":["look_up","send_code"]}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentDeclaration {
    /// The names of the tools that the agent's model may call.
    #[serde(default)]
    pub tools: BTreeSet<String>,
}

impl ToolDeclaration {
    /// Declares a plain tool that accepts any object.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: None,
            behavior: None,
            kind: ToolKind::Function,
            secret: Vec::new(),
            category: None,
            server_side: None,
            definition: None,
            implementation: None,
            inner: false,
            agent: None,
        }
    }

    /// True if a program that knows only rules 1 would run calls of this tool wrongly.
    pub(crate) fn needs_rules_2(&self) -> bool {
        self.kind.runs_at_client()
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn with_parameters(mut self, schema: Value) -> Self {
        self.parameters = Some(schema);
        self
    }
}

/// The behavior of the model while a call is open.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// The model waits for the response.
    Blocking,
    /// The model continues to talk.
    NonBlocking,
}

/// The kind of a tool, which determines how its results are handled.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// The returned value is the result.
    #[default]
    Function,
    /// The tool returns nothing or an interim value. The result is supplied later from outside.
    LongRunning,
    /// The tool returns a stream of results.
    Streaming,
    /// The tool returns a stream of results, and receives the user's audio and video meanwhile.
    InputStreaming,
    /// The service runs the tool without asking the session.
    ServerSide,
    /// The tool is an agent: turns of a model, which may call tools itself.
    Agent,
    /// A client outside the process claims the call, runs it, and reports the result.
    Client,
}

impl ToolKind {
    /// True if the tool streams results. All of them together are its result.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        match self {
            Self::Streaming | Self::InputStreaming => true,
            Self::Function | Self::LongRunning | Self::ServerSide | Self::Agent | Self::Client => {
                false
            }
        }
    }

    /// True for the plain kind, which the stored form leaves out.
    #[must_use]
    pub fn is_function(&self) -> bool {
        match self {
            Self::Function => true,
            Self::LongRunning
            | Self::Streaming
            | Self::InputStreaming
            | Self::ServerSide
            | Self::Agent
            | Self::Client => false,
        }
    }

    /// True if clients run the calls of the tool, and no process that serves the session.
    #[must_use]
    pub fn runs_at_client(&self) -> bool {
        match self {
            Self::Client => true,
            Self::Function
            | Self::LongRunning
            | Self::Streaming
            | Self::InputStreaming
            | Self::ServerSide
            | Self::Agent => false,
        }
    }

    /// True if a call is expected to return soon. The default time limit then applies.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.is_function()
    }
}

/// The hash of the contract that an approval is bound to.
///
/// It covers the name, the parameter schema without annotations, the gate and its condition, the
/// allowed contents of an answer, the people who may give it and their number, that a call may run
/// without an answer, the in-doubt rule, the tools of an agent, and that a client runs it. A new
/// description does not change it, except for a tool that another program defines: the definition
/// is the only knowledge about such a tool, so all of it counts. The identity of the program that a
/// tool runs is covered, too.
#[must_use]
pub fn contract_hash(declaration: &ToolDeclaration, policy: &ToolPolicy) -> ObjectHash {
    let mut contract = json!({
        "name": declaration.name,
        "parameters": declaration.parameters.as_ref().map(without_annotations),
        "gated": policy.confirm,
        "in_doubt": policy.in_doubt.as_str(),
    });
    // Only set keys are added, so that older declarations keep their hash.
    let gate = [
        (
            "gated_when",
            policy.gate_terms.when.as_ref().map(|it| json!(it)),
        ),
        (
            "payload",
            policy.gate_terms.payload.as_ref().map(without_annotations),
        ),
        ("edits", policy.gate_terms.edits.map(|it| json!(it))),
        (
            "gated_by_program",
            policy.gate_terms.asks_program.then_some(json!(true)),
        ),
        (
            "may_allow_for_session",
            policy
                .gate_terms
                .may_allow_for_session
                .then_some(json!(true)),
        ),
        (
            "approvers",
            Some(&policy.gate_terms.approvers)
                .filter(|it| !it.is_empty())
                .map(|it| json!(it)),
        ),
        (
            "not_requester",
            policy.gate_terms.not_requester.then_some(json!(true)),
        ),
        ("quorum", policy.gate_terms.quorum.map(|it| json!(it))),
        (
            "on_expiry",
            policy
                .gate_terms
                .let_unanswered_run()
                .then_some(json!("allow")),
        ),
    ];
    if let Value::Object(contract) = &mut contract {
        let said = gate.into_iter().filter(|_| policy.confirm);
        contract.extend(said.filter_map(|(key, value)| Some((key.to_owned(), value?))));
        let definition = declaration.definition.as_ref();
        contract.extend(definition.map(|it| ("definition".to_owned(), it.clone())));
        let made = declaration.implementation.as_ref();
        contract.extend(made.map(|it| ("implementation".to_owned(), it.clone())));
        let at_client = declaration.kind.runs_at_client();
        contract.extend(at_client.then(|| ("runs_at".to_owned(), json!("client"))));
        let agent = declaration.agent.as_ref();
        contract.extend(agent.map(|it| ("agent_tools".to_owned(), json!(it.tools))));
    }
    ObjectHash::of(&canonical_json(&contract))
}

/// The hash of the whole declaration and policy of a tool.
#[must_use]
pub fn declaration_hash(declaration: &ToolDeclaration, policy: &ToolPolicy) -> ObjectHash {
    ObjectHash::of(&object_bytes(&(declaration, policy)))
}

fn without_annotations(schema: &Value) -> Value {
    map_schema(schema, &|mut keywords| {
        keywords.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
        keywords
    })
}

/// The JSON Schema keywords that do not affect which arguments are valid.
const ANNOTATIONS: [&str; 8] = [
    "title",
    "description",
    "examples",
    "default",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
];

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
