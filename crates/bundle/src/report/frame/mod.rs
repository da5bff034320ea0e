//! The parts of which every section consists: the document, tables, texts, times and numbers.

mod document;
mod table;
mod text;
mod values;

pub(super) use document::{Section, document};
pub(super) use table::{ROWS_MAX, facts, more, table};
pub(super) use text::{lines, long, said};
pub(super) use values::{at, hash, number, numbered};
