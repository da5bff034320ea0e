//! The capabilities of known models, by family and platform.

use super::capabilities::Capabilities;
use super::catalog::Behavior;
use super::platform::Platform;

/// A family of models with the same capabilities.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Family {
    /// Versions 2.0 and 2.5.
    Older,
    /// Version 3.1.
    Synchronous,
    /// Version 3.8. `never_waits` is true for the variant that never waits for a function.
    Asynchronous { never_waits: bool },
    /// A model that this crate does not know.
    Unknown,
}

impl Family {
    fn of(model: &str) -> Family {
        // The text before the last slash contains names of projects and locations.
        let name = model.rsplit('/').next().unwrap_or(model);
        let is = |part: &str| has_part(name, part);
        if is("2.0") || is("2.5") {
            Family::Older
        } else if is("3.1") {
            Family::Synchronous
        } else if is("3.8") {
            let never_waits = is("extended-thinking");
            Family::Asynchronous { never_waits }
        } else {
            Family::Unknown
        }
    }
}

/// True if `part` is a whole part of a model's name: 3.15, 3.1.5 and 13.1 do not contain 3.1.
fn has_part(name: &str, part: &str) -> bool {
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '.';
    name.match_indices(part).any(|(at, _)| {
        let (before, rest) = name.split_at(at);
        let after = rest.strip_prefix(part).unwrap_or_default();
        !before.ends_with(is_name_char) && !after.starts_with(is_name_char)
    })
}

impl Capabilities {
    /// Returns the capabilities of a model by its name, served by Google AI.
    ///
    /// ```
    /// use recount_session::Capabilities;
    ///
    /// let flash = Capabilities::of_model("models/gemini-live-2.5-flash");
    /// assert!(flash.takes("googleSearch") && !flash.takes("codeExecution"));
    /// let unheard_of = Capabilities::of_model("my-own-model");
    /// assert!(unheard_of.takes("codeExecution"));
    /// ```
    #[must_use]
    pub fn of_model(model: &str) -> Capabilities {
        Capabilities::of(Platform::GoogleAi, model)
    }

    /// Returns the capabilities of a model by its name and platform.
    ///
    /// An unknown model is expected to support everything but the newest features.
    ///
    /// ```
    /// use recount_session::{Capabilities, Platform};
    ///
    /// let model = "gemini-live-2.5-flash";
    /// assert!(Capabilities::of(Platform::GoogleAi, model).supports_async_tools());
    /// assert!(!Capabilities::of(Platform::Vertex, model).supports_async_tools());
    /// assert!(Capabilities::of(Platform::Vertex, "gemini-3.8-live").supports_async_tools());
    /// ```
    #[must_use]
    pub fn of(platform: Platform, model: &str) -> Capabilities {
        let family = Family::of(model);
        let newest = matches!(family, Family::Asynchronous { .. });
        let never_waits = family == Family::Asynchronous { never_waits: true };
        let async_tools = match (platform, family) {
            (_, Family::Asynchronous { .. }) => true,
            (_, Family::Synchronous) | (Platform::Vertex, _) => false,
            (Platform::GoogleAi, Family::Older | Family::Unknown) => true,
        };
        let default_behavior = if newest {
            Behavior::NonBlocking
        } else {
            Behavior::Blocking
        };
        Capabilities {
            default_behavior,
            async_tools,
            blocking_tools: !never_waits,
            scheduling: async_tools,
            will_continue: async_tools,
            client_content: family != Family::Synchronous,
            initial_history: family != Family::Older,
            json_schema: family != Family::Older,
            context_update: newest,
            google_search: true,
            code_execution: family == Family::Unknown,
            url_context: family == Family::Unknown,
        }
    }

    /// True if the model continues while a tool runs in the background. Otherwise it receives the
    /// acknowledgement as the response and the result as conversation.
    #[must_use]
    pub fn supports_async_tools(&self) -> bool {
        self.async_tools
    }

    /// Returns the effective behavior of a function: the declared one, as far as the model supports
    /// it.
    #[must_use]
    pub fn effective(&self, declared: Option<Behavior>) -> Behavior {
        match (self.async_tools, self.blocking_tools) {
            (false, _) => self.default_behavior,
            (true, false) => Behavior::NonBlocking,
            (true, true) => declared.unwrap_or(Behavior::Blocking),
        }
    }

    /// True if a tool that the service runs itself may be declared. `server_side` is its name on
    /// the wire.
    #[must_use]
    pub fn takes(&self, server_side: &str) -> bool {
        match server_side {
            "googleSearch" => self.google_search,
            "codeExecution" => self.code_execution,
            "urlContext" => self.url_context,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_by_the_last_part_of_the_name() {
        for (model, family) in [
            ("gemini-2.5-flash-native-audio-preview", Family::Older),
            ("models/gemini-live-2.5-flash", Family::Older),
            ("gemini-3.1-flash-live-preview", Family::Synchronous),
            (
                "projects/my-3.1/locations/l/publishers/google/models/gemini-3.8-live",
                Family::Asynchronous { never_waits: false },
            ),
            (
                "gemini-3.8-live-extended-thinking",
                Family::Asynchronous { never_waits: true },
            ),
            ("m", Family::Unknown),
            ("gemini-3.15-flash-live", Family::Unknown),
            ("gemini-3.80-live", Family::Unknown),
            ("gemini-12.5-flash", Family::Unknown),
            ("gemini-2.50-flash", Family::Unknown),
            ("gemini-3.1.2-flash", Family::Unknown),
            ("gemini-3", Family::Unknown),
            (
                "gemini-3.8-live-extended-thinkings",
                Family::Asynchronous { never_waits: false },
            ),
            ("gemini-3.1", Family::Synchronous),
        ] {
            assert_eq!(Family::of(model), family, "{model}");
        }
    }

    #[test]
    fn behavior_depends_on_declaration_model_and_platform() {
        use Behavior::{Blocking, NonBlocking};
        let (google, vertex) = (Platform::GoogleAi, Platform::Vertex);
        for (platform, model, declared, effective) in [
            (google, "2.5", None, Blocking),
            (google, "2.5", Some(NonBlocking), NonBlocking),
            (google, "3.1", Some(NonBlocking), Blocking),
            (google, "3.8", None, Blocking),
            (google, "3.8", Some(NonBlocking), NonBlocking),
            (google, "3.8-extended-thinking", Some(Blocking), NonBlocking),
            (vertex, "2.5", Some(NonBlocking), Blocking),
            (vertex, "3.8", Some(NonBlocking), NonBlocking),
        ] {
            let capabilities = Capabilities::of(platform, model);
            let found = capabilities.effective(declared);
            assert_eq!(found, effective, "{platform:?} {model} {declared:?}");
        }
    }
}
