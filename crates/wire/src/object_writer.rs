//! Writing of one JSON object field by field, with values as text.

use recount_text::json::{RawJson, quote};

use super::fields::Message;
use super::other::Other;
use super::repeated::Repeated;

/// The text of an object under construction, after the text of the object around it. Absent fields
/// are omitted.
pub(crate) struct ObjectWriter {
    text: String,
    /// True if the object has a field.
    begun: bool,
}

impl ObjectWriter {
    /// Creates a writer with capacity for most messages.
    pub(crate) fn with_room() -> Self {
        Self {
            text: String::with_capacity(256),
            begun: false,
        }
    }

    pub(crate) fn raw(&mut self, name: &str, value: Option<&RawJson>) {
        if let Some(value) = value {
            self.text(name, value.as_str());
        }
    }

    pub(crate) fn string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            self.quote(value);
        }
    }

    pub(crate) fn boolean(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.text(name, if value { "true" } else { "false" });
        }
    }

    pub(crate) fn message<M: Message>(&mut self, name: &str, value: Option<&M>) {
        if let Some(value) = value {
            self.name(name);
            self.within(value);
        }
    }

    pub(crate) fn messages<M: Message>(&mut self, name: &str, values: &Repeated<M>) {
        self.list(name, values, Self::within);
    }

    pub(crate) fn strings(&mut self, name: &str, values: &Repeated<String>) {
        self.list(name, values, |object, value| object.quote(value));
    }

    pub(crate) fn rest(&mut self, other: &Other) {
        for (name, value) in other.iter() {
            self.text(name, value.as_str());
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str(if self.begun { "}" } else { "{}" });
        self.text
    }

    fn list<T>(&mut self, name: &str, values: &Repeated<T>, write: impl Fn(&mut Self, &T)) {
        let Some(values) = values.present() else {
            return;
        };
        self.name(name);
        self.text.push('[');
        for (place, value) in values.iter().enumerate() {
            if place > 0 {
                self.text.push(',');
            }
            write(self, value);
        }
        self.text.push(']');
    }

    /// Writes an object as a value.
    fn within<M: Message>(&mut self, value: &M) {
        let mut object = Self {
            text: std::mem::take(&mut self.text),
            begun: false,
        };
        value.write(&mut object);
        self.text = object.finish();
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.text.push_str(value);
    }

    fn name(&mut self, name: &str) {
        self.text.push(if self.begun { ',' } else { '{' });
        self.begun = true;
        self.quote(name);
        self.text.push(':');
    }

    fn quote(&mut self, text: &str) {
        quote(text, &mut self.text);
    }
}
