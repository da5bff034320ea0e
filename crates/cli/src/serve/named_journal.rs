//! The address of a journal in a variable or a file that the configuration names.

use std::ffi::OsStr;

use super::secret_file::private_text;
use crate::config::{Config, Given, Mistake};
use crate::journal::Location;

/// Reads the address, if the configuration names its place and nothing overrides it. A mistake is
/// added to those of the configuration.
pub(super) fn resolve(config: &mut Config) {
    if config.settings.journal.is_some() {
        return;
    }
    let settings = &config.settings.postgres;
    let named = match (&settings.journal_env, &settings.journal_file) {
        (Some(variable), _) => of_variable(variable),
        (None, Some(file)) => private_text(file, "use the database").and_then(|it| read(file, &it)),
        (None, None) => return,
    };
    match named {
        Ok(location) => config.settings.journal = Some(location),
        Err(mistake) => config.mistakes.push(mistake),
    }
}

fn of_variable(variable: &Given<String>) -> Result<Given<Location>, Mistake> {
    let text = std::env::var(&variable.value);
    let text = text.map_err(|_| variable.mistake("expected a variable with an address"))?;
    read(variable, &text)
}

/// The location that a text gives. Mistakes do not repeat it.
fn read<T>(place: &Given<T>, text: &str) -> Result<Given<Location>, Mistake> {
    let text = text.trim();
    if text.is_empty() {
        return Err(place.mistake("expected an address, found an empty text"));
    }
    let location = Location::read(OsStr::new(text));
    match location.map_err(|failure| place.mistake(failure.what))? {
        value @ Location::Database(_) => Ok(Given {
            value,
            place: place.place.clone(),
            field: place.field.clone(),
        }),
        Location::Path(_) => {
            Err(place.mistake("expected an address as postgres://…, found a path"))
        }
    }
}
