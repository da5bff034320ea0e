//! Where a service listens for its operators, and what must be shown there: in one file beside its
//! journal.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ConnectError;
use super::file::{self, unusable};
use super::token::{Proof, Token};

/// The file, in the journal's directory.
const FILE: &str = "CONTROL";

/// The files that a service with a control API has beside its journal, or had in another version of
/// Recount. One that was killed leaves them; they mean nothing to the journal, and the next service
/// removes them.
pub const CONTROL_FILES: [&str; 4] = [FILE, "CONTROL.new", "CONTROL.token", "CONTROL.token.new"];

const FORMAT: &str = "recount-control";
const VERSION: u32 = 2;

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// On the loopback interface.
    pub address: SocketAddr,
    /// The process that listens.
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

/// Where a service listens, and what it and its operators prove to each other there.
///
/// All of it stands in one file, so a token is never shown where another service listened: whoever
/// reads the file before that service is replaced has its old address with its old token, which
/// opens nothing any more.
///
/// ```json
/// {"format":"recount-control","version":2,"address":"127.0.0.1:41234","pid":4711,"token":"5f3a…","proof":"c07e…"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) address: Address,
    pub(super) token: Token,
    pub(super) proof: Proof,
}

/// Which program wrote the file, as every version of it says.
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
    /// An offer of this process, with secrets that are new.
    pub(super) fn of_this_process(address: SocketAddr) -> Offer {
        Offer {
            address: Address::of_this_process(address),
            token: Token::random(),
            proof: Proof::random(),
        }
    }

    /// Writes it in one piece.
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

    /// Removes what this process wrote; another one that has the journal by now may have replaced
    /// it.
    pub(super) fn remove(&self, directory: &Path) {
        let path = directory.join(FILE);
        let found = file::read(&path).and_then(|found| Offer::of(&path, &found.text));
        if found.is_ok_and(|it| it == *self) {
            // It says where nobody listens any more; should it stay, an operator is told so.
            let _ = file::remove(&path);
        }
    }

    /// Reads what the service of a journal offers.
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
        // The token must not go to another machine, whoever wrote the file.
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

/// Takes back whatever an earlier service offered, which is gone: whoever has the journal now calls
/// this before anybody could take its old address for that of the new one.
///
/// # Errors
/// Where the system does not let it.
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
    fn what_another_process_wrote_is_not_removed() {
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
