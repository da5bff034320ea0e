//! The parts of a URL that may be secret.

use percent_encoding::percent_decode_str;
use recount_session::secret::is_like_a_token;
use reqwest::Url;

/// Returns the parts of a URL that may be secret, longest first.
///
/// These are user and password, together and alone, the query and its values, and path segments
/// that look like a token. Each is returned as written in the URL, and percent-decoded.
pub(crate) fn in_url(url: &Url) -> Vec<String> {
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let query = url.query().unwrap_or_default();
    let mut parts = vec![
        format!("{user}:{password}"),
        query.to_owned(),
        user.to_owned(),
        password.to_owned(),
    ];
    let values = query.split('&').filter_map(|it| it.split_once('='));
    parts.extend(values.map(|(_, value)| value.to_owned()));
    let segments = url.path_segments().into_iter().flatten();
    parts.extend(segments.filter(|it| is_like_a_token(it)).map(str::to_owned));
    let decoded = |it: &String| percent_decode_str(it).decode_utf8_lossy().into_owned();
    let decoded: Vec<String> = parts.iter().map(decoded).collect();
    parts.extend(decoded);
    parts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    parts.retain(|it| !it.is_empty() && it != ":");
    parts.sort_by_key(|it| std::cmp::Reverse(it.len()));
    parts.dedup();
    parts
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn of(url: &str) -> Vec<String> {
        in_url(&url.parse().unwrap())
    }

    #[test]
    fn user_and_password_are_secret_in_every_form() {
        let parts = of("https://ada:pass%2Fword@host/mcp");
        assert_eq!(
            parts,
            [
                "ada:pass%2Fword",
                "ada:pass/word",
                "pass%2Fword",
                "pass/word",
                "ada"
            ]
        );
    }

    #[test]
    fn at_sign_in_the_path_does_not_hide_the_host() {
        assert_eq!(of("https://wiki.example/@ada/mcp"), [""; 0]);
    }

    #[test]
    fn path_tokens_and_query_values_are_secret() {
        let parts = of("https://host/s/9f86d081884c7d659a2f/mcp?key=a%20b+c");
        assert_eq!(
            parts,
            [
                "9f86d081884c7d659a2f",
                "key=a%20b+c",
                "key=a b+c",
                "a%20b+c",
                "a b+c",
                "a b c"
            ]
        );
    }
}
