//! The file `README.md`: one page for the auditor.

use recount_telling::{count, one_line};

use crate::contents::Contents;
use crate::description::Description;
use crate::disclosure::Disclose;

/// The text of the page. `{…}` is filled in.
const PAGE: &str = include_str!("README.md.txt");

/// Returns the page.
pub(super) fn text(contents: &Contents, description: &Description) -> String {
    let (request, extent) = (&contents.request, &contents.extent);
    let scope = match request.scope.in_words().as_slice() {
        [] => "the whole journal".to_owned(),
        words => one_line(&words.join(", ")).into_owned(),
    };
    let shown = match request.disclose {
        Disclose::None => "no record of a session is shown, envelopes only",
        Disclose::Approvals => {
            "records about approvals, and records without words of a conversation, which have \
             external ids, labels, and reasons for pauses and closings"
        }
        Disclose::All => "all records",
    };
    let sample = request.sample.as_ref().map_or(String::new(), |it| {
        let seed = one_line(&it.seed).into_owned();
        format!(
            "; of them only a sample of {} with the seed {seed:?}",
            count(it.count, "call")
        )
    });
    let redacted = match request.redacted.as_slice() {
        [] => String::new(),
        fields => format!("; without {}", one_line(&fields.join(", "))),
    };
    let checkpoint = match description.counts.signed {
        Some(size) => format!(
            "The file `checkpoint` is the latest signed one on record. It covers the first {} of \
             {}; later ones are only consistent.",
            size,
            count(extent.size, "record")
        ),
        None => "The journal has no signed checkpoint. Nothing here shows that it was not \
                 rewritten as a whole."
            .to_owned(),
    };
    let foreign = match description.checkpoints_of_another_tree {
        0 => String::new(),
        foreign => format!(
            "\n{} on record sign another tree: the journal was imported, or rewritten.",
            count(foreign, "checkpoint")
        ),
    };
    let is_whole = request.disclose == Disclose::All
        && request.sample.is_none()
        && request.redacted.is_empty();
    let replay = match is_whole {
        true => "`recount replay records.jsonl` makes every decision again and compares it.",
        false => {
            "Decisions can be made again only from all records of a session: ask for a bundle with \
             `--disclose all`."
        }
    };
    let hash = request.written_by.sha256;
    let hash = hash.map_or("a program whose hash is not known".to_owned(), |it| {
        format!("SHA-256 `{it}`")
    });
    let filled = [
        ("{scope}", scope),
        ("{shown}", format!("{shown}{sample}{redacted}")),
        ("{records}", count(extent.records, "record")),
        ("{size}", count(extent.size, "record")),
        ("{sessions}", count(extent.sessions_in_scope, "session")),
        ("{all_sessions}", count(extent.sessions, "session")),
        ("{disclosed}", extent.disclosed.to_string()),
        ("{checkpoint}", checkpoint + &foreign),
        ("{replay}", replay.to_owned()),
        (
            "{program}",
            one_line(&request.written_by.program).into_owned(),
        ),
        ("{hash}", hash),
        (
            "{written_at}",
            recount_telling::age::stamp(request.written_at),
        ),
    ];
    let fill = |page: String, (name, value): (&str, String)| page.replace(name, &value);
    filled.into_iter().fold(PAGE.to_owned(), fill)
}
