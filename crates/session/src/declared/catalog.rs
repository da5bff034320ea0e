//! The tools a session knows, as data: what the model is told about them, and the two hashes of
//! each.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::schema::map_schema;
use crate::policies::policy::ToolPolicy;
use crate::values::object::{ObjectHash, canonical_json, object_bytes};

/// The declared tools of an agent, by name; stored in the journal as one object.
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
    /// Reads a stored catalog; fields of later versions are passed over.
    ///
    /// # Errors
    /// The bytes are not the JSON of a catalog.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Adds a declaration under its own name and returns the one it replaces.
    pub fn insert(&mut self, declaration: ToolDeclaration) -> Option<ToolDeclaration> {
        self.tools.insert(declaration.name.clone(), declaration)
    }

    /// The declaration of a tool.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ToolDeclaration> {
        self.tools.get(name)
    }

    /// The stored form: canonical JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        object_bytes(self)
    }

    /// The address of the stored form.
    #[must_use]
    pub fn hash(&self) -> ObjectHash {
        ObjectHash::of(&self.to_bytes())
    }
}

/// What the model is told about one tool.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolDeclaration {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, in words for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments; without one, any object is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Whether the model waits for the answer, where the platform lets one say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
    /// How its results are understood.
    #[serde(default, skip_serializing_if = "ToolKind::is_function")]
    pub kind: ToolKind,
    /// The JSON Pointers of the arguments that are secret: they are sealed before a call goes on
    /// record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret: Vec<String>,
    /// What it is listed under, such as `action` or `context`; the model does not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// What the service is told instead of a function declaration, of a tool that it runs itself:
    /// `{"googleSearch":{}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side: Option<Value>,
    /// The whole definition that another program gives of it, such as an MCP server:
    /// `{"server": name, "tool": {…}}`. The model does not see it; it is part of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// The datum by which the program that it runs is known again, such as
    /// `{"program":"./refund.sh","args":"4f53cd…","files":{"./refund.sh":"9f86d0…"}}` of a command;
    /// the model does not see it. It is part of the contract. Tools in Rust code have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Value>,
    /// It is for agents that name it, and the model of the conversation is not told of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inner: bool,
    /// What it may do, of a tool that is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentDeclaration>,
}

/// What an agent may do that is called as a tool.
///
/// ```json
/// {"tools":["look_up","send_code"]}
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct AgentDeclaration {
    /// The tools that its model may call, by name.
    #[serde(default)]
    pub tools: BTreeSet<String>,
}

impl ToolDeclaration {
    /// Declares a plain tool that takes any object.
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

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn with_parameters(mut self, schema: Value) -> Self {
        self.parameters = Some(schema);
        self
    }
}

/// Whether the model waits for a call's answer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// The model waits.
    Blocking,
    /// The model goes on talking.
    NonBlocking,
}

/// How a tool's results are understood.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// What it returns is the answer.
    #[default]
    Function,
    /// It returns nothing or an interim value; the answer is supplied later from outside.
    LongRunning,
    /// It gives one result after another.
    Streaming,
    /// It gives one result after another, and hears the user's audio and video meanwhile.
    InputStreaming,
    /// The service runs it and asks nobody.
    ServerSide,
    /// It is an agent: turns of a model, which may call tools itself.
    Agent,
}

impl ToolKind {
    /// True if the tool gives its results one by one, so that all of them are its result.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        match self {
            Self::Streaming | Self::InputStreaming => true,
            Self::Function | Self::LongRunning | Self::ServerSide | Self::Agent => false,
        }
    }

    /// Whether this is the plain kind, which is left out of the stored form.
    #[must_use]
    pub fn is_function(&self) -> bool {
        match self {
            Self::Function => true,
            Self::LongRunning
            | Self::Streaming
            | Self::InputStreaming
            | Self::ServerSide
            | Self::Agent => false,
        }
    }

    /// Whether a call of it is expected to return soon, so that a time limit holds where none is
    /// set.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.is_function()
    }
}

/// The hash an approval binds: what a person agreed to when they agreed to a call of this tool.
///
/// It covers the name, the parameter schema without annotations, whether the tool is gated and
/// when, what an answer may carry, its in-doubt rule, and the tools of an agent. A reworded
/// description leaves it alone, unless another program defines the tool: what that says is all that
/// anybody knows of it, so all of it counts. Where a tool says which program it runs, that is
/// covered, too.
#[must_use]
pub fn contract_hash(declaration: &ToolDeclaration, policy: &ToolPolicy) -> ObjectHash {
    let mut contract = json!({
        "name": declaration.name,
        "parameters": declaration.parameters.as_ref().map(without_annotations),
        "gated": policy.confirm,
        "in_doubt": policy.in_doubt.as_str(),
    });
    // What was declared before these were known has the hash it always had.
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
    ];
    if let Value::Object(contract) = &mut contract {
        let said = gate.into_iter().filter(|_| policy.confirm);
        contract.extend(said.filter_map(|(key, value)| Some((key.to_owned(), value?))));
        let definition = declaration.definition.as_ref();
        contract.extend(definition.map(|it| ("definition".to_owned(), it.clone())));
        let made = declaration.implementation.as_ref();
        contract.extend(made.map(|it| ("implementation".to_owned(), it.clone())));
        let agent = declaration.agent.as_ref();
        contract.extend(agent.map(|it| ("agent_tools".to_owned(), json!(it.tools))));
    }
    ObjectHash::of(&canonical_json(&contract))
}

/// The hash of all that is declared about a tool.
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

/// Keywords that say nothing about which arguments are valid.
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
