//! What the expansion of `#[tool]` names: how a function's answer becomes a tool's.
//!
//! Which conversion holds is found by the type of the answer: the first of the three traits that
//! applies, because each stands one reference further out than the next.

pub use serde;

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::run::error::ToolError;

/// The answer whose kind is wanted.
#[derive(Debug)]
pub struct Kind<'a, A>(pub &'a A);

/// A `Result` whose error is, or becomes, a [`ToolError`].
#[derive(Debug)]
pub struct Failure;

/// A `Result` with any other error.
#[derive(Debug)]
pub struct Outcome;

/// A value, or nothing.
#[derive(Debug)]
pub struct Plain;

/// Brings the three into scope at once, of which the answer's type then uses one.
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
    /// The error keeps its variant.
    ///
    /// # Errors
    /// The function's own, or its value cannot be written as JSON.
    pub fn answer<T: Serialize, E: Into<ToolError>>(
        self,
        answer: Result<T, E>,
    ) -> Result<Value, ToolError> {
        answer.map_err(Into::into).and_then(written)
    }
}

impl Outcome {
    /// The error is told in its own words.
    ///
    /// # Errors
    /// The function's own, or its value cannot be written as JSON.
    pub fn answer<T: Serialize, E: Display>(
        self,
        answer: Result<T, E>,
    ) -> Result<Value, ToolError> {
        let told = |error: E| ToolError::ExecutionFailed(error.to_string());
        answer.map_err(told).and_then(written)
    }
}

impl Plain {
    /// What the function returns is the answer.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn answer<A: Serialize>(self, answer: A) -> Result<Value, ToolError> {
        written(answer)
    }
}

fn written<T: Serialize>(value: T) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| {
        ToolError::ExecutionFailed(format!("the tool ran, but its result is not JSON: {error}"))
    })
}
