//! The checks against other sites: `Host` for DNS rebinding, `Origin` and `Sec-Fetch-Site` for
//! requests that a page of another site sends.

use axum::http::request::Parts;
use axum::http::{HeaderName, Method, Uri, header};

use crate::problems::{Code, Problem};

/// The names of this machine. A page cannot make a browser send them for another machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The URL by which clients reach the service, such as `https://recount.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicUrl {
    scheme: String,
    /// Host and port, in lower case. Without the port that is usual for the scheme.
    authority: String,
}

/// The text is no public URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a URL such as https://recount.example, found {found:?}")]
pub struct NotAUrl {
    found: String,
}

impl PublicUrl {
    pub(super) fn parse(text: &str) -> Result<PublicUrl, NotAUrl> {
        let wrong = || NotAUrl {
            found: text.to_owned(),
        };
        let url: Uri = text.parse().map_err(|_| wrong())?;
        let scheme = url.scheme_str().map(str::to_ascii_lowercase);
        let scheme = scheme.filter(|it| it == "http" || it == "https");
        let scheme = scheme.ok_or_else(wrong)?;
        let authority = url.authority().map(|it| it.as_str().to_ascii_lowercase());
        let authority = authority.filter(|it| !it.contains('@') && !it.is_empty());
        let authority = without_usual_port(&scheme, &authority.ok_or_else(wrong)?).to_owned();
        Ok(PublicUrl { scheme, authority })
    }

    pub(super) fn is_https(&self) -> bool {
        self.scheme == "https"
    }
}

/// Checks that the request names a host that the service serves. A name that an attacker resolves
/// to this machine is another one.
pub(super) fn check_host(request: &Parts, public: Option<&PublicUrl>) -> Result<(), Problem> {
    let served = host_of(request).is_some_and(|host| {
        is_loopback(&host) || public.is_some_and(|it| is_at(&host, &it.scheme, &it.authority))
    });
    if served {
        return Ok(());
    }
    let detail = "expected the host of public_url, or a name of this machine";
    Err(Problem::new(Code::WrongHost, detail))
}

/// Checks that no page of another site sends the request. Requests that change nothing pass.
pub(super) fn check_site(request: &Parts, public: Option<&PublicUrl>) -> Result<(), Problem> {
    if is_safe(&request.method) {
        return Ok(());
    }
    let foreign = |what: &str| Problem::new(Code::CrossSite, what);
    for site in request.headers.get_all(SEC_FETCH_SITE) {
        if !matches!(site.as_bytes(), b"same-origin" | b"none") {
            return Err(foreign("a page of another origin sends this request"));
        }
    }
    for origin in request.headers.get_all(header::ORIGIN) {
        let known = origin.to_str().is_ok_and(|origin| {
            let host = host_of(request).unwrap_or_default();
            is_own(origin, &host, public)
        });
        if !known {
            return Err(foreign("the Origin is not that of the service"));
        }
    }
    Ok(())
}

/// Checks that the sender of a form says which page sends it. Pages of other sites can send forms,
/// so one without a word is refused; every browser names the origin.
///
/// [`check_site`] checks the word.
pub(super) fn check_form(request: &Parts) -> Result<(), Problem> {
    let headers = &request.headers;
    let says = headers.contains_key(header::ORIGIN) || headers.contains_key(SEC_FETCH_SITE);
    if says || is_safe(&request.method) {
        return Ok(());
    }
    let detail = "expected the header Origin: a form comes from a page of the service";
    Err(Problem::new(Code::CrossSite, detail))
}

/// True for a method that changes nothing.
pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// True if the origin is the service's own: that of `public_url`, or the host of the request if
/// that is this machine.
fn is_own(origin: &str, host: &str, public: Option<&PublicUrl>) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
    if public.is_some_and(|it| it.scheme == scheme && is_at(&authority, &scheme, &it.authority)) {
        return true;
    }
    matches!(scheme.as_str(), "http" | "https") && is_loopback(host) && authority == host
}

/// The host and port of the request, in lower case. `None` if it names none, or several.
fn host_of(request: &Parts) -> Option<String> {
    let mut hosts = request.headers.get_all(header::HOST).iter();
    let named = match (hosts.next(), hosts.next()) {
        (Some(only), None) => Some(only.to_str().ok()?.to_ascii_lowercase()),
        (Some(_), Some(_)) => return None,
        (None, _) => None,
    };
    let of_target = request.uri.authority();
    let of_target = of_target.map(|it| it.as_str().to_ascii_lowercase());
    match (named, of_target) {
        (Some(named), Some(target)) if named != target => None,
        (named, of_target) => named.or(of_target),
    }
}

fn is_loopback(host: &str) -> bool {
    LOOPBACK.iter().any(|name| {
        let rest = host.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || is_port(rest))
    })
}

fn is_port(rest: &str) -> bool {
    let digits = rest.strip_prefix(':');
    digits.is_some_and(|it| it.parse::<u16>().is_ok())
}

fn is_at(host: &str, scheme: &str, authority: &str) -> bool {
    without_usual_port(scheme, host) == authority
}

fn without_usual_port<'a>(scheme: &str, authority: &'a str) -> &'a str {
    let usual = match scheme {
        "https" => ":443",
        _ => ":80",
    };
    authority.strip_suffix(usual).unwrap_or(authority)
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
