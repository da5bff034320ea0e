//! The entries of the header: the pages that a principal may open.

use crate::access::{Principal, Role};

/// An entry of the navigation.
pub(super) struct Entry {
    /// The path of the page below the mount.
    pub(super) page: &'static str,
    /// The name of the page.
    pub(super) name: &'static str,
    /// The lowest role that sees it.
    needs: Role,
}

/// The pages, in the order of the header. An entry is added with its page.
const ENTRIES: &[Entry] = &[
    Entry::of("inbox", "Inbox", Role::Viewer),
    Entry::of("history", "History", Role::Viewer),
    Entry::of("sessions", "Sessions", Role::Viewer),
    Entry::of("audit", "Audit", Role::Viewer),
    Entry::of("operations", "Operations", Role::Operator),
    Entry::of("figures", "Figures", Role::Viewer),
];

/// The entries that the principal sees.
pub(super) fn entries(principal: &Principal) -> impl Iterator<Item = &'static Entry> {
    let role = principal.grants().iter().map(|it| it.role).max();
    ENTRIES.iter().filter(move |it| role >= Some(it.needs))
}

impl Entry {
    const fn of(page: &'static str, name: &'static str, needs: Role) -> Entry {
        Entry { page, name, needs }
    }

    /// True if the page with this path is the entry's own, or one below it.
    pub(super) fn is_at(&self, path: &str) -> bool {
        let rest = path.trim_start_matches('/').strip_prefix(self.page);
        rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
    }
}
