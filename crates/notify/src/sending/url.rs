//! The URL of a sink.

use std::fmt;
use std::str::FromStr;

/// The maximum length of a topic of ntfy.
const TOPIC_BYTES_MAX: usize = 64;

/// The URL of a sink. Such a URL is often a secret itself, so only its origin is shown.
///
/// ```
/// use recount_notify::Url;
/// let url: Url = "https://hooks.slack.com/services/T0/B0/s3cret".parse()?;
/// assert_eq!(url.to_string(), "https://hooks.slack.com/…");
/// # Ok::<(), recount_notify::UnfitUrl>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Url(pub(super) reqwest::Url);

/// The text is no URL of a sink. The message does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an http or https URL with a host and without a user and a fragment")]
pub struct UnfitUrl;

impl Url {
    /// True if the connection is encrypted, or does not leave this machine.
    #[must_use]
    pub fn is_private(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<std::net::IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
        self.0.scheme() == "https" || is_here
    }

    /// The last segment of the path, and the URL without it. ntfy names its topics so.
    pub(super) fn split_last(&self) -> Option<(reqwest::Url, String)> {
        let mut segments: Vec<&str> = self.0.path_segments()?.collect();
        segments.retain(|it| !it.is_empty());
        let last = segments.pop()?.to_owned();
        let mut base = self.0.clone();
        base.set_path(&segments.join("/"));
        base.set_query(None);
        Some((base, last))
    }

    /// True if the URL names a topic of ntfy and has no query. A topic has up to 64 letters and
    /// digits of ASCII, `-` and `_`.
    #[must_use]
    pub fn has_topic(&self) -> bool {
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_".contains(&it);
        let is_topic = |it: &str| it.len() <= TOPIC_BYTES_MAX && it.bytes().all(is_letter);
        let topic = self.split_last().map(|(_, topic)| topic);
        self.0.query().is_none() && topic.is_some_and(|it| is_topic(&it))
    }
}

impl FromStr for Url {
    type Err = UnfitUrl;

    fn from_str(text: &str) -> Result<Url, UnfitUrl> {
        let url = reqwest::Url::parse(text.trim()).map_err(|_| UnfitUrl)?;
        let is_bare =
            url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        match ["http", "https"].contains(&url.scheme()) && url.has_host() && is_bare {
            true => Ok(Url(url)),
            false => Err(UnfitUrl),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/…", self.0.origin().ascii_serialization())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_shows_its_origin_only() {
        let url: Url = "https://a.example:8443/x/s3cret?token=s3cret"
            .parse()
            .unwrap();
        for shown in [url.to_string(), format!("{url:?}")] {
            assert!(
                shown.contains("a.example:8443") && !shown.contains("s3cret"),
                "{shown}"
            );
        }
        for text in [
            "",
            "a.example",
            "ftp://a",
            "http://u:s3cret@a",
            "http://a/#x",
        ] {
            let error = text.parse::<Url>().unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn clear_text_to_other_machines_is_not_private() {
        let is_private = |text: &str| text.parse::<Url>().unwrap().is_private();
        assert!(is_private("https://a") && is_private("http://[::1]:9"));
        assert!(is_private("http://localhost") && !is_private("http://localhost.example"));
    }

    #[test]
    fn topic_is_the_last_segment() {
        let url: Url = "https://ntfy.example/base/ops-1".parse().unwrap();
        let (base, topic) = url.split_last().unwrap();
        assert_eq!(
            (base.as_str(), topic.as_str()),
            ("https://ntfy.example/base", "ops-1")
        );
        assert!(url.has_topic());
        for without in ["", "a%0d%0ab", "a?x=1", "é", &"a".repeat(65)] {
            let url: Url = format!("https://ntfy.sh/{without}").parse().unwrap();
            assert!(!url.has_topic(), "{without}");
        }
    }
}
