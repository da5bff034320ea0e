//! What may be sent, and shown to nobody.

use std::fmt;
use std::sync::Arc;

/// A key or a token.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Secret {
        Secret(text.into().into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// What must not stand in anything that a peer or a library says, should it repeat what it was sent.
#[derive(Clone, Default)]
pub(crate) struct Unsaid(Vec<Secret>);

impl Unsaid {
    /// Shorter ones are found by chance in words that give nothing away.
    const BYTES_MIN: usize = 6;

    pub(crate) fn add(&mut self, secret: &Secret) {
        if secret.reveal().len() >= Unsaid::BYTES_MIN {
            self.0.push(secret.clone());
        }
    }

    /// The bytes of the longest.
    #[cfg(feature = "mcp")]
    pub(crate) fn longest(&self) -> usize {
        let bytes = self.0.iter().map(|it| it.reveal().len());
        bytes.max().unwrap_or_default()
    }

    /// `text` without them.
    pub(crate) fn out_of(&self, text: impl Into<String>) -> String {
        self.0.iter().fold(text.into(), |text, secret| {
            if text.contains(secret.reveal()) {
                text.replace(secret.reveal(), "[hidden]")
            } else {
                text
            }
        })
    }
}
