//! The rules of wording that a program can check: first sentences, pronouns, columns, test names.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// The words that no doc comment opens with: a reader learns nothing from them about the item.
const OPENERS: [&str; 10] = [
    "What",
    "How",
    "Whether",
    "Where",
    "Who",
    "Whose",
    "Which",
    "Of",
    "Behind",
    "As far as",
];

/// Further words that open no first sentence about a public item: neither a noun phrase nor a verb
/// in the third person begins with them.
const NO_SUBJECT: [&str; 39] = [
    "About",
    "After",
    "Also",
    "And",
    "Are",
    "As",
    "At",
    "Because",
    "Before",
    "But",
    "By",
    "Can",
    "Everybody",
    "Everything",
    "For",
    "From",
    "He",
    "If",
    "In",
    "Into",
    "Is",
    "It",
    "On",
    "Only",
    "She",
    "Since",
    "Something",
    "That",
    "There",
    "They",
    "This",
    "To",
    "Told",
    "Until",
    "We",
    "When",
    "While",
    "Why",
    "With",
];

/// Verbs as a command; a doc comment has them in the third person ("Returns …").
const COMMANDS: [&str; 24] = [
    "Add", "Append", "Ask", "Build", "Call", "Check", "Close", "Create", "Decide", "Fold", "Get",
    "Give", "Make", "Open", "Parse", "Read", "Record", "Remove", "Return", "Run", "Send", "Start",
    "Stop", "Write",
];

/// Pronouns that hide who acts; the subject is a noun of the code or of the field.
const PRONOUNS: [&str; 3] = ["whoever", "nobody", "somebody"];

/// The maximum length of a line, in characters.
const COLUMNS_MAX: usize = 100;

/// The maximum length of the name of a test, in characters.
const TEST_NAME_MAX: usize = 60;

/// Folders that hold none of our words.
const SKIPPED_FOLDERS: [&str; 3] = [".git", "target", "node_modules"];

/// Folders of recorded or generated text, in which only the sources are read.
const RECORDED_FOLDERS: [&str; 3] = ["fixtures", "snapshots", "frozen"];

/// Folders of tests, examples and benches, whose texts keep to the columns, too.
const TEST_FOLDERS: [&str; 3] = ["tests", "examples", "benches"];

/// Generated pages: their generators stand under the same rules.
const GENERATED: [&str; 2] = ["docs/phases-of-a-call.md", "docs/public-items.txt"];

#[test]
fn wording_follows_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, false, &mut files);
    assert!(files.len() > 500, "only {} files were found", files.len());
    let mut broken = Vec::new();
    for file in files {
        let inside = file.strip_prefix(root).expect("it was found there");
        let name = inside.to_string_lossy().replace('\\', "/");
        if GENERATED.contains(&name.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a file of ours is text");
        broken.extend(objections(&name, &text));
    }
    let count = broken.len();
    assert!(broken.is_empty(), "{}\n{count} lines", broken.join("\n"));
}

/// Collects the files whose words are ours. Among recorded text, these are the sources alone.
fn collect(folder: &Path, is_recorded: bool, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_ref()) && !name.starts_with("target") {
                let is_recorded = is_recorded || RECORDED_FOLDERS.contains(&name.as_ref());
                collect(&path, is_recorded, files);
            }
        } else if is_read(&path) && (!is_recorded || name.ends_with(".rs")) {
            files.push(path);
        }
    }
}

/// True for a source, a page, a setting, or a script of CI, which has no extension.
fn is_read(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    matches!(extension, Some("rs" | "md" | "py" | "sh" | "toml" | "mjs"))
        || path.components().rev().nth(1) == Some(Component::Normal(".ci".as_ref()))
}

/// The rules that a file breaks, each with its line.
fn objections(name: &str, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let mut object = |line: usize, what: String| broken.push(format!("{name}:{line}: {what}"));
    let is_rust = name.ends_with(".rs");
    let mut fenced = false;
    let is_test = is_test(name);
    let lines: Vec<&str> = text.lines().collect();
    let (code, raw) = match is_rust {
        true => super::scanned(text),
        false => (String::new(), Vec::new()),
    };
    let of_texts = lines_of_texts(text, &raw);
    let mut code = code.lines();
    for (index, line) in lines.iter().enumerate() {
        let (at, trimmed) = (index + 1, line.trim());
        if trimmed
            .trim_start_matches(['/', '!', ' '])
            .starts_with("```")
        {
            fenced = !fenced;
        }
        let length = line.chars().count();
        let code = code.next().unwrap_or_default();
        let may_be_long = match is_test {
            true => of_texts.contains(&index) || is_link_or_table(trimmed),
            false => may_be_long(name, trimmed, fenced, is_rust && code != *line),
        };
        if length > COLUMNS_MAX && !may_be_long {
            object(at, format!("{length} columns"));
        }
        if let Some(pronoun) = pronoun_in(&code.replace('_', " ")) {
            object(at, format!("a name with {pronoun:?} hides who acts"));
        }
        let words = if is_rust {
            comment_of(trimmed)
        } else {
            Some(trimmed)
        };
        let words = words.filter(|_| is_test || !fenced);
        if let Some(pronoun) = words.and_then(pronoun_in) {
            object(at, format!("{pronoun:?} hides who acts"));
        }
        if !is_rust {
            continue;
        }
        if let Some(first) = first_of_doc(&lines, index) {
            if let Some(opener) = OPENERS.iter().find(|it| begins_with(first, it)) {
                object(at, format!("a doc comment opens with {opener:?}"));
            } else if is_of_public_item(&lines, index) {
                let mut banned = NO_SUBJECT.iter().chain(&COMMANDS);
                if let Some(word) = banned.find(|it| begins_with(first, it)) {
                    object(at, format!("the doc of a public item opens with {word:?}"));
                }
            }
        }
        if let Some(test) = test_name(&lines, index).filter(|it| it.len() > TEST_NAME_MAX) {
            object(at, format!("a test name of {} characters", test.len()));
        }
    }
    broken
}

/// True for the source of a test, an example or a bench.
fn is_test(name: &str) -> bool {
    let mut folders = name.split('/');
    name.ends_with("_tests.rs")
        || name.ends_with(".rs") && folders.any(|it| TEST_FOLDERS.contains(&it))
}

/// The indexes of the lines of raw strings with several lines, such as scripts of a model, whose
/// line breaks count.
fn lines_of_texts(text: &str, raw: &[Range<usize>]) -> BTreeSet<usize> {
    let line_of = |at: usize| text[..at].matches('\n').count();
    let ranges = raw.iter().map(|it| line_of(it.start)..=line_of(it.end));
    ranges
        .filter(|it| it.start() < it.end())
        .flatten()
        .collect()
}

/// True for what no line break can shorten: tables, links, and text between quotes.
fn may_be_long(name: &str, trimmed: &str, fenced: bool, has_text: bool) -> bool {
    let is_page = name.ends_with(".md");
    if fenced && (is_page || trimmed.contains('"')) {
        return true;
    }
    let is_comment = comment_of(trimmed).is_some();
    is_link_or_table(trimmed) || (!is_page && !is_comment && (has_text || trimmed.contains('"')))
}

/// True for the row of a table, and for a line with a long link.
fn is_link_or_table(trimmed: &str) -> bool {
    let plain = trimmed.trim_start_matches(['/', '!', ' ', '#']);
    plain.starts_with('|') || trimmed.split_whitespace().any(is_long_link)
}

/// True for a link that takes most of a line.
fn is_long_link(word: &str) -> bool {
    (word.contains("://") || word.contains("](")) && word.chars().count() > COLUMNS_MAX / 2
}

/// The text of a line that is a comment.
fn comment_of(trimmed: &str) -> Option<&str> {
    let text = trimmed.strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// A banned pronoun outside backticks and quotes.
fn pronoun_in(text: &str) -> Option<&'static str> {
    let mut plain = String::new();
    let mut quote = None;
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '`' || character == '"' => quote = Some(character),
            None => plain.push(character.to_ascii_lowercase()),
        }
    }
    let mut words = plain.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.find_map(|word| PRONOUNS.into_iter().find(|it| *it == word))
}

/// The first line of a doc comment that begins at this line.
fn first_of_doc<'a>(lines: &[&'a str], index: usize) -> Option<&'a str> {
    let line = lines[index].trim();
    let mark = ["///", "//!"].into_iter().find(|it| line.starts_with(it))?;
    let begins = index == 0 || !lines[index - 1].trim().starts_with(mark);
    let text = line[mark.len()..].trim();
    (begins && !text.is_empty()).then_some(text)
}

/// True if the doc comment at this line documents an item with the word `pub`.
fn is_of_public_item(lines: &[&str], index: usize) -> bool {
    let mut rest = lines[index..].iter().map(|it| it.trim());
    let item = rest.find(|it| !it.starts_with("///") && !it.starts_with("#["));
    item.is_some_and(|it| it.starts_with("pub "))
}

/// The name of a test function on this line.
fn test_name<'a>(lines: &[&'a str], index: usize) -> Option<&'a str> {
    let line = lines[index].trim();
    let rest = line
        .strip_prefix("async ")
        .unwrap_or(line)
        .strip_prefix("fn ")?;
    let mut before = lines[..index].iter().rev().map(|it| it.trim());
    let attributes = before
        .by_ref()
        .take_while(|it| it.starts_with("#[") || it.ends_with(")]"));
    let mut attributes = attributes.filter(|it| it.contains("test]") || it.contains("test("));
    attributes.next()?;
    rest.split('(').next()
}

/// True if the text begins with these words.
fn begins_with(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|it| !it.starts_with(|next: char| next.is_alphanumeric() || next == '-'))
}

#[test]
fn each_rule_of_wording_finds_what_breaks_it() {
    let against = |text: &str| objections("src/a.rs", text).join("\n");
    assert!(against("/// Whether it runs.\nfn a() {}").contains("\"Whether\""));
    assert!(against("//! What a call is.").contains("\"What\""));
    assert!(against("/// It only says so.\npub fn a() {}").contains("\"It\""));
    assert!(against("/// Return the call.\npub fn a() {}").contains("\"Return\""));
    assert_eq!(against("/// It only says so.\nfn a() {}"), "");
    assert_eq!(against("/// Returns the call.\npub fn a() {}"), "");
    assert_eq!(
        against("/// The call.\n/// What follows is no opening.\npub fn a() {}"),
        ""
    );
    assert!(against("// For whoever asks.").contains("\"whoever\""));
    assert_eq!(
        against("// The reason \"nobody waits\" is recorded text."),
        ""
    );
    let pronoun = ["no", "body"].concat();
    assert!(against(&format!("fn {pronoun}_waits() {{}}")).contains(&pronoun));
    assert_eq!(against(&format!("let reason = \"{pronoun} waits\";")), "");
    assert!(
        objections("a.md", "Somebody asks.")
            .join("")
            .contains("\"somebody\"")
    );
    let long = "a".repeat(COLUMNS_MAX + 1);
    assert!(against(&format!("// {long}")).contains("columns"));
    assert!(objections("a.md", &long).join("").contains("columns"));
    assert!(objections("a.md", &format!("| {long} |")).is_empty());
    assert!(objections("a.md", &format!("[a]({long})")).is_empty());
    let text = format!("let a = \"{long}\";");
    assert_eq!(against(&text), "");
    let in_test = |text: &str| objections("tests/a.rs", text).join("\n");
    assert!(in_test(&text).contains("columns"));
    assert!(
        objections("src/a_tests.rs", &text)
            .join("")
            .contains("columns")
    );
    assert!(in_test(&format!("/// ```\n/// f(\"{long}\");\n/// ```")).contains("columns"));
    assert_eq!(in_test(&format!("let a = r#\"{long}\n{long}\"#;")), "");
    assert!(in_test(&format!("let a = r#\"{long}\"#;")).contains("columns"));
    assert!(in_test(&format!("/// ```text\n/// {pronoun} asks.\n/// ```")).contains(&pronoun));
    let short_link = format!("[a](b) {}", "word ".repeat(20));
    assert!(!objections("a.md", short_link.trim()).is_empty());
    let name = "a".repeat(TEST_NAME_MAX + 1);
    assert!(against(&format!("#[test]\nfn {name}() {{}}")).contains("a test name"));
    assert_eq!(against(&format!("fn {name}() {{}}")), "");
}
