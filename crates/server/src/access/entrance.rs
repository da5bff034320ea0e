//! The access to a service: all ways to prove who sends a request.

use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request};
use recount::engine::{Clock, SystemClock};
use recount::session::{Actor, Timestamp};
use recount_reads::How;
use tokio::sync::watch;

use super::authenticator::{Authenticator, bearer};
#[cfg(feature = "jwt")]
use super::jwt::{Jwt, Jwts};
use super::logins::{ByCookie, Logins, cookie_of};
use super::peer::Peer;
use super::principal::Principal;
use super::proxy::ProxyHeaders;
use super::rates::{Counted, Rates};
use super::role::{Grant, Role};
use super::secret::{NoRandomness, Secret, SecretHash};
use super::site::{self, NotAUrl, PublicUrl};
use super::tokens::{TOKEN_PREFIX, TokenStore};
use crate::problems::{Code, Problem};

/// The ways in which requests prove their senders, and the hosts that the service serves.
///
/// Without any of them, every request is refused.
///
/// ```
/// use recount_server::{Access, TokenStore};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("tokens.json");
/// let access = Access::none()
///     .with_tokens(TokenStore::open(path)?)
///     .with_public_url("https://recount.example")?;
/// # let _ = access;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Access {
    tokens: Option<Arc<TokenStore>>,
    /// The issuers of JWTs, which clones share.
    #[cfg(feature = "jwt")]
    jwts: Jwts,
    proxy: Option<Arc<ProxyHeaders>>,
    others: Vec<Arc<dyn Authenticator>>,
    /// The principal of the person who starts the service, if it may log in.
    owner: Option<Principal>,
    logins: Arc<Logins>,
    cookie_name: Arc<str>,
    public_url: Option<PublicUrl>,
    /// True if the service itself encrypts its connections.
    has_tls: bool,
    counted: Arc<Counted>,
    clock: Arc<dyn Clock>,
}

/// An authenticated request: its principal, and the token for changes if a cookie proves it.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    pub(crate) principal: Principal,
    pub(crate) csrf: Option<Secret>,
    /// The way in which the principal was proven.
    pub(crate) how: How,
}

impl Access {
    /// An access that admits no request. Further methods add the ways that do.
    #[must_use]
    pub fn none() -> Access {
        let clock = SystemClock::shared();
        // Cookies know no ports, so two services of one machine need different names.
        let name = format!("recount_session_{:08x}", clock.entropy() >> 32);
        Access {
            tokens: None,
            #[cfg(feature = "jwt")]
            jwts: Jwts::default(),
            proxy: None,
            others: Vec::new(),
            owner: None,
            logins: Arc::default(),
            cookie_name: name.into(),
            public_url: None,
            has_tls: false,
            counted: Arc::new(Counted::new(Rates::default())),
            clock,
        }
    }

    /// The access of one person: the user of the operating system who starts the service, as
    /// [`os_user::current`](recount::control::os_user::current) names it.
    ///
    /// The user logs in with a [login token](Access::login_token) and then has the role admin.
    /// Names of other machines are refused, so the service should listen on loopback alone.
    ///
    /// ```
    /// let access = recount_server::Access::single_user("ada");
    /// let token = access.login_token()?.unwrap();
    /// println!("http://127.0.0.1:7878/login?token={}", token.expose());
    /// # Ok::<(), recount_server::NoRandomness>(())
    /// ```
    pub fn single_user(name: impl Into<String>) -> Access {
        // As at the control socket, the token proves a user of the operating system.
        let actor = Actor::token(name);
        let owner = Principal::new(actor, vec![Grant::everywhere(Role::Admin)]);
        Access {
            owner: Some(owner),
            ..Access::none()
        }
    }

    /// Admits requests with tokens of this store.
    #[must_use]
    pub fn with_tokens(self, tokens: impl Into<Arc<TokenStore>>) -> Access {
        let tokens = Some(tokens.into());
        Access { tokens, ..self }
    }

    /// Admits requests with JWTs of an issuer. May be called for several issuers.
    #[cfg(feature = "jwt")]
    #[must_use]
    pub fn with_jwt(self, jwt: Jwt) -> Access {
        let jwts = self.jwts.with(jwt);
        Access { jwts, ..self }
    }

    /// Admits requests with JWTs of these issuers alone from now on, in place of those so far.
    ///
    /// Clones of the access have the same issuers, so a running service takes them, too. Streams of
    /// principals with other grants end before their next message.
    ///
    /// ```
    /// use recount_server::{Access, Jwt, KeyFile};
    /// let keys = || KeyFile::new("jwks.json");
    /// let access = Access::none()
    ///     .with_jwt(Jwt::new("https://login.example", "recount", keys())?);
    /// access.replace_jwts([Jwt::new("https://login.example", "other-audience", keys())?]);
    /// # Ok::<(), recount_server::UnfitIssuer>(())
    /// ```
    #[cfg(feature = "jwt")]
    pub fn replace_jwts(&self, jwts: impl IntoIterator<Item = Jwt>) {
        self.jwts.replace(jwts);
    }

    /// Admits requests in which a trusted reverse proxy names the user. Its headers count on
    /// connections with the mark [`Peer::TrustedProxy`] alone.
    #[must_use]
    pub fn with_proxy(self, proxy: ProxyHeaders) -> Access {
        let proxy = Some(Arc::new(proxy));
        Access { proxy, ..self }
    }

    /// Sets the limits of requests over time. What was counted so far is forgotten.
    #[must_use]
    pub fn with_rates(self, rates: Rates) -> Access {
        let counted = Arc::new(Counted::new(rates));
        Access { counted, ..self }
    }

    /// Admits requests that this authenticator knows. It is asked after the other ways.
    #[must_use]
    pub fn with_authenticator(mut self, other: Arc<dyn Authenticator>) -> Access {
        self.others.push(other);
        self
    }

    /// Sets the URL by which clients reach the service. Its host is served beside the names of this
    /// machine, and its origin may send changes.
    ///
    /// # Errors
    /// If the text is no `http` or `https` URL.
    pub fn with_public_url(self, url: &str) -> Result<Access, NotAUrl> {
        let public_url = Some(PublicUrl::parse(url)?);
        Ok(Access { public_url, ..self })
    }

    /// Says that the service encrypts its connections. Browsers then send the cookie of a login
    /// over encrypted connections only, as with a `public_url` that begins with `https`.
    #[must_use]
    pub fn with_tls(self) -> Access {
        Access {
            has_tls: true,
            ..self
        }
    }

    /// Sets the clock for expiries. Defaults to the system's.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Access {
        Access { clock, ..self }
    }

    /// The time by the clock of the access.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The store of tokens, if there is one.
    #[must_use]
    pub fn tokens(&self) -> Option<&Arc<TokenStore>> {
        self.tokens.as_ref()
    }

    /// Creates a login token for the single user. It opens one session, within ten minutes. `None`
    /// without a single user.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn login_token(&self) -> Result<Option<Secret>, NoRandomness> {
        let Some(owner) = &self.owner else {
            return Ok(None);
        };
        let now = self.clock.now();
        self.logins.link(owner.clone(), now).map(Some)
    }

    /// Opens a session of a browser for a principal that the embedding service has authenticated,
    /// such as by OpenID Connect. Returns the value of the header `Set-Cookie`.
    ///
    /// The session ends after twelve hours, or with `POST /v1/logout`.
    ///
    /// ```
    /// use recount::session::Actor;
    /// use recount_server::{Access, Grant, Principal, Role};
    /// let access = Access::none();
    /// let ada = Principal::new(Actor::embedder("ada"), vec![Grant::everywhere(Role::Approver)]);
    /// assert!(access.open_session(ada)?.contains("; HttpOnly; SameSite=Lax"));
    /// # Ok::<(), recount_server::NoRandomness>(())
    /// ```
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn open_session(&self, principal: Principal) -> Result<String, NoRandomness> {
        let cookie = self.logins.open_for(principal, None, self.clock.now())?;
        Ok(self.cookie_header(cookie.expose(), ""))
    }

    /// Uses up a login token and returns the header that sets its cookie.
    pub(crate) fn log_in(&self, token: &str) -> Result<String, Problem> {
        let opened = self.logins.open(token, self.clock.now());
        let opened = opened.map_err(|error| Problem::new(Code::Engine, error.to_string()))?;
        let unknown = || {
            let detail = "the login token is unknown, used or expired";
            Problem::new(Code::Unauthenticated, detail)
        };
        let cookie = opened.ok_or_else(unknown)?;
        Ok(self.cookie_header(cookie.expose(), ""))
    }

    /// Opens a session with a login token, or with a token of the store, and returns the header
    /// that sets its cookie. A session that a token of the store opened ends with the token.
    pub(crate) fn log_in_with(&self, token: &str) -> Result<String, Problem> {
        let now = self.clock.now();
        let store = self.tokens.as_ref();
        let store = store.filter(|_| token.starts_with(TOKEN_PREFIX));
        let Some(store) = store else {
            return self.log_in(token);
        };
        let unknown = || {
            let detail = "the token is unknown, revoked or expired";
            Problem::new(Code::Unauthenticated, detail)
        };
        let principal = store.recognise(token, now).ok_or_else(unknown)?;
        let by_token = Some(SecretHash::of(token));
        let opened = self.logins.open_for(principal, by_token, now);
        let cookie = opened.map_err(|error| Problem::new(Code::Engine, error.to_string()))?;
        Ok(self.cookie_header(cookie.expose(), ""))
    }

    /// Ends the session of the request's cookie and returns the header that removes it.
    pub(crate) fn log_out(&self, request: &Parts) -> String {
        if let Some(cookie) = cookie_of(&request.headers, &self.cookie_name) {
            self.logins.close(cookie);
        }
        self.cookie_header("", "; Max-Age=0")
    }

    /// The logouts from now on.
    pub(super) fn logouts(&self) -> watch::Receiver<u64> {
        self.logins.ended()
    }

    fn cookie_header(&self, value: &str, more: &str) -> String {
        let is_https = self.public_url.as_ref().is_some_and(PublicUrl::is_https);
        let secure = if is_https || self.has_tls {
            "; Secure"
        } else {
            ""
        };
        let name = &self.cookie_name;
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{more}")
    }

    /// Checks that the request names a host of the service.
    pub(crate) fn check_host(&self, request: &Parts) -> Result<(), Problem> {
        site::check_host(request, self.public_url.as_ref())
    }

    /// Checks that no page of another site sends a request that changes something.
    pub(crate) fn check_site(&self, request: &Parts) -> Result<(), Problem> {
        site::check_site(request, self.public_url.as_ref())
    }

    /// Checks that a page of this service sends a form.
    pub(crate) fn check_form(&self, request: &Parts) -> Result<(), Problem> {
        self.check_site(request)?;
        site::check_form(request)
    }

    /// Returns the sender of the request, and counts the request.
    ///
    /// Credentials in `Authorization` must be valid. Otherwise the request is refused, even if a
    /// cookie would admit it. In front of all is the user that a trusted proxy names.
    pub(crate) async fn admit(&self, request: &Parts) -> Result<Admitted, Problem> {
        let now = self.clock.now();
        let admitted = match self.recognise(request, now).await {
            Ok(admitted) => admitted,
            Err(problem) if self.has_credentials(request) => {
                return Err(self.failed(request, problem));
            }
            Err(problem) => return Err(problem),
        };
        self.counted.request(&admitted.principal, now)?;
        Ok(admitted)
    }

    /// Counts failed credentials. After too many of them from one peer, the problem reports that.
    pub(crate) fn failed(&self, request: &Parts, problem: Problem) -> Problem {
        if problem.code() != Code::Unauthenticated {
            return problem;
        }
        let peer = request.extensions.get::<Peer>().copied();
        let counted = self.counted.failure(peer, self.clock.now());
        counted.err().unwrap_or(problem)
    }

    /// Returns the principal of a bearer token, as a gateway for another protocol has it from its
    /// client: of a token of the store, a JWT, or the token of an authenticator. The attempt counts
    /// as a request, or as a failure of the peer.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use recount_server::{Access, Code};
    /// let refused = Access::none().admit_bearer("rct_unknown", None).await;
    /// assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
    /// # }
    /// ```
    ///
    /// # Errors
    /// A problem if the token is not valid now, or the keys of its issuer are not there, or if
    /// there were too many requests or failures.
    pub async fn admit_bearer(
        &self,
        token: &str,
        peer: Option<Peer>,
    ) -> Result<Principal, Problem> {
        let Some(mut request) = with_bearer(token) else {
            let counted = self.counted.failure(peer, self.clock.now());
            return Err(counted.err().unwrap_or_else(unauthenticated));
        };
        if let Some(peer) = peer {
            request.extensions.insert(peer);
        }
        self.admit(&request).await.map(|it| it.principal)
    }

    /// Returns the principal of a bearer token, without counting the attempt. A connection that
    /// lasts asks again, because a token may expire or be revoked.
    ///
    /// # Errors
    /// As [`admit_bearer`](Access::admit_bearer), but for the limits.
    pub async fn recognise_bearer(&self, token: &str) -> Result<Principal, Problem> {
        let request = with_bearer(token).ok_or_else(unauthenticated)?;
        let admitted = self.recognise(&request, self.clock.now()).await?;
        Ok(admitted.principal)
    }

    /// True if the request tries to prove its sender.
    fn has_credentials(&self, request: &Parts) -> bool {
        let headers = &request.headers;
        headers.contains_key(AUTHORIZATION) || cookie_of(headers, &self.cookie_name).is_some()
    }

    /// Returns the sender of the request, as its credentials prove it at this time.
    pub(super) async fn recognise(
        &self,
        request: &Parts,
        now: Timestamp,
    ) -> Result<Admitted, Problem> {
        let by_header = |how| {
            move |principal| Admitted {
                principal,
                csrf: None,
                how,
            }
        };
        if let Some(proxy) = &self.proxy {
            let named = proxy.recognise(request).map_err(|()| unauthenticated())?;
            if let Some(principal) = named {
                return Ok(by_header(How::Proxy)(principal));
            }
        }
        let token = bearer(request);
        let own = token.filter(|it| it.starts_with(TOKEN_PREFIX));
        if let (Some(token), Some(store)) = (own, &self.tokens) {
            let known = store.recognise(token, now);
            let known = known.map(by_header(How::Token));
            return known.ok_or_else(unauthenticated);
        }
        #[cfg(feature = "jwt")]
        if let Some(token) = token
            && let Some(principal) = self.jwts.recognise(token, now).await?
        {
            return Ok(by_header(How::Jwt)(principal));
        }
        for other in &self.others {
            if let Some(principal) = other.authenticate(request).await? {
                return Ok(by_header(How::Embedder)(principal));
            }
        }
        #[cfg(feature = "jwt")]
        if let Some(token) = token.filter(|it| !it.starts_with(TOKEN_PREFIX)) {
            self.jwts.refuse_unknown(token, now);
        }
        if request.headers.contains_key(AUTHORIZATION) {
            return Err(unauthenticated());
        }
        let cookie = cookie_of(&request.headers, &self.cookie_name);
        let by_cookie = cookie.and_then(|it| self.logins.recognise(it, now));
        let ByCookie {
            mut principal,
            csrf,
            by_token,
        } = by_cookie.ok_or_else(unauthenticated)?;
        let how = match by_token {
            Some(_) => How::LoginWithToken,
            None => How::Login,
        };
        if let Some(hash) = by_token {
            let store = self.tokens.as_ref();
            let known = store.and_then(|it| it.recognise_by_hash(hash, now));
            principal = known.ok_or_else(unauthenticated)?;
        }
        Ok(Admitted {
            principal,
            csrf: Some(csrf),
            how,
        })
    }

    /// The number of issuers whose JWTs are admitted.
    #[cfg(feature = "jwt")]
    #[must_use]
    pub fn jwt_issuers(&self) -> usize {
        self.jwts.len()
    }

    /// The number of refused JWTs since the start, by the word for their fault.
    #[cfg(feature = "jwt")]
    pub(crate) fn refused_jwts(&self) -> Vec<(&'static str, u64)> {
        self.jwts.refused()
    }
}

/// The head of a request with this bearer token. `None` if a header cannot have it.
fn with_bearer(token: &str) -> Option<Parts> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    let (mut head, ()) = Request::new(()).into_parts();
    head.headers.insert(AUTHORIZATION, value);
    Some(head)
}

/// The problem of every request without valid credentials. It does not tell their fault.
pub(super) fn unauthenticated() -> Problem {
    let detail = "expected a valid token in Authorization: Bearer, or the cookie of a login";
    Problem::new(Code::Unauthenticated, detail)
}
