//! What a command says when it cannot do what was asked: a stable code, one line, and what to do.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::Path;

use crate::text::shown;
use recount::control::OnRecord;

/// How the program ends; the numbers are promised in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Ok = 0,
    /// It could not be done.
    Failed = 1,
    /// It was not asked well; the number is the one that the argument parser uses.
    Usage = 2,
    /// A rule said no.
    Refused = 3,
    /// A journal or an export is damaged.
    Damaged = 4,
    /// A replay came to other decisions, or two sessions are not the same.
    Diverged = 5,
    /// Something is sealed, and its key is not here.
    Sealed = 6,
    /// Whoever read the output went away before its end, so nobody knows how the rest came out: as
    /// a shell says it of a program that SIGPIPE ended.
    ReaderGone = 141,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A short stable name, for programs and for searching.
    pub(crate) code: Cow<'static, str>,
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What failed, with what was expected and what came.
    pub(crate) what: String,
    /// What to do.
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// Something could not be done.
    pub(crate) fn new(code: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Failure {
        Failure {
            code: code.into(),
            exit: Exit::Failed,
            what: what.into(),
            advice: None,
        }
    }

    /// With what to do.
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Failure {
        self.advice = Some(advice.into());
        self
    }

    /// With another way to end.
    pub(crate) fn exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// Of a command that can pass over records of kinds that it does not know.
    pub(crate) fn of_command_that_skips(self) -> Failure {
        if self.code != UNREADABLE {
            return self;
        }
        self.advice("where a newer version of recount wrote it, `--unknown-kinds skip` passes over what only that knows; `recount verify PATH` tells damage")
    }

    /// A file operation failed.
    pub(crate) fn io(doing: impl Display, error: &io::Error) -> Failure {
        // Whoever read our output has gone away, which is how `recount log … | head` ends.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(READER_GONE, "the reader of the output is gone")
                .exit(Exit::ReaderGone);
        }
        let what = format!("failed to {doing}: {error}");
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Failure::new(NO_SPACE, what).advice("make room on the disk, then try again")
            }
            io::ErrorKind::ReadOnlyFilesystem => Failure::new("read-only", what)
                .advice("the disk takes no writes; work on a copy, or mount it for writing"),
            _ => Failure::new(IO, what),
        }
    }

    /// Something failed behind a word that counts: that it is on record is what whoever said it
    /// must know.
    pub(crate) fn behind_record(mut self, answered: &OnRecord) -> Failure {
        let OnRecord { session, seq, .. } = answered;
        self.what = format!(
            "it is on record at seq {seq} of session {session}, but {}",
            self.what
        );
        // Also where nobody reads what else there would be to say.
        if self.code == READER_GONE {
            self.code = IO.into();
        }
        self.advice("it counts, so do not say it again; `recount log PATH SESSION` shows it")
    }

    /// Nothing, or no journal, is where one was expected.
    pub(crate) fn no_journal(path: &Path) -> Failure {
        let what = format!("expected a journal at {}, found none", shown(path));
        Failure::new("no-journal", what)
            .advice("give the directory that holds the file JOURNAL; nothing was created")
    }

    /// As it stands on standard error; nothing where nobody is to be told.
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

/// The code of an output whose reader is gone.
pub(super) const READER_GONE: &str = "reader-gone";

/// The code of what the system could not do.
pub(crate) const IO: &str = "io";

/// The code of a disk without room.
pub(super) const NO_SPACE: &str = "no-space";

/// The code of a journal that another process has open.
pub(crate) const IN_USE: &str = "journal-in-use";

/// The code of a directory that users other than its owner can write to.
pub(super) const INSECURE: &str = "insecure-directory";

/// The code of a journal of another user, met by the superuser.
pub(crate) const NOT_YOURS: &str = "not-yours";

/// The code of a record that this program does not know.
pub(super) const UNREADABLE: &str = "unreadable";

/// What to do about what is sealed.
pub(crate) const SEALED_ADVICE: &str =
    "give the key store with --keys DIR; `recount verify` needs no key";
