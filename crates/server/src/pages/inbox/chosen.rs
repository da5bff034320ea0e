//! The filters and the place of an inbox page, in its address.

use recount::session::{SessionId, Timestamp};

use super::waiting::Item;
use crate::problems::{Code, Problem};
use crate::requests::Params;

/// The filters of the inbox.
pub(super) struct Chosen {
    pub(super) agent: String,
    /// A label as NAME:VALUE.
    pub(super) label: String,
    /// A part of the name of a tool.
    pub(super) tool: String,
    pub(super) session: String,
    /// True to show only what the person may decide.
    pub(super) mine: bool,
    /// The place after which the page begins.
    pub(super) after: Option<(Timestamp, Timestamp, SessionId)>,
}

impl Chosen {
    pub(super) fn of(params: &Params) -> Result<Chosen, Problem> {
        let text = |name: &'static str| {
            let given = params.one(name)?;
            Ok::<_, Problem>(given.unwrap_or_default().trim().to_owned())
        };
        Ok(Chosen {
            agent: text("agent")?,
            label: text("label")?,
            tool: text("tool")?,
            session: text("session")?,
            mine: params.one("mine")?.is_some(),
            after: params.one("cursor")?.map(place).transpose()?,
        })
    }

    /// The parameters without the place.
    pub(super) fn parameters(&self) -> [(&str, &str); 5] {
        [
            ("agent", &self.agent),
            ("label", &self.label),
            ("tool", &self.tool),
            ("session", &self.session),
            ("mine", if self.mine { "yes" } else { "" }),
        ]
    }

    /// True if a filter is set.
    pub(super) fn is_narrow(&self) -> bool {
        self.parameters().iter().any(|(_, value)| !value.is_empty())
    }

    /// The fault of the label, if it has no name or no value.
    pub(super) fn label_fault(&self) -> Option<&'static str> {
        let is_pair = |(name, value): (&str, &str)| !name.is_empty() && !value.is_empty();
        let is_fit = self.label.is_empty() || self.label.split_once(':').is_some_and(is_pair);
        (!is_fit).then_some("A label is a name, a colon and a value: tenant:acme")
    }

    /// True if the item fits the filters that the selection of the index does not know.
    pub(super) fn takes(&self, item: &Item) -> bool {
        let part = self.tool.to_lowercase();
        item.tool().to_lowercase().contains(&part) && (!self.mine || item.is_mine)
    }
}

/// The text of a place, as the cursor of the next page.
pub(super) fn cursor((expires, since, session): (Timestamp, Timestamp, SessionId)) -> String {
    format!("{}.{}.{session}", expires.0, since.0)
}

fn place(text: &str) -> Result<(Timestamp, Timestamp, SessionId), Problem> {
    let mut parts = text.splitn(3, '.');
    let mut next = || parts.next().unwrap_or_default();
    match (next().parse(), next().parse(), next().parse()) {
        (Ok(expires), Ok(since), Ok(session)) => {
            Ok((Timestamp(expires), Timestamp(since), session))
        }
        (Err(_), _, _) | (_, Err(_), _) | (_, _, Err(_)) => {
            let detail = "the cursor is not one of this page";
            Err(Problem::new(Code::BadRequest, detail))
        }
    }
}
