//! The table as a page of the documentation, with a diagram of the transitions between phases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Met;

/// The observations at one station that have an effect.
pub(crate) struct Meets {
    pub(crate) name: &'static str,
    pub(crate) phase: &'static str,
    pub(crate) rows: Vec<Met>,
}

const HEAD: &str = "\
# The phases of a call

The phase that a call enters after each observation. `tests/transitions.rs` generates this page from
the rules: it plays every observation against every phase. To write the page anew, run
`RECOUNT_WRITE_DOCS=1 cargo test --package recount-session --test transitions`.

A call begins when it is received. The picture shows the phases in which a call stays until
something happens, with what leads from one to the next. Phases that pass within a step are listed
[at the end](#phases-that-pass-within-a-step).

";

/// Formats the page.
pub(crate) fn page(
    stations: &[Meets],
    passing: &BTreeMap<&'static str, BTreeSet<&'static str>>,
) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&diagram(stations));
    for station in stations {
        write!(page, "\n## {}\n\n", station.name).expect("a string takes text");
        let (moves, stays): (Vec<&Met>, Vec<&Met>) =
            station.rows.iter().partition(|row| row.does_something());
        page.push_str("| when | the call is then | what is decided |\n|---|---|---|\n");
        for row in moves {
            let Met {
                what,
                after,
                decisions,
            } = row;
            let after = if after == "-" { "as before" } else { after };
            let decisions = decisions.join(", ");
            writeln!(page, "| {what} | {after} | {decisions} |").expect("a string takes text");
        }
        let stays: Vec<&str> = stays.iter().map(|row| row.what.as_str()).collect();
        write!(page, "\nNothing follows from: {}.\n", stays.join(", "))
            .expect("a string takes text");
    }
    page.push_str("\n## Phases that pass within a step\n\n| phase | passes on with |\n|---|---|\n");
    for (phase, decisions) in passing {
        let decisions: Vec<&str> = decisions.iter().copied().collect();
        let decisions = decisions.join(" or ");
        writeln!(page, "| {phase} | {decisions} |").expect("a string takes text");
    }
    page
}

/// Formats the diagram: one arrow for each two phases, with all observations that lead from one to
/// the other.
fn diagram(stations: &[Meets]) -> String {
    let mut arrows: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for station in stations {
        for row in &station.rows {
            let to = match row.after.split_once(": ") {
                Some(("settled", outcome)) => format!("settled_{outcome}"),
                Some(_) | None => {
                    let phase = row.after.split(',').next().unwrap_or_default();
                    phase.to_owned()
                }
            };
            if to != "-" && to != station.phase {
                let kind = row.what.split(' ').next().unwrap_or_default();
                arrows.entry((station.phase, to)).or_default().insert(kind);
            }
        }
    }
    let mut text = "```mermaid\nstateDiagram-v2\n".to_owned();
    for ((from, to), kinds) in arrows {
        let kinds: Vec<&str> = kinds.into_iter().collect();
        let kinds = kinds.join("<br>");
        writeln!(text, "    {from} --> {to}: {kinds}").expect("a string takes text");
    }
    text.push_str("```\n");
    text
}
