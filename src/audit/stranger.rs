//! Names in a filter that no call has: probably a typing mistake, but not an error.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::filter::{Filter, LabelFilter};

/// A tool, actor or label of the filter that none of the readable calls has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stranger {
    /// The kind of the name.
    pub of: StrangerOf,
    /// The name; for a label `NAME` or `NAME=VALUE`.
    pub name: String,
    /// The most similar existing name.
    pub near: Option<String>,
}

/// The kind of a name in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StrangerOf {
    /// A tool.
    Tool,
    /// An actor.
    Actor,
    /// A label.
    Label,
}

/// The names in all readable calls.
#[derive(Default)]
pub(super) struct Names {
    tools: BTreeSet<String>,
    actors: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl Names {
    /// Adds the names in a call, for the conditions that the filter uses.
    pub(super) fn add(&mut self, call: &AuditedCall, filter: &Filter) {
        let note = |names: &mut BTreeSet<String>, name: &str| {
            if !names.contains(name) {
                names.insert(name.to_owned());
            }
        };
        if !filter.tools.is_empty() {
            note(&mut self.tools, &call.tool);
        }
        if !filter.actors.is_empty() {
            call.people()
                .for_each(|it| note(&mut self.actors, &it.name));
        }
        if !filter.labels.is_empty() {
            for (name, value) in &call.labels {
                note(&mut self.labels, name);
                note(&mut self.labels, &format!("{name}={value}"));
            }
        }
    }

    /// Returns the names in the filter that no call has.
    pub(super) fn strangers(&self, filter: &Filter) -> Vec<Stranger> {
        let label = |it: &LabelFilter| match &it.value {
            Some(value) => format!("{}={value}", it.name),
            None => it.name.clone(),
        };
        let labels: Vec<String> = filter.labels.iter().map(label).collect();
        let asked = [
            (StrangerOf::Tool, &filter.tools, &self.tools),
            (StrangerOf::Actor, &filter.actors, &self.actors),
            (StrangerOf::Label, &labels, &self.labels),
        ];
        let mut strangers = Vec::new();
        for (of, names, known) in asked {
            for name in names.iter().filter(|it| !known.contains(*it)) {
                let (name, near) = (name.clone(), near(name, known));
                strangers.push(Stranger { of, name, near });
            }
        }
        strangers
    }
}

/// Returns the most similar known name. At most a third of its letters may differ, ignoring case.
fn near(name: &str, known: &BTreeSet<String>) -> Option<String> {
    let lower = name.to_lowercase();
    let distance = |it: &String| strsim::damerau_levenshtein(&lower, &it.to_lowercase());
    let (distance, nearest) = known.iter().map(|it| (distance(it), it)).min()?;
    (distance <= name.chars().count() / 3).then(|| nearest.clone())
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.of {
            StrangerOf::Tool => write!(f, "no call to a tool {name:?} was found")?,
            StrangerOf::Actor => write!(f, "no answer or other act by {name:?} was found")?,
            StrangerOf::Label => write!(f, "no call with the label {name:?} was found")?,
        }
        match &self.near {
            Some(near) => write!(f, "; did you mean {near:?}?"),
            None => Ok(()),
        }
    }
}
