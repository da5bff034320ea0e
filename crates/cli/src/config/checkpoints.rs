//! The settings of `[checkpoints]`: when the tree of the journal is signed, and by what.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::schema::{table, text};
use super::section::{Given, Section};
use recount_evidence::Anchor;

/// The keys of `[checkpoints]`.
pub(super) const CHECKPOINTS: [&str; 6] = [
    "origin",
    "keys",
    "signer",
    "every_records",
    "every",
    "anchors",
];

/// The keys of an anchor.
pub(super) const ANCHOR: [&str; 4] = ["name", "directory", "command", "timestamp"];

/// The checkpoints that a service makes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckpointSettings {
    /// The name of the journal in its checkpoints.
    pub(crate) origin: Given<String>,
    /// The files of the private keys that sign.
    pub(crate) keys: Vec<Given<PathBuf>>,
    /// The program that signs, with its arguments.
    pub(crate) signer: Vec<String>,
    pub(crate) every_records: Option<Given<u32>>,
    pub(crate) every: Option<Given<Duration>>,
    /// The places that get a copy of each checkpoint, by their names.
    pub(crate) anchors: Vec<(String, Anchor)>,
}

/// Reads `[checkpoints]`.
pub(super) fn checkpoints(section: &Section<'_>) -> Option<CheckpointSettings> {
    section.only(&CHECKPOINTS);
    let (keys, signer) = (
        section.paths("keys"),
        section.some_texts("signer", "a word"),
    );
    let origin = section.required("origin", section.text("origin"))?;
    if keys.is_empty() && signer.is_none() {
        let what = "expected keys or a signer, found none: who signs the checkpoints?";
        section.object(origin.mistake(what));
    }
    if origin.value.is_empty() || origin.value.chars().any(char::is_control) {
        section.object(origin.mistake("expected one line, such as example.com/journal"));
    }
    let signer = signer.unwrap_or_default().into_iter();
    Some(CheckpointSettings {
        origin,
        keys,
        signer: signer.map(|it| it.value).collect(),
        every_records: section.number("every_records", 1),
        every: section.positive("every"),
        anchors: anchors(section),
    })
}

fn anchors(section: &Section<'_>) -> Vec<(String, Anchor)> {
    let mut anchors: Vec<(String, Anchor)> = Vec::new();
    for it in section.sections("anchors") {
        it.only(&ANCHOR);
        let (directory, command) = (it.path("directory"), it.some_texts("command", "a program"));
        let Some(name) = it.required("name", it.text("name")) else {
            continue;
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.value.is_empty() || !name.value.chars().all(fits) {
            it.object(name.mistake("expected letters, digits, - and _"));
        }
        if anchors.iter().any(|(other, _)| *other == name.value) {
            it.object(name.mistake("there is another anchor of this name"));
        }
        let directory = directory.map(|it| it.value);
        let anchor = match (directory, command, it.text("timestamp")) {
            (Some(directory), None, None) => Anchor::Directory(directory),
            (None, Some(command), None) => {
                Anchor::Command(command.into_iter().map(|it| it.value).collect())
            }
            (directory, None, Some(url)) => {
                if !(url.value.starts_with("https://") || url.value.starts_with("http://")) {
                    it.object(url.mistake("expected the http or https URL of an authority"));
                }
                let url = url.value;
                Anchor::Authority { url, directory }
            }
            (None, None, None) | (_, Some(_), _) => {
                let what = "expected one of directory, command and timestamp (a timestamp may \
                            have a directory, too)";
                it.object(name.mistake(what));
                continue;
            }
        };
        anchors.push((name.value, anchor));
    }
    anchors
}

/// The JSON Schema of `[checkpoints]`.
pub(super) fn schema() -> Value {
    let texts = json!({"type": "array", "items": text(), "minItems": 1});
    table(
        &["origin"],
        [
            (
                "origin",
                text(),
                "The name of the journal in its checkpoints, such as example.com/journal.",
            ),
            (
                "keys",
                texts.clone(),
                "The files of the private keys that sign, as `recount checkpoint key` writes them. \
                 With several keys, a checkpoint has a signature of each. Not every user may be \
                 able to read them.",
            ),
            (
                "signer",
                texts,
                "A program that signs, and its arguments. It reads the text of the checkpoint and \
                 prints lines of signatures. So a key can be out of this user's reach.",
            ),
            (
                "every_records",
                json!({"type": "integer", "minimum": 1}),
                "The number of records after which a checkpoint is made; 10,000 by default. One is \
                 also made after each answer to an approval, and at the end.",
            ),
            (
                "every",
                text(),
                "The time after which a checkpoint is made if there are new records, such as 60s, \
                 the default.",
            ),
            (
                "anchors",
                json!({"type": "array", "items": anchor()}),
                "The places that get a copy of each checkpoint.",
            ),
        ],
    )
}

fn anchor() -> Value {
    table(
        &["name"],
        [
            (
                "name",
                text(),
                "The name: letters, digits, - and _. Its place in the journal is kept under it.",
            ),
            (
                "directory",
                text(),
                "A directory, for example on another mount. Each checkpoint is a file of its own, \
                 and so is its time stamp.",
            ),
            (
                "timestamp",
                text(),
                "The http or https URL of a time stamp authority (RFC 3161). It gets the hash of \
                 each checkpoint. Its answers are records of the journal.",
            ),
            (
                "command",
                json!({"type": "array", "items": text(), "minItems": 1}),
                "A program and its arguments. It reads the checkpoint, and has taken it if it \
                 exits with 0.",
            ),
        ],
    )
}
