//! The request that opens a connection: its URL and headers, by platform and kind of credential.

use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderMap, HeaderName, HeaderValue, Request};

use super::endpoint::{Credential, Endpoint, Place, Target};
use super::token_source::AccessToken;
use crate::live::{ConnectError, Connector};
use crate::session::secret::{Secret, Unsaid};

/// The name of this program in the `user-agent` header.
const CLIENT: &str = concat!("recount/", env!("CARGO_PKG_VERSION"));

/// Creates the request, with credentials.
pub(super) fn request(
    endpoint: &Endpoint,
    token: Option<&AccessToken>,
) -> Result<Request<()>, ConnectError> {
    drawn_up(endpoint, token).map_err(|mistakes| ConnectError::Misconfigured {
        endpoint: endpoint.endpoint(),
        problem: mistakes.join("; "),
    })
}

/// Returns all faults that prevent a request.
pub(super) fn mistakes(endpoint: &Endpoint) -> Vec<String> {
    drawn_up(endpoint, None).err().unwrap_or_default()
}

fn drawn_up(endpoint: &Endpoint, token: Option<&AccessToken>) -> Result<Request<()>, Vec<String>> {
    let mut mistakes = refusals(endpoint);
    let url = address(endpoint);
    mistakes.extend(wrong_scheme(&url));
    // An invalid project or location would also make the URL invalid.
    let mut request = None;
    if mistakes.is_empty() {
        match url.into_client_request() {
            Ok(drawn) => request = Some(drawn),
            Err(error) => mistakes.push(format!("its URL cannot be used: {error}")),
        }
    }
    let mut carried = HeaderMap::new();
    let own = endpoint.headers.iter();
    let mut headers: Vec<(&str, Secret)> = shown(endpoint, token);
    headers.extend(own.map(|(name, value)| (name.as_str(), value.clone())));
    for (name, value) in headers {
        match (
            name.parse::<HeaderName>(),
            HeaderValue::from_str(value.reveal()),
        ) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(true);
                carried.insert(name, value);
            }
            (Err(_), _) => mistakes.push(format!("no header can have the name {name:?}")),
            (Ok(_), Err(_)) => {
                mistakes.push(format!("no header can carry the value of {name:?}"));
            }
        }
    }
    let Some(mut request) = request.filter(|_| mistakes.is_empty()) else {
        let unsaid = unsaid(endpoint);
        return Err(mistakes.into_iter().map(|it| unsaid.out_of(it)).collect());
    };
    let headers = request.headers_mut();
    headers.extend(carried);
    headers
        .entry("content-type")
        .or_insert(HeaderValue::from_static("application/json"));
    for name in ["user-agent", "x-goog-api-client"] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(CLIENT));
    }
    Ok(request)
}

/// Checks the scheme of a URL. Text that is not a URL is not quoted, because it may be a misplaced
/// key.
fn wrong_scheme(url: &str) -> Option<String> {
    let expected = "expected a URL that begins with ws:// or wss://";
    match url.split_once("://") {
        Some(("ws" | "wss", _)) => None,
        Some((scheme, _)) => Some(format!("{expected}, found {scheme:?}")),
        None => Some(format!("{expected}, found none")),
    }
}

/// Returns the whole URL, including the query.
pub(super) fn address(endpoint: &Endpoint) -> String {
    let (place, base, version) = match &endpoint.target {
        Target::Exact(url) => return url.clone(),
        Target::Service {
            place,
            base,
            version,
        } => (place, base, version.as_deref()),
    };
    let host = base.clone().unwrap_or_else(|| host(place));
    let path = path(place, version, &endpoint.credential);
    let url = format!("{}/{path}", host.trim_end_matches('/'));
    match &endpoint.credential {
        Credential::Key {
            key,
            in_query: true,
        } => format!("{url}?key={}", escaped(key.reveal())),
        Credential::Ephemeral {
            token,
            in_query: true,
        } => format!("{url}?access_token={}", escaped(token.reveal())),
        Credential::None
        | Credential::Key { .. }
        | Credential::Ephemeral { .. }
        | Credential::OAuth(_) => url,
    }
}

/// Returns the endpoint's secrets, which must not appear elsewhere. The OAuth token is not
/// included.
pub(super) fn unsaid(endpoint: &Endpoint) -> Unsaid {
    let mut unsaid = Unsaid::default();
    match &endpoint.credential {
        Credential::Key { key: secret, .. } | Credential::Ephemeral { token: secret, .. } => {
            unsaid.add(secret);
            unsaid.add(&Secret::new(escaped(secret.reveal())));
        }
        Credential::None | Credential::OAuth(_) => {}
    }
    for (_, value) in &endpoint.headers {
        unsaid.add(value);
    }
    if let Target::Exact(url) = &endpoint.target {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let values = query.split(['&', '#']).filter_map(|it| it.split_once('='));
        for (_, value) in values {
            unsaid.add(&Secret::new(value));
        }
    }
    unsaid
}

/// Returns the headers with credentials.
fn shown(endpoint: &Endpoint, token: Option<&AccessToken>) -> Vec<(&'static str, Secret)> {
    const KEY: &str = "x-goog-api-key";
    const AUTHORIZATION: &str = "authorization";
    match &endpoint.credential {
        Credential::Key {
            key,
            in_query: false,
        } => vec![(KEY, key.clone())],
        // The service expects an ephemeral token in both headers, as the vendor's library sends it.
        Credential::Ephemeral {
            token,
            in_query: false,
        } => {
            let as_token = Secret::new(format!("Token {}", token.reveal()));
            vec![(AUTHORIZATION, as_token), (KEY, token.clone())]
        }
        Credential::OAuth(_) => {
            let bearer = token.map(|it| format!("Bearer {}", it.secret().reveal()));
            let bearer = bearer.map(|it| (AUTHORIZATION, Secret::new(it)));
            bearer.into_iter().collect()
        }
        Credential::None | Credential::Key { .. } | Credential::Ephemeral { .. } => Vec::new(),
    }
}

fn host(place: &Place) -> String {
    match place {
        Place::GoogleAi => "wss://generativelanguage.googleapis.com".to_owned(),
        Place::Vertex { location, .. } if location != "global" => {
            format!("wss://{location}-aiplatform.googleapis.com")
        }
        Place::Vertex { .. } | Place::VertexExpress => "wss://aiplatform.googleapis.com".to_owned(),
    }
}

/// Returns the platform's path. Google AI has a dot before the method, Vertex a slash.
fn path(place: &Place, version: Option<&str>, credential: &Credential) -> String {
    let ephemeral = matches!(credential, Credential::Ephemeral { .. });
    match place {
        Place::GoogleAi => {
            let (usual, method) = if ephemeral {
                ("v1alpha", "BidiGenerateContentConstrained")
            } else {
                ("v1beta", "BidiGenerateContent")
            };
            let version = version.unwrap_or(usual);
            format!("ws/google.ai.generativelanguage.{version}.GenerativeService.{method}")
        }
        Place::Vertex { .. } | Place::VertexExpress => {
            let version = version.unwrap_or("v1beta1");
            format!("ws/google.cloud.aiplatform.{version}.LlmBidiService/BidiGenerateContent")
        }
    }
}

/// Returns the faults for which nothing may be sent, such as a credential sent to a wrong host or
/// unencrypted.
fn refusals(endpoint: &Endpoint) -> Vec<String> {
    let Target::Service {
        place,
        base,
        version,
    } = &endpoint.target
    else {
        return Vec::new();
    };
    let mut refusals = Vec::new();
    let word = |text: &str| {
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !text.is_empty() && text.chars().all(is_of_word)
    };
    if let Some(version) = version.as_deref().filter(|it| !word(it)) {
        refusals.push(format!(
            "expected an API version such as v1, found {version:?}"
        ));
    }
    if let Place::Vertex { project, location } = place {
        if !word(location) {
            refusals.push(format!(
                "expected a location such as us-central1 or global, found {location:?}"
            ));
        }
        let in_project = |c: char| c.is_ascii_alphanumeric() || "-.:_".contains(c);
        if project.is_empty() || !project.chars().all(in_project) {
            refusals.push(format!("expected the id of a project, found {project:?}"));
        }
    }
    match &endpoint.credential {
        Credential::Key { key: secret, .. } | Credential::Ephemeral { token: secret, .. }
            if secret.reveal().trim().is_empty() =>
        {
            refusals.push("its key is empty".to_owned());
        }
        Credential::None
        | Credential::Key { .. }
        | Credential::Ephemeral { .. }
        | Credential::OAuth(_) => {}
    }
    let in_clear = base.as_deref().and_then(|base| base.strip_prefix("ws://"));
    if in_clear.is_some_and(|rest| !is_this_machine(rest)) {
        refusals.push("credentials are sent over wss:// only, or to this machine".to_owned());
    }
    refusals
}

fn is_this_machine(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let without_port = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|it| it.is_ascii_digit()) {
            name
        } else {
            host
        }
    });
    let address = without_port.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |it: std::net::IpAddr| it.is_loopback();
    address == "localhost" || address.parse().is_ok_and(is_loopback)
}

/// Escapes a text for a query.
fn escaped(text: &str) -> String {
    let as_it_is = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte);
    text.bytes()
        .map(|byte| match byte {
            byte if as_it_is(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
