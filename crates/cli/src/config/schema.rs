//! The JSON Schema of `recount.toml`, for editors that check the file while it is written.

use serde_json::{Map, Value, json};

use super::access::access_schema as access;
use super::{checkpoints, gateway, notify, postgres, reads, traces};
use recount::tool::policy_file;

/// A key, its schema and its description.
type Field<'f> = (&'f str, Value, &'f str);

/// The schema of the file.
pub(crate) fn schema() -> Value {
    let policies = policy_file::schema();
    let mut definitions = policies.get("$defs").cloned().unwrap_or_default();
    if let Some(definitions) = definitions.as_object_mut() {
        let client_tool = client_tool(definitions.get("policy"));
        definitions.insert("client_tool".to_owned(), client_tool);
        definitions.insert("agent".to_owned(), agent());
        definitions.insert("mcp".to_owned(), mcp());
    }
    let mut schema = file();
    for (keyword, value) in [
        (
            "$schema",
            "https://json-schema.org/draft/2020-12/schema".into(),
        ),
        ("title", "The configuration of recount serve".into()),
        (
            "description",
            "Every key is optional. Paths are relative to the file.".into(),
        ),
        ("$defs", definitions),
    ] {
        set(&mut schema, keyword, value);
    }
    schema
}

fn file() -> Value {
    table(
        &[],
        [
            (
                "listen",
                text(),
                "The address and the port to listen on; 127.0.0.1:7878 by default. Another address \
                 than loopback needs tokens and public_url in [access], and a certificate or \
                 behind_proxy.",
            ),
            (
                "journal",
                text(),
                "The directory of the journal, or the address of a database, such as \
                 postgres://recount@db.internal/journal; recount-journal by default. It is created \
                 if there is none. docs/postgres.md describes databases.",
            ),
            (
                "journal_env",
                text(),
                "The variable with the address of the journal in a database, which may have a \
                 password; in place of journal.",
            ),
            (
                "journal_file",
                text(),
                "The file with the address of the journal in a database, which may have a \
                 password; in place of journal. Not every user may be able to read it.",
            ),
            (
                "postgres",
                postgres::schema(),
                "The settings of a service over a database. Needs the feature postgres.",
            ),
            (
                "keys",
                keys(),
                "The keys of sealed sessions. With them, agents are sealed.",
            ),
            ("tls", tls(), "The certificate of the service."),
            ("access", access(), "The ways to prove who sends a request."),
            ("limits", limits(), "The limits."),
            (
                "traces",
                traces::schema(),
                "The collector that takes the OpenTelemetry spans of sessions. Needs the feature \
                 otel.",
            ),
            (
                "checkpoints",
                checkpoints::schema(),
                "The signed checkpoints of the journal. docs/evidence.md describes them.",
            ),
            (
                "gateway",
                gateway::schema(),
                "The gateway for clients of live models. docs/gateway.md describes it.",
            ),
            (
                "reads",
                reads::schema(),
                "The recording of who reads sessions. docs/access.md describes it.",
            ),
            (
                "sinks",
                notify::sinks_schema(),
                "The sinks of notifications.",
            ),
            (
                "routes",
                notify::routes_schema(),
                "The routes from calls to sinks.",
            ),
            ("agents", agents(), "The agents by their names."),
        ],
    )
}

fn keys() -> Value {
    table(
        &["store"],
        [
            (
                "store",
                text(),
                "The directory of the key store. It is created if there is none.",
            ),
            (
                "master_key_file",
                text(),
                "The file of the master key. RECOUNT_MASTER_KEY_FILE and RECOUNT_MASTER_KEY \
                 override it.",
            ),
        ],
    )
}

pub(super) fn tls() -> Value {
    table(
        &["certificate", "key"],
        [
            (
                "certificate",
                text(),
                "The file of the certificate and of those that signed it, in PEM.",
            ),
            (
                "key",
                text(),
                "The file of the private key, in PEM. Not every user may be able to read it.",
            ),
        ],
    )
}

fn limits() -> Value {
    table(
        &[],
        [
            (
                "body_bytes",
                number(),
                "The maximum size of a request's body, in bytes; 4 MiB by default.",
            ),
            (
                "connections",
                number(),
                "The maximum number of open connections; 512 by default. Further ones wait.",
            ),
            (
                "running_max",
                number(),
                "The maximum number of tools that run at the same time; unlimited by default.",
            ),
            (
                "grace",
                duration(),
                "The time for running work after the request to end, such as 20s, the default.",
            ),
            (
                "head_time",
                duration(),
                "The maximum time for the head of a request, and for an idle connection; 20s by \
                 default.",
            ),
            (
                "body_time",
                duration(),
                "The maximum time for the body of a request; 30s by default.",
            ),
            (
                "requests_per_second",
                number(),
                "The requests of a principal in a second; 1000 by default. Two seconds of them \
                 may come at once.",
            ),
            (
                "failures_per_minute",
                number(),
                "The requests of an address with failed credentials in a minute; 60 by default.",
            ),
            (
                "streams",
                number(),
                "The maximum number of streams of a principal at the same time; 64 by default.",
            ),
            (
                "waiting",
                number(),
                "The maximum number of waiting requests of a principal; 256 by default.",
            ),
        ],
    )
}

fn agent() -> Value {
    table(
        &[],
        [
            (
                "model",
                text(),
                "The model. Without one, only programs drive the sessions.",
            ),
            (
                "endpoint",
                text(),
                "The ws:// or wss:// URL of the model's service. By default the environment names \
                 it, as for recount run.",
            ),
            (
                "api_version",
                text(),
                "The version of the service's API, if not the usual one.",
            ),
            ("instruction", text(), "The instruction for the model."),
            (
                "sealed",
                flag(),
                "False for sessions in clear, although there is a key store.",
            ),
            (
                "record_transcripts",
                json!({"enum": ["full", "redacted", "none"]}),
                "The part of what the user and the model say that is recorded: full, the default; \
                 redacted, without digits and addresses; or none.",
            ),
            ("tools", texts(), "The files of tools that are commands."),
            (
                "policies",
                text(),
                "The file of policies, which override those of the tools.",
            ),
            (
                "mcp",
                list_of("mcp"),
                "The MCP servers whose tools the agent has.",
            ),
            (
                "client_tools",
                list_of("client_tool"),
                "The tools that clients run.",
            ),
        ],
    )
}

fn mcp() -> Value {
    table(
        &["server"],
        [
            (
                "server",
                text(),
                "A command line such as \"npx -y PACKAGE DIR\", or a URL.",
            ),
            (
                "prefix",
                text(),
                "The prefix of the names of the server's tools.",
            ),
            (
                "env",
                texts(),
                "The variables that the program inherits beside PATH, HOME and the like.",
            ),
            (
                "token_env",
                text(),
                "The variable with the token for a server at a URL.",
            ),
            (
                "include",
                texts(),
                "Only the tools with these names, prefix included; * matches any letters.",
            ),
            (
                "exclude",
                texts(),
                "Not the tools with these names, prefix included; * matches any letters.",
            ),
            (
                "aliases",
                json!({"type": "object", "additionalProperties": text()}),
                "Other names for tools, by the name of the tool.",
            ),
            (
                "strict",
                flag(),
                "True refuses a server with an incorrectly defined tool.",
            ),
        ],
    )
}

fn agents() -> Value {
    json!({
        "type": "object",
        "propertyNames": {"minLength": 1},
        "additionalProperties": {"$ref": "#/$defs/agent"},
    })
}

/// A client-run tool has the keys of its policies beside its own.
fn client_tool(policy: Option<&Value>) -> Value {
    let schema = json!({"type": ["object", "string"]});
    let mut tool = table(
        &["name", "description"],
        [
            ("name", text(), "The name by which the tool is called."),
            ("description", text(), "The description for the model."),
            (
                "parameters",
                schema,
                "The JSON Schema of the arguments, as a table or a text.",
            ),
        ],
    );
    let policies = policy.and_then(|it| it.get("properties"));
    let own = tool.get_mut("properties").and_then(Value::as_object_mut);
    if let (Some(Value::Object(policies)), Some(own)) = (policies, own) {
        own.extend(policies.clone());
    }
    tool
}

pub(super) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

pub(super) fn texts() -> Value {
    json!({"type": "array", "items": text()})
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn duration() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"})
}

pub(super) fn number() -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
}

fn list_of(definition: &str) -> Value {
    json!({"type": "array", "items": {"$ref": format!("#/$defs/{definition}")}})
}

pub(super) fn table<'f>(required: &[&str], fields: impl IntoIterator<Item = Field<'f>>) -> Value {
    let properties = fields.into_iter().map(|(key, mut schema, what)| {
        set(&mut schema, "description", what.into());
        (key.to_owned(), schema)
    });
    json!({
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    })
}

fn set(schema: &mut Value, keyword: &str, value: Value) {
    if let Some(keywords) = schema.as_object_mut() {
        keywords.insert(keyword.to_owned(), value);
    }
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::{
        access, agent_reading, checkpoints, gateway, notify, reading, reads, traces,
    };

    fn keys(schema: &Value) -> BTreeSet<&str> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties.map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn schema_has_the_keys_of_the_reader() {
        let schema = schema();
        let of = |pointer: &str| keys(schema.pointer(pointer).unwrap_or(&Value::Null));
        let all = |keys: &[&'static str]| keys.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(of(""), all(&reading::TOP));
        assert_eq!(of("/properties/keys"), all(&reading::KEYS));
        assert_eq!(of("/properties/tls"), all(&reading::TLS));
        assert_eq!(of("/properties/access"), all(&access::ACCESS));
        let access = "/properties/access/properties";
        assert_eq!(of(&format!("{access}/jwt")), all(&access::JWT));
        assert_eq!(of(&format!("{access}/proxy")), all(&access::PROXY));
        for party in ["jwt", "proxy"] {
            let role = format!("{access}/{party}/properties/roles/items");
            assert_eq!(of(&role), all(&access::ROLE));
        }
        assert_eq!(of("/properties/limits"), all(&reading::LIMITS));
        assert_eq!(of("/properties/traces"), all(&traces::TRACES));
        let checkpoints = all(&checkpoints::CHECKPOINTS);
        assert_eq!(of("/properties/checkpoints"), checkpoints);
        let anchors = of("/properties/checkpoints/properties/anchors/items");
        assert_eq!(anchors, all(&checkpoints::ANCHOR));
        assert_eq!(of("/properties/gateway"), all(&gateway::GATEWAY));
        let tls = of("/properties/gateway/properties/tls");
        assert_eq!(tls, all(&reading::TLS));
        assert_eq!(of("/properties/postgres"), all(&postgres::POSTGRES));
        assert_eq!(of("/properties/reads"), all(&reads::READS));
        assert_eq!(of("/properties/sinks/items"), all(&notify::SINK));
        assert_eq!(of("/properties/routes/items"), all(&notify::ROUTE));
        assert_eq!(of("/$defs/agent"), all(&agent_reading::AGENT));
        assert_eq!(of("/$defs/mcp"), all(&agent_reading::MCP));
        let policies = policy_file::schema();
        let mut tool = keys(&policies["$defs"]["policy"]);
        tool.extend(agent_reading::CLIENT_TOOL);
        assert_eq!(of("/$defs/client_tool"), tool);
    }
}
