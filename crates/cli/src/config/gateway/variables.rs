//! The variables of the environment that override `[gateway]`. Any of them makes a gateway.

use std::net::SocketAddr;

use super::gateway_section::{CredentialsGiven, GatewaySettings, OnExpiryGiven};
use crate::config::environment::Set;
use crate::config::mistake::Place;
use crate::config::reading::ADDRESS;
use crate::config::settings::Settings;

const VENDOR_KEY_ENV: &str = "RECOUNT_SERVE_GATEWAY_VENDOR_KEY_ENV";

const FLAG: &str = "true or false";

/// The variables, in the order of the keys.
pub(in crate::config) const VARIABLES: [(&str, Set); 16] = [
    ("RECOUNT_SERVE_GATEWAY_LISTEN", |to, it| {
        of(to).listen = Some(it.parsed::<SocketAddr>(ADDRESS)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_TLS_LISTEN", |to, it| {
        of(to).tls_listen = Some(it.parsed::<SocketAddr>(ADDRESS)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_TLS_CERTIFICATE", |to, it| {
        of(to).tls.certificate = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_TLS_KEY", |to, it| {
        of(to).tls.key = Some(it.path());
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_AGENT", |to, it| {
        to.name_gateway_agent(it.text());
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_UPSTREAM", |to, it| {
        of(to).upstream = Some(it.text());
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_CREDENTIALS", |to, it| {
        of(to).credentials = Some(it.parsed(CredentialsGiven::EXPECTED)?);
        Ok(())
    }),
    (VENDOR_KEY_ENV, |to, it| {
        // In place of the key that the file names, also of one at the other kind of place.
        let gateway = of(to);
        gateway.vendor_key_env = Some(it.text());
        gateway.vendor_key_file = None;
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_VENDOR_KEY_FILE", |to, it| {
        let file = it.path();
        let gateway = of(to);
        // Both as variables are a mistake, which the check of the settings finds.
        let variable = Place::named(VENDOR_KEY_ENV);
        gateway.vendor_key_env.take_if(|it| it.place != variable);
        gateway.vendor_key_file = Some(file);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_HOLD_INLINE", |to, it| {
        of(to).hold_inline = Some(it.positive()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_MAX_HOLD", |to, it| {
        of(to).max_hold = Some(it.positive()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_ON_EXPIRY", |to, it| {
        of(to).on_expiry = Some(it.parsed(OnExpiryGiven::EXPECTED)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_PASS_OBSERVED", |to, it| {
        of(to).pass_observed = Some(it.parsed(FLAG)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_DRY_RUN", |to, it| {
        of(to).dry_run = Some(it.parsed(FLAG)?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_CONNECTIONS", |to, it| {
        of(to).connections = Some(it.number()?);
        Ok(())
    }),
    ("RECOUNT_SERVE_GATEWAY_KEEP", |to, it| {
        of(to).keep = Some(it.positive()?);
        Ok(())
    }),
];

fn of(settings: &mut Settings) -> &mut GatewaySettings {
    settings.gateway.get_or_insert_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::gateway::GATEWAY;

    #[test]
    fn every_key_of_the_section_has_a_variable() {
        let variable = |key: &str| format!("RECOUNT_SERVE_GATEWAY_{}", key.to_uppercase());
        let has = |key: &str| VARIABLES.iter().any(|(name, _)| *name == variable(key));
        let keys = GATEWAY.iter().filter(|it| **it != "tls");
        let missing: Vec<_> = keys.filter(|it| !has(it)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(has("tls_certificate") && has("tls_key"));
        assert_eq!(VARIABLES.len(), GATEWAY.len() + 1);
    }
}
