//! The commands that check the bundle, and the limits of a check.

use maud::{Markup, html};
use recount_evidence::Recorded;

use super::frame::{ROWS_MAX, Section, at, hash, lines, more, number, numbered, said, table};
use super::told::Told;
use crate::disclosure::Disclose;

/// The commands that check a bundle. The second one needs this program.
const COMMANDS: [&str; 3] = [
    "sha256sum -c MANIFEST.sha256",
    "python3 verify.py . --public-key KEY --since CHECKPOINT",
    "recount verify . --public-key KEY --since CHECKPOINT",
];

pub(super) fn checking(told: &Told<'_>) -> Section {
    let body = html! {
        p { "Trust nothing on this page that you did not check. In the directory of the bundle:" }
        (lines(COMMANDS))
        p {
            "verify.py is a short program that you can read. It needs Python 3, and the package "
            "cryptography for signatures. KEY is the public key of the journal, which you must get "
            "elsewhere: a key that came with the bundle proves nothing. CHECKPOINT is a copy of an "
            "earlier checkpoint that was kept elsewhere. The key finds a journal that was "
            "rewritten, and only the checkpoint one that was rolled back to an older copy. With "
            "neither, the verdict can only be “consistent, not anchored”."
        }
        h3 { "What verify.py proves" }
        p {
            "It proves bytes: that the records in records.jsonl, shown or withheld, are the leaves "
            "of the tree with the root on the first page, that the checkpoints, proofs, policies "
            "and contracts belong to them, and, with KEY or CHECKPOINT, that the signer had signed "
            "a beginning of just this tree."
        }
        h3 { "What it does not prove" }
        ul {
            li { "That the decisions follow from the records and the policies. " (replaying(told)) }
            li {
                "That this page says what the records say. It was written by the program with the "
                "hash on the first page; read the records that a sentence names."
            }
            li {
                "That this page, README.md, bundle.json and verify.py are as they were written: "
                "who alters them can make MANIFEST.sha256 anew. Take verify.py from elsewhere, or "
                "use recount verify."
            }
            li {
                "The kind of a withheld record, which is the word of the writer: an approval can "
                "hide behind another kind. A bundle with --disclose all withholds none."
            }
            li { "That what happened was recorded at all, or that the clocks were right." }
        }
        h3 { "Checkpoints on record" }
        (checkpoints(told, &told.contents.own.checkpoints))
        h3 { "Public keys in the bundle" }
        (keys(told))
    };
    Section {
        id: "checking",
        title: "How to check this bundle",
        body,
    }
}

/// The public keys that came with the bundle, and whether one of them signed the latest checkpoint.
fn keys(told: &Told<'_>) -> Markup {
    let keys = &told.contents.request.public_keys;
    if keys.is_empty() {
        return html! { p { "None." } };
    }
    let latest = told.contents.own.checkpoints.last();
    let signed = latest.map(|it| it.note.signed_by(keys).is_ok());
    html! {
        ul {
            @for key in keys {
                li { code.hash { (said(&key.to_string())) } ", key " code { (key_id(key.id())) } }
            }
        }
        @match signed {
            Some(true) => p { "One of them has signed the latest checkpoint." },
            Some(false) => p.warn {
                strong { "None of them has signed the latest checkpoint." }
                " Another key of the same name has, or none that is known here."
            },
            None => {},
        }
    }
}

/// The id of a key, as signatures and public keys have it.
fn key_id(id: u32) -> String {
    format!("{id:08x}")
}

/// The program and the command that make the decisions again.
fn replaying(told: &Told<'_>) -> Markup {
    let request = &told.contents.request;
    let program = &request.written_by;
    let is_limited = request.sample.is_some() || !request.redacted.is_empty();
    let is_whole = request.disclose == Disclose::All && !is_limited;
    html! {
        @if is_whole {
            "This command makes every decision again and compares it: "
            code { "recount replay records.jsonl" } ". "
        } @else {
            "Decisions can be made again only from all records of a session: ask for a bundle with "
            code { "--disclose all" } " and run " code { "recount replay records.jsonl" } ". "
        }
        "The program that wrote this bundle is " (said(&program.program))
        @if let Some(sha256) = program.sha256 { ", SHA-256 of its file " (hash(sha256)) }
        "."
    }
}

fn checkpoints(told: &Told<'_>, found: &[Recorded]) -> Markup {
    if found.is_empty() {
        return html! { p { "None: no part of the journal was ever signed." } };
    }
    let shown = found.len().saturating_sub(ROWS_MAX);
    html! {
        p {
            (numbered(found.len() as u64, "checkpoint")) ". Signatures were not checked for this "
            "page. "
            @match told.contents.places.signed() {
                Some(size) => {
                    "The latest one of this tree covers the first " (number(size)) " records."
                },
                None => strong { "None of them is of this tree." },
            }
        }
        (table("Checkpoints on record", &["Time", "#Records", "Root", "Signed by"], html! {
            @for it in found.iter().skip(shown) {
                tr {
                    td { (at(recount::session::Timestamp(it.at_us))) }
                    td.number { (number(it.checkpoint.size)) }
                    td { (hash(it.checkpoint.root)) }
                    td {
                        @for (index, signature) in it.note.signatures().iter().enumerate() {
                            @if index > 0 { ", " }
                            (said(&signature.name)) " " code { (key_id(signature.id)) }
                        }
                    }
                }
            }
        }))
        (more(found.len(), ROWS_MAX))
    }
}
