//! The page without the values that a redaction takes out.

use recount::fixture::RecordRedaction;

/// The element in which the page shows a text of a person, a model or a tool.
const SAID: (&str, &str) = ("<bdi>", "</bdi>");

/// Returns the page without the values in what people, models and tools said.
///
/// The page's own words stay: a gap in them would tell what was taken out.
pub(super) fn without(page: &str, redaction: &mut RecordRedaction) -> String {
    let (mut out, mut rest) = (String::with_capacity(page.len()), page);
    let (open, close) = SAID;
    while let Some((before, after)) = rest.split_once(open) {
        let (said, behind) = after.split_once(close).unwrap_or((after, ""));
        let text = text_of(said);
        let shown = redaction.text(&text);
        out.push_str(before);
        out.push_str(open);
        match shown == text {
            true => out.push_str(said),
            false => out.push_str(&escaped(&shown)),
        }
        out.push_str(close);
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The text of a part of the page, without tags.
fn text_of(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        rest = after.split_once('>').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let plain = text.replace("&lt;", "<").replace("&gt;", ">");
    plain.replace("&quot;", "\"").replace("&amp;", "&")
}

fn escaped(text: &str) -> String {
    maud::html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out_of_what_was_said_alone() {
        let mut redaction = RecordRedaction::of("/name").unwrap();
        redaction.text(r#"[{"name":"A & <B>"},{"name":"page"}]"#);
        let page = "<p title=\"page\">page: <bdi>by A &amp; &lt;B&gt;</bdi>, <bdi>on a <span>page\
                    </span> &amp; more</bdi> <bdi>&lt;kept&gt;</bdi></p>";
        let without = without(page, &mut redaction);
        assert_eq!(
            without,
            "<p title=\"page\">page: <bdi>by [redacted]</bdi>, <bdi>on a [redacted] &amp; \
             more</bdi> <bdi>&lt;kept&gt;</bdi></p>"
        );
    }
}
