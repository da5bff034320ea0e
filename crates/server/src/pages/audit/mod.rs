//! The page of the audit: who allowed which call, with filters, exports and the checks of sessions.
//!
//! Read `calls` first, which selects the calls of a page; then `show`, the page, and `checks`, the
//! verification of all sessions.

mod calls;
mod checks;
mod routes;
mod show;

pub(super) use routes::routes;
