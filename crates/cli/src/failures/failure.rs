//! The failure of a command: a stable code, one line, and advice.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::Path;

use super::masked::masked;
use recount::control::OnRecord;
use recount_telling::shown;

/// The exit codes. `--help` promises their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Ok = 0,
    /// The command failed.
    Failed = 1,
    /// The command line is wrong. The argument parser uses the same number.
    Usage = 2,
    /// A rule refused the operation.
    Refused = 3,
    /// A journal or an export is damaged.
    Damaged = 4,
    /// A replay decided differently, two sessions differ, or a fixture failed.
    Diverged = 5,
    /// A session is sealed and its key is not here.
    Sealed = 6,
    /// The reader of the output closed it early, so the result is not known. Shells report the
    /// same code for a program that SIGPIPE ended.
    ReaderGone = 141,
}

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A short stable name, for scripts and for searching.
    pub(crate) code: Cow<'static, str>,
    /// The exit code.
    pub(crate) exit: Exit,
    /// The failed operation, with what was expected and what was found.
    pub(crate) what: String,
    /// The next step for the user.
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// A failure with the exit code 1 and no advice. A text of the command line may be an address,
    /// so no message has the password of one.
    pub(crate) fn new(code: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Failure {
        Failure {
            code: code.into(),
            exit: Exit::Failed,
            what: masked(&what.into()).into_owned(),
            advice: None,
        }
    }

    /// The failure with this advice.
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Failure {
        self.advice = Some(masked(&advice.into()).into_owned());
        self
    }

    /// The failure with this exit code.
    pub(crate) fn exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// The failure of a command with `--unknown-kinds`: its advice names that option.
    pub(crate) fn of_command_that_skips(self) -> Failure {
        if self.code != UNREADABLE {
            return self;
        }
        self.advice(
            "if a newer version of recount wrote it, `--unknown-kinds skip` skips the records \
             that this version does not know; `recount verify PATH` checks for damage",
        )
    }

    /// A failed file operation.
    pub(crate) fn io(doing: impl Display, error: &io::Error) -> Failure {
        // The reader of the output closed it, as `head` does in `recount log … | head`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(READER_GONE, "the reader of the output closed it")
                .exit(Exit::ReaderGone);
        }
        let what = format!("failed to {doing}: {error}");
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Failure::new(NO_SPACE, what).advice("make room on the disk, then try again")
            }
            io::ErrorKind::ReadOnlyFilesystem => Failure::new(READ_ONLY, what)
                .advice("the disk is mounted read-only; work on a copy, or mount it for writing"),
            _ => Failure::new(IO, what),
        }
    }

    /// A failure after the operation was recorded. The message says first that it is recorded.
    pub(crate) fn behind_record(mut self, answered: &OnRecord) -> Failure {
        let OnRecord { session, seq, .. } = answered;
        self.what = format!(
            "recorded at seq {seq} of session {session}, but {}",
            self.what
        );
        // This message is printed even if the reader of the output is gone.
        if self.code == READER_GONE {
            self.code = IO.into();
        }
        self.advice("do not repeat the command; `recount log PATH SESSION` shows the record")
    }

    /// A missing journal.
    pub(crate) fn no_journal(path: &Path) -> Failure {
        let what = format!("expected a journal at {}, found none", shown(path));
        Failure::new("no-journal", what).advice(match is_of_database(path) {
            true => {
                "`recount serve` makes its tables, and so does `recount import`; nothing was \
                 created"
            }
            false => "give the directory that holds the file JOURNAL; nothing was created",
        })
    }

    /// The text for standard error; empty if the reader of the output is gone.
    pub(crate) fn message(&self) -> String {
        if self.code == READER_GONE {
            return String::new();
        }
        let mut text = format!("error[{}]: {}\n", self.code, self.what);
        if let Some(advice) = &self.advice {
            text.push_str(&format!("  help: {advice}\n"));
        }
        text
    }
}

/// True if an error of the journal names the address of a database in place of a directory.
pub(super) fn is_of_database(path: &Path) -> bool {
    path.starts_with("postgres:")
}

/// The code for a session that another node owns.
pub(super) const OWNED: &str = "owned";

/// The code for an output whose reader is gone.
pub(super) const READER_GONE: &str = "reader-gone";

/// The code for a failed operation of the system.
pub(crate) const IO: &str = "io";

/// The code for a full disk.
pub(super) const NO_SPACE: &str = "no-space";

/// The code for a disk that is mounted read-only.
pub(crate) const READ_ONLY: &str = "read-only";

/// The code for a journal that another process has open.
pub(crate) const IN_USE: &str = "journal-in-use";

/// The code for a directory that users other than its owner can write to.
pub(super) const INSECURE: &str = "insecure-directory";

/// The code for a journal of another user, opened by the superuser.
pub(crate) const NOT_YOURS: &str = "not-yours";

/// The code for a record of a kind that this version does not know.
pub(super) const UNREADABLE: &str = "unreadable";

/// The advice for a sealed session.
pub(crate) const SEALED_ADVICE: &str =
    "give the key store with --keys DIR; `recount verify` needs no key";
