//! Evidence bundles: what an auditor needs of a journal, in a directory or a zip file.
//!
//! A bundle has the records in scope, the proof that they are records of one tree, the policies and
//! contracts by which calls were decided, a page to read, and a program of 150 lines that checks
//! it without Recount. `docs/evidence-bundle.md` lists its files.
//!
//! ```text
//! ledger + Request ─▶ Contents ─┬─▶ report.html
//!                               └─▶ records.jsonl, proofs, … ─▶ MANIFEST.sha256
//! ```
//!
//! Read `scope`, `disclosure` and `sample` first (what is asked for), then `request`, `contents`
//! (what the journal has of it, with `acts`, `places` and `statements`), `reading` and `redacting`,
//! `report` (the page), `writing` and `verifying`.

// Tests stop where they meet the impossible.
#![cfg_attr(
    test,
    expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that meets the impossible must stop"
    )
)]

mod acts;
mod contents;
mod description;
mod disclosure;
mod places;
mod reading;
mod redacting;
mod report;
mod request;
mod sample;
mod scope;
mod statements;
mod verifying;
mod writing;

pub use acts::{Act, Did};
pub use contents::{Contents, Extent, OwnStream, SessionContents, StoredTerms, TermsChange};
pub use disclosure::{Disclose, UnknownDisclose};
pub use places::Places;
pub use request::{Request, WrittenBy};
pub use sample::{Member, Sample};
pub use scope::Scope;
pub use statements::Statements;
pub use verifying::{Anchored, BundleReport, Outside, is_bundle, verify_bundle};
pub use writing::{WriteError, Written, sha256, write};
