//! The OpenAPI document, as far as no handler has it: its title, its tags and its security.

use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::schema::{ArrayItems, SchemaFormat};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ComponentsBuilder, Content, OpenApi as Document, Ref, RefOr, ResponseBuilder, Schema,
};
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
        (name = "holds", description = "Legal holds, which keep sessions from erasure"),
        (name = "sinks", description = "The sinks of notifications"),
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

/// Adds the parts that operations have in common: the problems of every request, the forms of ids
/// and labels in parameters, and streams, whose events no schema of OpenAPI 3.1 describes.
pub(crate) fn complete(document: &mut Document) {
    for item in document.paths.paths.values_mut() {
        let PathItem { get, post, .. } = item;
        for operation in [get, post].into_iter().flatten() {
            add_problems(operation);
            let parameters = operation.parameters.iter_mut().flatten();
            parameters.for_each(describe);
            without_schema_of_streams(operation);
        }
    }
}

/// Every request may lack its credentials, be refused, or come while the service cannot serve it.
fn add_problems(operation: &mut Operation) {
    let problem = Ref::from_schema_name("Problem");
    let content = Content::new(Some(RefOr::Ref(problem)));
    let responses = &mut operation.responses.responses;
    for (status, description) in [("4XX", "Refused"), ("5XX", "Not now, or a failure")] {
        let response = ResponseBuilder::new()
            .description(description)
            .content("application/problem+json", content.clone())
            .build();
        let there = responses.entry(status.to_owned());
        there.or_insert(RefOr::T(response));
    }
}

fn describe(parameter: &mut Parameter) {
    let is_path = matches!(parameter.parameter_in, ParameterIn::Path);
    let Some(RefOr::T(schema)) = &mut parameter.schema else {
        return;
    };
    let text = match schema {
        Schema::Object(text) => text,
        Schema::Array(list) => match &mut list.items {
            ArrayItems::RefOrSchema(items) => match items.as_mut() {
                RefOr::T(Schema::Object(text)) => text,
                RefOr::T(_) | RefOr::Ref(_) => return,
            },
            ArrayItems::False => return,
        },
        _ => return,
    };
    let form = match (parameter.name.as_str(), is_path) {
        ("id", true) | ("session", false) => {
            text.format = Some(SchemaFormat::Custom("uuid".to_owned()));
            return;
        }
        ("call", true) => "^([1-9][0-9]{0,17}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$",
        ("label", false) => "^[^:]+:",
        ("state", false) => "^(open|closed)$",
        ("format", false) => "^(json|csv)$",
        _ => return,
    };
    text.pattern = Some(form.to_owned());
}

fn without_schema_of_streams(operation: &mut Operation) {
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else {
            continue;
        };
        if let Some(stream) = response.content.get_mut("text/event-stream") {
            stream.schema = None;
        }
    }
}
