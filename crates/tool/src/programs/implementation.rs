//! The identity of a command for approvals: its program, its arguments and the files named among
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use recount_session::ObjectHash;
use recount_session::object::canonical_json;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The files of a command that its identity covers by content.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Pinned {
    /// True if the program itself is covered even if it is no script. If false, a system update
    /// changes nothing.
    pub(crate) program: bool,
    /// Words of the command that name files not covered by content, such as a database.
    pub(crate) except: BTreeSet<String>,
}

impl Pinned {
    /// Returns the identity of a command that an approval covers:
    /// `{"program": "./refund.sh", "args": "4f53cd…", "files": {"./refund.sh": "9f86d0…"}}`.
    ///
    /// The arguments appear as a digest, because they may be secret. A word is covered by content
    /// if it is the path of a regular file. So is each part of it that may be a path, such as the
    /// one in `--form=file=@./x;type=text/plain`, `-f./x` or `file://x`. A program is covered only
    /// if it is a script named by its path. A directory is not read, since it may hold data. A file
    /// used without being named (`python -m app`) is not covered.
    #[doc(hidden)]
    pub fn of(&self, program: &str, args: &[String]) -> Value {
        let mut files = BTreeMap::new();
        let file = self.program_file(program);
        if let Some(file) = file.filter(|_| !self.except.contains(program)) {
            files.insert(program, digest(&file));
        }
        for word in args {
            let named = paths_in(word).filter(|it| Path::new(it).is_file());
            for name in named.filter(|it| !self.except.contains(*it)) {
                files.insert(name, digest(Path::new(name)));
            }
        }
        let args = ObjectHash::of(&canonical_json(&json!(args)));
        let mut made = json!({ "program": program, "args": args });
        if let (Some(made), false) = (made.as_object_mut(), files.is_empty()) {
            made.insert("files".to_owned(), json!(files));
        }
        made
    }

    /// Returns the file of a program that is covered by content.
    fn program_file(&self, program: &str) -> Option<PathBuf> {
        let path = Path::new(program);
        let is_path = path.components().count() > 1;
        if !self.program {
            return Some(path.to_owned()).filter(|it| is_path && is_script(it));
        }
        if is_path {
            return Some(path.to_owned());
        }
        let places = std::env::var_os("PATH")?;
        std::env::split_paths(&places)
            .map(|place| place.join(program))
            .find(|it| it.is_file())
    }
}

/// The maximum length of a path, in bytes. Longer parts of a word are not looked up, so a long JSON
/// argument costs little.
const PATH_BYTES_MAX: usize = 4096;

/// Returns the parts of a word that may be a path.
///
/// A part begins at the word's start, after an option of one letter, or after one of `=@<:,;` or
/// `://`. It ends at the word's end, or before the next `,`, `;` or `:`.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let option = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
    let joined = option.and_then(|it| it.char_indices().nth(1).and_then(|(at, _)| it.get(at..)));
    let marked = word.char_indices().filter(|(_, it)| "=@<:,;".contains(*it));
    let marked = marked.filter_map(|(at, _)| word.get(at + 1..));
    let begun = [Some(word), joined].into_iter().flatten().chain(marked);
    begun.flat_map(|part| {
        // `file:///x` and `sqlite:///x` name `/x`.
        let part = part.strip_prefix("//").unwrap_or(part);
        let ended = part.split([',', ';', ':']).next();
        let parts = [Some(part), ended].into_iter().flatten();
        parts.filter(|it| it.len() <= PATH_BYTES_MAX)
    })
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    let opened = path.is_file().then(|| File::open(path).ok()).flatten();
    let read = opened.map(|mut file| file.read_exact(&mut start));
    matches!(read, Some(Ok(()))) && start == *b"#!"
}

/// Returns the SHA-256 of a file; `None` if the file cannot be read.
fn digest(path: &Path) -> Option<ObjectHash> {
    let hashed = || -> io::Result<ObjectHash> {
        let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
        let mut chunk = vec![0; 64 << 10];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok(ObjectHash::from_bytes(hasher.finalize().into()));
            }
            hasher.update(chunk.get(..count).unwrap_or_default());
        }
    };
    hashed().ok()
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn of(program: &str, args: &[&str]) -> Value {
        let args: Vec<String> = args.iter().map(|it| (*it).to_owned()).collect();
        Pinned::default().of(program, &args)
    }

    #[test]
    fn scripts_count_by_content_and_programs_by_name() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
        let (script, plain, data) = (path("run"), path("lib.py"), path("data.db"));
        let write = |name: &str, text: &str| std::fs::write(name, text).unwrap();
        write(&script, "#!/bin/sh\n");
        write(&plain, "1");
        write(&data, "1");
        let option = format!("--lib={plain}");
        let all = |pinned: &Pinned| {
            let args = ["x".to_owned(), plain.clone(), data.clone()];
            [
                pinned.of(&script, &args),
                pinned.of("sh", std::slice::from_ref(&option)),
            ]
        };
        let pinned = Pinned {
            except: [data.clone()].into(),
            ..Pinned::default()
        };
        let before = all(&pinned);
        assert_eq!(all(&pinned), before);
        write(&data, "2");
        assert_eq!(all(&pinned), before);
        write(&plain, "2");
        let after = all(&pinned);
        assert!(after[0] != before[0] && after[1] != before[1]);
        write(&script, "#!/bin/sh\nexit 1\n");
        assert_ne!(all(&pinned)[0], after[0]);
        // A program found in `PATH` is covered by name only.
        assert!(of("sh", &["-c", "a"]).get("files").is_none());
        assert_ne!(of("sh", &["-c", "a"]), of("sh", &["-c", "b"]));
        assert_ne!(of("sh", &[]), of("bash", &[]));
        let whole = Pinned {
            program: true,
            ..Pinned::default()
        };
        let file = whole.of("sh", &[]).pointer("/files/sh").cloned();
        assert!(file.is_some_and(|it| it.is_string()));
    }

    #[test]
    fn files_in_options_and_behind_at_signs_count() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("rules");
        let path = file.to_str().unwrap();
        for word in [
            format!("@{path}"),
            format!("--data=@{path}"),
            format!("-f{path}"),
            format!("-d@{path}"),
            format!("@@{path}"),
            format!("field@{path}"),
            format!("--form=file=@{path};type=text/plain"),
            format!("--form=file=<{path},{path}"),
            format!("file://{path}"),
            format!("--body=fileb://{path}"),
            format!("{path}:/in/the/container:ro"),
            format!("--db=sqlite://{path}"),
        ] {
            std::fs::write(&file, "1").unwrap();
            let before = of("sh", &[&word]);
            std::fs::write(&file, "2").unwrap();
            assert_ne!(of("sh", &[&word]), before, "{word}");
        }
        let word = format!("--db=sqlite://{path}");
        let pinned = Pinned {
            except: [path.to_owned()].into(),
            ..Pinned::default()
        };
        assert!(pinned.of("sh", &[word]).get("files").is_none());
        assert!(
            of("sh", &["-", "-é", "@", "=", "-x="])
                .get("files")
                .is_none()
        );
    }

    #[test]
    fn arguments_are_no_clear_text() {
        let identity = of("curl", &["-H", "authorization: s3cret"]).to_string();
        assert!(
            !identity.contains("s3cret") && identity.contains("curl"),
            "{identity}"
        );
        assert!(of("sh", &["/nowhere/a.sh", "/"]).get("files").is_none());
    }
}
