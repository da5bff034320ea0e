//! The link to the next page of a listing.

use form_urlencoded::Serializer;
use maud::{Markup, html};

/// The query with these parameters, without those that are empty.
pub(crate) fn query<'p>(parameters: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    query.finish()
}

/// The link to the next page, with the parameters of this one and the cursor of the next.
pub(crate) fn next_page<'p>(
    parameters: impl IntoIterator<Item = (&'p str, &'p str)>,
    cursor: Option<&'p str>,
) -> Markup {
    let Some(cursor) = cursor else {
        return Markup::default();
    };
    let query = query(parameters.into_iter().chain([("cursor", cursor)]));
    html! { p.next { a rel="next" href={ "?" (query) } { "Next page" } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_keeps_the_filters() {
        let link = next_page([("agent", "a&b"), ("tool", "")], Some("abc")).into_string();
        assert!(
            link.contains(r#"href="?agent=a%26b&amp;cursor=abc""#),
            "{link}"
        );
        assert_eq!(next_page([("agent", "a")], None).into_string(), "");
    }
}
