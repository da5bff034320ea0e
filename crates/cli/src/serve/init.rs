//! The command `recount init`: a first configuration with a key store.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::config::FILE;
use crate::failures::{Exit, Failure};
use crate::files::{Force, WholeFile, destination};
use crate::journal::keys;
use crate::terminal::{Screen, Tone};
use recount_telling::{quoted, shown};

/// The file, without the keys.
const TEMPLATE: &str = include_str!("recount.toml");

/// The part of the file for sealed sessions.
const KEYS: &str = r#"
# The keys of sealed sessions, without which no one can read their records. Back up the key store
# and the master key, and keep the master key apart from the journal and from its backups.
# RECOUNT_MASTER_KEY_FILE and RECOUNT_MASTER_KEY override master_key_file.
[keys]
store = "recount-keys"
master_key_file = "recount-master-key"
"#;

/// The directory of the key store.
const STORE: &str = "recount-keys";

/// The file of the master key.
const MASTER: &str = "recount-master-key";

/// The number of bytes of a master key.
const MASTER_BYTES: usize = 32;

/// Writes a commented recount.toml, and a key store with a new master key.
///
/// Nothing is overwritten: if one of them exists, nothing is written.
#[derive(Args)]
pub(crate) struct Init {
    /// The directory; it is created if there is none.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Makes no key store: sessions are recorded in clear.
    #[arg(long)]
    clear: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Init {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let at = |name: &str| match self.directory.as_path() {
            here if here == Path::new(".") => PathBuf::from(name),
            directory => directory.join(name),
        };
        let (file, master, store) = (at(FILE), at(MASTER), at(STORE));
        destination::outside_journals(&file)?;
        vacant(&file)?;
        if !self.clear {
            vacant(&master)?;
            vacant(&store)?;
        }
        fs::create_dir_all(&self.directory)
            .map_err(|error| Failure::io(format!("create {}", shown(&self.directory)), &error))?;
        let keys = if self.clear { "" } else { KEYS };
        if !self.clear {
            write_master(&master)?;
            keys::made_with(&store, &master)?;
        }
        // The configuration is last, so that it never names what is not there.
        let mut whole = WholeFile::create(&file, Force::never())?;
        whole.write(TEMPLATE.replace("{keys}\n", keys).as_bytes())?;
        whole.finish()?;
        let made = |path: &Path| (!self.clear).then(|| path.display().to_string());
        if self.json {
            screen.json(&json!({
                "config": file.display().to_string(),
                "keys": made(&store),
                "master_key_file": made(&master),
            }))?;
            return Ok(Exit::Ok);
        }
        screen.toned(Tone::Good, &format!("Wrote {}", shown(&file)))?;
        if !self.clear {
            let (store, master) = (shown(&store), shown(&master));
            screen.line(&format!("  the key store in {store}, sealed by {master}"))?;
            screen.line("  Back up both. Without the master key, sealed sessions are lost.")?;
        }
        let config = match self.directory == Path::new(".") {
            true => String::new(),
            false => format!(" --config {}", quoted(&file)),
        };
        screen.line(&format!("Next: recount serve{config}"))?;
        Ok(Exit::Ok)
    }
}

/// Refuses a path at which there is something.
pub(super) fn vacant(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::io(format!("read {}", shown(path)), &error)),
        Ok(_) => {
            let what = format!("expected nothing at {}, found something", shown(path));
            Err(Failure::new("occupied", what)
                .advice("give another directory, or move it away; nothing was written"))
        }
    }
}

/// Writes a new master key, which only its user can read.
fn write_master(path: &Path) -> Result<(), Failure> {
    let mut secret = [0; MASTER_BYTES];
    getrandom::fill(&mut secret).map_err(|error| {
        Failure::new("io", format!("the system gives no random bytes: {error}"))
    })?;
    let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(format!("{digits}\n").as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::io(format!("write {}", shown(path)), &error))
}
