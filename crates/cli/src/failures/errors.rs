//! Conversion of the library's errors into failures of a command.

use recount_journal as journal;

use super::failure::{
    Exit, Failure, IN_USE, INSECURE, NO_SPACE, NOT_YOURS, OWNED, SEALED_ADVICE, UNREADABLE,
    is_of_database,
};
use recount::session::{Barred, ClaimRejection, Rejection, UnfitAnswer};
use recount::{engine, fixture, ledger, play};
use recount_telling::{one_line, shown};

impl From<journal::seal::Error> for Failure {
    fn from(error: journal::seal::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            journal::seal::Error::WrongMasterKey { .. } => Failure::new("wrong-master-key", what)
                .exit(Exit::Sealed)
                .advice("give the master key that was there when the key store was made"),
            journal::seal::Error::DoesNotOpen { .. } | journal::seal::Error::Malformed { .. } => {
                Failure::new("does-not-open", what)
                    .exit(Exit::Damaged)
                    .advice("`recount verify PATH` checks whether records were altered")
            }
            journal::seal::Error::NotAMasterKey { .. } => {
                Failure::new("not-a-master-key", what).exit(Exit::Usage)
            }
            journal::seal::Error::Insecure { .. } => Failure::new(INSECURE, what).advice(
                "remove the permissions of other users, for example with `chmod -R go-rwx DIR`; \
                     `--insecure-directory` accepts it as it is",
            ),
            journal::seal::Error::Missing { .. } => Failure::new("key-store", what).advice(
                "give the directory that `recount run --keys DIR` made; nothing was created",
            ),
            journal::seal::Error::Io { doing, source } => Failure::io(one_line(&doing), &source),
            _ => Failure::new("key-store", what),
        }
    }
}

impl From<journal::Error> for Failure {
    fn from(error: journal::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            journal::Error::InUse { path } => {
                let path = shown(&path);
                let what = format!("the journal at {path} is in use by another process");
                Failure::new(IN_USE, what).advice(
                    "only one process at a time can open a journal; use that one, or stop it first",
                )
            }
            journal::Error::Insecure { .. } => Failure::new(INSECURE, what).advice(
                "remove the write permission of other users, for example with \
                     `chmod go-w PATH`; `--insecure-directory` accepts it as it is",
            ),
            journal::Error::NotYours { owner, .. } => {
                Failure::new(NOT_YOURS, what).advice(format!(
                    "run it as that user: `sudo -u '#{owner}' recount …`; \
                     `--insecure-directory` runs it as the current user"
                ))
            }
            journal::Error::Missing { path } => Failure::no_journal(&path),
            journal::Error::Owned { .. } => Failure::new(OWNED, what).advice(
                "the node that owns the session did not take the request in time; try again, or \
                 ask that node by its HTTP API or its pages",
            ),
            journal::Error::Fenced { .. } => Failure::new("fenced", what)
                .advice("another node has the session now; check its log before you retry"),
            journal::Error::Lossy { .. } => Failure::new("lossy", what).advice(
                "change the settings of the server, or accept them by name: `allow_lossy` of \
                 [postgres], or the variable RECOUNT_POSTGRES_ALLOW_LOSSY; docs/postgres.md",
            ),
            journal::Error::NotAJournal { path, .. } if is_of_database(&path) => {
                Failure::new("not-a-journal", what)
                    .advice("the tables in the database are of another version of recount")
            }
            // Every command that opens a journal to write comes here with an export.
            journal::Error::NotAJournal { path, .. } if path.is_file() => {
                Failure::new("not-a-journal", what).advice(
                    "this command needs the directory of a journal; an export is only read, and \
                     `recount import FILE NEW` makes a journal of it",
                )
            }
            journal::Error::NotAJournal { .. } => Failure::new("not-a-journal", what).advice(
                "give the directory that holds the file JOURNAL; if only that file is \
                     damaged, `recount repair PATH` restores it",
            ),
            journal::Error::NotABackup { .. } => Failure::new("not-a-backup", what)
                .advice("give a directory that `recount backup` made; a journal needs no restore"),
            journal::Error::Occupied { .. } => Failure::new("occupied", what)
                .advice("give a new or an empty directory; nothing was changed"),
            journal::Error::DamagedExport { .. } => Failure::new("damaged", what)
                .exit(Exit::Damaged)
                .advice("`recount verify FILE` lists the damage; nothing was imported"),
            journal::Error::PartialExport { .. } => Failure::new("partial-export", what)
                .advice("`recount export JOURNAL` writes a whole journal, or one session"),
            journal::Error::NewerFormat { .. } => Failure::new("newer-format", what)
                .advice("use the version of recount that wrote it, or a later one"),
            journal::Error::Damaged { .. } => {
                Failure::new("damaged", what).exit(Exit::Damaged).advice(
                    "`recount verify PATH` lists the damage; `recount repair PATH` recovers what \
                     it can of a directory, and a database is restored from its own backup",
                )
            }
            journal::Error::Index { .. } => Failure::new("index-damaged", what).exit(Exit::Damaged),
            journal::Error::Conflict { .. } => Failure::new("conflict", what)
                .advice("another process wrote to the session; check its log before you retry"),
            journal::Error::NoSpace { .. } => Failure::new(NO_SPACE, what)
                .advice("make room on the disk of the journal, then try again"),
            journal::Error::Io { doing, source } => Failure::io(one_line(&doing), &source),
            _ => Failure::new("journal", what),
        }
    }
}

impl From<ledger::Error> for Failure {
    fn from(error: ledger::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            ledger::Error::Journal(error) => error.into(),
            ledger::Error::Unreadable { .. } => {
                Failure::new(UNREADABLE, what).exit(Exit::Damaged).advice(
                    "if a newer version of recount wrote it, use that version; \
                     `recount verify PATH` checks for damage",
                )
            }
            ledger::Error::NewerRules { .. } => Failure::new("newer-rules", what)
                .exit(Exit::Damaged)
                .advice("use the version of recount that wrote it, or a newer one"),
            ledger::Error::UnknownField { .. } => Failure::new("unknown-field", what)
                .exit(Exit::Damaged)
                .advice("use the version of recount that wrote it, or a newer one"),
            ledger::Error::Malformed { .. } | ledger::Error::MissingObject { .. } => {
                Failure::new("damaged", what)
                    .exit(Exit::Damaged)
                    .advice("`recount verify PATH` lists the damage")
            }
            ledger::Error::Sealed { .. } => Failure::new("sealed", what)
                .exit(Exit::Sealed)
                .advice(SEALED_ADVICE),
            ledger::Error::NoKeyStore { .. } => Failure::new("sealed", what).exit(Exit::Sealed),
            ledger::Error::Seal(error) => error.into(),
            ledger::Error::UnknownSession { .. } => Failure::new("unknown-session", what),
            ledger::Error::Unwritable { .. } | ledger::Error::Endless { .. } => {
                Failure::new("broken", what).advice("this is a fault of recount; please report it")
            }
            _ => Failure::new("journal", what),
        }
    }
}

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            engine::Error::Ledger(error) => error.into(),
            engine::Error::Refused(rejection) => {
                Failure::new(refusal_code(&rejection), what).exit(Exit::Refused)
            }
            engine::Error::RefusedElsewhere(refusal) => super::service::refused(&refusal),
            engine::Error::Connect(_) => Failure::new("not-connected", what)
                .advice("check the endpoint, the network and the key"),
            engine::Error::UnknownRequest { .. } => Failure::new("unknown-request", what),
            engine::Error::UnknownAgent { .. } => Failure::new("unknown-agent", what),
            engine::Error::Configuration { .. } => Failure::new("configuration", what),
            engine::Error::OtherKeyStore { .. } => Failure::new("other-key-store", what)
                .exit(Exit::Usage)
                .advice(
                    "use the key store of the other nodes, such as a mounted directory; if the \
                     first one had a wrong store, `DELETE FROM recount.key_store` makes the \
                     database forget it",
                ),
            engine::Error::Message(_) | engine::Error::PartlyTaken { .. } => {
                Failure::new("client-message", what).exit(Exit::Refused)
            }
            engine::Error::WrongId { .. } => Failure::new("wrong-id", what).exit(Exit::Refused),
            engine::Error::HookMissing { .. } => Failure::new("hook-missing", what),
            engine::Error::HoldRefused(refusal) => {
                Failure::new(refusal.code().replace('_', "-"), what).exit(Exit::Refused)
            }
            engine::Error::PauseUnconfirmed { .. } => Failure::new("pause-unconfirmed", what),
            _ => Failure::new("engine", what),
        }
    }
}

impl From<fixture::Error> for Failure {
    fn from(error: fixture::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            fixture::Error::Missing { .. } => Failure::new("no-fixture", what)
                .advice("give the directory that holds fixture.json and steps.jsonl"),
            fixture::Error::Newer { .. } => Failure::new("newer-format", what)
                .advice("use the version of recount that wrote it, or a later one"),
            fixture::Error::NoFormat { .. }
            | fixture::Error::Header { .. }
            | fixture::Error::Step { .. } => Failure::new("damaged", what)
                .exit(Exit::Damaged)
                .advice("docs/fixtures.md describes the format"),
            fixture::Error::Exists { .. } => Failure::new("occupied", what)
                .advice("give a directory without a fixture or a file of one; nothing was changed"),
            fixture::Error::NoShape { .. } => Failure::new("bad-request", what)
                .exit(Exit::Usage)
                .advice("redact fields in the words of people, models and tools"),
            fixture::Error::Io { path, source } => {
                Failure::io(format!("use {}", shown(&path)), &source)
            }
            fixture::Error::Ledger(error) => error.into(),
            _ => Failure::new("no-fixture", what),
        }
    }
}

impl From<play::Error> for Failure {
    fn from(error: play::Error) -> Failure {
        let what = in_lines(&causes(&error));
        match error {
            play::Error::NeedsProgram { .. } => Failure::new("needs-program", what).advice(
                "play it in a test of the program: \
                 Fixture::load(DIR)?.play(&agent)?.assert_as_recorded()",
            ),
            play::Error::Runtime { source } => Failure::io("start the runtime", &source),
            play::Error::Engine(error) => error.into(),
            play::Error::Fixture(error) => error.into(),
            play::Error::Ledger(error) => error.into(),
            _ => Failure::new("engine", what),
        }
    }
}

/// The error code of a refusal.
fn refusal_code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::UnknownRequest { .. } => "unknown-request",
        Rejection::AlreadyAnswered(_) => "already-answered",
        Rejection::RequestExpired { .. } => "request-expired",
        Rejection::RequestWithdrawn { .. } => "request-withdrawn",
        Rejection::RequestSuperseded { .. } => "request-superseded",
        Rejection::UnfitAnswer(UnfitAnswer::Malformed { .. }) => "malformed-answer",
        Rejection::UnfitAnswer(UnfitAnswer::OtherRequest { .. }) => "other-request",
        Rejection::UnfitAnswer(UnfitAnswer::InvalidPayload { .. }) => "invalid-payload",
        Rejection::UnfitAnswer(UnfitAnswer::InvalidArgs { .. }) => "invalid-args",
        Rejection::UnfitAnswer(UnfitAnswer::InvalidLeave { .. }) => "invalid-leave",
        Rejection::UnfitAnswer(UnfitAnswer::WrongName { .. }) => "wrong-name",
        Rejection::UnfitAnswer(UnfitAnswer::AnswersTheCall { .. }) => "answers-the-call",
        Rejection::UnfitAnswer(UnfitAnswer::ForeignSession { .. }) => "foreign-session",
        Rejection::ToolGone { .. } => "tool-gone",
        Rejection::TooManyAnswers { .. } => "too-many-answers",
        Rejection::EditsNotAllowed => "edits-not-allowed",
        Rejection::LeaveNotPermitted => "leave-not-permitted",
        Rejection::UnknownLeave { .. } => "unknown-leave",
        Rejection::LeaveEnded { .. } => "leave-ended",
        Rejection::NothingToSettle => "nothing-to-settle",
        Rejection::Barred(barred) | Rejection::LeaveBarred(barred) => code_of_barred(*barred),
        Rejection::AlreadyApproved { .. } => "already-approved",
        Rejection::OtherContent { .. } => "other-content",
        Rejection::UnknownCall { .. } => "unknown-call",
        Rejection::CallSettled { .. } => "call-settled",
        Rejection::CallOpen { .. } => "call-open",
        Rejection::OutcomeKnown { .. } => "outcome-known",
        Rejection::AlreadyReconciled(_) => "already-reconciled",
        Rejection::AlreadySupplied { same: true, .. } => "already-on-record",
        Rejection::AlreadySupplied { same: false, .. } => "already-supplied",
        Rejection::CallNotPaused { .. } => "call-not-paused",
        Rejection::WrongName { .. } => "wrong-name",
        Rejection::ResponseNotAnObject => "response-not-an-object",
        Rejection::UnfitState { .. } => "unfit-state",
        Rejection::Claim(claim) => code_of_claim(claim),
        Rejection::UnfitKey { .. } => "unfit-key",
        Rejection::KeyReused { .. } => "key-reused",
        Rejection::SessionClosed => "session-closed",
        Rejection::AlreadyPaused(_) => "already-paused",
        Rejection::NotPaused { .. } => "not-paused",
        Rejection::UnknownTool { .. } => "unknown-tool",
        Rejection::TooLarge { .. } => "too-large",
        Rejection::TooDeep => "too-deep",
        Rejection::UnfitJson { .. } => "unfit-json",
    }
}

fn code_of_barred(barred: Barred) -> &'static str {
    match barred {
        Barred::Automatic => "automatic-answer",
        Barred::Unverified => "unverified-answer",
        Barred::NotAnApprover => "not-an-approver",
        Barred::Requester => "is-the-requester",
        Barred::RequesterUnknown => "requester-unknown",
    }
}

fn code_of_claim(claim: &ClaimRejection) -> &'static str {
    match claim {
        ClaimRejection::NotForClients { .. } => "not-for-clients",
        ClaimRejection::NotReady { .. } => "call-not-ready",
        ClaimRejection::AlreadyClaimed { .. } => "already-claimed",
        ClaimRejection::StaleAttempt { .. } => "stale-attempt",
        ClaimRejection::NotTheHolder { .. } => "not-the-holder",
        ClaimRejection::ClaimEnded { .. } => "claim-ended",
        ClaimRejection::UnfitClaim { .. } => "unfit-claim",
    }
}

/// The lines of a text, with the characters escaped that a terminal would act on.
fn in_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(one_line).collect();
    lines.join("\n    ")
}

/// The message of an error, and those of its causes that it does not contain.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_keeps_its_lines_and_no_control_character() {
        let what = "two things:\n- one\n- \u{1b}[2Jtwo".to_owned();
        let damaged = journal::Error::Damaged {
            session: None,
            seq: None,
            what,
        };
        let message = Failure::from(damaged).message();
        assert!(
            message.contains("two things:\n    - one\n    - "),
            "{message}"
        );
        assert!(
            !message.contains('\u{1b}') && !message.contains("\\n"),
            "{message}"
        );
    }
}
