//! The files and directories that commands write: never within a journal, and no replacement of
//! existing files without `--force`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failures::{Exit, Failure};
use recount_telling::shown;

/// The entries of a journal's directory. Two of them identify it: one may be lost, or may be a file
/// of the user.
const OF_JOURNAL: [&str; 4] = ["JOURNAL", "LOCK", "log", "sled"];

/// The option to replace an existing file.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Force {
    /// Replaces an existing regular file; nothing else is ever replaced.
    #[arg(long)]
    force: bool,
}

impl Force {
    /// No existing file may be replaced.
    #[cfg(feature = "serve")]
    pub(crate) fn never() -> Force {
        Force { force: false }
    }

    /// True if an existing file may be replaced.
    pub(super) fn is_given(self) -> bool {
        self.force
    }
}

/// True if the path means standard output: `-`, or one of the system's names for it.
pub(crate) fn is_standard(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|it| path == Path::new(it))
}

/// Refuses a path for a file within a journal, and one that exists and may not be replaced.
pub(crate) fn check_vacant(file: &Path, force: Force) -> Result<(), Failure> {
    outside_journals(file)?;
    let name = shown(file);
    let (found, advice) = match fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::io(format!("read {name}"), &error)),
        Ok(found) if !found.is_file() => (
            kind_of(found.file_type()),
            "give another name; nothing was changed, and --force replaces only regular files",
        ),
        Ok(_) if force.is_given() => return Ok(()),
        Ok(_) => (
            "a file",
            "give another name, or --force to replace it; nothing was changed",
        ),
    };
    let what = format!("expected no file at {name}, found {found}");
    Err(Failure::new("occupied", what).advice(advice))
}

/// Refuses a path for a new file or directory within any journal.
pub(crate) fn outside_journals(place: &Path) -> Result<(), Failure> {
    let resolved = resolved(place);
    let Some(journal) = resolved.ancestors().skip(1).find(|it| is_journal(it)) else {
        return Ok(());
    };
    let (name, journal) = (shown(place), shown(journal));
    let what = format!("expected a path outside of the journal {journal}, found {name}");
    Err(Failure::new("within-journal", what)
        .exit(Exit::Usage)
        .advice("nothing else may be written into the directory of a journal; give another path"))
}

/// Refuses a path for a file within a directory that the command reads. `what` is the directory.
pub(crate) fn outside_of(directory: &Path, what: &str, file: &Path) -> Result<(), Failure> {
    if !resolved(file).starts_with(resolved(directory)) {
        return Ok(());
    }
    let (name, directory) = (shown(file), shown(directory));
    let what = format!("expected a path outside of {what} {directory}, found {name}");
    Err(Failure::new("bad-request", what)
        .exit(Exit::Usage)
        .advice("give another path; nothing was changed"))
}

/// The path without links and `..`. The file and its directories need not exist yet.
fn resolved(place: &Path) -> PathBuf {
    for above in place.ancestors() {
        let there = if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        };
        if let Ok(there) = fs::canonicalize(there) {
            return match place.strip_prefix(above) {
                Ok(rest) if rest.as_os_str().is_empty() => there,
                Ok(rest) => there.join(rest),
                Err(_) => there,
            };
        }
    }
    place.to_owned()
}

fn is_journal(directory: &Path) -> bool {
    let has = |name: &&&str| directory.join(name).symlink_metadata().is_ok();
    OF_JOURNAL.iter().filter(has).count() >= 2
}

fn kind_of(found: fs::FileType) -> &'static str {
    if found.is_dir() {
        "a directory"
    } else if found.is_symlink() {
        "a symbolic link"
    } else {
        "something else than a regular file"
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn path_within_a_journal_is_refused_through_links_and_dots() {
        let bench = tempfile::tempdir().unwrap();
        let at = |name: &str| bench.path().join(name);
        fs::create_dir_all(at("j/log")).unwrap();
        fs::write(at("j/LOCK"), "").unwrap();
        fs::create_dir_all(at("notes/log")).unwrap();
        for within in ["j/x", "j/log/y", "j/new/deep/z", "notes/../j/x"] {
            assert_eq!(
                outside_journals(&at(within)).unwrap_err().code,
                "within-journal"
            );
        }
        for outside in ["x", "notes/log/x", "j", "j2/x"] {
            assert!(outside_journals(&at(outside)).is_ok(), "{outside}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("j/log"), at("link")).unwrap();
            assert!(outside_journals(&at("link/x")).is_err());
        }
    }
}
