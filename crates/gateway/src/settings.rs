//! The settings of a gateway: its agent, the vendor behind it, and the limits of holding a call.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a gateway.
///
/// ```
/// use std::time::Duration;
/// use recount_gateway::{Settings, Upstream};
/// let settings = Settings {
///     upstream: Upstream::Url("ws://127.0.0.1:8787".to_owned()),
///     max_hold: Some(Duration::from_secs(30 * 60)),
///     ..Settings::of_agent("support")
/// };
/// assert_eq!(settings.hold_inline, Some(Settings::HOLD_INLINE));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The agent of clients that name none.
    pub agent: String,
    /// The service to which messages are relayed.
    pub upstream: Upstream,
    /// The credentials towards the vendor.
    pub credentials: Credentials,
    /// The time for which a held call may block the model, before the model is told to go on.
    /// `None`: as the policy of the tool says.
    pub hold_inline: Option<Duration>,
    /// The time after which a held call expires without an answer. `None`: as the policy of the
    /// tool says.
    pub max_hold: Option<Duration>,
    /// True if calls that no policy names pass while the journal cannot be written. The gap is
    /// recorded as soon as writing works again.
    pub pass_observed: bool,
    /// True if nothing is held: the journal has what a policy would have held.
    pub dry_run: bool,
    /// The maximum number of clients at the same time.
    pub connections: usize,
    /// The time for which a session without a client stays open.
    pub keep: Duration,
    /// The file of the index that finds the session of a handle or header after a restart. `None`:
    /// the index is in memory only.
    pub index: Option<PathBuf>,
}

impl Settings {
    /// The default of [`hold_inline`](Settings::hold_inline): a caller waits this long in silence
    /// without hanging up.
    pub const HOLD_INLINE: Duration = Duration::from_secs(10);

    /// The default of [`connections`](Settings::connections).
    pub const CONNECTIONS: usize = 512;

    /// The default of [`keep`](Settings::keep): vendors keep resumption handles for two hours.
    pub const KEEP: Duration = Duration::from_secs(2 * 60 * 60);

    /// Settings with the vendor by path, the credentials of the clients, and the defaults.
    #[must_use]
    pub fn of_agent(agent: impl Into<String>) -> Settings {
        Settings {
            agent: agent.into(),
            upstream: Upstream::Vendor,
            credentials: Credentials::PassThrough,
            hold_inline: Some(Settings::HOLD_INLINE),
            max_hold: None,
            pass_observed: false,
            dry_run: false,
            connections: Settings::CONNECTIONS,
            keep: Settings::KEEP,
            index: None,
        }
    }
}

/// The service to which messages are relayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// The vendor's public service, chosen by the path of the request.
    Vendor,
    /// The `http`, `https`, `ws` or `wss` URL of a service. The path of the request is appended,
    /// without the prefix of the gateway.
    Url(String),
}

/// The credentials towards the vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Those of the client are sent on. They are recorded nowhere.
    PassThrough,
    /// The client has a token of the gateway, and the gateway has the vendor's key.
    Tokens {
        /// The key that is sent to the vendor in place of the token.
        vendor_key: VendorKey,
    },
}

/// A key of the vendor. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct VendorKey(String);

impl VendorKey {
    /// A key with this text. White space around it is removed.
    ///
    /// ```
    /// let key = recount_gateway::VendorKey::new("AIza-secret\n");
    /// assert_eq!((key.expose(), format!("{key:?}").as_str()), ("AIza-secret", "VendorKey(..)"));
    /// ```
    #[must_use]
    pub fn new(text: &str) -> VendorKey {
        VendorKey(text.trim().to_owned())
    }

    /// The text of the key, to be sent to the vendor.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VendorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VendorKey(..)")
    }
}
