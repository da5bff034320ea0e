//! The keys of an issuer from a URL: a small client, over the TLS that connections to models use.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::uri::{PathAndQuery, Scheme};
use axum::http::{Request, StatusCode, Uri, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::source::{KeySource, KeySourceError, SET_BYTES_MAX};

/// The maximum time of a fetch, with the resolution of the name.
const FETCH_MAX: Duration = Duration::from_secs(10);

/// The URL of an issuer's JWK set: `https`, or `http` on this machine.
///
/// Redirects are not followed, and no proxy of the environment is used.
///
/// ```
/// use recount_server::KeyUrl;
/// assert!(KeyUrl::parse("https://login.example/jwks").is_ok());
/// assert!(KeyUrl::parse("http://127.0.0.1:3000/jwks").is_ok());
/// assert!(KeyUrl::parse("http://login.example/jwks").is_err());
/// ```
#[derive(Clone)]
pub struct KeyUrl {
    authority: String,
    /// The name or the address, without brackets.
    host: String,
    port: u16,
    path: PathAndQuery,
    /// `None` for `http`.
    tls: Option<Arc<ClientConfig>>,
}

/// The URL or the certificate is unfit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnfitKeyUrl {
    /// The text is no URL that keys are fetched from.
    #[error("expected an https URL, or an http URL on this machine, found {found:?}")]
    Url {
        /// The given text.
        found: String,
    },
    /// The certificates are unfit.
    #[error("expected certificates in PEM: {what}")]
    Certificate {
        /// The fault.
        what: String,
    },
}

impl KeyUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// If the text is no `https` URL, and no `http` URL on this machine, or if it has a user.
    pub fn parse(text: &str) -> Result<KeyUrl, UnfitKeyUrl> {
        // A URL with a user may have a password, which no message may show.
        let found = if text.contains('@') {
            "one with a user"
        } else {
            text
        };
        let unfit = || UnfitKeyUrl::Url {
            found: found.to_owned(),
        };
        let url: Uri = text.parse().map_err(|_| unfit())?;
        let authority = url.authority().ok_or_else(unfit)?;
        let host = authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|it| it.strip_suffix(']'))
            .unwrap_or(host);
        if host.is_empty() || authority.as_str().contains('@') {
            return Err(unfit());
        }
        let (usual_port, tls) = match url.scheme() {
            Some(it) if *it == Scheme::HTTPS => {
                let public = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
                (443, Some(trusting(public.collect())?))
            }
            Some(it) if *it == Scheme::HTTP && is_this_machine(host) => (80, None),
            Some(_) | None => return Err(unfit()),
        };
        Ok(KeyUrl {
            authority: authority.to_string(),
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(usual_port),
            path: url.path_and_query().cloned().ok_or_else(unfit)?,
            tls,
        })
    }

    /// Trusts the authorities with these certificates in PEM, instead of the public ones.
    ///
    /// # Errors
    /// If the text has no certificate, or an unfit one.
    pub fn with_authorities(self, pem: &[u8]) -> Result<KeyUrl, UnfitKeyUrl> {
        let unfit = |what: String| UnfitKeyUrl::Certificate { what };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| unfit(error.to_string()))?;
            let added = roots.add(certificate);
            added.map_err(|error| unfit(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(unfit("found none".to_owned()));
        }
        let tls = match &self.tls {
            Some(_) => Some(trusting(roots)?),
            None => None,
        };
        Ok(KeyUrl { tls, ..self })
    }

    async fn get(&self) -> Result<String, Box<dyn Error + Send + Sync>> {
        let stream = self.connect().await?;
        let Some(tls) = &self.tls else {
            return self.over(stream).await;
        };
        let name = ServerName::try_from(self.host.clone())?;
        let connecting = TlsConnector::from(tls.clone()).connect(name, stream);
        self.over(connecting.await?).await
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let addresses = lookup_host((self.host.as_str(), self.port)).await?;
        // A name of this machine that resolves to another one is not meant.
        let is_meant = |it: &SocketAddr| self.tls.is_some() || it.ip().is_loopback();
        let addresses: Vec<SocketAddr> = addresses.filter(is_meant).collect();
        TcpStream::connect(addresses.as_slice()).await
    }

    /// Requests the keys over a connection.
    async fn over(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<String, Box<dyn Error + Send + Sync>> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let request = Request::get(self.path.as_str())
            .header(header::HOST, &self.authority)
            .header(header::ACCEPT, "application/jwk-set+json, application/json")
            .header(header::CONNECTION, "close")
            .body(Body::empty())?;
        let answered = async {
            let response = sender.send_request(request).await?;
            if response.status() != StatusCode::OK {
                return Err(format!("expected 200 OK, found {}", response.status()).into());
            }
            let body = to_bytes(Body::new(response.into_body()), SET_BYTES_MAX).await?;
            Ok(String::from_utf8(body.to_vec())?)
        };
        let (mut answered, mut connection) = (pin!(answered), pin!(connection));
        tokio::select! {
            biased;
            answer = &mut answered => answer,
            ended = &mut connection => {
                ended?;
                // The connection has passed on the whole response.
                answered.await
            }
        }
    }
}

#[async_trait]
impl KeySource for KeyUrl {
    async fn fetch(&self) -> Result<String, KeySourceError> {
        let failed = |what: &dyn fmt::Display| {
            KeySourceError::new(format!(
                "no keys from {}{}: {what}",
                self.authority, self.path
            ))
        };
        match timeout(FETCH_MAX, self.get()).await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(failed(&"it took too long")),
        }
    }
}

impl fmt::Debug for KeyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = format!("{}{}", self.authority, self.path);
        f.debug_tuple("KeyUrl").field(&url).finish()
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

/// The settings of TLS with these authorities.
fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, UnfitKeyUrl> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| UnfitKeyUrl::Certificate {
            what: error.to_string(),
        })?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_urls_are_refused() {
        for text in [
            "",
            "login.example/jwks",
            "http://login.example/jwks",
            "http://127.0.0.1.login.example/jwks",
            "http://localhost@login.example/jwks",
            "https://ada:secret@login.example/jwks",
            "ftp://127.0.0.1/jwks",
            "file:///etc/jwks",
        ] {
            let unfit = KeyUrl::parse(text).map(drop).unwrap_err().to_string();
            assert!(!unfit.contains("secret"), "{unfit}");
        }
        for text in [
            "http://[::1]:3000/jwks",
            "http://LOCALHOST/jwks",
            "https://a.example",
        ] {
            assert!(KeyUrl::parse(text).is_ok(), "{text}");
        }
    }
}
