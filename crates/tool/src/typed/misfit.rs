//! The reasons why arguments do not fit a type, in words that a model can act on.

use std::fmt;

use recount_text::json::{escaped, is_within};
use serde::de::{self, Expected, Unexpected};

use crate::schema::arguments;

/// The reason why arguments do not fit a type: the place, the expected and the found value.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The JSON Pointer to the value.
    place: String,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    /// The value is not the expected one.
    Other { expected: String, found: String },
    /// The number has digits that the type does not hold.
    Digits(String),
    /// A member is missing.
    Missing(&'static str),
    /// A member is unknown; the known ones are listed.
    Unknown {
        member: String,
        known: &'static [&'static str],
    },
    /// A message of the type's own code.
    Custom(String),
}

impl Misfit {
    /// Returns the misfit of a number that would lose digits.
    pub(super) fn digits(token: &str) -> Misfit {
        Misfit::new(Problem::Digits(arguments::shortened(
            token,
            TOKEN_CHARS_MAX,
        )))
    }

    /// Returns the misfit with one step added at the start of its path.
    pub(super) fn under(mut self, step: &str) -> Misfit {
        self.place.insert_str(0, &format!("/{}", escaped(step)));
        self
    }

    /// Returns the message for the model, without quoting arguments at the `secret` pointers.
    pub(crate) fn message(&self, secret: &[String]) -> String {
        // A mistake in a buffered value is reported at the object around it. So the message of any
        // object that encloses a secret may quote it.
        let hidden = secret
            .iter()
            .any(|secret| is_within(secret, &self.place) || is_within(&self.place, secret));
        let (place, wrong) = match &self.problem {
            Problem::Missing(name) => {
                let place = arguments::shortened(&self.place, PLACE_CHARS_MAX);
                let member = format!("{place}/{name}");
                return format!("{member}: expected a value, found nothing");
            }
            Problem::Unknown { member, known } => (
                &self.place,
                format!(
                    "there is no {}, only {}",
                    arguments::quoted(member),
                    listed(known)
                ),
            ),
            Problem::Other { expected, .. } if hidden => (
                &self.place,
                format!("expected {expected}; what came is secret"),
            ),
            Problem::Digits(_) | Problem::Custom(_) if hidden => {
                (&self.place, "does not fit; what came is secret".to_owned())
            }
            Problem::Other { expected, found } => {
                (&self.place, format!("expected {expected}, found {found}"))
            }
            Problem::Digits(token) => (
                &self.place,
                format!(
                    "expected a number of fewer digits, found {token}, of which some would be lost"
                ),
            ),
            Problem::Custom(text) => (&self.place, arguments::shortened(text, CUSTOM_CHARS_MAX)),
        };
        if place.is_empty() {
            wrong
        } else {
            let place = arguments::shortened(place, PLACE_CHARS_MAX);
            format!("{place}: {wrong}")
        }
    }

    fn new(problem: Problem) -> Misfit {
        Misfit {
            place: String::new(),
            problem,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&[]))
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(said: T) -> Misfit {
        Misfit::new(Problem::Custom(said.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Misfit {
        Misfit::new(Problem::Other {
            expected: named(expected),
            found: shown(found),
        })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Misfit {
        Misfit::invalid_type(found, expected)
    }

    fn invalid_length(count: usize, expected: &dyn Expected) -> Misfit {
        Misfit::new(Problem::Other {
            expected: named(expected),
            found: format!("{count} of them"),
        })
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Misfit {
        Misfit::new(Problem::Other {
            expected: listed(known),
            found: arguments::shown(&variant.into()),
        })
    }

    fn unknown_field(member: &str, known: &'static [&'static str]) -> Misfit {
        Misfit::new(Problem::Unknown {
            member: member.to_owned(),
            known,
        })
    }

    fn missing_field(name: &'static str) -> Misfit {
        Misfit::new(Problem::Missing(name))
    }
}

/// Returns the expected value in JSON terms.
fn named(expected: &dyn Expected) -> String {
    match expected.to_string() {
        text if text == "a map" || text.starts_with("struct ") => "an object".to_owned(),
        text if text == "a sequence" => "an array".to_owned(),
        text => text,
    }
}

/// Returns the found value in JSON terms.
fn shown(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(flag) => format!("boolean {flag}"),
        Unexpected::Unsigned(number) => format!("number {number}"),
        Unexpected::Signed(number) => format!("number {number}"),
        Unexpected::Float(number) => format!("number {number}"),
        Unexpected::Str(text) => arguments::shown(&text.into()),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => other.to_string(),
    }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        names => names.join(" or "),
    }
}

const TOKEN_CHARS_MAX: usize = 60;
/// The maximum length of a pointer in a message for a model.
const PLACE_CHARS_MAX: usize = 200;
/// The maximum length of a type's own message, which may quote the value.
const CUSTOM_CHARS_MAX: usize = 1_000;
