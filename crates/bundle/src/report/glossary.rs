//! The terms of the page, for readers who never saw this project.

use maud::html;

use super::frame::{Section, facts};

/// The terms. Each explanation needs no other term that is not in the list.
const TERMS: [(&str, &str); 10] = [
    (
        "Journal",
        "The file of a service to which records are only appended, each on disk before it has an \
         effect.",
    ),
    (
        "Session",
        "One conversation between a person or program and an agent, with its own chain of records.",
    ),
    (
        "Record",
        "One event of a session: its number, time, kind, actor, body, and the hash of the record \
         before it.",
    ),
    (
        "Envelope",
        "A record without its body. It says that something happened, when, and by which kind of \
         actor.",
    ),
    (
        "Call",
        "One request of a model or a program to run a tool, such as “refund order 1001”.",
    ),
    (
        "Approval",
        "The answer of a person that a call may run, bound to the session, the call, the exact \
         arguments and the contract of the tool.",
    ),
    (
        "Policies and contracts",
        "The rules that decide which calls need an approval, and the declarations of the tools. \
         Both are stored, and named by their hash.",
    ),
    (
        "Tree and root",
        "All records are the leaves of one hash tree (RFC 6962). Its root changes if any record \
         changes, is left out or changes its place.",
    ),
    (
        "Checkpoint",
        "The number of records and the root at one time, as a text that keys have signed.",
    ),
    (
        "Anchored",
        "Compared with something that the owner of the journal could not change, such as a \
         checkpoint that was kept elsewhere.",
    ),
];

pub(super) fn glossary() -> Section {
    let terms = TERMS.map(|(term, meaning)| (term, html! { (meaning) }));
    Section {
        id: "glossary",
        title: "Terms",
        body: facts(&terms),
    }
}
