//! The clauses of laws and frameworks on which parts of a bundle bear.

use maud::{Markup, html};
use serde::Deserialize;

use super::frame::{Section, said, table};

/// The list of clauses. It is dated, and changes with the program.
const LIST: &str = include_str!("../../../../docs/clauses.toml");

/// The file `docs/clauses.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    source: Vec<Source>,
    clause: Vec<Clause>,
}

/// A text, and the copy of it that was read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    id: String,
    address: String,
    edition: String,
    read: String,
    read_on: Option<toml::value::Datetime>,
}

/// A clause, and what a bundle has about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    name: String,
    source: String,
    about: String,
    parts: Vec<String>,
    bears: String,
    limits: String,
}

/// The section behind all other ones, to which its rows refer.
pub(super) fn clauses(others: &[Section]) -> Section {
    let body = match toml::from_str::<List>(LIST) {
        Ok(list) => listed(&list, others),
        // A test reads the list, so a released program never comes here.
        Err(_) => html! { p { "The list of clauses cannot be read." } },
    };
    Section {
        id: "clauses",
        title: "Clauses that this report bears on",
        body,
    }
}

fn listed(list: &List, others: &[Section]) -> Markup {
    let heads = [
        "Clause",
        "About",
        "Parts of this report",
        "Bears on it",
        "Does not show",
        "Read",
    ];
    let rows = html! {
        @for clause in &list.clause {
            @if let Some((source, read_on)) = read(list, clause) {
                tr {
                    th scope="row" { (said(&clause.name)) }
                    td { (said(&clause.about)) }
                    td {
                        @for (index, part) in clause.parts.iter().enumerate() {
                            @if index > 0 { ", " }
                            a href={ "#" (part) } { (titled(others, part)) }
                        }
                    }
                    td { (said(&clause.bears)) }
                    td { (said(&clause.limits)) }
                    td { (said(&source.edition)) "; " (read_on) }
                }
            }
        }
    };
    html! {
        p {
            "This list helps to find the part of the report that belongs to a question. It is no "
            "legal advice and no claim: whether a clause is met depends on the organisation, not "
            "on a report. A part that is named here may be empty in this bundle. A clause is "
            "listed only if its text was read, on the day in the last "
            "column. Later amendments were not read."
        }
        (table("Clauses", &heads, rows))
        (sources(list))
    }
}

/// The number and the title of a section. The first page has neither.
fn titled(others: &[Section], id: &str) -> String {
    match others.iter().position(|it| it.id == id) {
        Some(at) => format!("{}. {}", at + 1, others.get(at).map_or("", |it| it.title)),
        None => "first page".to_owned(),
    }
}

fn sources(list: &List) -> Markup {
    html! {
        h3 { "Where the texts are" }
        ul {
            @for source in list.source.iter().filter(|it| it.read_on.is_some()) {
                li { (said(&source.address)) "; read in " (said(&source.read)) }
            }
        }
    }
}

/// The source of a clause and the day on which it was read. `None` if it was not.
fn read<'l>(list: &'l List, clause: &Clause) -> Option<(&'l Source, String)> {
    let source = list.source.iter().find(|it| it.id == clause.source)?;
    let is_known = !source.address.is_empty() && !source.read.is_empty();
    let read_on = source.read_on.as_ref().filter(|_| is_known)?;
    Some((source, read_on.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(list: &str) -> String {
        listed(&toml::from_str(list).unwrap(), &[]).into_string()
    }

    #[test]
    fn clause_without_a_read_source_is_not_printed() {
        let clause = "[[clause]]\nname = \"Clause 7\"\nsource = \"law\"\nabout = \"a\"\n\
                      parts = [\"scope\"]\nbears = \"b\"\nlimits = \"c\"\n";
        let source = "[[source]]\nid = \"law\"\naddress = \"https://law.example\"\n\
                      edition = \"1\"\nread = \"law.example/7\"\n";
        let day = "read_on = 2026-11-28\n";
        assert!(shown(&format!("{source}{day}{clause}")).contains("Clause 7"));
        assert!(!shown(&format!("{source}{clause}")).contains("Clause 7"));
        let nowhere = source.replace("law.example/7", "");
        assert!(!shown(&format!("{nowhere}{day}{clause}")).contains("Clause 7"));
        let other = source.replace("\"law\"", "\"other\"");
        assert!(!shown(&format!("{other}{day}{clause}")).contains("Clause 7"));
    }

    #[test]
    fn every_clause_of_the_list_has_a_read_source() {
        let list: List = toml::from_str(LIST).unwrap();
        assert!(list.clause.len() >= 6);
        for clause in &list.clause {
            assert!(read(&list, clause).is_some(), "{}", clause.name);
        }
    }
}
