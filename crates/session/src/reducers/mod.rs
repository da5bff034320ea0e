//! The topics of the session, one a file: what each folds, decides and owes.
//!
//! No topic reads a clock, and none knows who performs what it owes. Read `dispatcher` first (a
//! call from received to answered), then `tracker` (what runs). Both use the folders, which import
//! each other in this order: `earlier`, `telling`, `running`, `asking`, `ending`.

pub(super) mod asking;
pub(super) mod dispatcher;
pub(super) mod earlier;
pub(super) mod ending;
pub(super) mod running;
pub(super) mod telling;
pub(super) mod tracker;
