//! The reader of `[access]`: tokens, JWTs, and the proxy in front of the service.

use std::time::Duration;

use crate::config::document::Node;
use crate::config::section::{Given, Section};
use crate::config::settings::{AccessSettings, JwtKeys, JwtSettings, ProxySettings, RoleRule};
use recount_server::{AgentScope, Grant, Jwt, JwtAlgorithm, Role};

/// The keys of `[access]`.
pub(in crate::config) const ACCESS: [&str; 5] =
    ["tokens", "behind_proxy", "public_url", "jwt", "proxy"];

/// The keys of `[access.jwt]`.
pub(in crate::config) const JWT: [&str; 11] = [
    "issuer",
    "audience",
    "jwks_url",
    "jwks_authorities",
    "jwks_file",
    "algorithms",
    "clock_skew",
    "refetch_after",
    "roles_claim",
    "groups_claim",
    "roles",
];

/// The keys of `[access.proxy]`.
pub(in crate::config) const PROXY: [&str; 6] = [
    "socket",
    "socket_mode",
    "user_header",
    "groups_header",
    "issuer",
    "roles",
];

/// The keys of a rule in `roles`.
pub(in crate::config) const ROLE: [&str; 6] =
    ["value", "role", "agents", "labels", "tools", "models"];

/// The permissions of a socket: those of its user, or of its group, too.
pub(super) const SOCKET_MODES: [(&str, u32); 2] = [("0600", 0o600), ("0660", 0o660)];

/// The header that reverse proxies use for the name of the user.
const USER_HEADER: &str = "X-Forwarded-User";

/// Reads `[access]`.
pub(in crate::config) fn access(section: &Section<'_>) -> AccessSettings {
    section.only(&ACCESS);
    AccessSettings {
        tokens: section.path("tokens"),
        behind_proxy: section.flag("behind_proxy"),
        public_url: section.text("public_url"),
        jwt: section.section("jwt").and_then(|it| jwt(&it)),
        proxy: section.section("proxy").and_then(|it| proxy(&it)),
    }
}

fn jwt(section: &Section<'_>) -> Option<JwtSettings> {
    section.only(&JWT);
    let issuer = section.required("issuer", section.text("issuer"));
    let audience = section.required("audience", section.text("audience"));
    let keys = jwt_keys(section);
    let clock_skew = section.duration("clock_skew");
    expect_at_most(section, clock_skew.as_ref(), Jwt::CLOCK_SKEW_MAX);
    let refetch_after = section.positive("refetch_after");
    expect_at_most(section, refetch_after.as_ref(), Jwt::REFETCH_AFTER_MAX);
    let (roles_claim, groups_claim) = (section.text("roles_claim"), section.text("groups_claim"));
    let (algorithms, roles) = (algorithms(section), roles(section));
    Some(JwtSettings {
        issuer: issuer?,
        audience: audience?,
        keys: keys?,
        algorithms,
        clock_skew,
        refetch_after,
        roles_claim,
        groups_claim,
        roles,
    })
}

fn expect_at_most(section: &Section<'_>, given: Option<&Given<Duration>>, most: Duration) {
    if let Some(given) = given.filter(|it| it.value > most) {
        let minutes = most.as_secs() / 60;
        section.object(given.mistake(format!("expected a time up to {minutes}m, found more")));
    }
}

fn jwt_keys(section: &Section<'_>) -> Option<JwtKeys> {
    let (url, file) = (section.text("jwks_url"), section.path("jwks_file"));
    let authorities = section.path("jwks_authorities");
    let mistake = match (url, file, authorities) {
        (Some(url), None, authorities) => return Some(JwtKeys::Url(url, authorities)),
        (None, Some(file), None) => return Some(JwtKeys::File(file)),
        (Some(_), Some(file), _) => file.mistake("expected either jwks_url or jwks_file"),
        (None, Some(_), Some(authorities)) => {
            authorities.mistake("expected it with jwks_url, found jwks_file")
        }
        (None, None, _) => {
            let has_one = ["jwks_url", "jwks_file"].map(|it| section.node(it).is_some());
            if has_one.contains(&true) {
                // Its own mistake is reported.
                return None;
            }
            let what = "expected jwks_url or jwks_file, found neither";
            section.place.mistake(&section.field, what)
        }
    };
    section.object(mistake);
    None
}

fn algorithms(section: &Section<'_>) -> Vec<Given<JwtAlgorithm>> {
    let mut algorithms = Vec::new();
    for given in section
        .some_texts("algorithms", "an algorithm")
        .into_iter()
        .flatten()
    {
        match given.value.parse::<JwtAlgorithm>() {
            Ok(value) => algorithms.push(Given {
                value,
                place: given.place,
                field: given.field,
            }),
            Err(error) => section.object(given.mistake(error.to_string())),
        }
    }
    algorithms
}

fn proxy(section: &Section<'_>) -> Option<ProxySettings> {
    section.only(&PROXY);
    let socket = section.required("socket", section.path("socket"));
    let expected = SOCKET_MODES
        .map(|(text, _)| format!("{text:?}"))
        .join(" or ");
    let mode = |node: &Node| {
        let named = SOCKET_MODES
            .iter()
            .find(|(text, _)| node.text() == Some(*text));
        named.map(|(_, mode)| *mode)
    };
    let socket_mode = section.value("socket_mode", &expected, mode);
    let user_header = section.text("user_header").unwrap_or_else(|| Given {
        value: USER_HEADER.to_owned(),
        place: section.place.clone(),
        field: section.field_of("user_header"),
    });
    let (groups_header, issuer) = (section.text("groups_header"), section.text("issuer"));
    let roles = roles(section);
    Some(ProxySettings {
        socket: socket?,
        socket_mode,
        user_header,
        groups_header,
        issuer,
        roles,
    })
}

fn roles(section: &Section<'_>) -> Vec<RoleRule> {
    section.sections("roles").iter().filter_map(role).collect()
}

fn role(section: &Section<'_>) -> Option<RoleRule> {
    section.only(&ROLE);
    let value = section.required("value", section.text("value"));
    let expected = Role::ALL.map(Role::as_str).join(", ");
    let role = section.value("role", &format!("one of {expected}"), |node| {
        node.text()?.parse::<Role>().ok()
    });
    let role = section.required("role", role);
    let names = |key| section.some_texts(key, "a name");
    let (agents, tools) = (names("agents"), names("tools"));
    let texts = |names: &Vec<Given<String>>| names.iter().map(|it| it.value.clone()).collect();
    let mut grant = Grant::everywhere(role?.value);
    if let Some(agents) = &agents {
        grant.agents = AgentScope::Only(texts(agents));
    }
    grant.tools = tools.as_ref().map(texts);
    for model in names("models").into_iter().flatten() {
        // The vendors write `models/NAME`, and more collections in front of it.
        let name = model.value.rsplit('/').next().unwrap_or_default();
        grant = grant.of_model(name);
    }
    if let Some(labels) = section.section("labels") {
        for name in labels.table.keys() {
            let value = labels.text(name);
            grant
                .labels
                .extend(value.map(|it| (name.clone(), it.value)));
        }
    }
    Some(RoleRule {
        value: value?.value,
        grant,
        agents: agents.unwrap_or_default(),
        tools: tools.unwrap_or_default(),
    })
}
