//! A browser of the tests: a login, pages, and forms as a page sends them.

use axum::body::Body;
use axum::http::Request;

use crate::bench::{Bench, Reply};

/// The origin of the bench.
pub(crate) const ORIGIN: &str = "http://127.0.0.1:7878";

/// A person who is logged in.
pub(crate) struct Browser<'b> {
    bench: &'b Bench,
    pub(crate) cookie: String,
}

/// The fields of a form, encoded.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(fields);
    text.finish()
}

/// A POST of a form from a page of the service.
pub(crate) fn post(path: &str) -> axum::http::request::Builder {
    Request::post(path)
        .header("origin", ORIGIN)
        .header("content-type", "application/x-www-form-urlencoded")
}

/// The value of a hidden field of the first form with it.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let mark = format!(r#"name="{name}" value=""#);
    let (_, rest) = page.split_once(&mark).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

impl Browser<'_> {
    /// Logs in with a token of the store.
    pub(crate) async fn with<'b>(bench: &'b Bench, token: &str) -> Browser<'b> {
        let reply = bench
            .send(post("/login/token"), Body::from(form(&[("token", token)])))
            .await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let set = reply.headers["set-cookie"].to_str().unwrap();
        let cookie = set.split(';').next().unwrap().to_owned();
        Browser { bench, cookie }
    }

    /// Opens a page.
    pub(crate) async fn open(&self, path: &str) -> Reply {
        let request = Request::get(path).header("cookie", &self.cookie);
        self.bench.send(request, Body::empty()).await
    }

    /// Sends a form with exactly these fields.
    pub(crate) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let request = post(path).header("cookie", &self.cookie);
        self.bench.send(request, Body::from(form(fields))).await
    }

    /// Sends a form of a page, with the token and the request that the page names.
    pub(crate) async fn submit(&self, card: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.open(card).await.text;
        let csrf = hidden(&page, "csrf");
        let mut all = vec![("csrf", csrf.as_str())];
        let names = ["request", "request_hash"].map(|name| (name, named(&page, name)));
        let named = names
            .iter()
            .filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        all.extend(named);
        all.extend(fields);
        self.send(path, &all).await
    }
}

fn named(page: &str, name: &str) -> Option<String> {
    page.contains(&format!(r#"name="{name}" value=""#))
        .then(|| hidden(page, name))
}
