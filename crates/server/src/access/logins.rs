//! Browser logins: one-time login tokens, and the sessions of cookies that they open.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, header};
use recount::session::Timestamp;
use tokio::sync::watch;

use super::principal::Principal;
use super::secret::{NoRandomness, Secret, SecretHash};

/// The maximum number of cookie sessions. The oldest one ends for a new one.
const COOKIES_MAX: usize = 256;

/// The maximum number of login tokens that were not used yet.
const LINKS_MAX: usize = 16;

/// The life of a cookie session, in microseconds: twelve hours, a working day with its breaks.
const COOKIE_LIFE_US: i64 = 12 * 3600 * 1_000_000;

/// The life of a login token, in microseconds: ten minutes, the time to open a printed link.
const LINK_LIFE_US: i64 = 600 * 1_000_000;

/// The beginning of a login token.
const LINK_PREFIX: &str = "rcl_";

/// The unused login tokens, and the sessions of cookies.
#[derive(Debug, Default)]
pub(super) struct Logins {
    state: Mutex<State>,
    /// The number of logouts. Streams wait for it, so that they end at once.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    links: Vec<Link>,
    cookies: Vec<CookieSession>,
}

/// A login token that was not used yet.
#[derive(Debug)]
struct Link {
    hash: SecretHash,
    principal: Principal,
    until: Timestamp,
}

#[derive(Clone, Debug)]
struct CookieSession {
    hash: SecretHash,
    principal: Principal,
    csrf: Secret,
    until: Timestamp,
    /// The token that opened the session. Without it, a login token or the embedding program did.
    by_token: Option<SecretHash>,
}

/// A principal that a cookie proves, with the token for its changes.
#[derive(Clone, Debug)]
pub(crate) struct ByCookie {
    pub(crate) principal: Principal,
    pub(crate) csrf: Secret,
    /// The token that opened the session. The session ends with it.
    pub(super) by_token: Option<SecretHash>,
}

impl Logins {
    /// Creates a login token for the principal. It opens one session.
    pub(super) fn link(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Secret, NoRandomness> {
        let secret = Secret::generate(LINK_PREFIX)?;
        let mut state = self.state();
        if state.links.len() >= LINKS_MAX {
            state.links.remove(0);
        }
        state.links.push(Link {
            hash: SecretHash::of(secret.expose()),
            principal,
            until: Timestamp(now.0.saturating_add(LINK_LIFE_US)),
        });
        Ok(secret)
    }

    /// Uses up a login token, opens a cookie session and returns the value of its cookie. `None`
    /// for a token that is used, expired or unknown.
    pub(super) fn open(&self, token: &str, now: Timestamp) -> Result<Option<Secret>, NoRandomness> {
        let hash = SecretHash::of(token);
        let link = {
            let mut state = self.state();
            state.links.retain(|it| now < it.until);
            let at = state.links.iter().position(|it| it.hash.matches(&hash));
            at.map(|at| state.links.remove(at))
        };
        let Some(link) = link else { return Ok(None) };
        self.open_for(link.principal, None, now).map(Some)
    }

    /// Opens a cookie session for the principal and returns the value of its cookie. If a token
    /// opened it, it ends with the token.
    pub(super) fn open_for(
        &self,
        principal: Principal,
        by_token: Option<SecretHash>,
        now: Timestamp,
    ) -> Result<Secret, NoRandomness> {
        let (cookie, csrf) = (Secret::generate("")?, Secret::generate("")?);
        let mut state = self.state();
        state.cookies.retain(|it| now < it.until);
        if state.cookies.len() >= COOKIES_MAX {
            state.cookies.remove(0);
        }
        state.cookies.push(CookieSession {
            hash: SecretHash::of(cookie.expose()),
            principal,
            csrf,
            by_token,
            until: Timestamp(now.0.saturating_add(COOKIE_LIFE_US)),
        });
        Ok(cookie)
    }

    /// The principal of a cookie.
    pub(super) fn recognise(&self, cookie: &str, now: Timestamp) -> Option<ByCookie> {
        let hash = SecretHash::of(cookie);
        let state = self.state();
        let known = state.cookies.iter().find(|it| it.hash.matches(&hash));
        known.filter(|it| now < it.until).map(|it| ByCookie {
            principal: it.principal.clone(),
            csrf: it.csrf.clone(),
            by_token: it.by_token,
        })
    }

    /// Ends the session of a cookie.
    pub(super) fn close(&self, cookie: &str) {
        let hash = SecretHash::of(cookie);
        self.state().cookies.retain(|it| !it.hash.matches(&hash));
        self.ended.send_modify(|number| *number += 1);
    }

    /// The logouts from now on.
    pub(super) fn ended(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one step, so a panic elsewhere leaves whole lists.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of a cookie in the headers of a request.
pub(super) fn cookie_of<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter();
    let texts = all.filter_map(|it| it.to_str().ok());
    let mut pairs = texts.flat_map(|it| it.split(';'));
    pairs.find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use recount::session::Actor;

    use super::*;

    fn ada() -> Principal {
        Principal::new(Actor::token("ada"), Vec::new())
    }

    #[test]
    fn login_token_opens_one_session() {
        let (logins, now) = (Logins::default(), Timestamp(0));
        let link = logins.link(ada(), now).unwrap();
        let cookie = logins.open(link.expose(), now).unwrap().unwrap();
        assert!(logins.open(link.expose(), now).unwrap().is_none());
        let known = logins.recognise(cookie.expose(), now).unwrap();
        assert_eq!(known.principal, ada());
        assert!(logins.recognise(link.expose(), now).is_none());
    }

    #[test]
    fn cookie_ends_with_its_time_and_at_the_logout() {
        let (logins, now) = (Logins::default(), Timestamp(0));
        let open = || {
            let link = logins.link(ada(), now).unwrap();
            logins.open(link.expose(), now).unwrap().unwrap()
        };
        let (one, other) = (open(), open());
        let late = Timestamp(COOKIE_LIFE_US);
        assert!(
            logins
                .recognise(one.expose(), Timestamp(late.0 - 1))
                .is_some()
        );
        assert!(logins.recognise(one.expose(), late).is_none());
        logins.close(one.expose());
        assert!(logins.recognise(one.expose(), now).is_none());
        assert!(logins.recognise(other.expose(), now).is_some());
    }

    #[test]
    fn login_token_expires() {
        let logins = Logins::default();
        let link = logins.link(ada(), Timestamp(0)).unwrap();
        let late = Timestamp(LINK_LIFE_US);
        assert!(logins.open(link.expose(), late).unwrap().is_none());
    }

    #[test]
    fn new_logins_displace_the_oldest() {
        let (logins, now) = (Logins::default(), Timestamp(0));
        let links: Vec<Secret> = (0..=LINKS_MAX)
            .map(|_| logins.link(ada(), now).unwrap())
            .collect();
        let opens = |it: &Secret| logins.open(it.expose(), now).unwrap().is_some();
        assert!(!opens(&links[0]));
        assert!(links[1..].iter().all(opens));
        let cookies: Vec<Secret> = (0..=COOKIES_MAX)
            .map(|_| logins.open_for(ada(), None, now).unwrap())
            .collect();
        let is_known = |it: &Secret| logins.recognise(it.expose(), now).is_some();
        assert!(!is_known(&cookies[0]));
        assert!(cookies[1..].iter().all(is_known));
    }

    #[test]
    fn cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, "a=1; recount=x=y ;b=2".parse().unwrap());
        assert_eq!(cookie_of(&headers, "recount"), Some("x=y"));
        assert_eq!(cookie_of(&headers, "recoun"), None);
    }
}
