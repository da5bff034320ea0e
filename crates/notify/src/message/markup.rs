//! The escaping of values in texts.

/// The way in which a target reads a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markup {
    /// The target shows the text as it is.
    Plain,
    /// The markup of Slack, in which `<`, `>` and `&` have a meaning.
    #[default]
    Slack,
    /// Markdown, as Mattermost and Rocket.Chat read it.
    Markdown,
}

impl Markup {
    /// Returns a value that has no effect in the text.
    pub(crate) fn value(self, text: &str) -> String {
        match self {
            Markup::Plain => text.to_owned(),
            Markup::Slack => slack(
                &without_schemes(text)
                    .chars()
                    .map(slack_mark)
                    .collect::<String>(),
            ),
            Markup::Markdown => without_schemes(text).chars().fold(String::new(), markdown),
        }
    }

    /// Returns a link of this service, which works in the text.
    pub(super) fn link(self, text: &str) -> String {
        match self {
            Markup::Plain | Markup::Markdown => text.to_owned(),
            Markup::Slack => slack(text),
        }
    }
}

/// A value without links: a URL in a value would look like the one of this service.
fn without_schemes(text: &str) -> String {
    text.replace("://", ":／／")
}

/// A character of a value for Slack, which has no escapes for its marks.
fn slack_mark(character: char) -> char {
    match character {
        '*' => '＊',
        '`' => '｀',
        '~' => '～',
        plain => plain,
    }
}

fn slack(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Adds a character of a value.
///
/// A backslash is enough for what only changes the type. Mentions are also searched for after the
/// backslashes are removed, and Rocket.Chat ignores them before brackets. So the marks of mentions,
/// links, tables and entities are replaced by their full-width forms.
fn markdown(mut text: String, character: char) -> String {
    let wide = match character {
        '\\' | '*' | '_' | '`' => {
            text.push('\\');
            character
        }
        '@' => '＠',
        '#' => '＃',
        '~' => '～',
        '[' => '［',
        ']' => '］',
        '<' => '＜',
        '>' => '＞',
        '|' => '｜',
        '&' => '＆',
        plain => plain,
    };
    text.push(wide);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_of_a_value_has_no_effect() {
        for (value, expected) in [
            ("refund_order", r"refund\_order"),
            ("**b** `c`", r"\*\*b\*\* \`c\`"),
            ("[ok](https://a)", "［ok］(https:／／a)"),
            ("@all #a ~b", "＠all ＃a ～b"),
            (
                "<!channel> <https://a|b>",
                "＜!channel＞ ＜https:／／a｜b＞",
            ),
            ("&commat;all", "＆commat;all"),
            // The backslash of the value must not take away the one before a mark.
            (r"\*b\*", r"\\\*b\\\*"),
        ] {
            assert_eq!(Markup::Markdown.value(value), expected);
        }
    }

    #[test]
    fn link_keeps_its_characters_in_markdown() {
        let link = "https://a_b.example/~ops/sessions/7";
        assert_eq!(Markup::Markdown.link(link), link);
        assert_eq!(Markup::Slack.link("https://a/?b&c"), "https://a/?b&amp;c");
    }

    #[test]
    fn value_in_slack_is_neither_link_nor_bold() {
        let value = Markup::Slack.value("*b* `c` ~d~ https://a <https://a|b>");
        assert_eq!(value, "＊b＊ ｀c｀ ～d～ https:／／a &lt;https:／／a|b&gt;");
        assert_eq!(
            Markup::Slack.value("refund_order 1.50"),
            "refund_order 1.50"
        );
    }
}
