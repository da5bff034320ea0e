//! The JSON Schema of `[access]`.

use serde_json::{Value, json};

use super::reading::SOCKET_MODES;
use crate::config::schema::{duration, flag, table, text};
use recount_server::{JwtAlgorithm, Role};

pub(in crate::config) fn access() -> Value {
    table(
        &[],
        [
            (
                "tokens",
                text(),
                "The file of the tokens; recount-tokens.json by default. `recount token create` \
                 adds one.",
            ),
            (
                "behind_proxy",
                flag(),
                "True if a reverse proxy with a certificate is in front of the service.",
            ),
            (
                "public_url",
                json!({"type": "string", "pattern": "^https?://[^@]+$"}),
                "The URL by which clients reach the service.",
            ),
            ("jwt", jwt(), "The JWTs of an issuer, as bearer tokens."),
            (
                "proxy",
                proxy(),
                "A reverse proxy that names users in headers, on a Unix socket of its own.",
            ),
        ],
    )
}

fn jwt() -> Value {
    let algorithms = JwtAlgorithm::ALL.map(JwtAlgorithm::as_str);
    let algorithms = json!({"type": "array", "items": {"enum": algorithms}, "minItems": 1});
    let fields = [
        ("issuer", text(), "The issuer, exactly as `iss` has it."),
        ("audience", text(), "The audience that `aud` must name."),
        (
            "jwks_url",
            json!({"type": "string", "pattern": "^https?://[^@]+$"}),
            "The URL of the issuer's keys: https, or http on this machine.",
        ),
        (
            "jwks_authorities",
            text(),
            "The file of the certificates in PEM that sign that of jwks_url, in place of the \
             public ones.",
        ),
        (
            "jwks_file",
            text(),
            "The file of the issuer's keys, in place of jwks_url.",
        ),
        (
            "algorithms",
            algorithms,
            "The only algorithms of signatures; all of them by default.",
        ),
        (
            "clock_skew",
            duration(),
            "The difference of clocks that is allowed, up to 10m; 60s by default.",
        ),
        (
            "refetch_after",
            duration(),
            "The time within which the keys are fetched once at most, up to 15m; 30s by \
             default.",
        ),
        (
            "roles_claim",
            text(),
            "The claim whose values have roles; roles by default. A name that begins with / is a \
             JSON pointer.",
        ),
        (
            "groups_claim",
            text(),
            "The claim with the groups of a person; groups by default.",
        ),
        ("roles", roles(), "The roles for values of roles_claim."),
    ];
    table(&["issuer", "audience"], fields)
}

fn proxy() -> Value {
    let modes = SOCKET_MODES.map(|(text, _)| text);
    let fields = [
        (
            "socket",
            text(),
            "The Unix socket on which the headers are read. Only the proxy may open it.",
        ),
        (
            "socket_mode",
            json!({"enum": modes}),
            "The permissions of the socket: 0600 by default, or 0660 for its group, too.",
        ),
        (
            "user_header",
            text(),
            "The header with the name of the user; X-Forwarded-User by default.",
        ),
        (
            "groups_header",
            text(),
            "The header with the groups of the user, separated by commas.",
        ),
        (
            "issuer",
            text(),
            "The issuer of the persons that the proxy names; proxy by default.",
        ),
        ("roles", roles(), "The roles for groups of the user."),
    ];
    table(&["socket"], fields)
}

fn roles() -> Value {
    json!({"type": "array", "items": role()})
}

fn role() -> Value {
    let names = json!({"type": "array", "items": text(), "minItems": 1});
    let fields = [
        (
            "value",
            text(),
            "The value; * stands for every identity that is vouched for.",
        ),
        (
            "role",
            json!({"enum": Role::ALL.map(Role::as_str)}),
            "The role.",
        ),
        ("agents", names.clone(), "The only agents; any by default."),
        (
            "labels",
            json!({"type": "object", "additionalProperties": text()}),
            "The labels that the sessions must have.",
        ),
        (
            "tools",
            names.clone(),
            "The only tools that may be called and claimed; any by default.",
        ),
        (
            "models",
            names,
            "The only models for clients of the gateway; any by default.",
        ),
    ];
    table(&["value", "role"], fields)
}
