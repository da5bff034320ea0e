//! The files that an agent names: tools that are commands, and policies.

use std::collections::BTreeSet;
use std::path::Path;

use super::document::{self, Node};
use super::mistake::{Mistake, Place};
use super::section::Given;
use recount::session::{Approvers, PolicyChanges};
use recount::tool::{PolicyTool, Toolset, policy_file, tools_file};
use recount_text::files::given_file;

/// The maximum length of a file, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The approvers that a file or an agent names, and their place.
#[derive(Debug)]
pub(super) struct NamedApprovers {
    pub(super) place: Place,
    pub(super) field: String,
    pub(super) approvers: BTreeSet<Approvers>,
}

/// A program that a tool starts.
#[derive(Debug)]
pub(super) struct NamedProgram {
    pub(super) place: Place,
    pub(super) field: String,
    pub(super) program: String,
}

/// The tools of a file.
#[derive(Default)]
pub(super) struct ToolFile {
    pub(super) tools: Toolset,
    pub(super) programs: Vec<NamedProgram>,
    pub(super) approvers: Vec<NamedApprovers>,
}

/// Reads a file of tools.
pub(super) fn tools(file: &Given<std::path::PathBuf>) -> Result<ToolFile, Vec<Mistake>> {
    let (text, whole) = opened(file, "tools")?;
    let entries = whole.table().and_then(|it| it.get("tool"));
    let entries = entries.and_then(|it| it.value.list()).unwrap_or_default();
    let read = tools_file::parse(&text).map_err(|error| {
        let mistakes = error.mistakes.iter();
        mistakes
            .map(|it| placed(it, entries, &whole))
            .collect::<Vec<_>>()
    })?;
    let mut found = ToolFile::default();
    for name in read.names() {
        if let Some(tool) = read.get(name) {
            found.tools = found.tools | tool.clone();
        }
    }
    for entry in entries {
        let Some(name) = member(entry, "name").and_then(Node::text) else {
            continue;
        };
        let command = member(entry, "command").and_then(Node::list);
        if let Some(program) = command.and_then(|it| it.first()) {
            found.programs.push(NamedProgram {
                place: program.place.clone(),
                field: format!("tool {name:?}: command"),
                program: program.text().unwrap_or_default().to_owned(),
            });
        }
        let policy = read.get(name).map(PolicyTool::policy);
        found.approvers.extend(policy.map(|policy| NamedApprovers {
            place: entry.place_of(["approvers"]),
            field: format!("tool {name:?}: approvers"),
            approvers: policy.gate_terms.approvers.clone(),
        }));
    }
    Ok(found)
}

/// The policies of a file, and the places of their tools.
pub(super) struct PolicyFile {
    pub(super) changes: PolicyChanges,
    whole: Node,
}

impl PolicyFile {
    /// Reads a file of policies.
    pub(super) fn read(file: &Given<std::path::PathBuf>) -> Result<PolicyFile, Vec<Mistake>> {
        let (text, whole) = opened(file, "policies")?;
        let changes = policy_file::parse(&text).map_err(|error| {
            let mistakes = error.mistakes.into_iter();
            let placed = mistakes.map(|it| {
                let place = whole.place_of(it.field.split('.'));
                // A file in JSON has only lines.
                let place = match (whole.table().is_some_and(|it| it.is_empty()), it.line) {
                    (true, Some(line)) => whole.place.at(line, 1),
                    (true, None) | (false, _) => place,
                };
                place.mistake(&it.field, it.what)
            });
            placed.collect::<Vec<_>>()
        })?;
        Ok(PolicyFile { changes, whole })
    }

    /// The place of a tool's policies.
    pub(super) fn place_of(&self, tool: &str) -> Place {
        self.whole.place_of(["tools", tool])
    }

    /// The approvers of the file.
    pub(super) fn approvers(&self) -> Vec<NamedApprovers> {
        let tools = self.changes.tools.iter().map(|(tool, policy)| {
            let place = self.whole.place_of(["tools", tool, "approvers"]);
            (place, format!("tools.{tool}.approvers"), policy)
        });
        let defaults = &self.changes.defaults;
        let place = self.whole.place_of(["defaults", "approvers"]);
        let all = tools.chain([(place, "defaults.approvers".to_owned(), defaults)]);
        let named = all.filter_map(|(place, field, policy)| {
            let approvers = policy.approvers.clone()?;
            Some(NamedApprovers {
                place,
                field,
                approvers,
            })
        });
        named.collect()
    }
}

/// The text of a file, and its values with their places. JSON has no places, and is an empty table.
fn opened(file: &Given<std::path::PathBuf>, what: &str) -> Result<(String, Node), Vec<Mistake>> {
    let text = given_file::text(&file.value, FILE_BYTES_MAX).map_err(|error| {
        let path = file.value.display();
        vec![file.mistake(format!("the {what} in {path} cannot be read: {error}"))]
    })?;
    let is_json = text.trim_start().starts_with('{');
    let source = if is_json { "" } else { &text };
    let (whole, _) = document::read(source, &Place::file(Path::new(&file.value)));
    Ok((text, whole))
}

/// The mistake of a tool at the place of its key. Its text begins with `tool "name": key: `.
fn placed(mistake: &str, entries: &[Node], whole: &Node) -> Mistake {
    let number = mistake.strip_prefix("tool number ");
    let number = number.and_then(|it| it.split(':').next()?.parse::<usize>().ok());
    let of_number = number.and_then(|it| entries.get(it.checked_sub(1)?));
    let of_name = entries.iter().find(|entry| {
        let name = member(entry, "name").and_then(Node::text);
        name.is_some_and(|it| mistake.starts_with(&format!("tool {it:?}")))
    });
    let Some(entry) = of_number.or(of_name) else {
        return syntax(mistake, whole);
    };
    let rest = mistake.split_once(": ").map_or("", |(_, rest)| rest);
    let key = rest.split(':').next().unwrap_or_default();
    entry.place_of([key]).mistake("", mistake)
}

/// The mistake of a file that is no TOML: its text has the position.
fn syntax(mistake: &str, whole: &Node) -> Mistake {
    let position = mistake.strip_prefix("TOML parse error at line ");
    let position = position.and_then(|it| {
        let (line, rest) = it.split_once(", column ")?;
        let column = rest.split('\n').next()?;
        Some((line.parse().ok()?, column.parse().ok()?))
    });
    let Some((line, column)) = position else {
        return whole.place.mistake("", mistake);
    };
    let what = mistake.lines().next_back().unwrap_or_default();
    whole
        .place
        .at(line, column)
        .mistake("", format!("expected TOML: {what}"))
}

fn member<'n>(entry: &'n Node, key: &str) -> Option<&'n Node> {
    entry.table()?.get(key).map(|it| &it.value)
}
