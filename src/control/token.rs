//! What an operator must show: a token that is new with every start, in a file that only its own user can read.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::error::ConnectError;

/// The file of the token, in the journal's directory.
pub(super) const TOKEN_FILE: &str = "CONTROL.token";

/// How a token is shown, in the header `Authorization`.
const SCHEME: &str = "Bearer ";

/// A token.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// A token that nobody can foresee: two random UUIDs, 244 random bits.
    pub(super) fn random() -> Token {
        let halves = [Uuid::new_v4(), Uuid::new_v4()];
        Token(halves.iter().map(|it| it.simple().to_string()).collect())
    }

    /// As it stands in a header.
    pub(super) fn shown(&self) -> String {
        format!("{SCHEME}{}", self.0)
    }

    /// Whether a header shows this token. How long that takes does not say how much of it is right.
    pub(super) fn is_shown_by(&self, header: &[u8]) -> bool {
        let Some(shown) = header.strip_prefix(SCHEME.as_bytes()) else {
            return false;
        };
        let expected = self.0.as_bytes();
        let pairs = expected.iter().zip(shown);
        let differing = pairs.fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
        shown.len() == expected.len() && differing == 0
    }

    /// Writes the token where its user alone can read it.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        replace(directory, TOKEN_FILE, &self.0)
    }

    /// Reads the token of a journal's directory.
    pub(super) fn read(directory: &Path) -> Result<Token, ConnectError> {
        let path = directory.join(TOKEN_FILE);
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        #[cfg(unix)]
        if let Some(mode) = exposed(&path) {
            return Err(ConnectError::TokenExposed { path, mode });
        }
        Ok(Token(text.trim().to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// Puts a file into a directory, whole or not at all, for its user alone.
pub(super) fn replace(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let draft = directory.join(format!("{name}.new"));
    // What a killed process left goes first: the draft must be made here, not be somebody's link to elsewhere.
    match fs::remove_file(&draft) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    drop(file);
    fs::rename(&draft, directory.join(name))
}

/// The mode of a file that others than its user can read or write.
#[cfg(unix)]
fn exposed(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let mode = fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Why a file of a service cannot be read.
pub(super) fn unreadable(path: &Path, error: io::Error) -> ConnectError {
    let path: PathBuf = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => ConnectError::NotOffered,
        io::ErrorKind::PermissionDenied => ConnectError::NotYours {
            owner: owner(&path),
            path,
        },
        _ => ConnectError::Unreadable {
            path,
            problem: error.to_string(),
        },
    }
}

/// Whose file it is, as far as the system says.
#[cfg(unix)]
fn owner(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(path) {
        Ok(metadata) => {
            let uid = metadata.uid();
            super::os_user::named(uid).unwrap_or_else(|| format!("the user {uid}"))
        }
        Err(_) => "another user".to_owned(),
    }
}

#[cfg(not(unix))]
fn owner(_path: &Path) -> String {
    "another user".to_owned()
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = Token::random();
        let shown = token.shown();
        assert_eq!(shown.len(), "Bearer ".len() + 64);
        assert!(token.is_shown_by(shown.as_bytes()));
        let mut altered = shown.clone().into_bytes();
        *altered.last_mut().unwrap() ^= 1;
        assert!(!token.is_shown_by(&altered));
        let longer = format!("{shown}0");
        for other in [
            &shown[..shown.len() - 1],
            &longer,
            &shown[7..],
            "Bearer ",
            "",
            &Token::random().shown(),
        ] {
            assert!(!token.is_shown_by(other.as_bytes()), "{other:?}");
        }
        assert_eq!(format!("{token:?}"), "hidden");
    }

    #[test]
    #[cfg(unix)]
    fn whoever_may_not_read_the_file_is_told_whose_it_is() {
        let directory = tempfile::tempdir().unwrap();
        Token::random().write(directory.path()).unwrap();
        let path = directory.path().join(TOKEN_FILE);
        assert_eq!(exposed(&path), None);
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let ConnectError::NotYours { owner, .. } = unreadable(&path, denied) else {
            unreachable!("it may not be read")
        };
        assert_eq!(Some(owner), crate::control::os_user::current());
    }
}
