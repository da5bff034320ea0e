//! The style sheet, the script and the icon of the pages.

mod files;

pub(crate) use files::{get, icon, script, style};
