//! The two platforms that serve the protocol, and the model names that they use.

/// A platform that serves models.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Platform {
    /// Google AI, the Gemini Developer API.
    #[default]
    GoogleAi,
    /// Vertex AI, also called Gemini Enterprise Agent Platform.
    Vertex,
}

impl Platform {
    /// Returns the platform's spelling of a model name. On Vertex, it is the part after project and
    /// location.
    ///
    /// ```
    /// use recount_session::Platform;
    ///
    /// let model = "gemini-live-2.5-flash";
    /// assert_eq!(Platform::GoogleAi.model_name(model), "models/gemini-live-2.5-flash");
    /// assert_eq!(Platform::GoogleAi.model_name("tunedModels/mine"), "tunedModels/mine");
    /// let on_vertex = "publishers/google/models/gemini-live-2.5-flash";
    /// assert_eq!(Platform::Vertex.model_name(model), on_vertex);
    /// assert_eq!(Platform::Vertex.model_name("google/m"), "publishers/google/models/m");
    /// ```
    #[must_use]
    pub fn model_name(self, model: &str) -> String {
        let begins = |with: &[&str]| with.iter().any(|it| model.starts_with(it));
        match self {
            Platform::GoogleAi if begins(&["models/", "tunedModels/"]) => model.to_owned(),
            Platform::GoogleAi => format!("models/{model}"),
            Platform::Vertex if begins(&["projects/", "models/", "publishers/"]) => {
                model.to_owned()
            }
            Platform::Vertex => {
                let (publisher, name) = model.split_once('/').unwrap_or(("google", model));
                format!("publishers/{publisher}/models/{name}")
            }
        }
    }
}
