//! Parsing of text that people write by hand. A misspelt name is an error that suggests the nearest
//! name.

use recount_wire::{DecodeError, Fields};

/// Reads a non-negative integer.
pub(super) fn number(fields: &mut Fields, name: &str) -> Result<Option<u32>, DecodeError> {
    fields
        .raw(name)?
        .map(|value| {
            value
                .to::<u32>()
                .map_err(|_| DecodeError::new("a whole number", value.as_str()).under(name))
        })
        .transpose()
}

/// Rejects remaining fields. `known` are the candidates for a suggestion.
pub(super) fn nothing_left(fields: &mut Fields, known: &[&str]) -> Result<(), DecodeError> {
    match fields.rest(&[])?.iter().next() {
        None => Ok(()),
        Some((name, _)) if known.is_empty() => {
            Err(DecodeError::new("no other field", exactly(name)))
        }
        Some((name, _)) => Err(unknown("no field but", known, Some(name))),
    }
}

/// Creates the error for a value that is not in `known`, with the nearest one as a suggestion.
pub(super) fn unknown(what: &str, known: &[&str], found: Option<&str>) -> DecodeError {
    let expected = format!("{what} {}", known.join(", "));
    let Some(found) = found else {
        return DecodeError::new(expected, "none");
    };
    let nearest = known
        .iter()
        .map(|name| (likeness(found, name), name))
        .filter(|(likeness, _)| *likeness > 0.0)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let meant = nearest
        .map(|(_, name)| format!("; did you mean {name:?}?"))
        .unwrap_or_default();
    DecodeError::new(expected, format!("{}{meant}", exactly(found)))
}

/// Returns the likelihood that `name` was meant; 0 if it is too different.
fn likeness(found: &str, name: &str) -> f64 {
    let by_beginning = strsim::jaro_winkler(found, name);
    // This measure alone finds two swapped letters in a short name.
    let by_edits = strsim::normalized_damerau_levenshtein(found, name);
    if by_beginning > 0.75 || by_edits > 0.6 {
        by_beginning.max(by_edits)
    } else {
        0.0
    }
}

/// Quotes a text without changes.
pub(super) fn exactly(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
