//! Secrets: text that may be sent but never shown.

use std::fmt;
use std::sync::Arc;

/// A key or a token.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(Arc<str>);

impl Secret {
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into().into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// The secrets to remove from texts of a peer or a library, which may repeat what they were sent.
#[derive(Clone, Default)]
pub struct Unsaid(Vec<Secret>);

impl Unsaid {
    /// Shorter secrets would also match ordinary words by chance.
    const BYTES_MIN: usize = 6;

    pub fn add(&mut self, secret: &Secret) {
        if secret.reveal().len() >= Unsaid::BYTES_MIN {
            // Longest first: removing a shorter secret inside a longer one would leave the rest of
            // it.
            let bytes = secret.reveal().len();
            let at = self.0.partition_point(|it| it.reveal().len() >= bytes);
            self.0.insert(at, secret.clone());
        }
    }

    /// The length of the longest secret, in bytes.
    pub fn longest(&self) -> usize {
        let bytes = self.0.iter().map(|it| it.reveal().len());
        bytes.max().unwrap_or_default()
    }

    /// Returns `text` with every secret replaced.
    pub fn out_of(&self, text: impl Into<String>) -> String {
        self.0.iter().fold(text.into(), |text, secret| {
            if text.contains(secret.reveal()) {
                text.replace(secret.reveal(), "[hidden]")
            } else {
                text
            }
        })
    }
}

/// True if a path segment looks generated rather than written by hand.
pub fn is_like_a_token(segment: &str) -> bool {
    const BYTES_MIN: usize = 16;
    const DIGITS_MIN: usize = 2;

    let digits = segment.chars().filter(char::is_ascii_digit).count();
    segment.len() >= BYTES_MIN && digits >= DIGITS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_within_another_leaves_nothing_of_it() {
        let all = ["orders", "postgres://svc:hunter22@db/orders", "hunter22"];
        for first in 0..all.len() {
            let mut unsaid = Unsaid::default();
            let order = all.iter().cycle().skip(first).take(all.len());
            order.for_each(|it| unsaid.add(&Secret::new(*it)));
            let told = "cannot reach postgres://svc:hunter22@db/orders of orders";
            assert_eq!(
                unsaid.out_of(told),
                "cannot reach [hidden] of [hidden]",
                "{first}"
            );
        }
    }
}
