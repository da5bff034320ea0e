//! Texts that may have the address of a database, without its password.

use std::borrow::Cow;

/// The beginnings of an address, in lower case.
const SCHEMES: [&str; 2] = ["postgresql:", "postgres:"];

/// True if a text is meant as the address of a database.
pub(crate) fn is_address(text: &str) -> bool {
    scheme_in(text).is_some_and(|(at, _)| at == 0)
}

/// The place of the first address in a text, and that of what follows its scheme.
fn scheme_in(text: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    let places = SCHEMES.iter().filter_map(|it| Some((lower.find(it)?, *it)));
    let (at, scheme) = places.min()?;
    Some((at, at + scheme.len()))
}

/// A text of a command line or a configuration, without what may be a password in an address.
pub(crate) fn without_password(text: &str) -> String {
    let Some((_, behind)) = scheme_in(text) else {
        return text.to_owned();
    };
    let (before, rest) = text.split_at(behind);
    let rest_of_place = rest.trim_start_matches('/');
    let (slashes, _) = rest.split_at(rest.len() - rest_of_place.len());
    // A password may have any character, so everything between the user and the last @ goes.
    let shown = match rest_of_place.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split([':', '/', '?']).next().unwrap_or_default();
            format!("{user}:***@{host}")
        }
        None => rest_of_place.to_owned(),
    };
    let place = shown.split_once('?').map(|(place, _)| format!("{place}?…"));
    format!("{before}{slashes}{}", place.unwrap_or(shown))
}

/// A message without the passwords of addresses in it. Other addresses stay as they are.
pub(super) fn masked(message: &str) -> Cow<'_, str> {
    let (mut shown, mut rest) = (String::new(), message);
    while let Some((at, behind)) = scheme_in(rest) {
        let tail = rest.get(behind..).unwrap_or_default();
        let ends = |it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '`');
        let end = behind + tail.find(ends).unwrap_or(tail.len());
        let (before, address) = (rest.get(..at), rest.get(at..end));
        let address = address.unwrap_or_default();
        shown.push_str(before.unwrap_or_default());
        match has_password(address) {
            true => shown.push_str(&without_password(address)),
            false => shown.push_str(address),
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    if shown.is_empty() {
        return Cow::Borrowed(message);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn has_password(address: &str) -> bool {
    let behind = address.split_once(':').map_or("", |(_, rest)| rest);
    let user = behind.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || behind.to_ascii_lowercase().contains("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_its_password_has_no_part_of_it() {
        for (text, shown) in [
            ("postgres://u:se/c@ret@h/d", "postgres://u:***@h/d"),
            (
                "--journal=postgresql://u:s@h",
                "--journal=postgresql://u:***@h",
            ),
            ("Postgres:/u:s@h/d", "Postgres:/u:***@h/d"),
            ("POSTGRESQL:u:s@h/d", "POSTGRESQL:u:***@h/d"),
            ("postgres://u@h/d?password=s", "postgres://u:***@h/d?…"),
            ("postgres://h/d", "postgres://h/d"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_password(text), shown);
        }
    }

    #[test]
    fn message_keeps_all_but_passwords() {
        for (message, shown) in [
            (
                "found \"Postgres://u:s@cret@h/d\", as by a@b",
                "found \"Postgres://u:***@h/d\", as by a@b",
            ),
            (
                "postgres://u@h:5432/d: `postgres:/u:s@h` is none",
                "postgres://u@h:5432/d: `postgres:/u:***@h` is none",
            ),
            ("postgres://h/d?Password=s", "postgres://h/d?…"),
            ("an address is postgres://USER@HOST:PORT/DATABASE; or", ""),
            ("plain: a@b", ""),
        ] {
            let expected = if shown.is_empty() { message } else { shown };
            assert_eq!(masked(message), expected);
        }
    }
}
