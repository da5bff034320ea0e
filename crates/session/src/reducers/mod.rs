//! The rules of the session, one topic per file: what each topic folds, decides and owes.
//!
//! No topic reads a clock, and none knows who performs its effects. Read `dispatcher` first (a call
//! from received to answered), then `terms` and `runner` (a process attaches or detaches, or its
//! tools change), `tracker` (running calls) and `claiming` (calls that clients run). They use the
//! folders, which import each other in this order: `earlier`, `telling`, `running`, `asking`,
//! `ending`.

pub(super) mod asking;
pub(super) mod claiming;
pub(super) mod dispatcher;
pub(super) mod earlier;
pub(super) mod ending;
pub(super) mod runner;
pub(super) mod running;
pub(super) mod telling;
pub(super) mod terms;
pub(super) mod tracker;
