//! Certificates for development: an authority for a few names, and one certificate that it signs.

use std::net::IpAddr;

use chrono::{Datelike, Days, NaiveDate};
use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints, SanType,
};

/// The days for which the certificates are valid.
const DAYS: Days = Days::new(365);

/// The name of the authority.
const AUTHORITY: &str = "recount gateway, authority for development";

/// The name of the certificate.
const GATEWAY: &str = "recount gateway, for development";

/// A name or an address of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

/// The certificates in PEM, with the key of one of them.
pub(super) struct Made {
    /// The certificate of the authority, which clients must trust.
    pub(super) authority: String,
    /// The certificate of the gateway.
    pub(super) certificate: String,
    /// Its private key.
    pub(super) key: String,
    /// The day from which they are invalid.
    pub(super) expires: NaiveDate,
}

/// Makes an authority and a certificate for these hosts.
///
/// The key of the authority is dropped here. So nothing else can be signed with it, and a client
/// that trusts the authority trusts this one certificate.
pub(super) fn made(hosts: &[Host], today: NaiveDate) -> Result<Made, rcgen::Error> {
    // From yesterday on, for clients whose clock is behind.
    let begins = today.pred_opt().unwrap_or(today);
    let expires = today.checked_add_days(DAYS).unwrap_or(today);
    let authority_key = KeyPair::generate()?;
    let mut authority = valid(AUTHORITY, begins, expires);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.name_constraints = Some(NameConstraints {
        permitted_subtrees: hosts.iter().map(Host::subtree).collect(),
        excluded_subtrees: Vec::new(),
    });
    let signed = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let mut gateway = valid(GATEWAY, begins, expires);
    gateway.subject_alt_names = hosts.iter().map(Host::san).collect::<Result<_, _>>()?;
    gateway.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    gateway.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Clients that check strictly demand it, such as Python from 3.13 on.
    gateway.use_authority_key_identifier_extension = true;
    let certificate = gateway.signed_by(&key, &issuer)?;
    Ok(Made {
        authority: signed.pem(),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        expires,
    })
}

fn valid(name: &str, begins: NaiveDate, expires: NaiveDate) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let time = |day: NaiveDate| {
        // A month and a day have at most two digits.
        let (month, date) = (u8::try_from(day.month()), u8::try_from(day.day()));
        rcgen::date_time_ymd(day.year(), month.unwrap_or(1), date.unwrap_or(1))
    };
    (params.not_before, params.not_after) = (time(begins), time(expires));
    params
}

impl Host {
    fn san(&self) -> Result<SanType, rcgen::Error> {
        Ok(match self {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::Address(address) => SanType::IpAddress(*address),
        })
    }

    /// The host and no other one.
    fn subtree(&self) -> GeneralSubtree {
        match self {
            Host::Name(name) => GeneralSubtree::DnsName(name.clone()),
            Host::Address(address) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                GeneralSubtree::IpAddress(CidrSubnet::from_addr_prefix(*address, bits))
            }
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => address.fmt(f),
        }
    }
}
