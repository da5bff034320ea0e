//! Writing one JSON object field by field, values as the text they are.

use serde_json::Value;

use super::fields::Message;
use super::other::Other;
use super::raw_json::RawJson;
use super::repeated::Repeated;

/// The text of an object under construction; absent fields write nothing.
#[derive(Default)]
pub(crate) struct ObjectWriter(String);

impl ObjectWriter {
    pub(crate) fn raw(&mut self, name: &str, value: Option<&RawJson>) {
        if let Some(value) = value {
            self.text(name, value.as_str());
        }
    }

    pub(crate) fn string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, &Value::from(value).to_string());
        }
    }

    pub(crate) fn boolean(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.text(name, if value { "true" } else { "false" });
        }
    }

    pub(crate) fn message<M: Message>(&mut self, name: &str, value: Option<&M>) {
        if let Some(value) = value {
            self.text(name, &value.to_text());
        }
    }

    pub(crate) fn messages<M: Message>(&mut self, name: &str, values: &Repeated<M>) {
        self.list(name, values, M::to_text);
    }

    pub(crate) fn strings(&mut self, name: &str, values: &Repeated<String>) {
        self.list(name, values, |value| {
            Value::from(value.as_str()).to_string()
        });
    }

    pub(crate) fn rest(&mut self, other: &Other) {
        for (name, value) in other.iter() {
            self.text(name, value.as_str());
        }
    }

    pub(crate) fn finish(self) -> String {
        match self.0.as_str() {
            "" => "{}".to_owned(),
            _ => self.0 + "}",
        }
    }

    fn list<T>(&mut self, name: &str, values: &Repeated<T>, write: impl Fn(&T) -> String) {
        if let Some(values) = values.present() {
            let items: Vec<String> = values.iter().map(write).collect();
            self.text(name, &format!("[{}]", items.join(",")));
        }
    }

    fn text(&mut self, name: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(value);
    }
}
