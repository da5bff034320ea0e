//! An audit of a whole journal: who decided what, when, and on which arguments. Each call is a row.
//!
//! ```text
//! facts of a session ─▶ CallProjection ─▶ AuditedCall (one per call) ─▶ Filter ─▶ Report, Totals
//!                     └──▶ CatalogNote (one per catalog_changed) ────────────▶ Report
//! sealed or unreadable ─────────────────────────────────────────────────────────▶ UnreadSession
//! the journal's own stream ─────────────────────────────────────────────────────▶ JournalNote
//! ```
//!
//! All values come from records. The audit takes no decisions and runs nothing. `auditor` reads one
//! session after another; `csv` has the cells of a row. `clock` is a report of its own, about the
//! machine's clocks.

mod audited_call;
mod auditor;
mod catalog_note;
mod clock;
mod csv;
mod filter;
mod journal_note;
mod moment;
mod projected_questions;
mod projection;
mod question;
mod report;
mod row;
mod stranger;
mod totals;
mod unread_session;
mod verdict;
mod window;

pub use audited_call::{
    AuditedCall, Cancellation, End, Held, LeaveUse, PolicyVerdict, ProgramWord, Reconciliation,
    Run, Waiver,
};
pub use auditor::{Auditor, SessionAudit};
pub use catalog_note::CatalogNote;
pub use clock::{CLOCK_STEP_MIN, ClockAnomaly, ClockAnomalyKind, ClockReport};
pub use csv::{COLUMNS, Csv};
pub use filter::{Filter, LabelFilter};
pub use journal_note::JournalNote;
pub use question::{EarlierApproval, Question, QuestionEnd, RefusedAnswer};
#[doc(hidden)]
pub use report::{CallsPage, calls_after};
pub use report::{Report, calls_of, decisions};
pub use row::Row;
pub use stranger::{Stranger, StrangerOf};
pub use totals::Totals;
pub use unread_session::{Unread, UnreadSession};
pub use verdict::Verdict;
