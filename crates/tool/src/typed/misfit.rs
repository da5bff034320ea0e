//! Why arguments do not fit a type, in words a model can act on.

use std::fmt;

use recount_text::json::{escaped, is_within};
use serde::de::{self, Expected, Unexpected};

use crate::schema::arguments;

/// Why arguments do not fit a type: where, what was expected, what came.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// The JSON Pointer to the value.
    place: String,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    /// Something else was expected than came.
    Other { expected: String, found: String },
    /// The number that came has digits which the type does not hold.
    Digits(String),
    /// A member is missing; its name.
    Missing(&'static str),
    /// A member came that is not known, beside those that are.
    Unknown {
        member: String,
        known: &'static [&'static str],
    },
    /// In the words of whoever wrote the type.
    Said(String),
}

impl Misfit {
    /// A number cannot be held without losing digits.
    pub(super) fn digits(token: &str) -> Misfit {
        Misfit::new(Problem::Digits(arguments::shortened(
            token,
            TOKEN_CHARS_MAX,
        )))
    }

    /// The same, seen from one step further out.
    pub(super) fn under(mut self, step: &str) -> Misfit {
        self.place.insert_str(0, &format!("/{}", escaped(step)));
        self
    }

    /// What the model is told, quoting nothing of the arguments whose pointers are `secret`.
    pub(crate) fn told(&self, secret: &[String]) -> String {
        // What was read through a buffer is reported at the object around it, so whatever encloses
        // a secret may quote it.
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
            Problem::Digits(_) | Problem::Said(_) if hidden => {
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
            Problem::Said(text) => (&self.place, arguments::shortened(text, SAID_CHARS_MAX)),
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
        f.write_str(&self.told(&[]))
    }
}

impl std::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(said: T) -> Misfit {
        Misfit::new(Problem::Said(said.to_string()))
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

/// What was expected, in JSON's own words.
fn named(expected: &dyn Expected) -> String {
    match expected.to_string() {
        text if text == "a map" || text.starts_with("struct ") => "an object".to_owned(),
        text if text == "a sequence" => "an array".to_owned(),
        text => text,
    }
}

/// What came, in JSON's own words.
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
/// The longest pointer to a value that a model is told.
const PLACE_CHARS_MAX: usize = 200;
/// The longest message of a type's own, which may quote what came.
const SAID_CHARS_MAX: usize = 1_000;
