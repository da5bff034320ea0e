//! Elements and their attributes, with every text escaped.

use std::borrow::Cow;
use std::fmt::Write;

use crate::text::one_line;

/// Markup under construction. Every element that is opened is closed.
#[derive(Debug, Default)]
pub(super) struct Markup {
    out: String,
    open: Vec<&'static str>,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Value<'v> {
    Text(Cow<'v, str>),
    /// A length in pixels, with one digit behind the point.
    Length(f64),
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(it: &'v str) -> Value<'v> {
        Value::Text(Cow::Borrowed(it))
    }
}

impl From<String> for Value<'_> {
    fn from(it: String) -> Value<'static> {
        Value::Text(Cow::Owned(it))
    }
}

impl From<f64> for Value<'_> {
    fn from(it: f64) -> Value<'static> {
        Value::Length(it)
    }
}

/// The attributes of an element.
pub(super) type Attributes<'a, 'v> = &'a [(&'static str, Value<'v>)];

impl Markup {
    /// Begins an element.
    pub(super) fn open(&mut self, tag: &'static str, attributes: Attributes<'_, '_>) {
        self.tag(tag, attributes);
        self.out.push('>');
        self.open.push(tag);
    }

    /// Ends the element that was begun last.
    pub(super) fn close(&mut self) {
        if let Some(tag) = self.open.pop() {
            self.put(format_args!("</{tag}>"));
        }
    }

    /// Adds an element without content.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_, '_>) {
        self.tag(tag, attributes);
        self.out.push_str("/>");
    }

    /// Adds an element with a text.
    pub(super) fn text(&mut self, tag: &'static str, attributes: Attributes<'_, '_>, text: &str) {
        self.open(tag, attributes);
        self.escape(text);
        self.close();
    }

    /// Adds an element with lines of text.
    pub(super) fn lines(&mut self, tag: &'static str, lines: &[String]) {
        self.open(tag, &[]);
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            self.escape(line);
        }
        self.close();
    }

    /// Ends every element, and returns the markup.
    pub(super) fn done(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }

    fn tag(&mut self, tag: &str, attributes: Attributes<'_, '_>) {
        self.put(format_args!("<{tag}"));
        for (name, value) in attributes {
            match value {
                Value::Length(length) => self.put(format_args!(" {name}=\"{length:.1}\"")),
                Value::Text(text) => {
                    self.put(format_args!(" {name}=\""));
                    self.escape(text);
                    self.out.push('"');
                }
            }
        }
    }

    /// Adds a text with visible marks for unseen characters.
    fn escape(&mut self, text: &str) {
        for c in one_line(text).chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
    }

    fn put(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.out.write_fmt(what);
    }
}
