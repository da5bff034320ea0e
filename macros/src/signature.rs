//! The parameters of the function: those from the model, and the context from the runtime.

use proc_macro2::Span;
use syn::{Attribute, Error, FnArg, Ident, ItemFn, Pat, Result, Signature, Type, spanned::Spanned};

use crate::doc::text_of;

/// One parameter of the function.
pub(crate) enum Parameter {
    /// An argument from the model.
    Argument(Box<Argument>),
    /// The context from the runtime, invisible to the model.
    Context(Ident),
}

/// A parameter that the model provides.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    pub(crate) description: String,
    /// The attributes for serde and schemars.
    pub(crate) attributes: Vec<Attribute>,
}

/// Returns the parameters of the function, and moves their attributes to the generated type.
pub(crate) fn parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    check(&function.sig)?;
    let mut parameters = Vec::new();
    for input in &mut function.sig.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(
                input.span(),
                "a tool has no `self`: it is a free function",
            ));
        };
        let Pat::Ident(name) = &*input.pat else {
            return Err(Error::new(
                input.pat.span(),
                "expected a plain name, which the model is told",
            ));
        };
        let name = name.ident.clone();
        if let Some(cfg) = input.attrs.iter().find(|it| it.path().is_ident("cfg")) {
            return Err(Error::new(
                cfg.span(),
                "a parameter of a tool is always there",
            ));
        }
        if let Some(span) = borrowed(&input.ty) {
            return Err(Error::new(
                span,
                "a parameter of a tool owns its value: expected such as `String` or `Vec<T>`",
            ));
        }
        if is_context(&input.ty) {
            if parameters
                .iter()
                .any(|it| matches!(it, Parameter::Context(_)))
            {
                return Err(Error::new(input.ty.span(), "a second `ToolContext`"));
            }
            input.attrs.retain(|it| !it.path().is_ident("doc"));
            parameters.push(Parameter::Context(name));
            continue;
        }
        let (description, _) = text_of(&input.attrs);
        let ours = |it: &Attribute| {
            ["serde", "schemars"]
                .iter()
                .any(|path| it.path().is_ident(path))
        };
        let attributes = input.attrs.iter().filter(|it| ours(it)).cloned().collect();
        input
            .attrs
            .retain(|it| !ours(it) && !it.path().is_ident("doc"));
        parameters.push(Parameter::Argument(Box::new(Argument {
            name,
            kind: (*input.ty).clone(),
            description,
            attributes,
        })));
    }
    Ok(parameters)
}

/// Rejects functions that cannot be a tool.
fn check(signature: &Signature) -> Result<()> {
    if signature.asyncness.is_none() {
        return Err(Error::new(
            signature.fn_token.span(),
            "a tool is an `async fn`",
        ));
    }
    let generics = &signature.generics;
    let bound = generics.where_clause.as_ref().map(|it| it.where_token.span);
    let open = generics.params.first().map(|it| it.span());
    match open.or(bound) {
        Some(span) => Err(Error::new(
            span,
            "a tool has no generic parameters: the model is told one schema",
        )),
        None => Ok(()),
    }
}

/// Returns the span where a type borrows or is not named.
fn borrowed(kind: &Type) -> Option<Span> {
    match kind {
        Type::Reference(_) | Type::ImplTrait(_) | Type::Ptr(_) => Some(kind.span()),
        _ => None,
    }
}

fn is_context(kind: &Type) -> bool {
    match kind {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|it| it.ident == "ToolContext"),
        _ => false,
    }
}
