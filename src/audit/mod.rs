//! Who decided what, when and on which arguments: the calls of a whole journal as rows that answer
//! an auditor's questions.
//!
//! ```text
//! facts of a session ─▶ Telling ─▶ AuditedCall, one a call ─▶ Filter ─▶ Report, with its Totals
//! sealed or unreadable ───────────────────────────────────────────────▶ UnreadSession
//! the journal's own stream ───────────────────────────────────────────▶ JournalNote
//! ```
//!
//! Everything is taken from what is on record; nothing is decided again and nothing runs. `audit`
//! prints nothing and does not know how a row is shown.

mod audited_call;
mod filter;
mod journal_note;
mod moment;
mod question;
mod report;
mod stranger;
mod telling;
mod totals;
mod unread_session;
mod verdict;

pub use audited_call::{
    AuditedCall, Cancellation, End, PolicyVerdict, ProgramWord, Reconciliation, Run, Waiver,
};
pub use filter::{Filter, LabelFilter};
pub use journal_note::JournalNote;
pub use question::{Question, QuestionEnd, RefusedAnswer};
pub use report::{Report, decisions};
pub use stranger::{Stranger, StrangerOf};
pub use totals::Totals;
pub use unread_session::{Unread, UnreadSession};
pub use verdict::Verdict;
