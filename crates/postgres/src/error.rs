//! Errors of the database as errors of the journal.

use std::io;

use recount_journal::Error;
use rustls::CertificateError;
use tokio_postgres::error::SqlState;

/// The states in which a transaction failed for the sake of another one and may be tried again.
const RETRIED: [SqlState; 2] = [
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::T_R_SERIALIZATION_FAILURE,
];

/// Wraps an error of the database, with the operation that failed, such as "read records".
pub(crate) fn failed(doing: &str) -> impl FnOnce(tokio_postgres::Error) -> Error {
    let doing = format!("{doing} in the database");
    move |error| Error::Io {
        doing,
        source: io::Error::other(error_text(&error)),
    }
}

/// Wraps an error of another kind, as [`failed`] does.
pub(crate) fn failed_for(doing: &str, cause: impl ToString) -> Error {
    Error::Io {
        doing: format!("{doing} in the database"),
        source: io::Error::other(cause.to_string()),
    }
}

/// Returns the text of an error: what the server said, with its code, or the cause.
pub(crate) fn error_text(error: &tokio_postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        return format!("{} ({})", server.message(), server.code().code());
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        text.push_str(advice(cause));
        source = cause.source();
    }
    text
}

/// Advice about a certificate that was refused; empty for other causes.
fn advice(cause: &(dyn std::error::Error + 'static)) -> &'static str {
    let of_tls = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    let Some(rustls::Error::InvalidCertificate(fault)) = of_tls.and_then(|it| it.downcast_ref())
    else {
        return "";
    };
    match fault {
        CertificateError::UnknownIssuer => "; sslrootcert=FILE names other authorities",
        CertificateError::Other(_) => {
            "; expected a certificate of version 3 that is no authority's, with its host as \
             subjectAltName"
        }
        _ => "",
    }
}

/// True if the server rejected the statement for the sake of another transaction.
pub(crate) fn may_be_repeated(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|it| RETRIED.contains(it))
}

/// True if the server has no room.
pub(crate) fn is_full(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::DISK_FULL)
}

/// True if the server said that it changed nothing. Of other errors the outcome is unknown: the
/// connection was lost, or the server was about to end.
pub(crate) fn changed_nothing(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        return false;
    };
    // A cancelled statement is rolled back. The server cancels none that has begun to commit, and
    // an append is one statement.
    if *code == SqlState::QUERY_CANCELED {
        return true;
    }
    // Class 57 is the intervention of an operator, class 08 a failure of the connection. The last
    // is a commit whose outcome the server itself does not know.
    !(code.code().starts_with("57")
        || code.code().starts_with("08")
        || *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN)
}

/// True if the connection was lost, or the server ends, starts, or does not answer.
pub(crate) fn lost_connection(error: &tokio_postgres::Error) -> bool {
    let gone = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
    ];
    match error.code() {
        Some(code) => code.code().starts_with("08") || gone.contains(code),
        None => {
            error.is_closed()
                || std::error::Error::source(error).is_some_and(|it| it.is::<io::Error>())
        }
    }
}

/// True if a statement that writes is refused on this connection: a standby, or missing rights.
pub(crate) fn may_not_write(error: &tokio_postgres::Error) -> bool {
    let refused = [
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ];
    error.code().is_some_and(|it| refused.contains(it))
}
