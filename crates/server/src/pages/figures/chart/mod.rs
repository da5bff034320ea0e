//! Charts in SVG, drawn by the server.
//!
//! Horizontal positions are percentages, so a chart is as wide as the page and its text keeps its
//! size. Colours are classes of the style sheet. Each chart has a title and a description; its
//! numbers are in a table below it, which is not drawn here.
//!
//! Read `figure` first, the frame of every chart. `columns` has one column an interval, `ranges`
//! two marks an interval on a logarithmic scale, `stacks` one bar a name.

mod columns;
mod figure;
mod ranges;
mod stacks;

pub(super) use columns::{Column, columns};
pub(super) use figure::{Labels, legend};
pub(super) use ranges::{Marks, ranges};
pub(super) use stacks::{Part, Stack, stacks};
