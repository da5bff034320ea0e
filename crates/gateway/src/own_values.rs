//! The values that a client gives the gateway itself, in headers and in the query.

use std::collections::BTreeMap;

use http::{HeaderMap, Uri};

use crate::target::{OWN, is_own};

/// The begin of the names of labels, behind that of all own names.
const LABEL: &str = "label-";

/// The maximum number of labels that a client may set.
const LABELS_MAX: usize = 32;

/// The values of one handshake. An empty value counts as none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnValues {
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) external_id: Option<String>,
    pub(crate) on_behalf_of: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
}

/// The reason why the values of a handshake do not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    /// The value cannot be read.
    #[error("expected a value of visible ASCII characters in {0}, found other bytes")]
    NotAscii(String),
    /// The name is none of the gateway's.
    #[error(
        "expected x-recount-agent, -session, -external-id, -on-behalf-of or -label-KEY, found {0}"
    )]
    Unknown(String),
    /// The same name has two values.
    #[error("expected one value of {0}, found two")]
    Repeated(String),
    /// A label has no key.
    #[error("expected a key behind x-recount-label-, found none")]
    NoKey,
    /// A label stands in the query.
    #[error("expected {0} as a header, found it in the query")]
    LabelInQuery(String),
    /// There are too many labels.
    #[error("expected at most {LABELS_MAX} labels, found {0}")]
    TooManyLabels(usize),
}

impl OwnValues {
    /// Reads the values. A header counts before a parameter of the query.
    ///
    /// # Errors
    /// [`Unfit`] for a value or a name that would otherwise be ignored: the client relies on it.
    pub(crate) fn read(headers: &HeaderMap, uri: &Uri) -> Result<OwnValues, Unfit> {
        let (mut values, mut of_query) = (OwnValues::default(), OwnValues::default());
        for (name, value) in headers.iter().filter(|(name, _)| is_own(name.as_str())) {
            let value = value.to_str();
            let value = value.map_err(|_| Unfit::NotAscii(name.to_string()))?;
            values.put(name.as_str(), value)?;
        }
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        for (name, value) in pairs.filter(|(name, _)| is_own(name)) {
            let name = name.to_ascii_lowercase();
            if key_of(&name).starts_with(LABEL) {
                return Err(Unfit::LabelInQuery(name));
            }
            of_query.put(&name, &value)?;
        }
        let labels = values.labels.len();
        if labels > LABELS_MAX {
            return Err(Unfit::TooManyLabels(labels));
        }
        let given = |it: Option<String>| it.filter(|it| !it.is_empty());
        let first = |a, b| given(a).or_else(|| given(b));
        Ok(OwnValues {
            agent: first(values.agent, of_query.agent),
            session: first(values.session, of_query.session),
            external_id: first(values.external_id, of_query.external_id),
            on_behalf_of: first(values.on_behalf_of, of_query.on_behalf_of),
            labels: values.labels,
        })
    }

    fn put(&mut self, name: &str, value: &str) -> Result<(), Unfit> {
        let key = key_of(name);
        let value = value.to_owned();
        let before = match (key, key.strip_prefix(LABEL)) {
            ("agent", _) => self.agent.replace(value),
            ("session", _) => self.session.replace(value),
            ("external-id", _) => self.external_id.replace(value),
            ("on-behalf-of", _) => self.on_behalf_of.replace(value),
            (_, Some("")) => return Err(Unfit::NoKey),
            (_, Some(label)) => self.labels.insert(label.to_owned(), value),
            (_, None) => return Err(Unfit::Unknown(name.to_owned())),
        };
        match before {
            Some(_) => Err(Unfit::Repeated(name.to_owned())),
            None => Ok(()),
        }
    }
}

/// The part of an own name behind the begin that all have.
fn key_of(name: &str) -> &str {
    name.get(OWN.len()..).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn read(headers: &[(&str, &[u8])], query: &str) -> Result<OwnValues, Unfit> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        OwnValues::read(&map, &format!("/live?{query}").parse().unwrap())
    }

    #[test]
    fn header_counts_before_the_query() {
        let headers: [(&str, &[u8]); 3] = [
            ("x-recount-session", b"s1"),
            ("x-recount-agent", b""),
            ("x-recount-label-tenant", b"acme"),
        ];
        let query = "x-recount-session=s2&X%2Drecount-agent=desk&key=k&x-recount-external-id=";
        let values = read(&headers, query).unwrap();
        assert_eq!(values.session.as_deref(), Some("s1"));
        assert_eq!(values.agent.as_deref(), Some("desk"));
        assert_eq!(values.external_id, None);
        assert_eq!(values.labels.get("tenant").unwrap(), "acme");
    }

    #[test]
    fn value_that_would_be_ignored_is_refused() {
        let unknown = |it: &str| Unfit::Unknown(it.to_owned());
        let repeated = |it: &str| Unfit::Repeated(it.to_owned());
        let tenant = "x-recount-label-tenant";
        let twice: [(&str, &[u8]); 2] = [(tenant, b"acme"), (tenant, b"acme")];
        for (headers, query, expected) in [
            (
                &[(tenant, "caf\u{e9}".as_bytes())][..],
                "",
                Unfit::NotAscii(tenant.to_owned()),
            ),
            (
                &[("x-recount-sesion", b"s1".as_slice())],
                "",
                unknown("x-recount-sesion"),
            ),
            (&[], "x-recount-sesion=s1", unknown("x-recount-sesion")),
            (&[("x-recount-label-", b"v".as_slice())], "", Unfit::NoKey),
            (&twice, "", repeated(tenant)),
            (
                &[],
                "x-recount-agent=a&x%2drecount-agent=b",
                repeated("x-recount-agent"),
            ),
            (
                &[],
                "x-recount-label-tenant=acme",
                Unfit::LabelInQuery(tenant.to_owned()),
            ),
        ] {
            assert_eq!(read(headers, query), Err(expected), "{headers:?} {query}");
        }
    }

    #[test]
    fn labels_beyond_the_limit_are_refused() {
        let names: Vec<String> = (0..33).map(|it| format!("x-recount-label-k{it}")).collect();
        let of = |count: usize| {
            let names = names.iter().take(count);
            let headers: Vec<_> = names.map(|it| (it.as_str(), b"v".as_slice())).collect();
            read(&headers, "").map(|it| it.labels.len())
        };
        assert_eq!(of(32), Ok(32));
        assert_eq!(of(33), Err(Unfit::TooManyLabels(33)));
    }
}
