//! The settings of `[gateway]`: the addresses of a gateway, the vendor behind it, and its limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use recount::session::OnExpiry;
use serde_json::{Value, json};

use crate::config::mistake::{Mistake, Place};
use crate::config::reading::{self, address};
use crate::config::schema::{self, duration, flag, number, table, text};
use crate::config::section::{Given, Section, instead_of};
use crate::config::settings::{AgentSettings, Settings, TlsSettings};

/// The terms of calls that a gateway holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::config) struct HeldTerms {
    /// The time for which a call may block the model, before it is acknowledged.
    pub(in crate::config) inline: Duration,
    /// The time after which a question expires.
    pub(in crate::config) at_most: Option<Duration>,
    /// The effect of an expiry after that time.
    pub(in crate::config) on_expiry: Option<OnExpiry>,
    /// True if nothing is held, and the record has what would have been.
    pub(in crate::config) dry_run: bool,
}

/// The keys of `[gateway]`.
pub(in crate::config) const GATEWAY: [&str; 15] = [
    "listen",
    "tls_listen",
    "tls",
    "agent",
    "upstream",
    "credentials",
    "vendor_key_env",
    "vendor_key_file",
    "hold_inline",
    "max_hold",
    "on_expiry",
    "pass_observed",
    "dry_run",
    "connections",
    "keep",
];

/// The port of a gateway, behind that of the service.
const PORT: u16 = 7879;

/// The agent of a gateway that names none. It is there without a section of its own.
const AGENT: &str = "gateway";

/// A gateway.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GatewaySettings {
    /// The address for clients without encryption. A TLS handshake is answered, too, if there is a
    /// certificate.
    pub(crate) listen: Option<Given<SocketAddr>>,
    /// The address for encrypted clients alone.
    pub(crate) tls_listen: Option<Given<SocketAddr>>,
    /// The certificate, if it is another one than that of the service.
    pub(crate) tls: TlsSettings,
    /// The agent of clients that name none.
    pub(crate) agent: Option<Given<String>>,
    /// The URL of the service behind the gateway. Without one, the vendor's.
    pub(crate) upstream: Option<Given<String>>,
    pub(crate) credentials: Option<Given<CredentialsGiven>>,
    /// The variable with the vendor's key.
    pub(crate) vendor_key_env: Option<Given<String>>,
    /// The file with the vendor's key.
    pub(crate) vendor_key_file: Option<Given<PathBuf>>,
    /// The time for which a held call may block the model.
    pub(crate) hold_inline: Option<Given<Duration>>,
    /// The time after which a held call expires.
    pub(crate) max_hold: Option<Given<Duration>>,
    /// The effect of an expiry after that time.
    pub(crate) on_expiry: Option<Given<OnExpiryGiven>>,
    /// True if calls without a policy pass while the journal cannot be written.
    pub(crate) pass_observed: Option<Given<bool>>,
    /// True if nothing is held.
    pub(crate) dry_run: Option<Given<bool>>,
    /// The maximum number of clients.
    pub(crate) connections: Option<Given<u32>>,
    /// The time for which a session without a client stays open.
    pub(crate) keep: Option<Given<Duration>>,
}

/// The credentials of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CredentialsGiven {
    /// Those of the vendor, which are sent on.
    PassThrough,
    /// Tokens of the service.
    Tokens,
}

impl CredentialsGiven {
    /// The words for them.
    pub(in crate::config) const EXPECTED: &str = "\"pass_through\" or \"tokens\"";
}

impl FromStr for CredentialsGiven {
    type Err = String;

    fn from_str(text: &str) -> Result<CredentialsGiven, String> {
        match text {
            "pass_through" => Ok(CredentialsGiven::PassThrough),
            "tokens" => Ok(CredentialsGiven::Tokens),
            _ => Err(format!("expected {}", CredentialsGiven::EXPECTED)),
        }
    }
}

/// The fate of a call that no person answers in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OnExpiryGiven(pub(crate) OnExpiry);

impl OnExpiryGiven {
    pub(in crate::config) const EXPECTED: &str = "\"deny\" or \"allow\"";
}

impl FromStr for OnExpiryGiven {
    type Err = String;

    fn from_str(text: &str) -> Result<OnExpiryGiven, String> {
        match text {
            "deny" => Ok(OnExpiryGiven(OnExpiry::Deny)),
            "allow" => Ok(OnExpiryGiven(OnExpiry::Allow)),
            _ => Err(format!("expected {}", OnExpiryGiven::EXPECTED)),
        }
    }
}

/// Reads `[gateway]`.
pub(in crate::config) fn gateway(section: &Section<'_>) -> GatewaySettings {
    section.only(&GATEWAY);
    let credentials = section.value("credentials", CredentialsGiven::EXPECTED, |node| {
        node.text()?.parse().ok()
    });
    let on_expiry = section.value("on_expiry", OnExpiryGiven::EXPECTED, |node| {
        node.text()?.parse().ok()
    });
    let tls = section.section("tls").map(|it| reading::tls(&it));
    GatewaySettings {
        listen: section.value("listen", reading::ADDRESS, address),
        tls_listen: section.value("tls_listen", reading::ADDRESS, address),
        tls: tls.unwrap_or_default(),
        agent: section.text("agent"),
        upstream: section.text("upstream"),
        credentials,
        vendor_key_env: section.text("vendor_key_env"),
        vendor_key_file: section.path("vendor_key_file"),
        hold_inline: section.positive("hold_inline"),
        max_hold: section.positive("max_hold"),
        on_expiry,
        pass_observed: section.flag("pass_observed"),
        dry_run: section.flag("dry_run"),
        connections: section.number("connections", 1),
        keep: section.positive("keep"),
    }
}

impl GatewaySettings {
    /// The agent of clients that name none.
    pub(crate) fn agent_name(&self) -> &str {
        self.agent.as_ref().map_or(AGENT, |it| it.value.as_str())
    }

    /// The address for clients without encryption.
    pub(crate) fn plain(&self) -> SocketAddr {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        self.listen.as_ref().map_or(default, |it| it.value)
    }

    /// True if the settings are the same but for the certificate, which may change.
    pub(crate) fn equals_but_for_certificate(&self, other: &GatewaySettings) -> bool {
        let but_for_it = |it: &GatewaySettings| GatewaySettings {
            tls: TlsSettings::default(),
            ..it.clone()
        };
        but_for_it(self) == but_for_it(other)
    }
}

impl Settings {
    /// Adds the agent that a gateway has by itself, unless the settings name or describe one.
    pub(crate) fn complete_gateway(&mut self) {
        if self.gateway.as_ref().is_some_and(|it| it.agent.is_none()) {
            self.add_agent(AGENT);
        }
    }

    /// Sets the agent of clients that name none. It needs no section if there is no other one.
    pub(crate) fn name_gateway_agent(&mut self, agent: Given<String>) {
        if self.agents.keys().all(|it| it == AGENT) {
            self.add_agent(&agent.value);
        }
        self.gateway.get_or_insert_default().agent = Some(agent);
    }

    /// Sets the policies of the agent of clients that name none.
    pub(crate) fn set_gateway_policies(&mut self, file: Given<PathBuf>) {
        let Some(gateway) = &self.gateway else { return };
        if let Some(agent) = self.agents.get_mut(gateway.agent_name()) {
            agent.policies = Some(file);
        }
    }

    /// Adds an agent without settings, unless there is one of this name.
    fn add_agent(&mut self, name: &str) {
        let bare = || AgentSettings::bare(Place::named("the gateway"));
        self.agents.entry(name.to_owned()).or_insert_with(bare);
    }

    /// True if clients declare tools of this agent: there is a gateway, and the agent has no model
    /// of its own.
    pub(in crate::config) fn is_for_clients(&self, agent: &AgentSettings) -> bool {
        self.gateway.is_some() && agent.model.is_none()
    }

    /// The terms of held calls of an agent whose sessions clients have.
    pub(in crate::config) fn held(&self, agent: &AgentSettings) -> Option<HeldTerms> {
        let given = self.gateway.as_ref()?;
        self.is_for_clients(agent).then(|| HeldTerms {
            inline: given
                .hold_inline
                .as_ref()
                .map_or(recount_gateway::Settings::HOLD_INLINE, |it| it.value),
            at_most: given.max_hold.as_ref().map(|it| it.value),
            on_expiry: given.on_expiry.as_ref().map(|it| it.value.0),
            dry_run: given.dry_run.as_ref().is_some_and(|it| it.value),
        })
    }

    /// The certificate of the gateway: its own, or else that of the service.
    pub(crate) fn gateway_tls(&self) -> &TlsSettings {
        let own = self.gateway.as_ref().map(|it| &it.tls);
        own.filter(|it| it.is_given()).unwrap_or(&self.tls)
    }

    /// The mistakes of `[gateway]`, as far as the settings alone show them.
    pub(in crate::config) fn gateway_mistakes(&self, service: SocketAddr) -> Vec<Mistake> {
        let Some(given) = &self.gateway else {
            return Vec::new();
        };
        let mut mistakes = self.agent_mistakes(given);
        mistakes.extend(self.address_mistakes(given, service));
        mistakes.extend(key_mistakes(given));
        mistakes.extend(expiry_mistake(given));
        mistakes
    }

    fn agent_mistakes(&self, given: &GatewaySettings) -> Vec<Mistake> {
        let Some(agent) = self.agents.get(given.agent_name()) else {
            let known: Vec<&str> = self.agents.keys().map(String::as_str).collect();
            let unknown = given.agent.iter().map(|it| {
                let instead = instead_of(&it.value, &known);
                it.mistake(format!("there is no agent {:?}; {instead}", it.value))
            });
            return unknown.collect();
        };
        let own = [
            &agent.model,
            &agent.endpoint,
            &agent.api_version,
            &agent.instruction,
        ];
        let own = own.into_iter().flatten();
        let mistakes = own.map(|it| {
            it.mistake(
                "clients of the gateway bring it, so expected none for the agent of [gateway]; \
                 the URL of another service is upstream in [gateway]",
            )
        });
        mistakes.collect()
    }

    fn address_mistakes(&self, given: &GatewaySettings, service: SocketAddr) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let behind_proxy = self.access.behind_proxy.as_ref();
        let behind_proxy = behind_proxy.is_some_and(|it| it.value);
        if let Some(listen) = &given.listen
            && !listen.value.ip().is_loopback()
            && !behind_proxy
        {
            let address = listen.value;
            mistakes.push(listen.mistake(format!(
                "other machines reach {address}, so expected it as tls_listen, or [access] must \
                 say behind_proxy = true"
            )));
        }
        if let Some(listen) = &given.tls_listen
            && !self.gateway_tls().is_given()
        {
            let places = listen.key_or("in [gateway.tls] or [tls]", "with --certificate and --key");
            mistakes.push(listen.mistake(format!(
                "expected a certificate {places}, found none; `recount gateway dev-certificate` \
                 makes one"
            )));
        }
        let mut taken = vec![service];
        for listen in [&given.listen, &given.tls_listen].into_iter().flatten() {
            let address = listen.value;
            if address.port() != 0 && taken.contains(&address) {
                let what = format!("expected another address than {address}, which is in use");
                mistakes.push(listen.mistake(what));
            }
            taken.push(address);
        }
        mistakes
    }
}

/// The mistake of a choice that no expiry ever meets.
fn expiry_mistake(given: &GatewaySettings) -> Option<Mistake> {
    let choice = given
        .on_expiry
        .as_ref()
        .filter(|_| given.max_hold.is_none())?;
    Some(choice.mistake(
        "it says what becomes of a call after max_hold, so expected a max_hold; the key of a \
         policy file is confirm_on_expiry",
    ))
}

fn key_mistakes(given: &GatewaySettings) -> Vec<Mistake> {
    let (env, file) = (&given.vendor_key_env, &given.vendor_key_file);
    let places = env.iter().map(|it| it.mistake(ONLY_FOR_TOKENS));
    let places = places.chain(file.iter().map(|it| it.mistake(ONLY_FOR_TOKENS)));
    match (&given.credentials, env, file) {
        (Some(it), None, None) if it.value == CredentialsGiven::Tokens => {
            let (keys, options) = (
                "in vendor_key_env or vendor_key_file",
                "with --vendor-key-env or --vendor-key-file",
            );
            let places = it.key_or(keys, options);
            vec![it.mistake(format!("expected the vendor's key {places}, found none"))]
        }
        (Some(it), Some(_), Some(file)) if it.value == CredentialsGiven::Tokens => {
            let what = "expected one of vendor_key_env and vendor_key_file, found both";
            vec![file.mistake(what)]
        }
        (Some(it), _, _) if it.value == CredentialsGiven::Tokens => Vec::new(),
        (Some(_) | None, _, _) => places.collect(),
    }
}

/// The mistake of a vendor's key that would never be used.
const ONLY_FOR_TOKENS: &str =
    "this needs credentials = \"tokens\"; otherwise clients send the vendor's key";

/// The JSON Schema of `[gateway]`.
pub(in crate::config) fn schema() -> Value {
    table(
        &[],
        [
            (
                "listen",
                text(),
                "The address for clients without encryption; 127.0.0.1:7879 by default. With a \
                 certificate it takes encrypted clients, too. Another address than loopback needs \
                 behind_proxy.",
            ),
            (
                "tls_listen",
                text(),
                "The address for encrypted clients alone. It needs a certificate.",
            ),
            (
                "tls",
                schema::tls(),
                "The certificate of the gateway; that of the service by default. `recount gateway \
                 dev-certificate` makes one.",
            ),
            (
                "agent",
                text(),
                "The agent of clients that name none; gateway by default, which needs no section.",
            ),
            (
                "upstream",
                text(),
                "The URL of the service behind the gateway; the vendor by the path by default.",
            ),
            (
                "credentials",
                json!({"enum": ["pass_through", "tokens"]}),
                "The credentials of clients: pass_through, the default, those of the vendor; or \
                 tokens, those of `recount token create` and the JWTs of [access.jwt].",
            ),
            (
                "vendor_key_env",
                text(),
                "The variable with the vendor's key, for credentials = \"tokens\".",
            ),
            (
                "vendor_key_file",
                text(),
                "The file with the vendor's key. Not every user may be able to read it.",
            ),
            (
                "hold_inline",
                duration(),
                "The time for which a held call may block the model; 10s by default.",
            ),
            (
                "max_hold",
                duration(),
                "The time after which a held call expires without an answer; by default that of \
                 its policy.",
            ),
            (
                "on_expiry",
                json!({"enum": ["deny", "allow"]}),
                "What becomes of a call after max_hold: deny, the default, or allow: it runs \
                 although no person allowed it, so the gateway fails open. It needs max_hold.",
            ),
            (
                "pass_observed",
                flag(),
                "True if calls without a policy pass while the journal cannot be written.",
            ),
            (
                "dry_run",
                flag(),
                "True if nothing is held: the journal has what would have been held.",
            ),
            (
                "connections",
                number(),
                "The maximum number of clients at the same time; 512 by default.",
            ),
            (
                "keep",
                duration(),
                "The time for which a session without a client stays open; 2h by default.",
            ),
        ],
    )
}
