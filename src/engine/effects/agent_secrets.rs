//! Values of an agent's run that are sealed in the record and clear in requests to its model.
//!
//! The agent sees the recorded form. So its next step, and the hash of its request, are the same
//! with a key and without.

use serde_json::Value;

use crate::session::Json;
use crate::tool::{LlmContent, LlmRequest, LlmSaid};

/// The sealed arguments of calls.
#[derive(Default)]
pub(in crate::engine) struct Secrets(Vec<Secret>);

struct Secret {
    /// The model that wrote them. No other model sees them in clear.
    model: String,
    /// The recorded arguments.
    sealed: Json,
    /// The arguments as the model wrote them.
    clear: Json,
}

impl Secrets {
    pub(in crate::engine) fn add(&mut self, model: String, sealed: Json, clear: Json) {
        self.0.push(Secret {
            model,
            sealed,
            clear,
        });
    }

    /// Returns the request with the model's own arguments in clear, and the texts that must not be
    /// passed on.
    pub(in crate::engine) fn in_clear(
        &self,
        mut request: LlmRequest,
        model: &str,
    ) -> (LlmRequest, Opened) {
        let mut opened = Opened::default();
        let said = request.contents.iter_mut().filter_map(|it| match it {
            LlmContent::Model { said } => Some(said),
            LlmContent::User { .. } | LlmContent::Tools { .. } => None,
        });
        for said in said.flatten() {
            let LlmSaid::Call { args, .. } = said else {
                continue;
            };
            let mut own = self.0.iter().filter(|it| it.model == model);
            if let Some(secret) = own.find(|it| it.sealed == *args) {
                opened.note(&secret.sealed.to_value(), &secret.clear.to_value());
                args.clone_from(&secret.clear);
            }
        }
        (request, opened)
    }
}

/// The texts that are clear in a request and sealed in the record, longest first.
#[derive(Default)]
pub(in crate::engine) struct Opened(Vec<String>);

impl Opened {
    /// Notes the values that differ from the record.
    fn note(&mut self, sealed: &Value, clear: &Value) {
        if sealed == clear {
            return;
        }
        match clear {
            Value::Object(fields) => fields.iter().for_each(|(name, it)| {
                self.note(sealed.get(name).unwrap_or(&Value::Null), it);
            }),
            Value::Array(all) => all.iter().enumerate().for_each(|(at, it)| {
                self.note(sealed.get(at).unwrap_or(&Value::Null), it);
            }),
            Value::String(text) => {
                // As plain text, and as escaped in JSON.
                let quoted = clear.to_string();
                let quoted = quoted.trim_matches('"').to_owned();
                self.keep(quoted);
                self.keep(text.clone());
            }
            Value::Number(_) => self.keep(clear.to_string()),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn keep(&mut self, text: String) {
        // Replacing an empty text would change everything.
        if text.is_empty() || self.0.contains(&text) {
            return;
        }
        let at = self.0.partition_point(|it| it.len() >= text.len());
        self.0.insert(at, text);
    }

    /// Returns `text` without the secrets, because a service may repeat a request in an error.
    pub(in crate::engine) fn out_of(&self, text: String) -> String {
        self.0
            .iter()
            .fold(text, |text, it| text.replace(it.as_str(), "[hidden]"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(args: &Json) -> LlmRequest {
        LlmRequest {
            contents: vec![LlmContent::Model {
                said: vec![LlmSaid::Call {
                    id: None,
                    name: "pay".to_owned(),
                    args: args.clone(),
                    signature: None,
                }],
            }],
            ..LlmRequest::default()
        }
    }

    #[test]
    fn only_writing_model_reads_secret_and_errors_hide_it() {
        let sealed = Json::of(&json!({"card": {"sealed": "x"}, "to": "Ada"}));
        let clear = Json::of(&json!({"card": ["4111 1111", "4111", "a\"b"], "to": "Ada"}));
        let mut secrets = Secrets::default();
        secrets.add("small".to_owned(), sealed.clone(), clear.clone());
        let (shown, opened) = secrets.in_clear(request(&sealed), "big");
        assert_eq!(shown, request(&sealed));
        assert_eq!(opened.out_of("4111".to_owned()), "4111");
        let (shown, opened) = secrets.in_clear(request(&sealed), "small");
        assert_eq!(shown, request(&clear));
        let told = r#"Ada, 4111 1111, 4111, a"b, a\"b: no"#;
        assert_eq!(
            opened.out_of(told.to_owned()),
            "Ada, [hidden], [hidden], [hidden], [hidden]: no"
        );
    }
}
