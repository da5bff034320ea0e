//! Messages: a notice of the queue, its content from the journal, and its text.
//!
//! Read `notice` first, then `content`. `template` and `field` make texts, which `markup`
//! escapes, `texts` has the default ones, `body` the JSON.

mod body;
mod content;
mod field;
mod markup;
mod notice;
mod template;
mod texts;

pub(crate) use body::json;
pub(crate) use content::{Content, Links, names_of};
pub use markup::Markup;
pub(crate) use notice::{About, Digest, Notice};
pub use template::{Template, UnfitTemplate};
pub(crate) use texts::default_text;
