//! Links from one page to another, under any prefix.

use recount::session::{Seq, SessionId};

/// The links of a page. They are relative, so they hold under a prefix that the embedding service
/// mounts or that a proxy removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// The way from the page to the root: `../` for each folder of its path.
    up: String,
}

impl Links {
    /// The links of the page with this path below the mount, such as `/sessions/0199…`.
    pub(crate) fn of(path: &str) -> Links {
        let folders = path.matches('/').count().saturating_sub(1);
        let up = "../".repeat(folders);
        Links { up }
    }

    /// The link to a page, such as `inbox` or `sessions/0199…`.
    pub(crate) fn to(&self, page: &str) -> String {
        // A first segment with a colon would be read as a scheme.
        let up = if self.up.is_empty() { "./" } else { &self.up };
        format!("{up}{page}")
    }

    /// The link to the card of a call.
    pub(crate) fn card(&self, session: SessionId, call: Seq) -> String {
        self.to(&format!("sessions/{session}/calls/{call}"))
    }

    /// The link to a session.
    pub(crate) fn session(&self, session: SessionId) -> String {
        self.to(&format!("sessions/{session}"))
    }

    /// The link to a record of a session.
    pub(crate) fn record(&self, session: SessionId, seq: Seq) -> String {
        self.to(&format!("sessions/{session}/records/{seq}"))
    }
}

/// The pages to which a link may lead, with those below them.
const PAGES: [&str; 7] = [
    "inbox",
    "history",
    "sessions",
    "audit",
    "operations",
    "figures",
    "reads",
];

/// True if the text names a page below the mount: a path without a scheme, a host or a way up.
///
/// A link with `next` may come from a page of another site, so it must not lead out of this one.
pub(crate) fn is_page(text: &str) -> bool {
    let (path, _) = text.split_once('?').unwrap_or((text, ""));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./~?=&%+".contains(c);
    PAGES.contains(&path.split('/').next().unwrap_or_default())
        && text.chars().all(is_plain)
        // A browser takes `%2e%2e` for a way up, too. No page of ours has an escape in its path.
        && !path.contains('%')
        && !path.contains("//")
        && !path.split('/').any(|it| it.starts_with('.'))
}

/// The page with the forms that post to a path: a card, a session, or a page of the header.
pub(crate) fn page_of(path: &str) -> String {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let page = match parts.as_slice() {
        ["sessions", session, "calls", call, ..] => format!("sessions/{session}/calls/{call}"),
        ["sessions", session, ..] => format!("sessions/{session}"),
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    };
    match is_page(&page) {
        true => page,
        false => "inbox".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_leads_to_its_page() {
        for (path, page) in [
            ("/sessions/a/calls/5/answer", "sessions/a/calls/5"),
            ("/sessions/a/calls/5/leaves/9/revoke", "sessions/a/calls/5"),
            ("/sessions/a/pause", "sessions/a"),
            ("/operations/pause", "operations"),
            ("/logout", "inbox"),
            ("/sessions/%2e%2e/pause", "inbox"),
        ] {
            assert_eq!(page_of(path), page, "{path}");
        }
    }

    #[test]
    fn link_leads_from_any_depth() {
        assert_eq!(Links::of("/inbox").to("login"), "./login");
        assert_eq!(Links::of("/").to("inbox"), "./inbox");
        let card = Links::of("/sessions/a/calls/5");
        assert_eq!(card.to("inbox"), "../../../inbox");
    }

    #[test]
    fn page_is_below_the_mount() {
        for page in [
            "inbox",
            "sessions/0199-e2/calls/5",
            "history?tool=a%20b&x=1+2",
        ] {
            assert!(is_page(page), "{page}");
        }
        for other in [
            "",
            "/inbox",
            "//attacker.example",
            "https://attacker.example",
            "https:attacker.example",
            "javascript:alert(1)",
            "sessions//b",
            "logout",
            "login?token=x",
            "v1/sessions",
            "inbox2",
            "sessions/../../v1",
            "sessions/%2e%2e/%2E%2E/v1",
            "sessions/.%2e/v1",
            "sessions/a%2fb",
            "../x",
            "\\\\attacker.example",
            "inbox\r\nset-cookie: a",
            "inbox#x",
        ] {
            assert!(!is_page(other), "{other}");
        }
    }
}
