//! A session as a picture: an SVG with a lane for each call, a time axis and the connections.
//!
//! The picture is a pure function of the session's facts. It has classes and attributes, and no
//! style and no script, so that it fits into a page with a strict content security policy. The
//! stylesheet of the page gives it its colours; [`STYLE`] is one.
//!
//! Read `model` first, then `calls` and `surroundings`, which fold the facts to lanes and rows.
//! `choice` chooses the lanes that are drawn, `axis` gives each fact its place, `marks` merges
//! events that would cover each other, `drawing` puts everything together with `frame`, and
//! `markup` escapes every text.

mod axis;
mod calls;
mod choice;
mod drawing;
mod frame;
mod marks;
mod markup;
mod model;
mod surroundings;
#[cfg(test)]
mod tests;

pub use drawing::{Picture, Settings, picture};

/// The maximum number of lanes of a picture, if the caller has no other wish.
///
/// A lane is 26 pixels high, so 60 lanes are about two screens.
pub const LANES_MAX: usize = 60;

/// A stylesheet for the picture, for light and dark pages and for paper.
///
/// It reads the page's properties `--ink`, `--quiet`, `--paper`, `--panel`, `--line`, `--good`,
/// `--bad` and `--open`.
pub const STYLE: &str = include_str!("timeline.css");
