//! The shape of the tree, as rules: who may import whom, what the pure core may not touch, how long
//! a file may be.
//!
//! Rules read the text of the sources with comments and strings blanked, so that a word in a
//! sentence is no import.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

mod rooms;
mod verdicts;
mod wording;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The parts that each part of `src/` may import besides itself: everything on the arrows below it.
/// Between crates the compiler keeps the arrows; `session`, `story`, `tool`, `live::wire`, `mcp`
/// and `simulator` are crates that the library re-exports.
///
/// `ledger` is how the engine and the replay speak to the journal; `recount_journal` is the
/// journal's crate.
const ARROWS: &[(&str, &[&str])] = &[
    ("live", &["live::wire", "session"]),
    ("adk", &["tool", "session"]),
    ("ledger", &["session", "recount_journal"]),
    ("control", &["tool", "ledger", "session", "recount_journal"]),
    ("replay", &["ledger", "session", "recount_journal"]),
    (
        "compare",
        &["fixture", "story", "ledger", "replay", "session"],
    ),
    ("audit", &["ledger", "session", "recount_journal"]),
    (
        "fixture",
        &["story", "ledger", "session", "recount_journal"],
    ),
    ("engine", BELOW_ENGINE),
    ("play", BELOW_PLAY),
    ("prelude", EVERYTHING),
    ("testing", EVERYTHING),
];

const BELOW_ENGINE: &[&str] = &[
    "fixture",
    "story",
    "adk",
    "live",
    "live::wire",
    "control",
    "tool",
    "ledger",
    "session",
    "recount_journal",
];

const BELOW_PLAY: &[&str] = &[
    "fixture",
    "story",
    "engine",
    "adk",
    "live",
    "live::wire",
    "control",
    "tool",
    "replay",
    "ledger",
    "session",
    "recount_journal",
];

const EVERYTHING: &[&str] = &[
    "audit",
    "mcp",
    "play",
    "fixture",
    "story",
    "engine",
    "adk",
    "live",
    "live::wire",
    "control",
    "tool",
    "compare",
    "replay",
    "ledger",
    "session",
    "simulator",
    "recount_journal",
];

/// The rooms of the journal, lowest first: each may import itself and those before it. A room is a
/// folder, or a file that stands alone; the longest entry that a path begins with is its room.
const JOURNAL_ROOMS: &[&str] = &[
    "hash",
    "tree",
    "error",
    "records",
    "future",
    "sharing",
    "journal",
    "follow_place",
    "memory",
    "files",
    "seal",
    "log",
    "index",
    "view",
    "store/system",
    "store/directory",
    "store/survey",
    "store/opening",
    "store/group_commit",
    "store",
    "maintenance/verify",
    "maintenance/backup",
    "maintenance/repair",
    "maintenance",
    "testing",
];

/// The violations that are accepted today. A mended one must leave the list, so that it cannot come
/// back.
const OWED: &[&str] = &[];

/// The enums whose `match` names every arm, so that a new variant stops the build.
const CLOSED: [&str; 8] = [
    "Event::",
    "Observation::",
    "Decision::",
    "Phase::",
    "Effect::",
    "Command::",
    "Rejection::",
    "RequestState::",
];

/// The words that the pure core does not use, and JSON text under it.
const IMPURE: [&str; 11] = [
    "fs",
    "net",
    "tokio",
    "async",
    "await",
    "Instant",
    "SystemTime",
    "rand",
    "HashMap",
    "HashSet",
    "thread",
];

const NAMELESS: [&str; 5] = ["utils", "util", "common", "helpers", "misc"];

const LINES_MAX: usize = 500;

/// The maximum length of a `mod.rs` of the journal, the front door of its folder.
const DOOR_LINES_MAX: usize = 60;

#[test]
fn the_tree_keeps_to_the_design() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = [
        ("src", root.join("src")),
        ("journal", root.join("journal/src")),
        ("macros", root.join("macros/src")),
        ("bundle", root.join("crates/bundle/src")),
        ("evidence", root.join("crates/evidence/src")),
        ("gateway", root.join("crates/gateway/src")),
        ("cli", root.join("crates/cli/src")),
        ("mcp", root.join("crates/mcp/src")),
        ("notify", root.join("crates/notify/src")),
        ("postgres", root.join("crates/postgres/src")),
        ("reads", root.join("crates/reads/src")),
        ("server", root.join("crates/server/src")),
        ("traces", root.join("crates/traces/src")),
        ("session", root.join("crates/session/src")),
        ("simulator", root.join("crates/simulator/src")),
        ("telling", root.join("crates/telling/src")),
        ("text", root.join("crates/text/src")),
        ("tool", root.join("crates/tool/src")),
        ("wire", root.join("crates/wire/src")),
    ];
    let library = fs::read_to_string(root.join("journal/src/lib.rs"));
    let exported = exports(&library.expect("the journal's lib.rs can be read"));
    let mut read = 0;
    let mut broken = Vec::new();
    for (part, folder) in sources {
        for file in rust_files(&folder) {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            let inside = file.strip_prefix(&folder).expect("it was found there");
            let name = inside.to_string_lossy().replace('\\', "/");
            broken.extend(objections(part, &name, &text));
            if part == "journal" {
                broken.extend(against_rooms(&name, &text, &exported));
            }
            read += 1;
        }
    }
    assert!(read > 20, "only {read} files were found");
    let cured: Vec<_> = OWED
        .iter()
        .filter(|owed| !broken.iter().any(|it| it == *owed))
        .collect();
    broken.retain(|it| !OWED.contains(&it.as_str()));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(
        cured.is_empty(),
        "cured, so take it out of OWED: {cured:#?}"
    );
}

/// Everything that speaks against one file; `part` is `src` or the name of another crate, `name`
/// the path inside it.
fn objections(part: &str, name: &str, text: &str) -> Vec<String> {
    let code = Source::of(text);
    let module = module_of(name);
    let mut broken = Vec::new();
    let mut object = |what: String| broken.push(format!("{part}/{name}: {what}"));

    for word in NAMELESS {
        if module.iter().any(|it| it == word) {
            object(format!("{word:?} promises nothing"));
        }
    }
    let is_test_file = name.ends_with("_tests.rs");
    if !is_test_file
        && !["//!", "#![doc"]
            .iter()
            .any(|doc| text.trim_start().starts_with(doc))
    {
        object("no module doc".to_owned());
    }
    let length = code.product.lines().count();
    if !is_test_file && length > LINES_MAX {
        object(format!("more than {LINES_MAX} lines before its tests"));
    }
    for line in wildcards(&code.product) {
        object(format!(
            "line {line}: `_ =>` beside arms of an enum of ours"
        ));
    }
    // A file of tests may use whatever it needs to show what it shows.
    if is_test_file {
        return broken;
    }
    match part {
        "journal" => {
            if words(&code.product).any(|word| word == "recount") {
                object("the journal imports nothing of ours".to_owned());
            }
        }
        // What it writes into a user's code begins with `::`, so that nothing there can stand in
        // for it.
        "macros" => {
            for (at, _) in words_at(&code.product).filter(|(_, word)| word.starts_with("recount")) {
                let before = code.product[..at].trim_end();
                let named = before
                    .strip_suffix("::")
                    .is_some_and(|it| !it.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
                if !named {
                    object("the macros name what is ours from `::`".to_owned());
                }
            }
        }
        "session" | "text" if !module.iter().any(|it| it == "files") => {
            for word in words(&code.product).filter(|word| IMPURE.contains(word)) {
                object(format!("{word:?} in the pure core"));
            }
        }
        "bundle" | "cli" | "evidence" | "gateway" | "mcp" | "notify" | "postgres" | "reads"
        | "server" | "simulator" | "telling" | "text" | "tool" | "traces" | "wire" => {}
        _ => {
            let layer = layer_of(&module);
            for import in imports(&module, &code.product) {
                if let Some(what) = forbidden(&layer, &import) {
                    object(what);
                }
            }
        }
    }
    broken
}

/// The imports of a file of the journal that come from a room above its own.
fn against_rooms(name: &str, text: &str, exported: &[(String, Vec<String>)]) -> Vec<String> {
    let module = module_of(name);
    if name == "lib.rs" || name.ends_with("_tests.rs") {
        return Vec::new();
    }
    let mut broken = Vec::new();
    if name.ends_with("/mod.rs") && text.lines().count() > DOOR_LINES_MAX {
        broken.push(format!(
            "journal/{name}: a front door of more than {DOOR_LINES_MAX} lines"
        ));
    }
    let Some(own) = room_of(&module) else {
        broken.push(format!(
            "journal/{name}: in no room; add it to JOURNAL_ROOMS"
        ));
        return broken;
    };
    for path in named(&module, &Source::of(text).product) {
        let item = exported.iter().find(|(item, _)| path.first() == Some(item));
        let path = item.map_or(&path, |(_, path)| path);
        match room_of(path) {
            Some(room) if room > own => broken.push(format!(
                "journal/{name}: {} imports {}, which is above it",
                JOURNAL_ROOMS[own], JOURNAL_ROOMS[room]
            )),
            Some(_) | None => {}
        }
    }
    broken
}

/// The index of the room in `JOURNAL_ROOMS` that a path belongs to.
fn room_of(path: &[String]) -> Option<usize> {
    (1..=path.len()).rev().find_map(|length| {
        let path = path[..length].join("/");
        JOURNAL_ROOMS.iter().position(|room| *room == path)
    })
}

/// The items that a `lib.rs` exports from its modules, each with the path to it.
fn exports(library: &str) -> Vec<(String, Vec<String>)> {
    let code = blanked(library);
    let statements = code.split("pub use ").skip(1);
    let statements = statements.filter_map(|it| it.split_once(';'));
    let exported = statements.flat_map(|(path, _)| {
        let group = path.split_once("::{").or(path.rsplit_once("::"));
        let (module, items) = group.unwrap_or((path, ""));
        let items = items.trim_end_matches('}').split(',').map(str::trim);
        items.map(move |item| {
            let path = module.split("::").chain([item]).map(str::to_owned);
            (item.to_owned(), path.collect())
        })
    });
    exported.filter(|(item, _)| !item.is_empty()).collect()
}

/// The objection to an import of `import` by `layer`.
fn forbidden(layer: &str, import: &str) -> Option<String> {
    // The crate's front door and the program's entry only name the parts.
    if layer == "lib" || layer == "main" || layer == import {
        return None;
    }
    // What stands in the same part, above or below the line drawn inside it.
    let same = import.starts_with(&format!("{layer}::"));
    match ARROWS.iter().find(|(from, _)| *from == layer) {
        None => Some(format!(
            "no arrows are drawn for {layer:?}; add it to ARROWS"
        )),
        Some((_, to)) if same || to.contains(&import) => None,
        Some(_) => Some(format!("{layer} imports {import}, against the arrows")),
    }
}

/// `live/wire/setup.rs` → `["live", "wire", "setup"]`.
fn module_of(name: &str) -> Vec<String> {
    let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The part of the tree that a module, or a path from the crate's root, belongs to.
fn layer_of(path: &[String]) -> String {
    match path {
        [first, second, ..] if first == "live" && second == "wire" => "live::wire".to_owned(),
        [first, ..] => first.clone(),
        [] => String::new(),
    }
}

/// Every part of the tree that the code names: by `crate::`, `recount::`, `super::` beyond its own
/// part, or as the journal's crate.
fn imports(module: &[String], code: &str) -> Vec<String> {
    let paths = named(module, code);
    let mut found: Vec<String> = paths.iter().map(|path| layer_of(path)).collect();
    found.sort();
    found.dedup();
    // Only names of modules are parts; items re-exported at the root are not.
    found.retain(|it| {
        it == "recount_journal"
            || it.chars().all(|c| c.is_lowercase() || "_:".contains(c)) && !it.is_empty()
    });
    found
}

/// The paths from the crate's root that the code names: their first two names, or more behind
/// `super`.
fn named(module: &[String], code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, word) in words_at(code) {
        let rest = &code[at + word.len()..];
        match word {
            "recount_journal" => found.push(vec!["recount_journal".to_owned()]),
            // A visibility imports nothing.
            "crate" if code[..at].ends_with("pub(in ") => {}
            "crate" | "recount" if rest.starts_with("::") => found.extend(tails(&rest[2..])),
            "super" if rest.starts_with("::") && !code[..at].ends_with("super::") => {
                let chain = &code[at..];
                let ups = chain.split("::").take_while(|it| *it == "super").count();
                let tail = &chain[ups * "super::".len()..];
                if let Some(kept) = module.len().checked_sub(ups) {
                    let above = module[..kept].iter().cloned();
                    let paths = tails(tail).into_iter();
                    found.extend(paths.map(|tail| above.clone().chain(tail).collect()));
                }
            }
            _ => {}
        }
    }
    found
}

/// The first two names of each path behind a `::`, with one level of braces opened: `{a::b, c}` →
/// `a::b`, `c`.
fn tails(text: &str) -> Vec<Vec<String>> {
    let path = |text: &str| -> Vec<String> {
        let names = text.trim().split("::").take(2).map(|name| {
            let ends = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            name[..ends.unwrap_or(name.len())].to_owned()
        });
        names.take_while(|name| !name.is_empty()).collect()
    };
    let Some(group) = text.strip_prefix('{') else {
        return vec![path(text)];
    };
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                found.extend(opened(&group[from..at], &path));
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// `live::{wire, Session}` → `live::wire`, `live::Session`; anything else is one path.
fn opened(text: &str, path: &impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
    let text = text.trim();
    match text.split_once("::{") {
        Some((first, inner)) => {
            let names = inner.trim_end_matches('}').split(',');
            names
                .map(|name| path(&format!("{first}::{}", name.trim())))
                .collect()
        }
        None if text.is_empty() => Vec::new(),
        None => vec![path(text)],
    }
}

/// The lines of `_ =>` in a match that has arms of an enum of ours.
fn wildcards(code: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let is_wildcard = |at: &usize| {
        let alone = *at == 0
            || !(bytes[at - 1].is_ascii_alphanumeric() || b"_(,|.".contains(&bytes[at - 1]));
        let whole = code[..*at].trim_end().ends_with(['{', ',', '}']);
        alone && whole && code[at + 1..].trim_start().starts_with("=>")
    };
    let found = code
        .match_indices('_')
        .map(|(at, _)| at)
        .filter(is_wildcard);
    let in_ours = |at: &usize| {
        let arms = patterns_beside(code, *at);
        CLOSED
            .iter()
            .any(|name| arms.iter().any(|arm| arm.contains(name)))
    };
    found
        .filter(in_ours)
        .map(|at| code[..at].lines().count())
        .collect()
}

/// The patterns of the match that has an arm at `at`: what stands before each `=>` at its depth.
fn patterns_beside(code: &str, at: usize) -> Vec<String> {
    let mut depth = 0;
    let open = code[..at].char_indices().rev().find(|(_, c)| match c {
        '}' | ')' | ']' => {
            depth += 1;
            false
        }
        '{' | '(' | '[' if depth > 0 => {
            depth -= 1;
            false
        }
        '{' | '(' | '[' => true,
        _ => false,
    });
    let body = &code[open.map_or(0, |(at, _)| at + 1)..];
    let (mut depth, mut pattern, mut in_pattern, mut found) =
        (0usize, String::new(), true, Vec::new());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth == 0 => break,
            '}' | ')' | ']' => {
                depth -= 1;
                if depth == 0 && c == '}' && !in_pattern {
                    in_pattern = true;
                    pattern.clear();
                    continue;
                }
            }
            ',' if depth == 0 => {
                in_pattern = true;
                pattern.clear();
                continue;
            }
            '=' if depth == 0 && in_pattern && chars.peek() == Some(&'>') => {
                found.push(std::mem::take(&mut pattern));
                in_pattern = false;
            }
            _ => {}
        }
        if in_pattern {
            pattern.push(c);
        }
    }
    found
}

/// A source text, cut into the code of the product and nothing else.
struct Source {
    /// The text before the first `#[cfg(test)]`, with comments and strings blanked.
    product: String,
}

impl Source {
    fn of(text: &str) -> Source {
        let blanked = blanked(text);
        let tests = blanked.find("#[cfg(test)]").unwrap_or(blanked.len());
        Source {
            product: blanked[..tests].to_owned(),
        }
    }
}

/// The text with comments, strings and characters as spaces; lines stay where they are.
fn blanked(text: &str) -> String {
    scanned(text).0
}

/// The text without comments and literals, as [`blanked`] returns it, and the byte ranges of its
/// raw strings.
fn scanned(text: &str) -> (String, Vec<Range<usize>>) {
    let (mut out, mut raw) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) =
            raw_string(rest).filter(|_| !out.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = hashes + 2;
            let length = rest[from..]
                .find(&end)
                .map_or(rest.len(), |at| from + at + end.len());
            let begins = text.len() - rest.len();
            raw.push(begins..begins + length);
            length
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            0
        };
        let (gone, kept) = rest.split_at(skipped.max(if skipped == 0 { c.len_utf8() } else { 0 }));
        if skipped == 0 {
            out.push_str(gone);
        } else {
            out.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = kept;
    }
    (out, raw)
}

/// The number of `#` of a raw string that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// True if a quote begins a character and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => true,
        (Some(_), Some('\'')) => true,
        (_, _) => false,
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    words_at(code).map(|(_, word)| word)
}

fn words_at(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + code[from..].find(part)?;
        let ends = code[start..]
            .find(|c| !part(c))
            .map_or(code.len(), |at| start + at);
        from = ends;
        Some((start, &code[start..ends]))
    })
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a source folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A rule that objects to nothing is no rule: each sees its violation, and leaves the same thing
/// alone where it is allowed.
mod each_rule_sees_its_violation {
    use super::*;

    fn against(name: &str, code: &str) -> String {
        objections("src", name, &format!("//! Doc.\n{code}")).join("\n")
    }

    #[test]
    fn an_arrow_that_points_up() {
        for code in [
            "use crate::engine::Engine;",
            "use crate::{session::Seq, engine};",
            "use crate::{\n    live::{wire, Socket},\n};",
            "fn f() { crate::engine::run() }",
            "use recount_journal::Store;",
            "use super::super::super::engine::Engine;",
        ] {
            assert!(
                against("adk/typed/x.rs", code).contains("against the arrows"),
                "{code}"
            );
        }
        assert!(
            against("adk/x.rs", "use super::super::engine::Engine;").contains("adk imports engine")
        );
        assert!(
            against("somewhere/x.rs", "use crate::session::Seq;").contains("no arrows are drawn")
        );
    }

    #[test]
    fn an_arrow_that_points_down_is_fine() {
        assert_eq!(
            against(
                "engine/x.rs",
                "use crate::{live::wire, session::Seq, tool};\nuse recount_journal::Store;"
            ),
            ""
        );
        assert_eq!(
            against(
                "adk/typed/x.rs",
                "use super::reader;\nuse crate::session::Seq;\n// crate::engine\nconst A: &str = \
                 \"crate::engine::X\";"
            ),
            ""
        );
        assert_eq!(against("live/limits.rs", "use super::wire::Frame;"), "");
    }

    #[test]
    fn a_clock_or_a_task_in_the_core() {
        let in_core =
            |code: &str| objections("session", "x.rs", &format!("//! Doc.\n{code}")).join("\n");
        for code in [
            "use std::time::Instant;",
            "async fn f() {}",
            "use std::collections::HashMap;",
            "fn f() { rand::random() }",
        ] {
            assert!(in_core(code).contains("in the pure core"), "{code}");
        }
        let in_text =
            |name: &str| objections("text", name, "//! Doc.\nuse std::fs::File;").join("\n");
        assert!(in_text("json/x.rs").contains("in the pure core"));
        assert_eq!(in_text("files/x.rs"), "");
        assert_eq!(against("engine/x.rs", "use std::time::Instant;"), "");
        assert_eq!(in_core("/// Never async.\nfn awaited() {}"), "");
        assert_eq!(
            in_core("#[cfg(test)]\nmod tests { use std::collections::HashMap; }"),
            ""
        );
    }

    #[test]
    fn a_journal_that_knows_a_session() {
        assert!(!objections("journal", "x.rs", "//! Doc.\nuse recount::session::Seq;").is_empty());
        assert!(
            objections(
                "journal",
                "x.rs",
                "//! Doc of recount.\nuse crate::line::Line;"
            )
            .is_empty()
        );
    }

    #[test]
    fn journal_import_from_a_room_above() {
        let exported = exports("pub use store::{DiskJournal, Options};\npub use hash::Hash;");
        let against = |name: &str, code: &str| against_rooms(name, code, &exported).join("\n");
        for code in [
            "use crate::maintenance::verify::Report;",
            "use crate::{Hash, DiskJournal};",
            "use crate::store::group_commit::queue::Shared;",
            "use super::super::disk_journal::DiskJournal;",
            "fn f() { crate::store::opening::recover() }",
        ] {
            let found = against("store/directory/claim.rs", code);
            assert!(found.contains("which is above it"), "{code}");
        }
        for code in [
            "use crate::{Hash, files::disk};",
            "use crate::store::system::Opened;",
            "use super::lock::Lock;",
            "#[cfg(test)]\nmod tests { use crate::DiskJournal; }",
        ] {
            assert_eq!(against("store/directory/claim.rs", code), "", "{code}");
        }
        assert!(against("attic/x.rs", "").contains("in no room"));
        let long = "// A line.\n".repeat(DOOR_LINES_MAX + 1);
        assert!(against("log/mod.rs", &long).contains("front door"));
    }

    #[test]
    fn macros_that_know_what_they_name() {
        let against = |code: &str| objections("macros", "x.rs", &format!("//! Doc.\n{code}"));
        for code in [
            "use recount::tool::ToolError;",
            "use recount_journal::Store;",
            "fn f() { quote!(recount::tool::TypedTool) }",
        ] {
            assert!(!against(code).is_empty(), "{code}");
        }
        let expansion = "fn f() { quote!(::recount::tool::TypedTool::new(\"recount\")) }";
        assert_eq!(against(expansion), [""; 0]);
    }

    #[test]
    fn a_file_too_long_or_without_a_doc_or_a_name() {
        let long = "fn f() {}\n".repeat(LINES_MAX);
        assert!(against("tool/x.rs", &long).contains("lines before its tests"));
        assert_eq!(
            against(
                "tool/x.rs",
                &format!("#[cfg(test)]\nmod tests {{\n{long}}}")
            ),
            ""
        );
        assert!(
            objections("src", "tool/x.rs", "use std::fmt;")
                .join("")
                .contains("no module doc")
        );
        assert!(against("tool/utils.rs", "").contains("promises nothing"));
        assert!(against("tool/misc/x.rs", "").contains("promises nothing"));
    }

    #[test]
    fn a_wildcard_beside_arms_of_an_enum_of_ours() {
        let ours = "fn f(p: Phase) -> u8 { match p { Phase::Gated => { 1 } Phase::Ready { .. } => \
                    2, _ => 3 } }";
        assert!(against("tool/x.rs", ours).contains("line 2: `_ =>`"));
        let wrapped =
            "fn f() { match g() {\n Some(Decision::CallReady(it)) => it.call,\n _ => h(),\n} }";
        assert!(against("engine/x.rs", wrapped).contains("line 4: `_ =>`"));
        let other =
            "fn f(c: char) -> Phase { match c { 'a' => Phase::Gated, _ => Phase::Received } }";
        assert_eq!(against("tool/x.rs", other), "");
        let inner = "fn f(p: Phase) { match p { Phase::Gated => match c { 'a' => 1, _ => 2 }, \
                     Phase::Received => 3 } }";
        assert_eq!(against("tool/x.rs", inner), "");
    }
}
