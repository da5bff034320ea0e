//! Tokens: created, listed, revoked, and recognised by their hashes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount::session::{Actor, Identity, Timestamp};
use serde::{Deserialize, Serialize};

use super::principal::Principal;
use super::role::Grant;
use super::secret::{NoRandomness, Secret, SecretHash};
use super::token_file::{self, Stamp};

/// The beginning of every token, by which scanners of source code recognise a leaked one.
pub(crate) const TOKEN_PREFIX: &str = "rct_";

/// The issuer of the identity of a token.
pub(crate) const ISSUER: &str = "recount";

/// The maximum length of a token's name, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The number of random digits of a token's id.
const ID_DIGITS: usize = 12;

/// A token to be created.
///
/// ```
/// use recount_server::{Grant, NewToken, Role};
/// let ada = NewToken::new("ada")
///     .grant(Grant::everywhere(Role::Approver).with_label("tenant", "acme"))
///     .role("finance");
/// # let _ = ada;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NewToken {
    name: String,
    grants: Vec<Grant>,
    roles: BTreeSet<String>,
    groups: BTreeSet<String>,
    expires_at: Option<Timestamp>,
}

impl NewToken {
    /// A token of this person or program. Several tokens may have the same name.
    pub fn new(name: impl Into<String>) -> NewToken {
        NewToken {
            name: name.into(),
            grants: Vec::new(),
            roles: BTreeSet::new(),
            groups: BTreeSet::new(),
            expires_at: None,
        }
    }

    /// Adds a grant.
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> NewToken {
        self.grants.push(grant);
        self
    }

    /// Adds a role of the person, as `approvers` of a tool name it.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> NewToken {
        self.roles.insert(role.into());
        self
    }

    /// Adds a group of the person, as `approvers` of a tool name it.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> NewToken {
        self.groups.insert(group.into());
        self
    }

    /// Sets the time from which the token is invalid.
    #[must_use]
    pub fn expires_at(mut self, at: Timestamp) -> NewToken {
        self.expires_at = Some(at);
        self
    }
}

/// A token in a listing. It holds neither the token nor its hash.
///
/// ```json
/// {"id":"3f9c02d1a7be","name":"ada","grants":[{"role":"approver","agents":"any","labels":{}}],
///  "roles":["finance"],"groups":[],"created_at_us":1795183387112345,"expires_at_us":null,
///  "revoked_at_us":null}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenInfo {
    /// The id, by which the token is revoked.
    pub id: String,
    /// The person or program.
    pub name: String,
    /// The grants.
    pub grants: Vec<Grant>,
    /// The roles of the person, as `approvers` of a tool name them.
    pub roles: BTreeSet<String>,
    /// The groups of the person.
    pub groups: BTreeSet<String>,
    /// The time at which the token was created.
    #[serde(rename = "created_at_us")]
    pub created_at: Timestamp,
    /// The time from which the token is invalid.
    #[serde(rename = "expires_at_us")]
    pub expires_at: Option<Timestamp>,
    /// The time at which the token was revoked.
    #[serde(rename = "revoked_at_us")]
    pub revoked_at: Option<Timestamp>,
}

impl TokenInfo {
    /// True if the token opens something at this time.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|at| now < at)
    }

    /// The principal of a request with this token.
    fn principal(&self) -> Principal {
        let mut identity = Identity::of(ISSUER);
        identity.roles.clone_from(&self.roles);
        identity.groups.clone_from(&self.groups);
        let actor = Actor::token(self.name.clone()).with_identity(identity);
        Principal::new(actor, self.grants.clone())
    }
}

/// A token in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredToken {
    #[serde(flatten)]
    info: TokenInfo,
    sha256: SecretHash,
}

/// The failure of an operation on tokens. No text of it has a token or a hash.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file could not be read, locked or written.
    #[error("failed to {doing} {}: {what}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        what: String,
    },
    /// The file is no token file.
    #[error("{} cannot be used: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// Other users can read or write the file.
    #[error(
        "{} has the mode {mode:03o}, so other users can use it: run `chmod 600` on it",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file belongs to another user, and this process is root.
    #[error(
        "{} belongs to the user {owner}, who can add tokens to it: run `chown root` on it",
        path.display()
    )]
    NotYours {
        /// The file.
        path: PathBuf,
        /// The id of its owner.
        owner: u32,
    },
    /// The name of a new token is unfit.
    #[error("expected a name of 1 to {NAME_BYTES_MAX} bytes, found {bytes}")]
    UnfitName {
        /// The length of the given name.
        bytes: usize,
    },
    /// A new token without a grant would open nothing.
    #[error("expected at least one grant, found none")]
    NoGrant,
    /// No token has this id.
    #[error("there is no token {id:?}")]
    UnknownToken {
        /// The given id.
        id: String,
    },
    /// The system gave no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

impl TokenError {
    pub(super) fn io(doing: &'static str, path: &Path, error: &io::Error) -> TokenError {
        TokenError::Io {
            doing,
            path: path.to_owned(),
            what: error.to_string(),
        }
    }
}

/// The tokens of a file.
///
/// Several processes may use one file. A service sees each change with its next request, so a
/// revoked token opens nothing any more. A file that became invalid leaves the known tokens in
/// force, except that nothing new is added.
///
/// ```
/// use recount::session::Timestamp;
/// use recount_server::{Grant, NewToken, Role, TokenStore};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("tokens.json");
/// let store = TokenStore::open(&path)?;
/// let viewer = NewToken::new("ada").grant(Grant::everywhere(Role::Viewer));
/// let (token, info) = store.create(viewer, Timestamp(1))?;
/// assert!(token.expose().starts_with("rct_"));
/// store.revoke(&info.id, Timestamp(2))?;
/// assert!(!store.list()?[0].is_valid(Timestamp(3)));
/// # Ok::<(), recount_server::TokenError>(())
/// ```
#[derive(Debug)]
pub struct TokenStore {
    path: PathBuf,
    known: Mutex<Known>,
}

/// The tokens as far as they were read.
#[derive(Debug)]
struct Known {
    tokens: Vec<StoredToken>,
    stamp: Stamp,
}

impl TokenStore {
    /// The issuer of the identities of its tokens.
    pub const ISSUER: &str = ISSUER;

    /// Opens the file. A missing file has no token, and the first new token creates it.
    ///
    /// # Errors
    /// If the file cannot be read, is no token file, or if other users can use it.
    pub fn open(path: impl Into<PathBuf>) -> Result<TokenStore, TokenError> {
        let path = path.into();
        let (tokens, stamp) = token_file::read(&path)?;
        let known = Mutex::new(Known { tokens, stamp });
        Ok(TokenStore { path, known })
    }

    /// Creates a token. It is returned once; the file has only its hash.
    ///
    /// # Errors
    /// If the name is unfit, the token has no grant, or the file cannot be written.
    pub fn create(&self, new: NewToken, now: Timestamp) -> Result<(Secret, TokenInfo), TokenError> {
        let bytes = new.name.len();
        if new.name.trim().is_empty() || bytes > NAME_BYTES_MAX {
            return Err(TokenError::UnfitName { bytes });
        }
        if new.grants.is_empty() {
            return Err(TokenError::NoGrant);
        }
        let secret = Secret::generate(TOKEN_PREFIX)?;
        let id = new_id()?;
        let info = TokenInfo {
            id,
            name: new.name,
            grants: new.grants,
            roles: new.roles,
            groups: new.groups,
            created_at: now,
            expires_at: new.expires_at,
            revoked_at: None,
        };
        let stored = StoredToken {
            info: info.clone(),
            sha256: SecretHash::of(secret.expose()),
        };
        self.change(|tokens| {
            tokens.push(stored);
            Ok(())
        })?;
        Ok((secret, info))
    }

    /// Returns all tokens, also expired and revoked ones, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list(&self) -> Result<Vec<TokenInfo>, TokenError> {
        let (tokens, _) = token_file::read(&self.path)?;
        Ok(tokens.into_iter().map(|it| it.info).collect())
    }

    /// Revokes a token by its id. A second revocation changes nothing.
    ///
    /// # Errors
    /// [`TokenError::UnknownToken`]; if the file cannot be written.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<TokenInfo, TokenError> {
        self.change(|tokens| {
            let named = tokens.iter_mut().find(|it| it.info.id == id);
            let token = named.ok_or_else(|| TokenError::UnknownToken { id: id.to_owned() })?;
            token.info.revoked_at.get_or_insert(now);
            Ok(token.info.clone())
        })
    }

    /// Reads the file anew. An invalid file leaves the known tokens in force.
    ///
    /// # Errors
    /// The fault of the file.
    pub fn reload(&self) -> Result<(), TokenError> {
        let (tokens, stamp) = token_file::read(&self.path)?;
        *self.known() = Known { tokens, stamp };
        Ok(())
    }

    /// The principal of a token that is valid now.
    pub(super) fn recognise(&self, token: &str, now: Timestamp) -> Option<Principal> {
        self.recognise_by_hash(SecretHash::of(token), now)
    }

    /// The principal of the token with this hash, if it is valid now.
    pub(super) fn recognise_by_hash(&self, hash: SecretHash, now: Timestamp) -> Option<Principal> {
        self.refresh();
        let known = self.known();
        // Every hash is compared, so the time tells nothing about the tokens before a match.
        let mut found = None;
        for stored in &known.tokens {
            if stored.sha256.matches(&hash) {
                found = Some(&stored.info);
            }
        }
        let valid = found.filter(|info| info.is_valid(now));
        valid.map(TokenInfo::principal)
    }

    /// Reads the file anew if it has changed.
    fn refresh(&self) {
        let stamp = Stamp::now(&self.path);
        if self.known().stamp == stamp {
            return;
        }
        if let Err(error) = self.reload() {
            tracing::warn!(%error, "the tokens stay as they were");
            // The fault is reported once for each version of the file.
            self.known().stamp = stamp;
        }
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<StoredToken>) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        let _lock = token_file::lock(&self.path)?;
        let (mut tokens, _) = token_file::read(&self.path)?;
        let changed = change(&mut tokens)?;
        token_file::write(&self.path, tokens)?;
        self.reload()?;
        Ok(changed)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // The tokens are replaced in one step, so a panic elsewhere leaves a whole list.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new id: random, and no part of the token.
fn new_id() -> Result<String, TokenError> {
    let mut bytes = [0; ID_DIGITS / 2];
    getrandom::fill(&mut bytes)
        .map_err(|error| NoRandomness::of(&error))
        .map_err(TokenError::from)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
