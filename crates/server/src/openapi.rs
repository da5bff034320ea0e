//! The OpenAPI document, as far as no handler has it: its title, its tags and its security.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, OpenApi as Document};
use utoipa::{Modify, OpenApi};

/// The document without its paths.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Recount",
        description = "Sessions of LLM agents on record: what waits, who decided, what ran.",
        license(name = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "sessions", description = "Sessions, their records and their state"),
        (name = "approvals", description = "Confirmation requests and standing leaves"),
        (name = "calls", description = "Operations on calls"),
        (name = "programs", description = "Calls of programs, and calls that clients run"),
        (name = "reports", description = "The audit, exports and checks of sessions"),
        (name = "pauses", description = "The stop switch"),
        (name = "account", description = "The caller, login and logout"),
        (name = "health", description = "Health, and this document"),
    ),
    security(("token" = [])),
    modifiers(&Tokens),
)]
pub(crate) struct Outline;

/// Adds the security scheme: a bearer token.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of `recount token create`, such as `rct_…`"))
            .build();
        let components = document
            .components
            .get_or_insert_with(|| ComponentsBuilder::new().build());
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}
