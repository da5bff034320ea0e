//! What a model understands, as a record that may be overridden.

/// What a model understands of what can be sent to it.
///
/// ```
/// use recount::live::Capabilities;
///
/// let flash = Capabilities::of_model("models/gemini-live-2.5-flash");
/// assert!(flash.takes("googleSearch") && !flash.takes("codeExecution"));
/// let unheard_of = Capabilities::of_model("my-own-model");
/// assert!(unheard_of.takes("codeExecution"));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Capabilities {
    /// It takes the parameters of a function as JSON Schema; otherwise they are put into the service's own subset of it.
    pub json_schema: bool,
    /// It takes a new instruction as `contextUpdate` in the middle of a conversation; otherwise it is told as text.
    pub context_update: bool,
    /// It can search the web by itself.
    pub google_search: bool,
    /// It can run code by itself.
    pub code_execution: bool,
    /// It can read web pages by itself.
    pub url_context: bool,
}

impl Capabilities {
    /// What is known of a model by its name. Of one nobody has heard of, everything is expected but the newest.
    #[must_use]
    pub fn of_model(model: &str) -> Capabilities {
        let is = |version: &str| model.contains(version);
        let (of_2, of_3_1, of_3_8) = (is("2.0") || is("2.5"), is("3.1"), is("3.8"));
        let known = of_2 || of_3_1 || of_3_8;
        Capabilities {
            json_schema: !of_2,
            context_update: of_3_8,
            google_search: true,
            code_execution: !known,
            url_context: !known,
        }
    }

    /// Whether a tool that the service runs itself may be declared, by the name of its declaration on the wire.
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
