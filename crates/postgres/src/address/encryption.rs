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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// None, since the address does not say.
    Unset,
    /// None.
    Off,
    /// Each connection is encrypted, and the server proves the name of its host with a certificate.
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
    /// `verify-full` does. Nor is one that lets the server choose, or an attacker in its place.
    pub(crate) fn of(mode: Option<&str>, roots: Option<&str>) -> Result<Self, String> {
        match (mode, roots) {
            (None, None) => Ok(Self::Unset),
            (Some("disable"), None) => Ok(Self::Off),
            (None | Some("disable"), Some(_)) => {
                Err("sslrootcert is for sslmode=verify-full, which encrypts".to_owned())
            }
            (Some("require" | "verify-ca" | "verify-full"), roots) => {
                let roots = match roots.map(Path::new) {
                    None => Roots::Public,
                    // A configuration and a printed command are read elsewhere.
                    Some(path) if path.is_absolute() => Roots::File(path.to_owned()),
                    Some(_) => {
                        return Err(
                            "expected the absolute path of a PEM file in sslrootcert".into()
                        );
                    }
                };
                Ok(Self::Verified { roots })
            }
            (Some(_), _) => {
                Err("expected sslmode=verify-full, which encrypts, or sslmode=disable".to_owned())
            }
        }
    }

    /// True if the connections are encrypted.
    pub(crate) fn is_on(&self) -> bool {
        match self {
            Self::Unset | Self::Off => false,
            Self::Verified { .. } => true,
        }
    }

    /// The mode of the client library.
    pub(crate) fn mode(&self) -> SslMode {
        match self {
            Self::Unset | Self::Off => SslMode::Disable,
            Self::Verified { .. } => SslMode::Require,
        }
    }

    /// Makes the connector. It is used only if the connections are encrypted.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, Error> {
        let roots = match self {
            Self::Unset | Self::Off => RootCertStore::empty(),
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
    let unfit = |why: String| unfit(format!("sslrootcert {path:?}: {why}"));
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
    fn modes_either_verify_or_are_off() {
        assert_eq!(Encryption::of(None, None), Ok(Encryption::Unset));
        assert_eq!(Encryption::of(Some("disable"), None), Ok(Encryption::Off));
        for mode in ["require", "verify-ca", "verify-full"] {
            for (file, roots) in [
                (None, Roots::Public),
                (Some("/a b/ca.pem"), Roots::File("/a b/ca.pem".into())),
            ] {
                let verified = Encryption::Verified { roots };
                assert_eq!(Encryption::of(Some(mode), file), Ok(verified));
            }
        }
        for (mode, file) in [
            (None, Some("/ca.pem")),
            (Some("disable"), Some("/ca.pem")),
            (Some("verify-full"), Some("ca.pem")),
            (Some("prefer"), None),
            (Some("allow"), None),
            (Some("sesame"), None),
            (Some(""), None),
        ] {
            let refusal = Encryption::of(mode, file).unwrap_err();
            assert!(!refusal.contains("sesame"), "{refusal}");
        }
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
