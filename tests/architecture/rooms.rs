//! The order of rooms: which folder of a part may import which, how many entries a folder has, and
//! the length of its front door.

use std::fs;
use std::path::Path;

use super::{Source, rust_files, words_at};

/// A part that is divided into rooms.
struct Part {
    /// Its folder, from the root of the project.
    folder: &'static str,
    /// The path of its module, as an import names it.
    path: &'static str,
    /// Its rooms; each imports those above it in this list, and none below.
    order: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part {
        folder: "src/engine",
        path: "crate::engine",
        order: &[
            "clock",
            "reasons",
            "program",
            "received",
            "error",
            "agents",
            "live_media",
            "telling",
            "inputs",
            "connection",
            "notify",
            "effects",
            "admission",
            "task",
            "serving",
            "operations",
            "facade",
        ],
    },
    Part {
        folder: "crates/cli/src",
        path: "crate",
        order: &[
            "failures",
            "terminal",
            "files",
            "journal",
            "config",
            "telling",
            "operator",
            "inspect",
            "maintenance",
            "audit",
            "development",
            "run",
            "serve",
            "demo",
            "program",
            "main",
        ],
    },
    Part {
        folder: "crates/session/src",
        path: "crate",
        order: &[
            "json",
            "values",
            "policies",
            "declared",
            "record",
            "calls",
            "state",
            "admission",
            "reducers",
            "deciding",
            "story",
            "testing",
        ],
    },
    Part {
        folder: "crates/session/src/reducers",
        path: "crate::reducers",
        order: &[
            "earlier",
            "telling",
            "running",
            "asking",
            "ending",
            "terms",
            "runner",
            "dispatcher",
            "tracker",
            "claiming",
        ],
    },
    Part {
        folder: "crates/tool/src",
        path: "crate",
        order: &[
            "schema",
            "typed",
            "policy_file",
            "approval",
            "run",
            "kinds",
            "models",
            "tools",
            "defaults",
            "agents",
            "dispatch",
            "programs",
            "attribute",
            "lib",
        ],
    },
    Part {
        folder: "crates/mcp/src",
        path: "crate",
        order: &[
            "words",
            "settings",
            "definitions",
            "asking",
            "answers",
            "transport",
            "tools",
        ],
    },
    Part {
        folder: "crates/telling/src",
        path: "crate",
        order: &[
            "text",
            "tone",
            "needs",
            "question",
            "sentence",
            "calls",
            "outline",
            "timeline_svg",
        ],
    },
    Part {
        folder: "crates/notify/src",
        path: "crate",
        order: &[
            "values", "routing", "message", "sending", "sinks", "notifier",
        ],
    },
    Part {
        folder: "crates/postgres/src",
        path: "crate",
        order: &[
            "error",
            "address",
            "server",
            "claims",
            "schema",
            "node",
            "queue",
            "statements",
            "batch",
            "committer",
            "sequencer",
            "reading",
            "news",
            "commits",
            "commands",
            "openings",
            "journal",
            "sharing",
            "options",
        ],
    },
    Part {
        folder: "crates/evidence/src",
        path: "crate",
        order: &[
            "signature",
            "keys",
            "note",
            "checkpoint",
            "log_proof",
            "leaves",
            "kept_tree",
            "program",
            "signer",
            "time_stamp",
            "recorded",
            "status",
            "following",
            "authority",
            "anchor",
            "anchoring",
        ],
    },
    Part {
        folder: "crates/bundle/src",
        path: "crate",
        order: &[
            "scope",
            "disclosure",
            "sample",
            "request",
            "acts",
            "places",
            "statements",
            "contents",
            "description",
            "reading",
            "redacting",
            "report",
            "writing",
            "verifying",
        ],
    },
    Part {
        folder: "crates/gateway/src",
        path: "crate",
        order: &[
            "settings",
            "entrance",
            "frames",
            "target",
            "upstream",
            "outages",
            "own_values",
            "places",
            "index",
            "gaps",
            "sessions",
            "relay",
            "handshake",
            "gateway",
        ],
    },
    Part {
        folder: "crates/reads/src",
        path: "crate",
        order: &[
            "read", "days", "bodies", "recorded", "windows", "writer", "recorder",
        ],
    },
    Part {
        folder: "crates/traces/src",
        path: "crate",
        order: &["content", "span", "otlp", "projection", "reading", "live"],
    },
    Part {
        folder: "crates/server/src",
        path: "crate",
        order: &[
            "problems",
            "reading",
            "access",
            "requests",
            "catalogue",
            "driving",
            "metrics",
            "service",
            "on_record",
            "streams",
            "routes",
            "pages",
            "openapi",
            "router",
        ],
    },
];

/// The entries of a folder, at most.
const ENTRIES_MAX: usize = 20;

/// The lines of a folder's front door, at most.
const DOOR_LINES_MAX: usize = 60;

#[test]
fn rooms_import_only_what_is_above_them_in_the_order() {
    let mut broken = Vec::new();
    for part in PARTS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(part.folder);
        for file in rust_files(&root) {
            let inside = file.strip_prefix(&root).expect("it was found there");
            let name = inside.to_string_lossy().replace('\\', "/");
            let text = fs::read_to_string(&file).expect("a source file can be read");
            broken.extend(against_the_order(part, &name, &text));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn rooms_are_small_and_have_short_front_doors() {
    let mut broken = Vec::new();
    for part in PARTS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(part.folder);
        for file in rust_files(&root) {
            // The root of a crate is a folder, too; its list of public items may be long.
            let is_root = ["lib.rs", "main.rs"].iter().any(|it| file.ends_with(it));
            if !is_root && !file.ends_with("mod.rs") {
                continue;
            }
            let text = fs::read_to_string(&file).expect("a front door can be read");
            let (lines, folder) = (text.lines().count(), file.parent().expect("a folder"));
            let entries = fs::read_dir(folder).expect("a folder can be read").count();
            if !is_root && lines > DOOR_LINES_MAX {
                broken.push(format!("{}: {lines} lines", file.display()));
            }
            if entries > ENTRIES_MAX {
                broken.push(format!("{}: {entries} entries", folder.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn an_import_against_the_order_is_found() {
    let part = &PARTS[0];
    let against = |name: &str, text: &str| against_the_order(part, name, text).join("\n");
    let upward = "use crate::engine::{error::Error, facade::handle::LiveHandle};";
    let found = against("task/x.rs", upward);
    assert!(found.contains("task imports facade"), "{found}");
    assert!(!found.contains("error"), "{found}");
    assert_eq!(
        against("facade/x.rs", "use crate::engine::task::parts::Parts;"),
        ""
    );
    assert_eq!(against("facade/x.rs", "// crate::engine::nowhere"), "");
    let unknown = against("task/x.rs", "use crate::engine::cellar::Wine;");
    assert!(unknown.contains("\"cellar\" has no place"), "{unknown}");
    let door = against("task/x.rs", "use crate::engine::Engine;");
    assert!(door.contains("front door"), "{door}");
    let above = against("task/x.rs", "use super::super::facade::Live;");
    assert!(above.contains("task imports facade"), "{above}");
}

/// The imports of one file of a part that are against the order of its rooms.
fn against_the_order(part: &Part, name: &str, text: &str) -> Vec<String> {
    let code = Source::of(text).product;
    // The front door of the part names all of its rooms.
    if ["mod.rs", "lib.rs"].contains(&name) || name.ends_with("_tests.rs") {
        return Vec::new();
    }
    let own = name.trim_end_matches(".rs").split('/').next().unwrap_or("");
    let place = |room: &str| part.order.iter().position(|it| *it == room);
    let mut broken = Vec::new();
    let Some(from) = place(own) else {
        return vec![format!("{}/{name}: {own:?} has no place", part.folder)];
    };
    for room in rooms_named(part, name, &code) {
        let object = match place(&room) {
            _ if room == own => continue,
            _ if room.starts_with(char::is_uppercase) => {
                format!("{room} comes through the front door; name its room")
            }
            None => format!("{room:?} has no place in the order"),
            Some(to) if to > from => format!("{own} imports {room}, against the order"),
            Some(_) => continue,
        };
        broken.push(format!("{}/{name}: {object}", part.folder));
    }
    broken
}

/// The rooms that code names, by the path of the part or by `super::` out of its own room.
fn rooms_named(part: &Part, name: &str, code: &str) -> Vec<String> {
    let depth = name.split('/').count();
    let mut found = Vec::new();
    for (at, word) in words_at(code) {
        let rest = &code[at..];
        let tail = match word {
            "crate" => rest.strip_prefix(part.path),
            "super" if !code[..at].ends_with("super::") => {
                let ups = rest.split("::").take_while(|it| *it == "super").count();
                (ups == depth).then(|| &rest[ups * "super::".len() - "::".len()..])
            }
            _ => None,
        };
        if let Some(tail) = tail.and_then(|it| it.strip_prefix("::")) {
            found.extend(
                super::tails(tail)
                    .into_iter()
                    .filter_map(|it| it.first().cloned()),
            );
        }
    }
    found
}
