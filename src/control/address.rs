//! Where a service listens for its operators, in a file beside its journal.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ConnectError;
use super::token::{TOKEN_FILE, Token, replace, unreadable};

/// The file of the address, in the journal's directory.
const ADDRESS_FILE: &str = "CONTROL";

/// The files that a service with a control API has beside its journal. One that was killed leaves them; they mean nothing
/// to the journal, and the next service replaces them.
pub const CONTROL_FILES: [&str; 4] = [ADDRESS_FILE, TOKEN_FILE, "CONTROL.new", "CONTROL.token.new"];

const FORMAT: &str = "recount-control";
const VERSION: u32 = 1;

/// Where a service listens.
///
/// ```json
/// {"format":"recount-control","version":1,"address":"127.0.0.1:41234","pid":4711}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    format: String,
    version: u32,
    /// On the loopback interface.
    pub address: SocketAddr,
    /// The process that listens.
    pub pid: u32,
}

impl Address {
    pub(super) fn of_this_process(address: SocketAddr) -> Address {
        Address {
            format: FORMAT.to_owned(),
            version: VERSION,
            address,
            pid: std::process::id(),
        }
    }

    /// Writes the token, and then where to show it.
    pub(super) fn write(&self, directory: &Path, token: &Token) -> io::Result<()> {
        token.write(directory)?;
        replace(directory, ADDRESS_FILE, &serde_json::to_string(self)?)
    }

    /// Removes what this process wrote; another one that has the journal by now may have replaced it.
    pub(super) fn remove(&self, directory: &Path) {
        if Address::read(directory).is_ok_and(|it| it == *self) {
            // The files say where nobody listens any more; should they stay, an operator is told so.
            let _ = fs::remove_file(directory.join(ADDRESS_FILE));
            let _ = fs::remove_file(directory.join(TOKEN_FILE));
        }
    }

    /// Reads where the service of a journal listens.
    pub(super) fn read(directory: &Path) -> Result<Address, ConnectError> {
        let path = directory.join(ADDRESS_FILE);
        let unusable = |problem: String| ConnectError::Unreadable {
            path: path.clone(),
            problem,
        };
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        let address: Address =
            serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        if address.format != FORMAT || address.version != VERSION {
            return Err(unusable(format!(
                "expected {FORMAT} {VERSION}, found {} {}",
                address.format, address.version
            )));
        }
        // The token must not go to another machine, whoever wrote the file.
        if !address.address.ip().is_loopback() {
            return Err(unusable(format!(
                "expected an address of this machine, found {}",
                address.address
            )));
        }
        Ok(address)
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_on_this_machine_only() {
        let directory = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(directory.path().join(ADDRESS_FILE), text).unwrap();
            Address::read(directory.path())
        };
        let own = Address::of_this_process("127.0.0.1:4711".parse().unwrap());
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(read(&text).unwrap(), own);
        for other in [
            text.replace("127.0.0.1", "192.0.2.1"),
            text.replace("\"version\":1", "\"version\":2"),
            text.replace("recount-control", "something"),
            "{}".to_owned(),
        ] {
            let refused = read(&other);
            assert!(
                matches!(refused, Err(ConnectError::Unreadable { .. })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn what_another_process_wrote_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let own = Address::of_this_process("127.0.0.1:4711".parse().unwrap());
        let next = Address {
            pid: own.pid + 1,
            ..own.clone()
        };
        own.write(place, &Token::random()).unwrap();
        next.write(place, &Token::random()).unwrap();
        own.remove(place);
        assert_eq!(Address::read(place).unwrap(), next);
        next.remove(place);
        assert!(matches!(
            Address::read(place),
            Err(ConnectError::NotOffered)
        ));
        assert_eq!(fs::read_dir(place).unwrap().count(), 0);
    }
}
