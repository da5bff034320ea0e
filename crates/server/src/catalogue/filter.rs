//! The selection of sessions in a listing.

use recount::session::{SessionId, Timestamp};

use super::known::Known;

/// The state of a session in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Closed,
}

/// A selection of sessions: all, or those that meet each given condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    pub(crate) agent: Option<String>,
    /// Names and values, all of which a session must have.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) state: Option<State>,
    /// Selects sessions with a record at this time or later.
    pub(crate) since: Option<Timestamp>,
    /// Selects sessions that were opened before this time.
    pub(crate) until: Option<Timestamp>,
    /// A part of an id, the agent, a label, the external id or `on_behalf_of`, in lower case.
    pub(crate) text: Option<String>,
}

impl Filter {
    /// True if the session meets the conditions on its first and its last record.
    pub(super) fn takes(&self, id: SessionId, session: &Known, last_at: Timestamp) -> bool {
        let in_time = self.since.is_none_or(|since| since <= last_at)
            && self.until.is_none_or(|until| session.opened_at < until);
        in_time
            && self
                .agent
                .as_deref()
                .is_none_or(|it| session.agent() == Some(it))
            && self.labels.iter().all(|(name, value)| {
                let opened = session.opened.as_ref();
                opened.is_some_and(|it| it.labels.get(name) == Some(value))
            })
            && self
                .text
                .as_ref()
                .is_none_or(|it| has_text(id, session, it))
    }
}

/// True if a text of the session has this part.
fn has_text(id: SessionId, session: &Known, part: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(part);
    if has(&id.to_string()) {
        return true;
    }
    let Some(opened) = &session.opened else {
        return false;
    };
    let texts = [&opened.external_id, &opened.on_behalf_of];
    has(&opened.agent)
        || texts.into_iter().flatten().any(|it| has(it))
        || opened
            .labels
            .iter()
            .any(|(name, value)| has(&format!("{name}:{value}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use recount::session::SessionOpened;

    use super::*;

    fn id() -> SessionId {
        "0199e2a0-0000-7000-8000-000000000001".parse().unwrap()
    }

    fn session() -> Known {
        Known {
            opened_at: Timestamp(10),
            opened: Some(SessionOpened {
                agent: "support".to_owned(),
                external_id: Some("ticket-1001".to_owned()),
                on_behalf_of: Some("Ada".to_owned()),
                labels: BTreeMap::from([("tenant".to_owned(), "acme".to_owned())]),
                rules: 1,
                program: String::new(),
            }),
            is_sealed: true,
        }
    }

    fn takes(filter: &Filter) -> bool {
        filter.takes(id(), &session(), Timestamp(20))
    }

    #[test]
    fn text_is_found_in_every_field() {
        for text in ["0199e2a0", "supp", "1001", "ada", "tenant:ac"] {
            let text = Some(text.to_owned());
            assert!(takes(&Filter {
                text,
                ..Filter::default()
            }));
        }
        let text = Some("globex".to_owned());
        assert!(!takes(&Filter {
            text,
            ..Filter::default()
        }));
    }

    #[test]
    fn times_select_sessions_with_records_between_them() {
        let between = |since, until| {
            takes(&Filter {
                since: Some(Timestamp(since)),
                until: Some(Timestamp(until)),
                ..Filter::default()
            })
        };
        assert!(between(20, 11) && between(0, 100));
        assert!(!between(21, 100) && !between(0, 10));
    }

    #[test]
    fn sealed_session_has_no_agent_and_no_label() {
        let sealed = Known {
            opened: None,
            ..session()
        };
        let of_agent = Filter {
            agent: Some("support".to_owned()),
            ..Filter::default()
        };
        assert!(takes(&of_agent));
        assert!(!of_agent.takes(id(), &sealed, Timestamp(20)));
        assert!(Filter::default().takes(id(), &sealed, Timestamp(20)));
    }
}
