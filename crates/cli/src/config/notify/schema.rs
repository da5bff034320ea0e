//! The JSON Schema of `[[sinks]]` and `[[routes]]`.

use serde_json::{Map, Value, json};

use super::super::schema::{duration, flag, number, table, text, texts};
use super::settings::SinkKind;
use recount_notify::{Detail, Occasion};

/// The schema of `[[sinks]]`.
pub(in crate::config) fn sinks() -> Value {
    json!({"type": "array", "items": sink()})
}

/// The schema of `[[routes]]`.
pub(in crate::config) fn routes() -> Value {
    json!({"type": "array", "items": route()})
}

fn time() -> Value {
    json!({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
}

fn templates() -> Value {
    let keys = Occasion::ALL.map(Occasion::as_str);
    let properties: Map<String, Value> = keys.iter().map(|it| ((*it).to_owned(), text())).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn sink() -> Value {
    let name = json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"});
    let kinds = SinkKind::ALL.map(SinkKind::as_str);
    let details = Detail::ALL.map(Detail::as_str);
    let fields = [
        ("name", name, "The name, by which routes name the sink."),
        ("kind", json!({"enum": kinds}), "The kind."),
        (
            "url",
            text(),
            "The URL of the receiver. Of Slack, it is a secret.",
        ),
        ("url_env", text(), "The variable with the URL."),
        (
            "url_file",
            text(),
            "The file with the URL. Not every user may be able to read it.",
        ),
        (
            "secret_env",
            text(),
            "The variable with a webhook's secret, whsec_…",
        ),
        (
            "secret_file",
            text(),
            "The file with a webhook's secret, whsec_… Not every user may be able to read it.",
        ),
        (
            "token_env",
            text(),
            "The variable with the token of a topic of ntfy.",
        ),
        (
            "token_file",
            text(),
            "The file with the token of a topic of ntfy. Not every user may be able to read it.",
        ),
        (
            "command",
            texts(),
            "The program and its arguments. It gets the JSON on its standard input; no shell is \
             involved.",
        ),
        (
            "allow_http",
            flag(),
            "True if messages may leave this machine in clear text, such as in a private network.",
        ),
        (
            "markdown",
            flag(),
            "True if the server behind a Slack webhook reads Markdown, as Mattermost and \
             Rocket.Chat do.",
        ),
        (
            "detail",
            json!({"enum": details}),
            "The part of a call that messages contain: none, names (the default) or arguments. \
             Sealed values are never part of them.",
        ),
        (
            "templates",
            templates(),
            "The texts by their occasions, with fields such as {tool}. docs/notifications.md \
             lists the fields.",
        ),
        (
            "zone",
            text(),
            "The zone of times in texts, and of the digest: utc, the default, local, an offset \
             such as +02:00, or a name such as Europe/Berlin.",
        ),
        (
            "digest",
            time(),
            "The time of the daily digest, such as 08:00; none by default.",
        ),
        (
            "timeout",
            duration(),
            "The maximum time of an attempt; 10s by default.",
        ),
        (
            "attempts",
            number(),
            "The attempts before a message becomes a dead letter; 100 by default.",
        ),
        (
            "retry_first",
            duration(),
            "The wait after the first failure; 1s by default.",
        ),
        (
            "retry_longest",
            duration(),
            "The longest wait after a failure; 5m by default.",
        ),
    ];
    table(&["name", "kind"], fields)
}

fn route() -> Value {
    let listed = Occasion::LISTED.map(Occasion::as_str);
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let fields = [
        ("sinks", texts(), "The sinks."),
        (
            "on",
            json!({"type": "array", "items": {"enum": listed}}),
            "The occasions; asked and in_doubt by default.",
        ),
        (
            "tools",
            texts(),
            "The tools; * matches any letters. All by default.",
        ),
        (
            "agents",
            texts(),
            "The agents; * matches any letters. All by default.",
        ),
        (
            "labels",
            json!({"type": "object", "additionalProperties": text()}),
            "The labels that the sessions must have.",
        ),
        (
            "hours",
            text(),
            "The hours of the sinks, such as 08:00-18:00; always by default.",
        ),
        (
            "days",
            json!({"type": "array", "items": {"enum": days}, "minItems": 1}),
            "The days of the hours; every day by default.",
        ),
        ("zone", text(), "The zone of the hours; utc by default."),
        (
            "quiet_sinks",
            texts(),
            "The sinks outside of the hours; [] sends nothing.",
        ),
        (
            "remind_before",
            duration(),
            "The time before its expiry at which a request that still waits is sent again.",
        ),
        (
            "escalate_after",
            duration(),
            "The time after which a request that still waits is sent to escalate_to.",
        ),
        ("escalate_to", texts(), "The sinks of the escalation."),
    ];
    table(&["sinks"], fields)
}
