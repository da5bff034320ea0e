//! The lifetime of a state value, chosen by the prefix of its key.

use std::fmt;

/// The lifetime of a state value.
///
/// | prefix | lives | on record | read by guards |
/// |---|---|---|---|
/// | none, or `session:` | as long as the session | yes | yes |
/// | `turn:` | until the model's turn ends | yes | yes |
/// | `user:` | as long as the session; the program may carry it to the user's next one | yes | yes |
/// | `temp:` | as long as the process serves the session | no | no |
///
/// Values are never shared between sessions. `session:plan` and `plan` are the same key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// As long as the session.
    Session,
    /// Until the model's turn ends.
    Turn,
    /// As long as the session; the embedding program may carry it to the user's next one.
    User,
    /// As long as the process serves the session; never recorded.
    Temp,
}

impl Scope {
    /// Returns the scope of a key, and the key as it is stored.
    ///
    /// ```
    /// use recount_session::Scope;
    /// assert_eq!(Scope::of("session:plan"), (Scope::Session, "plan"));
    /// assert_eq!(Scope::of("turn:topic"), (Scope::Turn, "turn:topic"));
    /// ```
    #[must_use]
    pub fn of(key: &str) -> (Scope, &str) {
        if let Some(bare) = key.strip_prefix("session:") {
            // The rest may have a prefix, too. Without this, `session:temp:a` would let a `temp:`
            // key in.
            Scope::of(bare)
        } else if key.starts_with("turn:") {
            (Scope::Turn, key)
        } else if key.starts_with("user:") {
            (Scope::User, key)
        } else if key.starts_with("temp:") {
            (Scope::Temp, key)
        } else {
            (Scope::Session, key)
        }
    }
}

/// The maximum length of a key, in bytes.
pub const STATE_KEY_BYTES_MAX: usize = 256;

/// The reason why a key cannot be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum UnfitKey {
    /// The key is empty.
    Empty,
    /// The key is longer than [`STATE_KEY_BYTES_MAX`].
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The key is a `temp:` key, which is never recorded.
    Temporary {
        /// The key.
        key: String,
    },
}

/// Returns the key in its recorded form.
///
/// # Errors
/// An [`UnfitKey`] if the key cannot be recorded.
pub fn recorded_key(key: &str) -> Result<&str, UnfitKey> {
    match Scope::of(key) {
        (Scope::Temp, key) => Err(UnfitKey::Temporary {
            key: key.to_owned(),
        }),
        (Scope::Session | Scope::Turn | Scope::User, "") => Err(UnfitKey::Empty),
        (Scope::Session | Scope::Turn | Scope::User, key) if key.len() > STATE_KEY_BYTES_MAX => {
            Err(UnfitKey::TooLong { bytes: key.len() })
        }
        (Scope::Session | Scope::Turn | Scope::User, key) => Ok(key),
    }
}

impl fmt::Display for UnfitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnfitKey::Empty => f.write_str("a key of the state must not be empty"),
            UnfitKey::TooLong { bytes } => write!(
                f,
                "a key of the state is {bytes} bytes long, the limit is {STATE_KEY_BYTES_MAX}"
            ),
            UnfitKey::Temporary { key } => write!(
                f,
                "{key:?} is temporary: it is not on record, \
                 so nothing on record may read or write it"
            ),
        }
    }
}

impl std::error::Error for UnfitKey {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_on_record_is_not_empty_not_long_and_not_temporary() {
        assert_eq!(recorded_key("session:a"), Ok("a"));
        assert_eq!(recorded_key("user:a"), Ok("user:a"));
        assert_eq!(recorded_key("session:"), Err(UnfitKey::Empty));
        let longest = "a".repeat(STATE_KEY_BYTES_MAX);
        assert_eq!(recorded_key(&longest), Ok(longest.as_str()));
        let long = "a".repeat(STATE_KEY_BYTES_MAX + 1);
        assert_eq!(
            recorded_key(&long),
            Err(UnfitKey::TooLong { bytes: long.len() })
        );
        for key in ["temp:a", "session:temp:a"] {
            assert!(matches!(recorded_key(key), Err(UnfitKey::Temporary { .. })));
        }
    }
}
