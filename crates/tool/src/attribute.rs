//! The items that the expansion of `#[tool]` names: conversions of a function's return value into a
//! tool result.
//!
//! The compiler picks the conversion by the return type (autoref specialization). Each of the three
//! traits is implemented at one more level of references than the next, and method lookup takes the
//! first that applies.

pub use serde;

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::run::error::ToolError;

/// The return value whose kind is looked up.
#[derive(Debug)]
pub struct Kind<'a, A>(pub &'a A);

/// A `Result` whose error is, or becomes, a [`ToolError`].
#[derive(Debug)]
pub struct Failure;

/// A `Result` with any other error type.
#[derive(Debug)]
pub struct Outcome;

/// A value that is no `Result`.
#[derive(Debug)]
pub struct Plain;

/// Imports all three traits for method lookup, which uses one of them.
pub mod finding {
    pub use crate::attribute::{OfFailure as _, OfResult as _, OfValue as _};
}

/// Finds [`Failure`].
pub trait OfFailure {
    /// The kind.
    fn kind(&self) -> Failure {
        Failure
    }
}

/// Finds [`Outcome`].
pub trait OfResult {
    /// The kind.
    fn kind(&self) -> Outcome {
        Outcome
    }
}

/// Finds [`Plain`].
pub trait OfValue {
    /// The kind.
    fn kind(&self) -> Plain {
        Plain
    }
}

impl<T, E: Into<ToolError>> OfFailure for &&Kind<'_, Result<T, E>> {}
impl<T, E> OfResult for &Kind<'_, Result<T, E>> {}
impl<A> OfValue for Kind<'_, A> {}

impl Failure {
    /// Converts the return value; an error keeps its variant.
    ///
    /// # Errors
    /// The function's own error, or the value cannot be written as JSON.
    pub fn answer<T: Serialize, E: Into<ToolError>>(
        self,
        answer: Result<T, E>,
    ) -> Result<Value, ToolError> {
        answer.map_err(Into::into).and_then(written)
    }
}

impl Outcome {
    /// Converts the return value; an error becomes its `Display` text.
    ///
    /// # Errors
    /// The function's own error, or the value cannot be written as JSON.
    pub fn answer<T: Serialize, E: Display>(
        self,
        answer: Result<T, E>,
    ) -> Result<Value, ToolError> {
        let to_error = |error: E| ToolError::ExecutionFailed(error.to_string());
        answer.map_err(to_error).and_then(written)
    }
}

impl Plain {
    /// Converts the return value, which is always a success.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn answer<A: Serialize>(self, answer: A) -> Result<Value, ToolError> {
        written(answer)
    }
}

fn written<T: Serialize>(value: T) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| {
        ToolError::ExecutionFailed(format!("the tool ran, but its result is not JSON: {error}"))
    })
}
