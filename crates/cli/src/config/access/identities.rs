//! The identities that other parties vouch for, as the service takes them.

use std::path::PathBuf;

use crate::config::mistake::Mistake;
use crate::config::section::Given;
use crate::config::settings::{AccessSettings, JwtKeys, JwtSettings, ProxySettings, RoleRule};
use recount_server::{Access, Jwt, KeyFile, KeyUrl, ProxyHeaders, RoleMapping, UnfitProxy};

/// The default issuer of the persons that the proxy names.
const PROXY_ISSUER: &str = "proxy";

/// The maximum length of the certificates of authorities, in bytes.
const AUTHORITIES_BYTES_MAX: u64 = 1 << 20;

/// The maximum length of a JWK set, in bytes, as the service reads it.
const KEYS_BYTES_MAX: u64 = 256 << 10;

/// Adds the JWTs and the proxy of the settings to an access.
///
/// # Errors
/// Every mistake of these settings.
pub(crate) fn with_identities(
    access: Access,
    settings: &AccessSettings,
) -> Result<Access, Vec<Mistake>> {
    let jwt = jwt(settings);
    let proxy = settings.proxy.as_ref().map(proxy).transpose();
    match (jwt, proxy) {
        (Ok(jwt), Ok(proxy)) => {
            let access = jwt.into_iter().fold(access, Access::with_jwt);
            Ok(proxy.into_iter().fold(access, Access::with_proxy))
        }
        (jwt, proxy) => Err(jwt.err().into_iter().chain(proxy.err()).collect()),
    }
}

/// The JWTs of the settings, if there are any.
///
/// # Errors
/// The first mistake of these settings.
pub(crate) fn jwt(settings: &AccessSettings) -> Result<Option<Jwt>, Mistake> {
    settings.jwt.as_ref().map(jwt_of).transpose()
}

fn jwt_of(settings: &JwtSettings) -> Result<Jwt, Mistake> {
    let issuer = &settings.issuer;
    let (name, audience) = (issuer.value.as_str(), settings.audience.value.as_str());
    let jwt = match &settings.keys {
        JwtKeys::File(file) => Jwt::new(name, audience, KeyFile::new(&file.value)),
        JwtKeys::Url(url, authorities) => {
            Jwt::new(name, audience, key_url(url, authorities.as_ref())?)
        }
    };
    let mut jwt = jwt
        .map_err(|error| issuer.mistake(error.to_string()))?
        .roles(mapping(&settings.roles));
    if let JwtKeys::File(file) = &settings.keys {
        // They are read with the first token, which is too late to learn that they are not there.
        file.read(KEYS_BYTES_MAX)?;
    }
    if !settings.algorithms.is_empty() {
        jwt = jwt.algorithms(settings.algorithms.iter().map(|it| it.value));
    }
    if let Some(skew) = &settings.clock_skew {
        jwt = jwt.clock_skew(skew.value);
    }
    if let Some(time) = &settings.refetch_after {
        jwt = jwt.refetch_after(time.value);
    }
    if let Some(claim) = &settings.roles_claim {
        jwt = jwt.roles_claim(&claim.value);
    }
    if let Some(claim) = &settings.groups_claim {
        jwt = jwt.groups_claim(&claim.value);
    }
    Ok(jwt)
}

fn key_url(url: &Given<String>, authorities: Option<&Given<PathBuf>>) -> Result<KeyUrl, Mistake> {
    let keys = KeyUrl::parse(&url.value).map_err(|error| url.mistake(error.to_string()))?;
    let Some(authorities) = authorities else {
        return Ok(keys);
    };
    let text = authorities.read(AUTHORITIES_BYTES_MAX)?;
    let keys = keys.with_authorities(text.as_bytes());
    keys.map_err(|error| authorities.mistake(error.to_string()))
}

fn proxy(settings: &ProxySettings) -> Result<ProxyHeaders, Mistake> {
    if cfg!(not(unix)) {
        let what = "this system has no Unix sockets, so the proxy cannot be trusted";
        return Err(settings.socket.mistake(what));
    }
    let user = &settings.user_header;
    let issuer = settings
        .issuer
        .as_ref()
        .map_or(PROXY_ISSUER, |it| it.value.as_str());
    let headers = ProxyHeaders::new(&user.value, issuer).map_err(|error| {
        let at_issuer = settings.issuer.as_ref();
        match (&error, at_issuer) {
            (UnfitProxy::Issuer(_), Some(issuer)) => issuer.mistake(error.to_string()),
            (_, _) => user.mistake(error.to_string()),
        }
    })?;
    let headers = headers.roles(mapping(&settings.roles));
    match &settings.groups_header {
        None => Ok(headers),
        Some(groups) => headers
            .groups_header(&groups.value)
            .map_err(|error| groups.mistake(error.to_string())),
    }
}

fn mapping(rules: &[RoleRule]) -> RoleMapping {
    let rules = rules.iter();
    rules.fold(RoleMapping::new(), |mapping, it| {
        mapping.with(it.value.clone(), it.grant.clone())
    })
}
