//! The address of a service, and the credentials for it.

use async_trait::async_trait;

use super::keepalive::Keepalive;
use super::token_source::{AccessToken, TokenSource, Tokens};
use super::{handshake, socket};
use crate::live::Limits;
use crate::live::TokenError;
use crate::live::{ConnectError, Connection, Connector};
use crate::session::Platform;
use crate::session::secret::Secret;

/// A Gemini Live endpoint: Google AI, Vertex, a gateway, a simulator.
///
/// ```
/// use recount::live::Endpoint;
///
/// let google_ai = Endpoint::google_ai("an API key");
/// let alpha = Endpoint::google_ai("an API key").api_version("v1alpha").key_in_query();
/// let for_a_browser = Endpoint::google_ai("auth_tokens/an-ephemeral-token");
/// let vertex = Endpoint::vertex("my-project", "us-central1", "an OAuth token");
/// let express = Endpoint::vertex_express("an API key");
/// let gateway = Endpoint::url("wss://gateway.example/live").header("x-team", "support");
/// let simulator = Endpoint::url("ws://127.0.0.1:8787");
/// assert!(!format!("{google_ai:?}").contains("API key"));
/// # let _ = (alpha, for_a_browser, vertex, express, gateway, simulator);
/// ```
///
/// Keys and tokens never appear in `Debug` output, errors or journals, and leave the machine only
/// encrypted. If [`base_url`](Endpoint::base_url) moves a service to a `ws://` host other than this
/// machine, connecting is refused. What the WebSocket library writes to the `log` crate at `trace`
/// level is beyond Recount's control.
#[derive(Clone)]
pub struct Endpoint {
    pub(super) target: Target,
    pub(super) credential: Credential,
    pub(super) headers: Vec<(String, Secret)>,
    limits: Limits,
    keepalive: Keepalive,
    platform: Option<Platform>,
}

#[derive(Clone)]
pub(super) enum Target {
    /// Exactly this URL.
    Exact(String),
    /// The path of a platform, on its own host unless another one is set.
    Service {
        place: Place,
        base: Option<String>,
        version: Option<String>,
    },
}

/// The part of a platform.
#[derive(Clone)]
pub(super) enum Place {
    GoogleAi,
    Vertex { project: String, location: String },
    VertexExpress,
}

#[derive(Clone)]
pub(super) enum Credential {
    None,
    Key { key: Secret, in_query: bool },
    Ephemeral { token: Secret, in_query: bool },
    OAuth(Tokens),
}

impl Endpoint {
    /// A gateway or simulator at exactly this URL, `ws://` or `wss://`. Credentials go into
    /// [`header`](Endpoint::header).
    pub fn url(url: impl Into<String>) -> Endpoint {
        Endpoint::of(Target::Exact(url.into()), Credential::None, None)
    }

    /// Google AI with an API key, sent in a header. An ephemeral token, `auth_tokens/…`, may
    /// replace the key.
    pub fn google_ai(key: impl Into<String>) -> Endpoint {
        let key = Secret::new(key);
        let in_query = false;
        let credential = if key.reveal().starts_with("auth_tokens/") {
            let token = key;
            Credential::Ephemeral { token, in_query }
        } else {
            Credential::Key { key, in_query }
        };
        Endpoint::service(Place::GoogleAi, credential)
    }

    /// Vertex in a location, such as `us-central1` or `global`. OAuth tokens come from a
    /// [`TokenSource`] or a string.
    pub fn vertex(
        project: impl Into<String>,
        location: impl Into<String>,
        tokens: impl TokenSource,
    ) -> Endpoint {
        let place = Place::Vertex {
            project: project.into(),
            location: location.into(),
        };
        Endpoint::service(place, Credential::OAuth(Tokens::of(tokens)))
    }

    /// Vertex in express mode, with an API key and without a project.
    pub fn vertex_express(key: impl Into<String>) -> Endpoint {
        let key = Secret::new(key);
        let in_query = false;
        Endpoint::service(Place::VertexExpress, Credential::Key { key, in_query })
    }

    /// Sets the version of the platform's API: `v1`, `v1beta`, `v1beta1` or `v1alpha`.
    ///
    /// Google AI defaults to `v1beta`, Vertex to `v1beta1`; ephemeral tokens use `v1alpha`. An
    /// exact URL is not affected.
    #[must_use]
    pub fn api_version(mut self, api: impl Into<String>) -> Endpoint {
        if let Target::Service { version, .. } = &mut self.target {
            *version = Some(api.into());
        }
        self
    }

    /// Sets another host for the platform's path, such as `wss://proxy.example/gemini`. An exact
    /// URL is not affected.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Endpoint {
        if let Target::Service { base, .. } = &mut self.target {
            *base = Some(url.into());
        }
        self
    }

    /// Sends the API key or the ephemeral token in the query, for proxies that drop headers.
    #[must_use]
    pub fn key_in_query(mut self) -> Endpoint {
        match &mut self.credential {
            Credential::Key { in_query, .. } | Credential::Ephemeral { in_query, .. } => {
                *in_query = true;
            }
            Credential::None | Credential::OAuth(_) => {}
        }
        self
    }

    /// Adds a header to the handshake, such as `x-goog-user-project`. Its value is treated as a
    /// secret.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Endpoint {
        self.headers.push((name.into(), Secret::new(value)));
        self
    }

    /// Sets the limits for messages from the service.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Endpoint {
        self.limits = limits;
        self
    }

    /// Sets the detection of dead connections. Defaults to a ping after 20 s of silence.
    #[must_use]
    pub fn keepalive(mut self, keepalive: Keepalive) -> Endpoint {
        self.keepalive = keepalive;
        self
    }

    /// Sets the platform for which a gateway stands. Models are named and served as on that
    /// platform.
    #[must_use]
    pub fn serving(mut self, platform: Platform) -> Endpoint {
        self.platform = Some(platform);
        self
    }

    fn service(place: Place, credential: Credential) -> Endpoint {
        let platform = match &place {
            Place::GoogleAi => Platform::GoogleAi,
            Place::Vertex { .. } | Place::VertexExpress => Platform::Vertex,
        };
        let target = Target::Service {
            place,
            base: None,
            version: None,
        };
        Endpoint::of(target, credential, Some(platform))
    }

    fn of(target: Target, credential: Credential, platform: Option<Platform>) -> Endpoint {
        Endpoint {
            target,
            credential,
            headers: Vec::new(),
            limits: Limits::default(),
            keepalive: Keepalive::default(),
            platform,
        }
    }

    async fn open(&self, token: Option<&AccessToken>) -> Result<Connection, ConnectError> {
        let request = handshake::request(self, token)?;
        let mut unsaid = handshake::unsaid(self);
        if let Some(token) = token {
            unsaid.add(token.secret());
        }
        let (limits, keepalive) = (self.limits, self.keepalive);
        socket::open(self.endpoint(), request, limits, keepalive, unsaid).await
    }

    fn no_token(&self, source: TokenError) -> ConnectError {
        let endpoint = self.endpoint();
        ConnectError::NoToken { endpoint, source }
    }
}

#[async_trait]
impl Connector for Endpoint {
    /// Returns scheme, host and port. A path or query may contain a token.
    fn endpoint(&self) -> String {
        let url = handshake::address(self);
        let (scheme, rest) = url.split_once("://").unwrap_or(("", &url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}")
    }

    fn platform(&self) -> Platform {
        self.platform.unwrap_or_default()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn model_name(&self, model: &str) -> String {
        let name = match self.platform {
            // The platform behind the URL is unknown, so a qualified name stays unchanged.
            None if model.contains('/') => return model.to_owned(),
            None => Platform::GoogleAi.model_name(model),
            Some(platform) => platform.model_name(model),
        };
        match &self.target {
            Target::Service {
                place: Place::Vertex { project, location },
                ..
            } if name.starts_with("publishers/") => {
                format!("projects/{project}/locations/{location}/{name}")
            }
            Target::Service { .. } | Target::Exact(_) => name,
        }
    }

    /// Returns the faults that are known without a connection.
    ///
    /// ```
    /// use recount::live::{Connector, Endpoint};
    ///
    /// let endpoint = Endpoint::vertex("", "us central", "an OAuth token");
    /// assert_eq!(endpoint.mistakes().len(), 2);
    /// assert!(Endpoint::url("wss://gateway.example/live").mistakes().is_empty());
    /// ```
    fn mistakes(&self) -> Vec<String> {
        handshake::mistakes(self)
    }

    /// Opens a WebSocket. A rejected token is renewed once.
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let Credential::OAuth(tokens) = &self.credential else {
            return self.open(None).await;
        };
        let token = tokens.current().await.map_err(|it| self.no_token(it))?;
        match self.open(Some(&token)).await {
            Err(refused @ ConnectError::HandshakeRefused { status: 401, .. }) => {
                match tokens.in_place_of(&token).await {
                    Ok(Some(other)) => self.open(Some(&other)).await,
                    Ok(None) => Err(refused),
                    Err(error) => Err(self.no_token(error)),
                }
            }
            opened => opened,
        }
    }
}

impl From<&str> for Endpoint {
    fn from(url: &str) -> Endpoint {
        Endpoint::url(url)
    }
}

impl From<String> for Endpoint {
    fn from(url: String) -> Endpoint {
        Endpoint::url(url)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Endpoint")
            .field("url", &self.endpoint())
            .field("platform", &self.platform)
            .field("headers", &headers)
            .field("limits", &self.limits)
            .field("keepalive", &self.keepalive)
            .finish_non_exhaustive()
    }
}
