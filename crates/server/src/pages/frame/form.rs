//! The body of a form: names and values, with the token against cross-site requests.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::problems::{Code, Problem};

/// The content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The field with the token against cross-site requests.
pub(crate) const CSRF: &str = "csrf";

/// The fields of a form that a guarded page has sent, without its token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Parses a body.
    pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Form, Problem> {
        let mut types = headers.get_all(header::CONTENT_TYPE).iter();
        let is_form = match (types.next(), types.next()) {
            (Some(only), None) => only.to_str().is_ok_and(|it| {
                let essence = it.split(';').next().unwrap_or_default();
                essence.trim().eq_ignore_ascii_case(FORM)
            }),
            (Some(_), Some(_)) | (None, _) => false,
        };
        if !is_form {
            let detail = format!("expected the header Content-Type: {FORM}");
            return Err(Problem::new(Code::ContentType, detail));
        }
        let pairs = form_urlencoded::parse(body);
        Ok(Form(pairs.into_owned().collect()))
    }

    /// Takes the token out of the fields. `None` if it is missing or given twice.
    pub(super) fn take_token(&mut self) -> Option<String> {
        let (token, fields): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(name, _)| name == CSRF);
        self.0 = fields;
        match <[_; 1]>::try_from(token) {
            Ok([(_, token)]) => Some(token),
            Err(_) => None,
        }
    }

    /// Checks that only these fields are given. A misspelt one must not be ignored.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let unknown = self.0.iter().find(|(name, _)| !known.contains(&&**name));
        match unknown {
            None => Ok(()),
            Some((name, _)) => {
                let detail = format!("unknown field {name:?}; known: {}", known.join(", "));
                Err(Problem::new(Code::BadRequest, detail))
            }
        }
    }

    /// The value of a field that may be given once. An empty one counts as none.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut values = self.0.iter().filter(|(given, _)| given == name);
        let first = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            None => Ok(first.filter(|it| !it.is_empty())),
            Some(_) => {
                let detail = format!("the field {name:?} is given twice");
                Err(Problem::new(Code::BadRequest, detail))
            }
        }
    }

    /// The fields, in the order of the form.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter();
        fields.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Form, Problem> {
        let form = parts.extensions.get::<Form>().cloned();
        // Only a route outside the guard has none.
        form.ok_or_else(|| Problem::new(Code::Broken, "a form without its checks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: &str, body: &str) -> Result<Form, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
        Form::parse(&headers, body.as_bytes())
    }

    #[test]
    fn form_has_each_field_once() {
        let mut form = parse(FORM, "csrf=t&reason=a+b%26&empty=&twice=1&twice=2").unwrap();
        assert_eq!(form.take_token().as_deref(), Some("t"));
        assert_eq!(form.take_token(), None);
        assert_eq!(form.one("reason").unwrap(), Some("a b&"));
        assert_eq!(form.one("empty").unwrap(), None);
        assert!(form.one("twice").is_err());
        assert!(form.only(&["reason", "empty", "twice"]).is_ok());
        assert!(form.only(&["reason"]).is_err());
        let twice = parse(FORM, "csrf=a&csrf=b").unwrap().take_token();
        assert_eq!(twice, None);
        for other in ["application/json", "text/plain", "multipart/form-data"] {
            assert_eq!(parse(other, "").unwrap_err().code(), Code::ContentType);
        }
    }
}
