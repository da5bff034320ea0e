//! The expansion: the arguments as a type, and a constructor of the tool that contains the
//! function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Error, ItemFn, Result};

use crate::attribute::{AttributeArguments, check_name};
use crate::doc::{Doc, text_of};
use crate::signature::{Argument, Parameter, parameters};

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let given: AttributeArguments = syn::parse2(attribute)?;
    let mut function: ItemFn = syn::parse2(item)?;
    let mut parameters = parameters(&mut function)?;
    let (text, doc_span) = text_of(&function.attrs);
    let doc = Doc::of(&text);
    for (name, text) in &doc.arguments {
        if !describe(&mut parameters, name, text) {
            let span = doc_span.unwrap_or_else(|| function.sig.ident.span());
            return Err(Error::new(
                span,
                format!("`# Arguments` describes `{name}`, which is no parameter"),
            ));
        }
    }
    let ident = function.sig.ident.clone();
    let name = match &given.name {
        Some(name) => name.value(),
        None => ident.unraw().to_string(),
    };
    check_name(&name, ident.span())?;
    let description = match &given.description {
        Some(description) => description.value(),
        None => doc.description,
    };
    if description.trim().is_empty() {
        let missing =
            "the model must be told what the tool does: `#[tool(\"..\")]` or a doc comment";
        return Err(Error::new(ident.span(), missing));
    }

    let arguments = arguments_type(&parameters);
    let takes_context = parameters
        .iter()
        .any(|it| matches!(it, Parameter::Context(_)));
    let (constructor, context) = if takes_context {
        (
            quote!(with_context),
            quote!(, __context: ::recount::tool::ToolContext),
        )
    } else {
        (quote!(new), quote!())
    };
    let passed = parameters.iter().map(|parameter| match parameter {
        Parameter::Argument(argument) => {
            let name = &argument.name;
            quote!(__arguments.#name)
        }
        Parameter::Context(_) => quote!(__context),
    });
    let answer_span = match &function.sig.output {
        syn::ReturnType::Default => ident.span(),
        syn::ReturnType::Type(_, kind) => kind.span(),
    };
    let answer = quote_spanned! { answer_span =>
        (&&&::recount::tool::attribute::Kind(&__answer)).kind().answer(__answer)
    };
    let (outer, inner): (Vec<_>, Vec<_>) = function.attrs.iter().cloned().partition(|it| {
        ["doc", "cfg", "deprecated", "must_use"]
            .iter()
            .any(|path| it.path().is_ident(path))
    });
    let documented = text.is_empty().then(|| quote!(#[doc = #description]));
    let visibility = &function.vis;
    let (signature, block) = (&function.sig, &function.block);
    Ok(quote! {
        #(#outer)*
        #documented
        #visibility fn #ident() -> impl ::recount::tool::ToolFunction {
            #arguments
            #(#inner)*
            #signature #block
            ::recount::tool::TypedTool::#constructor(
                #name,
                #description,
                |__arguments: __ToolArguments #context| async move {
                    use ::recount::tool::attribute::finding::*;
                    let __answer = #ident(#(#passed),*).await;
                    #answer
                },
            )
        }
    })
}

/// Gives a parameter the description from the function's doc comment, if it has none of its own.
fn describe(parameters: &mut [Parameter], name: &str, text: &str) -> bool {
    for parameter in parameters {
        match parameter {
            Parameter::Argument(argument) if argument.name.unraw() == name => {
                if argument.description.is_empty() {
                    argument.description = text.to_owned();
                }
                return true;
            }
            // The list may also describe the context for readers of the code.
            Parameter::Context(context) if context.unraw() == name => return true,
            Parameter::Argument(_) | Parameter::Context(_) => {}
        }
    }
    false
}

/// Returns a type of the arguments that derives its reader and its schema.
fn arguments_type(parameters: &[Parameter]) -> TokenStream {
    let fields = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument(argument) => Some(argument),
        Parameter::Context(_) => None,
    });
    let fields = fields.map(|argument| {
        let Argument {
            name,
            kind,
            description,
            attributes,
        } = &**argument;
        let doc = (!description.is_empty()).then(|| quote!(#[doc = #description]));
        quote!(#doc #(#attributes)* #name: #kind)
    });
    let name = format_ident!("__ToolArguments");
    quote! {
        #[derive(::recount::tool::attribute::serde::Deserialize, ::recount::schemars::JsonSchema)]
        #[serde(crate = "::recount::tool::attribute::serde")]
        #[schemars(crate = "::recount::schemars")]
        struct #name { #(#fields),* }
    }
}
