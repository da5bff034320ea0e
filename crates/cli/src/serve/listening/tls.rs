//! The certificate of the service, read from files.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{Mistake, TlsSettings};
use crate::serve::secret_file::{FILE_BYTES_MAX, File, private_text};

/// The protocol of the service, as a client may demand it in the handshake.
const PROTOCOL: &[u8] = b"http/1.1";

/// The certificate with its key, which may be replaced while connections are open.
pub(in crate::serve) struct Certificate(Mutex<Arc<ServerConfig>>);

impl Certificate {
    /// Reads the files. `None` without settings.
    ///
    /// # Errors
    /// Every mistake of the settings and of the files.
    pub(in crate::serve) fn read(
        settings: &TlsSettings,
    ) -> Result<Option<Certificate>, Vec<Mistake>> {
        let config = config_of(settings)?;
        Ok(config.map(|it| Certificate(Mutex::new(Arc::new(it)))))
    }

    /// The settings for the next connection.
    pub(in crate::serve) fn current(&self) -> Arc<ServerConfig> {
        let config = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        config.clone()
    }

    /// Reads the files anew. After a mistake, the earlier certificate stays.
    pub(in crate::serve) fn reload(&self, settings: &TlsSettings) -> Result<(), Vec<Mistake>> {
        if let Some(config) = config_of(settings)? {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        }
        Ok(())
    }
}

fn config_of(settings: &TlsSettings) -> Result<Option<ServerConfig>, Vec<Mistake>> {
    let (certificate, key) = match (&settings.certificate, &settings.key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return Ok(None),
        (Some(only), None) => return Err(vec![only.mistake("expected a key, too, found none")]),
        (None, Some(only)) => {
            return Err(vec![
                only.mistake("expected a certificate, too, found none"),
            ]);
        }
    };
    let (chain, secret) = match (chain_of(certificate), key_of(key)) {
        (Ok(chain), Ok(secret)) => (chain, secret),
        (chain, secret) => {
            let mistakes = chain.err().into_iter().chain(secret.err());
            return Err(mistakes.collect());
        }
    };
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(chain, secret));
    let mut config = config.map_err(|error| {
        vec![certificate.mistake(format!("the certificate and the key do not fit: {error}"))]
    })?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Some(config))
}

fn chain_of(file: &File) -> Result<Vec<CertificateDer<'static>>, Mistake> {
    let text = file.read(FILE_BYTES_MAX)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(file.mistake("expected certificates in PEM, found none")),
        Err(error) => Err(file.mistake(format!("expected certificates in PEM: {error}"))),
    }
}

fn key_of(file: &File) -> Result<PrivateKeyDer<'static>, Mistake> {
    let text = private_text(file, "use the key")?;
    // The error of the reader may quote a line of the file.
    PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|_| file.mistake("expected a private key in PEM, found none that can be read"))
}
