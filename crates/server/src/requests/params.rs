//! Query parameters: each known, each once unless it may repeat.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use chrono::DateTime;
use recount::session::Timestamp;

use super::cursor::Cursor;
use crate::problems::{Code, Problem};

/// The number of items in a page, unless the request sets another one.
const PAGE: usize = 50;

/// The maximum number of items in a page.
const PAGE_MAX: usize = 1000;

/// The query parameters of a request.
#[derive(Debug)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Params, Problem> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let unfit = |error: axum::extract::rejection::QueryRejection| {
            Problem::new(Code::BadRequest, error.body_text())
        };
        pairs.map(|Query(it)| Params(it)).map_err(unfit)
    }
}

impl Params {
    /// The parameters without empty ones, which a form sends for its empty fields.
    pub(crate) fn given(self) -> Params {
        let pairs = self.0.into_iter();
        Params(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The parameters with these names. A page ignores others: mail gateways and link trackers add
    /// theirs to the links of messages.
    pub(crate) fn known(self, known: &[&str]) -> Params {
        let pairs = self.0.into_iter();
        Params(pairs.filter(|(name, _)| known.contains(&&**name)).collect())
    }

    /// The names and values, without this parameter.
    pub(crate) fn pairs<'p>(
        &'p self,
        without: &'p str,
    ) -> impl Iterator<Item = (&'p str, &'p str)> {
        let pairs = self.0.iter().filter(move |(name, _)| name != without);
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Checks that only these parameters are given. A misspelt filter must not be ignored.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = self.0.iter().find(|(name, _)| !known.contains(&&**name));
        match unknown {
            None => Ok(()),
            Some((name, _)) => Err(Problem::new(
                Code::BadRequest,
                format!("unknown parameter {name:?}; known: {}", known.join(", ")),
            )),
        }
    }

    /// The value of a parameter that may be given once.
    pub(crate) fn one<'p>(&'p self, name: &'p str) -> Result<Option<&'p str>, Problem> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(Problem::new(
                Code::BadRequest,
                format!("the parameter {name:?} is given twice"),
            )),
        }
    }

    /// The values of a parameter that may repeat.
    pub(crate) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        let named = self.0.iter().filter(move |(given, _)| given == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The value of a parameter that may be given once, parsed.
    pub(crate) fn parsed<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.one(name)? else {
            return Ok(None);
        };
        let wrong = |_| {
            let detail = format!("{name}: expected {expected}, found {text:?}");
            Problem::new(Code::BadRequest, detail)
        };
        text.parse().map(Some).map_err(wrong)
    }

    /// The number of items in a page.
    pub(crate) fn limit(&self) -> Result<usize, Problem> {
        let expected = format!("a number from 1 to {PAGE_MAX}");
        let limit = self.parsed::<usize>("limit", &expected)?.unwrap_or(PAGE);
        if (1..=PAGE_MAX).contains(&limit) {
            return Ok(limit);
        }
        let detail = format!("limit: expected {expected}, found {limit}");
        Err(Problem::new(Code::BadRequest, detail))
    }

    /// The cursor, if the request continues a listing.
    pub(crate) fn cursor(&self) -> Result<Option<Cursor>, Problem> {
        self.one("cursor")?.map(Cursor::parse).transpose()
    }

    /// The labels that are given as `label=NAME:VALUE`.
    pub(crate) fn labels(&self) -> Result<Vec<(&str, &str)>, Problem> {
        let pairs = self.all("label").map(|text| {
            text.split_once(':').ok_or_else(|| {
                let detail = format!("label: expected NAME:VALUE, found {text:?}");
                Problem::new(Code::BadRequest, detail)
            })
        });
        pairs.collect()
    }

    /// A time: microseconds since 1970, or RFC 3339.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = self.one(name)? else {
            return Ok(None);
        };
        if let Ok(us) = text.parse() {
            return Ok(Some(Timestamp(us)));
        }
        let Ok(time) = DateTime::parse_from_rfc3339(text) else {
            let detail = format!(
                "{name}: expected microseconds since 1970, or a time such as \
                 2026-11-20T14:03:07Z, found {text:?}"
            );
            return Err(Problem::new(Code::NotATime, detail));
        };
        Ok(Some(Timestamp(time.timestamp_micros())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        let uri = format!("/v1/sessions?{query}").parse().unwrap();
        let Query(pairs) = Query::try_from_uri(&uri).unwrap();
        Params(pairs)
    }

    #[test]
    fn unknown_or_repeated_parameter_is_refused() {
        assert!(params("agent=a&limit=3").only(&["agent", "limit"]).is_ok());
        let unknown = params("agnet=a").only(&["agent"]).unwrap_err();
        assert_eq!(unknown.code(), Code::BadRequest);
        assert!(params("agent=a&agent=b").one("agent").is_err());
    }

    #[test]
    fn labels_limits_and_times_are_parsed() {
        let given = params("label=tenant:acme&label=a:b:c&limit=7&since=2026-11-20T14:03:07Z");
        assert_eq!(given.labels().unwrap(), [("tenant", "acme"), ("a", "b:c")]);
        assert_eq!(given.limit().unwrap(), 7);
        let since = given.time("since").unwrap();
        assert_eq!(since, Some(Timestamp(1_795_183_387_000_000)));
        assert_eq!(params("").limit().unwrap(), PAGE);
        assert!(params("limit=0").limit().is_err());
        assert!(params("limit=1001").limit().is_err());
        assert!(params("label=tenant").labels().is_err());
        let wrong = params("since=yesterday").time("since").unwrap_err();
        assert_eq!(wrong.code(), Code::NotATime);
        assert_eq!(params("until=5").time("until").unwrap(), Some(Timestamp(5)));
    }
}
