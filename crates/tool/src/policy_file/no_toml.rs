//! The reader of TOML without the feature `toml`: it rejects the text.

use serde_json::{Map, Value};

use super::mistake::{PolicyMistake, whole};
use super::places::Place;

pub(super) fn document(_: &str) -> Result<Map<String, Value>, PolicyMistake> {
    let what = "expected JSON that begins with {; TOML is read where the feature `toml` is on";
    Err(whole(Some(1), what.to_owned()))
}

pub(super) fn places(_: &str) -> Option<Place> {
    None
}
