//! The key store of a command, and the master key that opens it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use recount_journal::seal::{FileKeyStore, KeyStore, MasterKey};

use super::opening::trusts_others;
use crate::failures::{Exit, Failure};
use recount::ledger::Ledger;
use recount_telling::quoted;

/// The variable with the master key, as 64 hex digits.
const MASTER_KEY: &str = "RECOUNT_MASTER_KEY";

/// The variable with the name of the file that holds the master key.
const MASTER_KEY_FILE: &str = "RECOUNT_MASTER_KEY_FILE";

/// The option for the keys of sealed sessions.
#[derive(Args, Default)]
pub(crate) struct Keys {
    /// The key store for sealed sessions; its master key is in the variable RECOUNT_MASTER_KEY, or
    /// in the file that RECOUNT_MASTER_KEY_FILE names.
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
}

impl Keys {
    /// The ledger, with the keys if `--keys` is given.
    pub(crate) fn of(&self, ledger: Ledger) -> Result<Ledger, Failure> {
        Ok(match self.opened()? {
            Some(keys) => ledger.with_keys(keys),
            None => ledger,
        })
    }

    /// The key store, if `--keys` is given.
    pub(crate) fn opened(&self) -> Result<Option<Arc<dyn KeyStore>>, Failure> {
        match &self.keys {
            Some(path) if trusts_others() => Ok(Some(Arc::new(FileKeyStore::open_insecure(
                path,
                master()?,
            )?))),
            Some(path) => Ok(Some(Arc::new(FileKeyStore::open(path, master()?)?))),
            None => Ok(None),
        }
    }

    /// The key store, if `--keys` is given. A missing one is created.
    pub(crate) fn made(&self) -> Result<Option<Arc<dyn KeyStore>>, Failure> {
        match &self.keys {
            Some(path) if trusts_others() => {
                let keys = FileKeyStore::create_insecure(path, master()?)?;
                Ok(Some(Arc::new(keys)))
            }
            Some(path) => Ok(Some(Arc::new(FileKeyStore::create(path, master()?)?))),
            None => Ok(None),
        }
    }

    /// The option quoted for a shell; empty if it was not given.
    pub(crate) fn as_option(&self) -> String {
        let option = |path: &PathBuf| format!(" --keys {}", quoted(path));
        self.keys.as_ref().map(option).unwrap_or_default()
    }
}

/// The key store of a configuration. A missing one is created.
#[cfg(feature = "serve")]
pub(crate) fn made_at(store: &Path, master: MasterKey) -> Result<Arc<dyn KeyStore>, Failure> {
    Ok(match trusts_others() {
        true => Arc::new(FileKeyStore::create_insecure(store, master)?),
        false => Arc::new(FileKeyStore::create(store, master)?),
    })
}

/// Creates a key store with the master key of a file, whatever the environment has.
#[cfg(feature = "serve")]
pub(crate) fn made_with(store: &Path, master_key_file: &Path) -> Result<(), Failure> {
    let master = MasterKey::from_file(master_key_file)?;
    match trusts_others() {
        true => drop(FileKeyStore::create_insecure(store, master)?),
        false => drop(FileKeyStore::create(store, master)?),
    }
    Ok(())
}

/// Checks the key store of a configuration. A missing one would be created.
#[cfg(feature = "serve")]
pub(crate) fn checked_at(store: &Path, master: MasterKey) -> Result<(), Failure> {
    use recount_journal::seal::Error;

    let opened = match trusts_others() {
        true => FileKeyStore::open_insecure(store, master),
        false => FileKeyStore::open(store, master),
    };
    match opened {
        Ok(_) | Err(Error::Missing { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True if the environment has the master key.
#[cfg(feature = "serve")]
pub(crate) fn environment_has_master() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    is_set(MASTER_KEY) || is_set(MASTER_KEY_FILE)
}

/// The master key of the environment.
pub(crate) fn master() -> Result<MasterKey, Failure> {
    let given = |name| std::env::var_os(name).filter(|it| !it.is_empty());
    if let Some(path) = given(MASTER_KEY_FILE) {
        return Ok(MasterKey::from_file(Path::new(&path))?);
    }
    let Some(text) = given(MASTER_KEY) else {
        let what =
            format!("expected a master key in {MASTER_KEY} or {MASTER_KEY_FILE}, found none");
        return Err(Failure::new("no-master-key", what)
            .exit(Exit::Usage)
            .advice(
                "`openssl rand -hex 32 > FILE` makes one; without it, sealed sessions cannot be \
                 read",
            ));
    };
    Ok(MasterKey::from_text(&text.to_string_lossy())?)
}
