//! The command `recount gateway dev-certificate`: a certificate for a gateway on one machine.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use clap::Args;
use rustls::pki_types::ServerName;
use serde_json::json;

use super::authority::{self, Host, Made};
use crate::failures::{Exit, Failure};
use crate::files::destination;
use crate::serve::init::vacant;
use crate::terminal::{Screen, Tone};
use recount_telling::{quoted, shown};

/// The permissions of a private key: those of its user.
const PRIVATE: u32 = 0o600;

/// The permissions of a certificate.
const PUBLIC: u32 = 0o644;

/// Makes a certificate for development, and prints what clients must set to trust it.
///
/// It is for localhost, 127.0.0.1 and ::1, and is valid for a year. Its authority can sign nothing
/// else: its key is not kept. Nothing is overwritten.
#[derive(Args)]
pub(super) struct DevCertificate {
    /// The directory of the files; it is created if there is none.
    #[arg(long, value_name = "DIR", default_value = "recount-certificate")]
    out: PathBuf,
    /// A further name or address of the gateway; may be given several times.
    #[arg(long = "host", value_name = "NAME", value_parser = host)]
    hosts: Vec<Host>,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

/// Reads a name or an address.
fn host(text: &str) -> Result<Host, String> {
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(name)) => Ok(Host::Name(name.as_ref().to_ascii_lowercase())),
        Ok(ServerName::IpAddress(address)) => Ok(Host::Address(address.into())),
        Ok(_) | Err(_) => Err("expected a host name or an IP address".to_owned()),
    }
}

/// The files of a certificate.
struct Files {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl DevCertificate {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let files = Files {
            authority: self.out.join("ca.pem"),
            certificate: self.out.join("gateway.pem"),
            key: self.out.join("gateway-key.pem"),
        };
        destination::outside_journals(&files.key)?;
        for file in [&files.authority, &files.certificate, &files.key] {
            vacant(file)?;
        }
        let mut hosts = vec![
            Host::Name("localhost".to_owned()),
            Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            Host::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
        ];
        for host in self.hosts {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        let made = authority::made(&hosts, chrono::Utc::now().date_naive());
        let made = made.map_err(|error| {
            Failure::new("broken", format!("failed to make a certificate: {error}"))
        })?;
        fs::create_dir_all(&self.out)
            .map_err(|error| Failure::io(format!("create {}", shown(&self.out)), &error))?;
        write(&files.key, PRIVATE, &made.key)?;
        write(&files.certificate, PUBLIC, &made.certificate)?;
        write(&files.authority, PUBLIC, &made.authority)?;
        let trusted = std::path::absolute(&files.authority)
            .map_err(|error| Failure::io("find the current directory", &error))?;
        match self.json {
            true => screen.json(&json!({
                "authority": trusted.display().to_string(),
                "certificate": files.certificate.display().to_string(),
                "key": files.key.display().to_string(),
                "hosts": hosts.iter().map(Host::to_string).collect::<Vec<_>>(),
                "expires": made.expires.to_string(),
                "environment": {
                    "NODE_EXTRA_CA_CERTS": trusted.display().to_string(),
                    "SSL_CERT_FILE": trusted.display().to_string(),
                },
            }))?,
            false => tell(&files, &trusted, &hosts, &made, screen)?,
        }
        Ok(Exit::Ok)
    }
}

/// Writes a new file.
fn write(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::io(format!("write {}", shown(path)), &error))
}

fn tell(
    files: &Files,
    trusted: &Path,
    hosts: &[Host],
    made: &Made,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (certificate, key) = (&files.certificate, &files.key);
    screen.toned(Tone::Good, &format!("Wrote {}", shown(certificate)))?;
    let hosts: Vec<String> = hosts.iter().map(Host::to_string).collect();
    let line = format!("  for {}, until {}", hosts.join(", "), made.expires);
    screen.line(&line)?;
    screen.line(&format!("  its key is in {}", shown(key)))?;
    screen.line("Clients in Python, whose own authorities it replaces:")?;
    screen.line(&format!("  export SSL_CERT_FILE={}", quoted(trusted)))?;
    screen.line("Clients in Node:")?;
    screen.line(&format!("  export NODE_EXTRA_CA_CERTS={}", quoted(trusted)))?;
    screen.line("The gateway, in recount.toml beside this directory:")?;
    screen.line("  [gateway.tls]")?;
    screen.line(&format!("  certificate = {}", in_toml(certificate)))?;
    screen.line(&format!("  key = {}", in_toml(key)))?;
    screen.line("Or without a configuration:")?;
    let (certificate, key) = (quoted(certificate), quoted(key));
    screen.line(&format!(
        "  recount gateway --certificate {certificate} --key {key}"
    ))
}

/// A path as a text of TOML, whose escapes are those of JSON.
fn in_toml(path: &Path) -> String {
    json!(path.display().to_string()).to_string()
}
