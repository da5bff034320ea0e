//! The settings of a live export.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::content::Content;
use crate::otlp::Source;

/// The settings of a live export.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The collector.
    pub endpoint: Endpoint,
    /// The headers of each request, such as the collector's token.
    pub headers: Headers,
    /// The content that spans contain.
    pub content: Content,
    /// The source of the spans.
    pub source: Source,
    /// The file with the place in the journal where the export continues. A new file starts at the
    /// end of the journal.
    pub cursor: PathBuf,
}

/// The URL of a collector that takes OTLP over HTTP.
///
/// `/v1/traces` is added, unless the URL ends so. Redirects are not followed, and no proxy of the
/// environment is used.
///
/// ```
/// use recount_traces::Endpoint;
/// let endpoint: Endpoint = "http://localhost:4318".parse()?;
/// assert_eq!(endpoint.to_string(), "http://localhost:4318/v1/traces");
/// assert!("ftp://localhost".parse::<Endpoint>().is_err());
/// # Ok::<(), recount_traces::UnfitEndpoint>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(pub(super) Url);

/// The text is no URL of a collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an http or https URL without a user, a query and a fragment, found {found}")]
pub struct UnfitEndpoint {
    /// The text, without a user.
    pub found: String,
}

/// The path of the requests.
const PATH: &str = "/v1/traces";

impl Endpoint {
    /// True if the connection is encrypted, or does not leave this machine.
    pub fn is_private(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<std::net::IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        self.0.scheme() == "https" || is_here
    }
}

impl FromStr for Endpoint {
    type Err = UnfitEndpoint;

    fn from_str(text: &str) -> Result<Endpoint, UnfitEndpoint> {
        let unfit = || UnfitEndpoint {
            // A URL with a user may have a password, which no message may show.
            found: match text.contains('@') {
                true => "one with a user".to_owned(),
                false => format!("{text:?}"),
            },
        };
        let mut url = Url::parse(text).map_err(|_| unfit())?;
        let is_bare = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !["http", "https"].contains(&url.scheme()) || !url.has_host() || !is_bare {
            return Err(unfit());
        }
        let path = url.path().trim_end_matches('/');
        if !path.ends_with(PATH) {
            let path = format!("{path}{PATH}");
            url.set_path(&path);
        }
        Ok(Endpoint(url))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Headers of requests to a collector. Their values are secrets.
///
/// The text has the form of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` pairs with a comma or a line
/// break between them, and values with percent encoding.
///
/// ```
/// use recount_traces::Headers;
/// let headers: Headers = "authorization=Bearer%20s3cret,x-scope-orgid=shop".parse()?;
/// assert_eq!(format!("{headers:?}"), r#"["authorization", "x-scope-orgid"]"#);
/// # Ok::<(), recount_traces::UnfitHeaders>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub(super) HeaderMap);

/// The text has no headers. The message does not quote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected headers such as name=value,name=value; number {number} is none")]
pub struct UnfitHeaders {
    /// The number of the wrong header, from 1.
    pub number: usize,
}

impl Headers {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Headers {
    type Err = UnfitHeaders;

    fn from_str(text: &str) -> Result<Headers, UnfitHeaders> {
        let mut headers = HeaderMap::new();
        let pairs = text.split([',', '\n']).map(str::trim);
        for (at, pair) in pairs.filter(|it| !it.is_empty()).enumerate() {
            let unfit = || UnfitHeaders { number: at + 1 };
            let (name, value) = pair.split_once('=').ok_or_else(unfit)?;
            let name: HeaderName = name.trim().parse().map_err(|_| unfit())?;
            let value = percent_decode_str(value.trim()).decode_utf8();
            let value = value.map_err(|_| unfit())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(Headers(headers))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.keys().map(HeaderName::as_str);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_get_the_path_once() {
        for (text, expected) in [
            ("http://a:4318", "http://a:4318/v1/traces"),
            ("http://a:4318/", "http://a:4318/v1/traces"),
            ("https://a/otlp", "https://a/otlp/v1/traces"),
            ("https://a/otlp/v1/traces", "https://a/otlp/v1/traces"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), expected);
        }
        for text in ["", "a:4318", "ftp://a", "http://a?x=1", "http://ada:pw@a"] {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(!error.to_string().contains("pw"), "{error}");
        }
    }

    #[test]
    fn clear_text_to_other_machines_is_not_private() {
        let is_private = |text: &str| text.parse::<Endpoint>().unwrap().is_private();
        assert!(is_private("https://a") && is_private("http://[::1]:4318"));
        assert!(is_private("http://localhost") && !is_private("http://localhost.example"));
    }

    #[test]
    fn headers_are_read_and_never_shown() {
        let text = " authorization=Basic%20czNj \nx-a=1,x-b=c=d";
        let headers: Headers = text.parse().unwrap();
        assert_eq!(headers.0["authorization"], "Basic czNj");
        assert_eq!(headers.0["x-b"], "c=d");
        assert!(!format!("{headers:?}").contains("czNj"));
        let error = "x-a=1,s3cret".parse::<Headers>().unwrap_err();
        assert_eq!(error.number, 2);
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
