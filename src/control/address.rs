//! The control file: the address of a service, and the secrets for its operators. The file is in
//! the directory of the service's journal.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ConnectError;
use super::file::{self, unusable};
use super::token::{Proof, Token};

/// The name of the control file.
const FILE: &str = "CONTROL";

/// The control files of this and earlier versions of Recount, in the journal's directory.
///
/// A killed service leaves them behind, and the next service removes them. The journal ignores
/// them.
pub const CONTROL_FILES: [&str; 4] = [FILE, "CONTROL.new", "CONTROL.token", "CONTROL.token.new"];

const FORMAT: &str = "recount-control";
const VERSION: u32 = 2;

/// The address on which a service listens, and its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// A socket address on the loopback interface.
    pub address: SocketAddr,
    /// The id of the process that listens.
    pub pid: u32,
}

impl Address {
    pub(super) fn of_this_process(address: SocketAddr) -> Address {
        Address {
            address,
            pid: std::process::id(),
        }
    }
}

/// The address of a service, and the secrets by which it and its operators authenticate each other.
///
/// One file holds all of it and is replaced atomically, so a client shows a token only at the
/// address of the same service. A client that read the file before the service was replaced sends
/// the old token to the old address. The old token is no longer valid.
///
/// ```json
/// {"format":"recount-control","version":2,"address":"127.0.0.1:41234","pid":4711,"token":"5f3a…",
///  "proof":"c07e…"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) address: Address,
    pub(super) token: Token,
    pub(super) proof: Proof,
}

/// The format and version of the file, which all versions of Recount write.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    address: Address,
    token: Token,
    proof: Proof,
}

impl Offer {
    /// Creates an offer for this process, with new secrets.
    pub(super) fn of_this_process(address: SocketAddr) -> Offer {
        Offer {
            address: Address::of_this_process(address),
            token: Token::random(),
            proof: Proof::random(),
        }
    }

    /// Writes the file atomically.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let written = Written {
            head: Head {
                format: FORMAT.to_owned(),
                version: VERSION,
            },
            address: self.address.clone(),
            token: self.token.clone(),
            proof: self.proof.clone(),
        };
        file::replace(directory, FILE, &serde_json::to_string(&written)?)
    }

    /// Removes the file if this process wrote it. Another process may have opened the journal and
    /// replaced the file since.
    pub(super) fn remove(&self, directory: &Path) {
        let path = directory.join(FILE);
        let found = file::read(&path).and_then(|found| Offer::of(&path, &found.text));
        if found.is_ok_and(|it| it == *self) {
            // If the file remains, operators learn that the service is gone.
            let _ = file::remove(&path);
        }
    }

    /// Reads the offer of the service that has a journal open.
    pub(super) fn read(directory: &Path) -> Result<Offer, ConnectError> {
        let path = directory.join(FILE);
        let found = file::read(&path)?;
        #[cfg(unix)]
        if let Some(mode) = found.exposed() {
            return Err(ConnectError::TokenExposed { path, mode });
        }
        Offer::of(&path, &found.text)
    }

    fn of(path: &Path, text: &str) -> Result<Offer, ConnectError> {
        let malformed = |error: serde_json::Error| unusable(path, error.to_string());
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if head.format != FORMAT {
            let problem = format!("expected {FORMAT}, found {}", head.format);
            return Err(unusable(path, problem));
        }
        if head.version != VERSION {
            let problem = format!(
                "another version of recount wrote it: expected {FORMAT} {VERSION}, found {FORMAT} {}",
                head.version
            );
            return Err(unusable(path, problem));
        }
        let written: Written = serde_json::from_str(text).map_err(malformed)?;
        let address = written.address;
        // The token must not leave this machine, whatever the file says.
        if !address.address.ip().is_loopback() {
            let found = address.address;
            let problem = format!("expected an address of this machine, found {found}");
            return Err(unusable(path, problem));
        }
        Ok(Offer {
            address,
            token: written.token,
            proof: written.proof,
        })
    }
}

/// Removes the control files of an earlier service.
///
/// The process that now holds the journal calls this before another program can bind the old
/// address.
///
/// # Errors
/// An I/O error if a file cannot be removed.
pub(crate) fn withdraw(directory: &Path) -> io::Result<()> {
    CONTROL_FILES
        .iter()
        .try_for_each(|name| file::remove(&directory.join(name)))
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::fs;

    use super::*;

    fn own() -> Offer {
        Offer::of_this_process("127.0.0.1:4711".parse().unwrap())
    }

    #[test]
    fn a_token_is_shown_on_this_machine_only() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let own = own();
        own.write(place).unwrap();
        assert_eq!(Offer::read(place).unwrap(), own);
        let text = fs::read_to_string(place.join(FILE)).unwrap();
        for (other, told) in [
            (text.replace("127.0.0.1", "192.0.2.1"), "of this machine"),
            (
                text.replace("\"version\":2", "\"version\":1"),
                "another version",
            ),
            (
                text.replace("recount-control", "something"),
                "expected recount-control",
            ),
            (text.replace("\"token\"", "\"tokens\""), "token"),
            ("{}".to_owned(), "format"),
        ] {
            fs::write(place.join(FILE), other).unwrap();
            match Offer::read(place) {
                Err(ConnectError::Unreadable { problem, .. }) => {
                    assert!(problem.contains(told), "{problem}");
                }
                refused => unreachable!("{refused:?}"),
            }
        }
    }

    #[test]
    fn the_files_of_an_older_version_are_refused_by_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let older =
            r#"{"format":"recount-control","version":1,"address":"127.0.0.1:4711","pid":1}"#;
        file::replace(place, FILE, older).unwrap();
        file::replace(place, "CONTROL.token", &"0".repeat(64)).unwrap();
        let refused = Offer::read(place).unwrap_err().to_string();
        let told = "another version of recount wrote it: expected recount-control 2, found recount-control 1";
        assert!(refused.contains(told), "{refused}");
        withdraw(place).unwrap();
        assert_eq!(fs::read_dir(place).unwrap().count(), 0);
    }

    #[test]
    fn file_of_another_process_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let (own, next) = (own(), own());
        own.write(place).unwrap();
        next.write(place).unwrap();
        own.remove(place);
        assert_eq!(Offer::read(place).unwrap(), next);
        next.remove(place);
        assert!(matches!(Offer::read(place), Err(ConnectError::NotOffered)));
        assert_eq!(fs::read_dir(place).unwrap().count(), 0);
    }
}
