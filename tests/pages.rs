//! The pages keep their promises: links lead to files, named files and items exist, every page
//! is in the index, and the checklists name every file that they must.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The pages whose code spans with a path name a file of this repository.
const NAMING: [&str; 4] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/glossary.md",
    "docs/decisions",
];

/// The folders that a path in those pages may leave out.
const LEFT_OUT: [&str; 4] = ["", "src/engine/", "src/", "crates/session/src/"];

/// Pages without an opening and an ending of their own: indexes, and what is generated.
const OTHERS: [&str; 2] = ["docs/phases-of-a-call.md", "docs/decisions"];

/// The heading of the last section of a page.
const ENDING: &str = "\n## Where to go next\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a folder with this extension, or the file itself, from the root.
fn files(place: &str, extension: &str) -> Vec<PathBuf> {
    let path = root().join(place);
    if path.is_file() {
        return vec![PathBuf::from(place)];
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let inside = format!("{place}/{name}");
        if root().join(&inside).is_dir() {
            found.extend(files(&inside, extension));
        } else if name.ends_with(extension) {
            found.push(PathBuf::from(inside));
        }
    }
    found.sort();
    found
}

fn text(page: &Path) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

fn pages() -> Vec<PathBuf> {
    let places = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "benches/README.md",
        "clients/packages/README.md",
        "clients/python/README.md",
        "journal/README.md",
        "docs",
    ];
    places.iter().flat_map(|it| files(it, ".md")).collect()
}

/// A page without its blocks of code.
fn prose(page: &Path) -> String {
    let text = text(page);
    let outside = text.split("```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// The code spans of a page, each with the text up to the next one.
fn spans(prose: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = prose.split('`').collect();
    parts[1..]
        .chunks(2)
        .map(|it| (it[0], *it.get(1).unwrap_or(&"")))
        .collect()
}

/// `docs/tools/../audit.md` → `docs/audit.md`.
fn resolved(path: &Path) -> PathBuf {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.iter().collect()
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in prose(&page).split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.contains("://") || link.contains("::") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => resolved(&page.parent().unwrap().join(file)),
            };
            if !root().join(&target).exists() {
                broken.push(format!("{}: {link}", page.display()));
            } else if !heading.is_empty() {
                let text = text(&target);
                let mut headings = text.lines().filter(|it| it.starts_with('#')).map(anchor);
                if !headings.any(|it| it == heading) {
                    broken.push(format!("{}: {link} has no such heading", page.display()));
                }
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

/// The file that a code span names, if it names one: a path with a folder, perhaps `core:` before
/// it and `::function` behind.
fn named(span: &str) -> Option<(String, &str)> {
    let (path, function) = span.split_once("::").unwrap_or((span, ""));
    let path = path.replace("core:", "crates/session/src/");
    let is_path = path.contains('/') && !path.contains([' ', '*', '<', '{', '…', '"']);
    let ends = ["/", ".rs", ".md", ".txt", ".json", ".toml"];
    (is_path && ends.iter().any(|it| path.ends_with(it))).then_some((path, function))
}

#[test]
fn files_and_items_that_pages_name_exist() {
    let mut broken = Vec::new();
    for page in NAMING.iter().flat_map(|it| files(it, ".md")) {
        let prose = prose(&page);
        // The items that are named before their file: "`this` in `that.rs`".
        let mut before: Vec<&str> = Vec::new();
        for (span, behind) in spans(&prose) {
            let Some((path, function)) = named(span) else {
                let joined = behind.trim() == "and" || behind.trim() == "in";
                match span.chars().all(|c| c.is_alphanumeric() || c == '_') && joined {
                    true => before.push(span),
                    false => before.clear(),
                }
                continue;
            };
            let mut places = LEFT_OUT.iter().map(|it| root().join(format!("{it}{path}")));
            let Some(place) = places.find(|it| it.exists()) else {
                broken.push(format!("{}: there is no {path}", page.display()));
                continue;
            };
            let functions = before
                .drain(..)
                .chain([function])
                .filter(|it| !it.is_empty());
            for function in functions {
                let code = fs::read_to_string(&place).unwrap();
                let defines = |what: &str| {
                    code.match_indices(&format!("{what} {function}"))
                        .any(|(at, found)| {
                            let next = code[at + found.len()..].chars().next();
                            next.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                        })
                };
                if !["fn", "enum", "struct", "trait", "const"]
                    .into_iter()
                    .any(defines)
                {
                    broken.push(format!("{}: {path} has no {function}", page.display()));
                }
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}

#[test]
fn pages_say_who_needs_them_and_where_to_go_next() {
    for page in files("docs", ".md") {
        if OTHERS.iter().any(|it| page.starts_with(it)) {
            continue;
        }
        let text = text(&page);
        let mut lines = text.lines();
        assert!(
            lines.next().unwrap().starts_with("# "),
            "{}",
            page.display()
        );
        let opening = lines.nth(1).unwrap();
        let opens = ["For ", "This page is for "]
            .iter()
            .any(|it| opening.starts_with(it));
        assert!(opens, "{}: {opening}", page.display());
        let (_, ending) = text.rsplit_once(ENDING).unwrap_or_else(|| {
            panic!("{} does not say where to go next", page.display());
        });
        assert!(!ending.contains("\n#"), "{}", page.display());
    }
}

#[test]
fn every_page_is_in_an_index() {
    let index = text(Path::new("docs/README.md"));
    for page in files("docs", ".md") {
        let inside = page.strip_prefix("docs").unwrap().display().to_string();
        let (index, link) = match inside.strip_prefix("decisions/") {
            Some(decision) if decision != "README.md" => (
                text(Path::new("docs/decisions/README.md")),
                decision.to_owned(),
            ),
            _ => (index.clone(), inside),
        };
        let is_linked = index.contains(&format!("({link})"));
        assert!(is_linked || link == "README.md", "{link} is in no index");
    }
}

/// The sources that match over all variants of an enum: those that name each of these.
fn matching(name: &str, variants: &[&str]) -> BTreeSet<String> {
    let sources = ["src", "crates"].iter().flat_map(|it| files(it, ".rs"));
    let product = sources.filter(|it| {
        let path = it.display().to_string();
        !path.ends_with("_tests.rs") && !path.contains("/tests/")
    });
    let all = product.filter(|it| {
        let code = text(it);
        let arm = |variant: &&str| code.contains(&format!("{name}::{variant}("));
        variants.iter().all(arm)
    });
    all.map(|it| it.display().to_string()).collect()
}

#[test]
fn checklists_name_every_match_over_events() {
    let page = text(Path::new("CONTRIBUTING.md"));
    let (_, observations) = page.split_once("## Add an observation").unwrap();
    let (observations, decisions) = observations.split_once("## Add a decision").unwrap();
    let (decisions, _) = decisions.split_once("## Add a kind of tool").unwrap();
    let rare = ["HistorySent", "UsageReported", "SwitchPlanned"];
    let found = matching("Observation", &rare);
    assert!(found.len() > 10, "{found:?}");
    for file in found {
        assert!(observations.contains(&file), "an observation needs {file}");
    }
    let found = matching(
        "Decision",
        &["RetryScheduled", "ResultReused", "PhaseEntered"],
    );
    assert!(found.len() > 5, "{found:?}");
    for file in found {
        assert!(decisions.contains(&file), "a decision needs {file}");
    }
}
