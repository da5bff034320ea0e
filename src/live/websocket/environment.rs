//! An endpoint from environment variables, with the names that the vendor's libraries use.

use super::endpoint::Endpoint;
use super::token_command::TokenCommand;

/// The error of an environment that does not define an endpoint.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("expected {expected} in the environment, found none")]
pub struct IncompleteEnvironment {
    /// The missing variables.
    pub expected: &'static str,
}

impl Endpoint {
    /// Creates the endpoint that the environment defines.
    ///
    /// - `GOOGLE_GENAI_USE_VERTEXAI`: `true` or `1` for Vertex; otherwise Google AI.
    /// - `GOOGLE_API_KEY`, then `GEMINI_API_KEY`, then `GOOGLE_GENAI_API_KEY`: the key or ephemeral
    ///   token for Google AI. On Vertex without a project, the key of express mode.
    /// - `GOOGLE_CLOUD_PROJECT`: the project on Vertex.
    /// - `GOOGLE_CLOUD_LOCATION`, then `GOOGLE_CLOUD_REGION`: the location on Vertex. Defaults to
    ///   `global`.
    /// - `GOOGLE_ACCESS_TOKEN`: the OAuth token for Vertex. Defaults to a token from
    ///   [`TokenCommand::gcloud`].
    /// - `GOOGLE_GEMINI_BASE_URL`, `GOOGLE_VERTEX_BASE_URL`: another host for Google AI or for
    ///   Vertex, `https://` or `wss://`.
    ///
    /// An empty variable counts as absent. This function does not connect.
    ///
    /// ```
    /// use recount::live::Endpoint;
    ///
    /// match Endpoint::from_env() {
    ///     Ok(endpoint) => println!("{endpoint:?}"),
    ///     Err(incomplete) => println!("{incomplete}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`IncompleteEnvironment`] if a variable is missing that the platform needs.
    pub fn from_env() -> Result<Endpoint, IncompleteEnvironment> {
        Endpoint::from_variables(&|name| std::env::var(name).ok())
    }

    fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, IncompleteEnvironment> {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| variable(name));
            values
                .map(|value| value.trim().to_owned())
                .find(|value| !value.is_empty())
        };
        let key = first(&["GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_API_KEY"]);
        let on_vertex = first(&["GOOGLE_GENAI_USE_VERTEXAI"]);
        let on_vertex = on_vertex.is_some_and(|it| it == "1" || it.eq_ignore_ascii_case("true"));
        if !on_vertex {
            let key = key.ok_or(IncompleteEnvironment {
                expected: "GOOGLE_API_KEY or GEMINI_API_KEY",
            })?;
            let base = first(&["GOOGLE_GEMINI_BASE_URL"]);
            return Ok(Endpoint::google_ai(key).moved_to(base));
        }
        let location = first(&["GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]);
        let location = location.unwrap_or_else(|| "global".to_owned());
        let endpoint = match (first(&["GOOGLE_CLOUD_PROJECT"]), key) {
            (Some(project), _) => match first(&["GOOGLE_ACCESS_TOKEN"]) {
                Some(token) => Endpoint::vertex(project, location, token),
                None => Endpoint::vertex(project, location, TokenCommand::gcloud()),
            },
            (None, Some(key)) => Endpoint::vertex_express(key),
            (None, None) => {
                return Err(IncompleteEnvironment {
                    expected: "GOOGLE_CLOUD_PROJECT, or GOOGLE_API_KEY for express mode,",
                });
            }
        };
        Ok(endpoint.moved_to(first(&["GOOGLE_VERTEX_BASE_URL"])))
    }

    /// The vendor's libraries accept such URLs with HTTP schemes.
    fn moved_to(self, base: Option<String>) -> Endpoint {
        match base {
            None => self,
            Some(base) => match base.split_once("://") {
                Some(("https", rest)) => self.base_url(format!("wss://{rest}")),
                Some(("http", rest)) => self.base_url(format!("ws://{rest}")),
                Some(_) | None => self.base_url(base),
            },
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;
    use crate::live::Connector;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn of(variables: Variables<'_>) -> Result<Endpoint, IncompleteEnvironment> {
        Endpoint::from_variables(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_names_platform_place_and_host() {
        let vertex = ("GOOGLE_GENAI_USE_VERTEXAI", "True");
        let project = ("GOOGLE_CLOUD_PROJECT", "p");
        let token = ("GOOGLE_ACCESS_TOKEN", "t");
        let key = ("GEMINI_API_KEY", "k");
        let cases: [(Variables<'_>, &str, &str); 6] = [
            (
                &[key],
                "wss://generativelanguage.googleapis.com",
                "models/m",
            ),
            (
                &[key, ("GOOGLE_GEMINI_BASE_URL", "https://proxy.example/x")],
                "wss://proxy.example",
                "models/m",
            ),
            (
                &[vertex, project, token],
                "wss://aiplatform.googleapis.com",
                "projects/p/locations/global/publishers/google/models/m",
            ),
            (
                &[vertex, project, ("GOOGLE_CLOUD_LOCATION", "europe-west4")],
                "wss://europe-west4-aiplatform.googleapis.com",
                "projects/p/locations/europe-west4/publishers/google/models/m",
            ),
            (
                &[vertex, key],
                "wss://aiplatform.googleapis.com",
                "publishers/google/models/m",
            ),
            (
                &[("GOOGLE_GENAI_USE_VERTEXAI", "false"), project, key],
                "wss://generativelanguage.googleapis.com",
                "models/m",
            ),
        ];
        for (variables, host, model) in cases {
            let endpoint = of(variables).unwrap();
            assert_eq!(endpoint.endpoint(), host, "{variables:?}");
            assert_eq!(endpoint.model_name("m"), model, "{variables:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (variables, named) in [
            (&[][..], "GOOGLE_API_KEY"),
            (&[("GOOGLE_API_KEY", " ")][..], "GEMINI_API_KEY"),
            (
                &[("GOOGLE_GENAI_USE_VERTEXAI", "1")][..],
                "GOOGLE_CLOUD_PROJECT",
            ),
        ] {
            let error = of(variables).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
