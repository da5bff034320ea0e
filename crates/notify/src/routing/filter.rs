//! The calls that a route is about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A name in which `*` stands for any number of characters.
///
/// ```
/// use recount_notify::Pattern;
/// assert!(Pattern::new("refund*").matches("refund_order"));
/// assert!(!Pattern::new("refund").matches("refund_order"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

/// The calls that a route is about. An empty filter matches every call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The tools. Empty: every tool.
    pub tools: Vec<Pattern>,
    /// The agents. Empty: every agent.
    pub agents: Vec<Pattern>,
    /// The labels that the session must have.
    pub labels: BTreeMap<String, String>,
}

/// The names of a call, by which it is routed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// `None` if the records of the session cannot be read.
    pub(crate) tool: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Pattern {
    /// A pattern.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Pattern {
        Pattern(text.into())
    }

    /// True if the name has the form of the pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        let mut parts: Vec<&str> = parts.collect();
        // Without a star, the name is the pattern.
        let Some(last) = parts.pop() else {
            return rest.is_empty();
        };
        for part in parts {
            let Some((_, behind)) = rest.split_once(part) else {
                return false;
            };
            rest = behind;
        }
        rest.ends_with(last)
    }
}

impl Filter {
    /// True if the call with these names matches. A name that cannot be read matches no pattern.
    pub(crate) fn matches(&self, names: &Names) -> bool {
        let fits = |patterns: &[Pattern], name: &Option<String>| {
            let name = name.as_deref();
            patterns.is_empty()
                || name.is_some_and(|name| patterns.iter().any(|it| it.matches(name)))
        };
        let mut labels = self.labels.iter();
        fits(&self.tools, &names.tool)
            && fits(&self.agents, &names.agent)
            && labels.all(|(key, value)| names.labels.get(key) == Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, matches) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*b*b", "b", false),
            ("*b*b", "abcb", true),
            ("a", "ab", false),
            ("", "a", false),
            ("aa*aa", "aaa", false),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(name),
                matches,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn filter_needs_every_part() {
        let names = Names {
            tool: Some("refund".to_owned()),
            agent: Some("support".to_owned()),
            labels: BTreeMap::from([("tenant".to_owned(), "acme".to_owned())]),
        };
        let of = |tool: &str, agent: &str, tenant: &str| Filter {
            tools: vec![Pattern::new(tool)],
            agents: vec![Pattern::new(agent)],
            labels: BTreeMap::from([("tenant".to_owned(), tenant.to_owned())]),
        };
        assert!(of("ref*", "support", "acme").matches(&names));
        assert!(!of("pay", "support", "acme").matches(&names));
        assert!(!of("ref*", "sales", "acme").matches(&names));
        assert!(!of("ref*", "support", "globex").matches(&names));
        assert!(Filter::default().matches(&Names::default()));
        assert!(!of("*", "*", "acme").matches(&Names::default()));
    }
}
