//! The page of a bundle.

use crate::contents::Contents;

/// Returns the page about these contents.
pub(crate) fn html(contents: &Contents) -> String {
    format!(
        "<!doctype html><title>{} records</title>\n",
        contents.extent.size
    )
}
