//! The words of verdicts: none is "sound" without what it is anchored to.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the sources whose texts people and programs read.
const FOLDERS: [&str; 5] = [
    "crates/cli/src",
    "crates/evidence/src",
    "crates/server/src",
    "crates/telling/src",
    "docs",
];

/// Keys of JSON about configurations and of a report that also has its `verdict`.
const KEYS: [&str; 2] = ["\"sound\":", "`sound`"];

#[test]
fn no_verdict_is_sound_without_its_anchor() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md")];
    FOLDERS
        .iter()
        .for_each(|it| collect(&root.join(it), &mut files));
    let (mut broken, mut verdicts) = (Vec::new(), 0);
    for file in files {
        let text = fs::read_to_string(&file).expect("a file of ours is text");
        let inside = file.strip_prefix(root).expect("it was found there");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            verdicts += usize::from(line.contains("anchored"));
            // A sentence may end in the next line.
            let sentence = [*line, lines.get(at + 1).unwrap_or(&"")].join(" ");
            if is_verdict(line) && !sentence.contains("anchored") {
                broken.push(format!("{}:{}: {line}", inside.display(), at + 1));
            }
        }
    }
    assert!(verdicts > 20, "only {verdicts} lines are about anchors");
    assert!(
        broken.is_empty(),
        "say what it is anchored to:\n{}",
        broken.join("\n")
    );
}

/// True if a line calls something sound that was verified, in a text and not in a comment.
fn is_verdict(line: &str) -> bool {
    let is_comment = ["//", "#"]
        .iter()
        .any(|it| line.trim_start().starts_with(it));
    let line = KEYS
        .iter()
        .fold(line.to_owned(), |line, key| line.replace(key, ""));
    let begins = [
        "\"Sound", "`Sound", "\"sound", ">Sound", "is sound", ": sound", "Sound:", "Sound ",
    ];
    !is_comment && begins.iter().any(|it| line.contains(it))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("an entry can be read").path();
        let extension = path.extension().and_then(|it| it.to_str());
        if path.is_dir() {
            collect(&path, files);
        } else if matches!(extension, Some("rs" | "md" | "py" | "js")) {
            files.push(path);
        }
    }
}

#[test]
fn sound_alone_is_a_verdict() {
    for line in [
        r#"let good = "Sound: every hash holds";"#,
        r#"p { strong { "Sound" } }"#,
        r#""Verified: sound""#,
        "    the journal is sound",
    ] {
        assert!(is_verdict(line), "{line}");
    }
    for line in [
        r#"    "sound": mistakes.is_empty(),"#,
        "/// a sound log",
        "3 frames of sound",
    ] {
        assert!(!is_verdict(line), "{line}");
    }
}
