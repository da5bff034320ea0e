//! TLS to the server, as the parameters `sslmode` and `sslrootcert` of an address ask for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recount_journal::Error;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The encryption of the connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encryption {
    #[default]
    Off,
    /// Each connection is, and the server proves the name of its host with a certificate.
    Verified { roots: Roots },
}

/// The authorities whose certificates count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those that browsers know.
    Public,
    /// Those of a PEM file.
    File(PathBuf),
}

impl Encryption {
    /// Reads the two parameters. The error says what was expected, and repeats no value.
    ///
    /// A mode that would accept any certificate is not offered: `require` and `verify-ca` check as
    /// `verify-full` does.
    pub(crate) fn of(mode: Option<&str>, roots: Option<&str>) -> Result<Self, String> {
        match (mode, roots) {
            (None | Some("disable" | "prefer"), None) => Ok(Self::Off),
            (None | Some("disable" | "prefer"), Some(_)) => {
                Err("sslrootcert is for sslmode=verify-full, which encrypts".to_owned())
            }
            (Some("require" | "verify-ca" | "verify-full"), None | Some("system")) => {
                let roots = Roots::Public;
                Ok(Self::Verified { roots })
            }
            (Some("require" | "verify-ca" | "verify-full"), Some(path)) => {
                let path = percent_encoding::percent_decode_str(path).decode_utf8();
                let path = path.map_err(|_| "sslrootcert is not UTF-8".to_owned())?;
                let roots = Roots::File(PathBuf::from(path.into_owned()));
                Ok(Self::Verified { roots })
            }
            (Some(_), _) => {
                Err("expected sslmode=verify-full, which encrypts, or sslmode=disable".to_owned())
            }
        }
    }

    /// The mode of the client library.
    pub(crate) fn mode(&self) -> SslMode {
        match self {
            Self::Off => SslMode::Disable,
            Self::Verified { .. } => SslMode::Require,
        }
    }

    /// Makes the connector. It is used only if the connections are encrypted.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, Error> {
        let roots = match self {
            Self::Off => RootCertStore::empty(),
            Self::Verified { roots } => match roots {
                Roots::Public => webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect(),
                Roots::File(path) => certificates(path)?,
            },
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit(error.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

fn unfit(what: String) -> Error {
    Error::Io {
        doing: "prepare TLS to the database".to_owned(),
        source: io::Error::other(what),
    }
}

/// Reads the authorities of a PEM file.
fn certificates(path: &Path) -> Result<RootCertStore, Error> {
    let unfit = |why: String| unfit(format!("sslrootcert {}: {why}", path.display()));
    let all = CertificateDer::pem_file_iter(path).map_err(|error| unfit(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in all {
        let certificate = certificate.map_err(|error| unfit(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| unfit(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(unfit("expected certificates as PEM, found none".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn stricter_modes_verify_and_others_are_off() {
        for mode in [None, Some("disable"), Some("prefer")] {
            assert_eq!(Encryption::of(mode, None), Ok(Encryption::Off));
            assert!(Encryption::of(mode, Some("ca.pem")).is_err());
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            for (file, roots) in [
                (None, Roots::Public),
                (Some("system"), Roots::Public),
                (Some("a%20b/ca.pem"), Roots::File("a b/ca.pem".into())),
            ] {
                let verified = Encryption::Verified { roots };
                assert_eq!(Encryption::of(Some(mode), file), Ok(verified));
            }
        }
        let refusal = Encryption::of(Some("sesame"), None).unwrap_err();
        assert!(refusal.contains("verify-full") && !refusal.contains("sesame"));
    }

    #[test]
    fn file_without_certificates_is_told_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let verified = Encryption::Verified {
            roots: Roots::File(path.clone()),
        };
        let told = |it: &Encryption| {
            let error = it.connector().map(drop).unwrap_err();
            format!("{error}: {}", std::error::Error::source(&error).unwrap())
        };
        assert!(told(&verified).contains("ca.pem"));
        std::fs::write(&path, "no certificate").unwrap();
        let text = told(&verified);
        assert!(text.contains("expected certificates as PEM"), "{text}");
        let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&path, empty).unwrap();
        assert!(told(&verified).contains("ca.pem"));
    }
}
