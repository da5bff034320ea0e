//! The service that a request asks for: its platform, its address, and what is sent on to it.

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use recount::live::Platform;

use crate::settings::{Credentials, Settings, Upstream};

/// Google AI's host.
const GOOGLE_AI: &str = "wss://generativelanguage.googleapis.com";

/// Vertex's host without a location.
const VERTEX: &str = "wss://aiplatform.googleapis.com";

/// The path of Vertex for clients that were given a whole URL.
const VERTEX_PATH: &str = "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent";

/// The parameters that carry a credential.
const SECRET_PARAMETERS: [&str; 2] = ["key", "access_token"];

/// The headers that carry a credential.
const SECRET_HEADERS: [&str; 2] = ["authorization", "x-goog-api-key"];

/// The header for a key of the vendor.
const API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// The begin of the names of the gateway's own headers and parameters.
pub(crate) const OWN: &str = "x-recount-";

/// The headers that are never sent on: those of one hop, and those of the reader of a response.
const NEVER_SENT: [&str; 11] = [
    // A refusal's body passes as text.
    "accept-encoding",
    "connection",
    "upgrade",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "content-length",
    "expect",
];

/// The service that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) platform: Platform,
    /// The path of the service, without the prefix of the gateway.
    path: String,
}

impl Target {
    /// Reads the path of a request. `None` if it asks for no live conversation.
    ///
    /// Any prefix and doubled slashes are allowed. A path without the name of a service is that of
    /// a client of Vertex that was given a whole URL.
    pub(crate) fn of(path: &str) -> Option<Target> {
        let parts: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        let at = parts.iter().position(|it| it.starts_with("google."));
        let Some(at) = at else {
            return Some(Target {
                platform: Platform::Vertex,
                path: VERTEX_PATH.to_owned(),
            });
        };
        let service = parts.get(at..)?.join("/");
        let platform = platform_of(&service)?;
        let path = format!("/ws/{service}");
        Some(Target { platform, path })
    }

    /// The address of the service, without credentials.
    pub(crate) fn endpoint(&self, upstream: &Upstream) -> String {
        match (upstream, self.platform) {
            (Upstream::Url(url), _) => socket_url(url.trim_end_matches('/')),
            (Upstream::Vendor, Platform::GoogleAi) => GOOGLE_AI.to_owned(),
            (Upstream::Vendor, Platform::Vertex) => VERTEX.to_owned(),
        }
    }

    /// The whole URL, with the parameters of the client that are for the vendor.
    pub(crate) fn url(&self, settings: &Settings, query: Option<&str>) -> String {
        let endpoint = self.endpoint(&settings.upstream);
        let keeps_secrets = settings.credentials == Credentials::PassThrough;
        let pairs = query.unwrap_or_default().split('&');
        // The names are decoded as in `parameter`, so that no spelling of one is overlooked.
        let for_vendor = |pair: &&str| {
            let name = form_urlencoded::parse(pair.as_bytes()).next();
            let name = name.map(|(name, _)| name).unwrap_or_default();
            let is_secret = SECRET_PARAMETERS.contains(&&*name);
            !pair.is_empty() && !is_own(&name) && (keeps_secrets || !is_secret)
        };
        let pairs: Vec<&str> = pairs.filter(for_vendor).collect();
        let path = &self.path;
        match pairs.is_empty() {
            true => format!("{endpoint}{path}"),
            false => format!("{endpoint}{path}?{}", pairs.join("&")),
        }
    }
}

/// True if this is the name of a header or parameter for the gateway.
pub(crate) fn is_own(name: &str) -> bool {
    let begin = name.as_bytes().get(..OWN.len());
    begin.is_some_and(|it| it.eq_ignore_ascii_case(OWN.as_bytes()))
}

fn platform_of(service: &str) -> Option<Platform> {
    let of_google = service.strip_prefix("google.ai.generativelanguage.");
    if let Some(rest) = of_google {
        let (version, method) = rest.split_once(".GenerativeService.")?;
        let is_live = matches!(
            method,
            "BidiGenerateContent" | "BidiGenerateContentConstrained"
        );
        return (is_live && is_version(version)).then_some(Platform::GoogleAi);
    }
    let rest = service.strip_prefix("google.cloud.aiplatform.")?;
    let (version, method) = rest.split_once(".LlmBidiService/")?;
    let is_live = method == "BidiGenerateContent" && is_version(version);
    is_live.then_some(Platform::Vertex)
}

fn is_version(text: &str) -> bool {
    text.starts_with('v') && text.chars().all(|it| it.is_ascii_alphanumeric())
}

/// `http` and `https` as schemes of WebSockets.
fn socket_url(url: &str) -> String {
    match url.split_once("://") {
        Some(("http", rest)) => format!("ws://{rest}"),
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(_) | None => url.to_owned(),
    }
}

/// Returns the headers that go on to the vendor.
pub(crate) fn headers(client: &HeaderMap, settings: &Settings) -> HeaderMap {
    let mut sent = HeaderMap::new();
    let (keeps_secrets, key) = match &settings.credentials {
        Credentials::PassThrough => (true, None),
        Credentials::Tokens { vendor_key } => (false, Some(vendor_key)),
    };
    for (name, value) in client {
        let text = name.as_str();
        let is_of_reader = NEVER_SENT.contains(&text) || text.starts_with("sec-websocket-");
        let is_secret = SECRET_HEADERS.contains(&text);
        let is_kept = is_own(text) || text == "cookie";
        if !is_of_reader && !is_kept && (keeps_secrets || !is_secret) {
            sent.append(name.clone(), value.clone());
        }
    }
    if let Some(key) = key
        && let Ok(mut value) = HeaderValue::from_str(key.expose())
    {
        value.set_sensitive(true);
        sent.insert(API_KEY, value);
    }
    sent
}

/// Returns the credential of a client: of a header, else of the query.
pub(crate) fn credential(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let bearer = header("authorization").map(|it| match it.split_once(' ') {
        Some((scheme, token)) if ["bearer", "token"].contains(&&*scheme.to_ascii_lowercase()) => {
            token.trim()
        }
        Some(_) | None => it,
    });
    let of_query = || {
        let mut names = SECRET_PARAMETERS.iter();
        names.find_map(|name| parameter(uri, name))
    };
    let of_header = header("x-goog-api-key").or(bearer).map(str::to_owned);
    of_header.or_else(of_query)
}

/// Returns a parameter of the query, decoded.
pub(crate) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let mut values = pairs.filter(|(key, _)| key == name);
    values.next().map(|(_, value)| value.into_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::settings::VendorKey;

    const GOOGLE: &str = "google.ai.generativelanguage.v1beta.GenerativeService";

    #[test]
    fn paths_of_clients_are_known_under_any_prefix() {
        for (path, platform) in [
            (
                format!("/ws/{GOOGLE}.BidiGenerateContent"),
                Platform::GoogleAi,
            ),
            (
                format!("//ws/{GOOGLE}.BidiGenerateContent"),
                Platform::GoogleAi,
            ),
            (
                format!("/team/a//ws/{GOOGLE}.BidiGenerateContentConstrained"),
                Platform::GoogleAi,
            ),
            (format!("/gw{VERTEX_PATH}"), Platform::Vertex),
            ("/gateway/live".to_owned(), Platform::Vertex),
        ] {
            let target = Target::of(&path).unwrap();
            assert_eq!(target.platform, platform, "{path}");
            assert!(target.path.starts_with("/ws/google."), "{path}");
        }
    }

    #[test]
    fn other_methods_are_unknown() {
        for path in [
            format!("/ws/{GOOGLE}.BidiGenerateMusic"),
            "/ws/google.ai.generativelanguage.v1beta/../x.GenerativeService.BidiGenerateContent"
                .to_owned(),
        ] {
            assert_eq!(Target::of(&path), None, "{path}");
        }
    }

    #[test]
    fn gateway_token_does_not_reach_the_vendor() {
        let settings = Settings {
            credentials: Credentials::Tokens {
                vendor_key: VendorKey::new("AIza-vendor"),
            },
            ..Settings::of_agent("support")
        };
        let target = Target::of(&format!("/ws/{GOOGLE}.BidiGenerateContent")).unwrap();
        for query in [
            "key=rct_secret&x-recount-session=7&alt=json",
            "ke%79=rct_secret&x%2Drecount-session=7&alt=json",
            "alt=json&access%5Ftoken=rct_secret&X-Recount-Session=7&&%6bey=rct_secret",
        ] {
            let url = target.url(&settings, Some(query));
            assert!(url.ends_with("BidiGenerateContent?alt=json"), "{url}");
        }
        let mut client = HeaderMap::new();
        client.insert("authorization", "Bearer rct_secret".parse().unwrap());
        client.insert("x-goog-api-key", "rct_secret".parse().unwrap());
        client.insert("proxy-authorization", "Basic c2VjcmV0".parse().unwrap());
        client.insert("accept-encoding", "gzip".parse().unwrap());
        client.insert("x-recount-label-tenant", "acme".parse().unwrap());
        client.insert("user-agent", "google-genai-sdk/3.6.1".parse().unwrap());
        let sent = headers(&client, &settings);
        assert_eq!(sent.get(API_KEY).unwrap(), "AIza-vendor");
        assert_eq!(sent.len(), 2);
    }

    #[test]
    fn credential_is_found_wherever_a_client_puts_it() {
        let found = |name: &str, value: &str, uri: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
            credential(&headers, &uri.parse().unwrap())
        };
        let secret = Some("s1".to_owned());
        assert_eq!(found("authorization", "Bearer s1", "/"), secret);
        assert_eq!(found("authorization", "Token s1", "/"), secret);
        assert_eq!(found("x-goog-api-key", "s1", "/?key=s2"), secret);
        assert_eq!(found("accept", "*/*", "/?key=s1"), secret);
        assert_eq!(found("accept", "*/*", "/?a=b&access_token=s%31"), secret);
        assert_eq!(found("accept", "*/*", "/"), None);
    }
}
