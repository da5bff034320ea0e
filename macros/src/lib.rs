//! The attribute `#[tool]`, which makes an async function a tool for a model.
//!
//! The attribute is used through the crate `recount`, whose docs describe it. Nothing here knows
//! what a tool is: the expansion only names items that `recount` exports.

mod attribute;
mod doc;
mod expansion;
mod signature;

use proc_macro::TokenStream;

/// Makes an async function a tool; `recount::tool` describes it.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expansion::expand(attribute.into(), item.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
