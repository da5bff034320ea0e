//! Messages: a notice of the queue, its content from the journal, and its text.
//!
//! Read `notice` first, then `content`. `template` and `field` make texts, `texts` has the default
//! ones, `body` the JSON.

mod body;
mod content;
mod field;
mod notice;
mod template;
mod texts;

pub(crate) use body::json;
pub(crate) use content::{Content, Links, names_of};
pub(crate) use notice::{About, Digest, Notice};
pub use template::{Template, UnfitTemplate};
pub(crate) use texts::default_text;
