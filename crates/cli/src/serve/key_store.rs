//! The key store of `[keys]`, and its master key.

use std::sync::Arc;

use super::secret_file::expect_private;
use crate::config::{Config, KeySettings, Mistake, wrong};
use crate::failures::Failure;
use crate::journal::keys;
use crate::journal::opening::trusts_others;
use recount_journal::seal::{KeyStore, MasterKey};

/// Opens the key store, if there is one. A missing store is created.
pub(super) fn opened(config: &Config) -> Result<Option<Arc<dyn KeyStore>>, Failure> {
    let Some(settings) = &config.settings.keys else {
        return Ok(None);
    };
    let master = master(settings).map_err(|mistake| wrong(config.name(), &[mistake]))?;
    keys::made_at(&settings.store.value, master).map(Some)
}

/// The mistake of `[keys]`, if there is one.
pub(super) fn mistake(settings: &KeySettings) -> Option<Mistake> {
    let master = match master(settings) {
        Ok(master) => master,
        Err(mistake) => return Some(mistake),
    };
    let checked = keys::checked_at(&settings.store.value, master);
    checked.err().map(|it| settings.store.mistake(it.what))
}

/// The master key of the environment, or else that of the file.
fn master(settings: &KeySettings) -> Result<MasterKey, Mistake> {
    let file = settings.master_key_file.as_ref();
    let Some(file) = file.filter(|_| !keys::environment_has_master()) else {
        return keys::master().map_err(|failure| settings.store.mistake(failure.what));
    };
    if !trusts_others() {
        expect_private(file, "read sealed sessions")?;
    }
    MasterKey::from_file(&file.value).map_err(|error| file.mistake(error.to_string()))
}
