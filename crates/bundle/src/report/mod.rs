//! The page of a bundle: `report.html`, for people who never saw this project.
//!
//! It is a function of the contents. `told` is what the sections share, `frame` the parts of which
//! they consist. `cover` is the first page, `checking` says how to check the bundle, `calls` and
//! `changes` have the facts, `scope`, `glossary` and `clauses` the rest.

mod calls;
mod changes;
mod checking;
mod clauses;
mod cover;
mod frame;
mod glossary;
mod reads;
mod scope;
#[cfg(test)]
mod tests;
mod told;

use frame::document;
use told::Told;

use crate::contents::Contents;

/// Returns the page about these contents.
pub(crate) fn html(contents: &Contents) -> String {
    let told = Told::of(contents);
    let mut sections = vec![
        checking::checking(&told),
        calls::population(&told),
        calls::approvals(&told),
        calls::not_allowed(&told),
        calls::unasked(&told),
        calls::leaves(&told),
        calls::doubts(&told),
        changes::policies(&told),
        changes::pauses(&told),
        changes::erasures(&told),
        changes::clock(&told),
        reads::reads(&told),
        scope::scope(&told),
        glossary::glossary(),
    ];
    sections.push(clauses::clauses(&sections));
    let cover = cover::cover(&told);
    document("Evidence report", contents.extent.root, &cover, &sections).into_string()
}
