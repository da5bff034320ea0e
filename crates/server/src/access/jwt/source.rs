//! The places from which the keys of an issuer come.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use async_trait::async_trait;

/// The maximum length of a JWK set, in bytes.
pub(super) const SET_BYTES_MAX: usize = 256 << 10;

/// A source of an issuer's public keys.
///
/// ```
/// use async_trait::async_trait;
/// use recount_server::{Jwt, KeySource, KeySourceError};
///
/// /// Keys that the embedding service has.
/// struct Known(String);
///
/// #[async_trait]
/// impl KeySource for Known {
///     async fn fetch(&self) -> Result<String, KeySourceError> {
///         Ok(self.0.clone())
///     }
/// }
///
/// let keys = Known(r#"{"keys":[]}"#.to_owned());
/// let jwt = Jwt::new("https://login.example", "recount", keys)?;
/// # let _ = jwt;
/// # Ok::<(), recount_server::UnfitIssuer>(())
/// ```
#[async_trait]
pub trait KeySource: Send + Sync + 'static {
    /// Returns the JWK set (RFC 7517) as JSON. Keys for other uses and of unknown kinds are left
    /// out by the caller.
    ///
    /// # Errors
    /// If the keys cannot be fetched. Keys that were fetched before stay in force.
    async fn fetch(&self) -> Result<String, KeySourceError>;
}

/// The keys of an issuer could not be fetched. The text is logged, so it has no secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct KeySourceError {
    what: String,
}

impl KeySourceError {
    /// An error with this description.
    pub fn new(what: impl Into<String>) -> KeySourceError {
        KeySourceError { what: what.into() }
    }
}

/// A file with a JWK set. It is read anew when no known key has signed a token.
#[derive(Clone, Debug)]
pub struct KeyFile(PathBuf);

impl KeyFile {
    /// The file at this path, which is read with the first token.
    pub fn new(path: impl Into<PathBuf>) -> KeyFile {
        KeyFile(path.into())
    }
}

#[async_trait]
impl KeySource for KeyFile {
    async fn fetch(&self) -> Result<String, KeySourceError> {
        let path = self.0.clone();
        let read = move || -> std::io::Result<String> {
            let mut text = String::new();
            let limit = SET_BYTES_MAX as u64 + 1;
            File::open(path)?.take(limit).read_to_string(&mut text)?;
            Ok(text)
        };
        let read = tokio::task::spawn_blocking(read).await;
        let failed = |error: &dyn std::fmt::Display| {
            let path = self.0.display();
            KeySourceError::new(format!("{path} cannot be read: {error}"))
        };
        let text = read.map_err(|error| failed(&error))?;
        let text = text.map_err(|error| failed(&error))?;
        match text.len() > SET_BYTES_MAX {
            true => Err(failed(&format!("it has more than {SET_BYTES_MAX} bytes"))),
            false => Ok(text),
        }
    }
}
