//! A person at the pages: with a cookie of a principal, or with a token.

use axum::body::Body;
use axum::http::Request;
use recount_server::Principal;

use crate::bench::{Bench, Reply};

/// A person who is logged in.
pub(crate) struct Visitor<'b> {
    bench: &'b Bench,
    /// The header that proves the person.
    proof: (&'static str, String),
}

impl<'b> Visitor<'b> {
    /// A person with a cookie.
    pub(crate) fn of(bench: &'b Bench, principal: Principal) -> Visitor<'b> {
        let set = bench.access.open_session(principal).unwrap();
        let cookie = set.split(';').next().unwrap().to_owned();
        Visitor {
            bench,
            proof: ("cookie", cookie),
        }
    }

    /// A program or person with a token.
    pub(crate) fn with(bench: &'b Bench, token: &str) -> Visitor<'b> {
        let proof = ("authorization", format!("Bearer {token}"));
        Visitor { bench, proof }
    }

    /// Opens a page.
    pub(crate) async fn open(&self, path: &str) -> Reply {
        let request = Request::get(path).header(self.proof.0, &self.proof.1);
        let request = request.header("accept", "text/html");
        self.bench.send(request, Body::empty()).await
    }

    /// Sends a form with exactly these fields.
    pub(crate) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let request = Request::post(path)
            .header(self.proof.0, &self.proof.1)
            .header("accept", "text/html")
            .header("origin", "http://127.0.0.1:7878")
            .header("content-type", "application/x-www-form-urlencoded");
        self.bench.send(request, Body::from(encoded(fields))).await
    }

    /// Sends a form with the token that the page of operators has.
    pub(crate) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.open("/operations").await.text;
        let (_, rest) = page.split_once(r#"name="csrf" value=""#).unwrap();
        let csrf = rest.split('"').next().unwrap();
        let mut all = vec![("csrf", csrf)];
        all.extend(fields);
        self.send(path, &all).await
    }
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(fields);
    text.finish()
}

/// The words of a page or a part of it: its texts, each in one line.
pub(crate) fn words(html: &str) -> Vec<String> {
    let texts = html.split('<').map(|it| match it.split_once('>') {
        Some((_, text)) => text.trim(),
        None => it.trim(),
    });
    texts
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The part of a page from the element with this id to the end of its section.
pub(crate) fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let (_, rest) = page.split_once(&format!(r#" id="{id}""#)).unwrap();
    rest.split("</section>").next().unwrap()
}

/// The rows of a section's table: the words of each cell.
pub(crate) fn rows(page: &str, id: &str) -> Vec<Vec<String>> {
    let body = section(page, id)
        .split("<tbody>")
        .nth(1)
        .unwrap_or_default();
    let rows = body.split("</tr>").filter(|it| it.contains("<td"));
    rows.map(|row| {
        let cells = row.split("</td>").flat_map(|it| it.split("</th>"));
        let cells: Vec<&str> = cells.collect();
        // The last part is behind the last cell.
        let cells = &cells[..cells.len() - 1];
        cells.iter().map(|it| words(it).join(" ")).collect()
    })
    .collect()
}

/// The numbers at the top of a page, with their names.
pub(crate) fn tally(page: &str) -> Vec<(String, String)> {
    let (_, rest) = page.split_once(r#"<ul class="tally""#).unwrap();
    let list = rest.split("</ul>").next().unwrap();
    let items = list
        .split("<li>")
        .skip(1)
        .map(|it| words(&format!("<li>{it}")));
    items.map(|it| (it[0].clone(), it[1].clone())).collect()
}
