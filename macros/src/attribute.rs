//! The arguments of the attribute: `"description"`, `name = ".."`, `description = ".."`.

use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

/// The parsed arguments of the attribute.
#[derive(Default)]
pub(crate) struct AttributeArguments {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
}

impl Parse for AttributeArguments {
    fn parse(input: ParseStream<'_>) -> Result<AttributeArguments> {
        let mut given = AttributeArguments::default();
        while !input.is_empty() {
            if input.peek(LitStr) {
                set(&mut given.description, input.parse()?, "description")?;
            } else {
                let key: Ident = input
                    .parse()
                    .map_err(|error| Error::new(error.span(), EXPECTED))?;
                input.parse::<Token![=]>()?;
                let value: LitStr = input.parse()?;
                if key == "name" {
                    check_name(&value.value(), value.span())?;
                    set(&mut given.name, value, "name")?;
                } else if key == "description" {
                    set(&mut given.description, value, "description")?;
                } else {
                    return Err(Error::new(key.span(), EXPECTED));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(given)
    }
}

fn set(place: &mut Option<LitStr>, value: LitStr, what: &str) -> Result<()> {
    if place.is_some() {
        return Err(Error::new(value.span(), format!("a second {what}")));
    }
    *place = Some(value);
    Ok(())
}

/// Checks that the service accepts a name; a model could not call any other.
pub(crate) fn check_name(name: &str, span: proc_macro2::Span) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
    if (1..=NAME_MAX).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    let expected = format!("expected a name of 1 to {NAME_MAX} letters, digits and `_ : . -`");
    Err(Error::new(span, expected))
}

const EXPECTED: &str = "expected a description, `name = \"..\"` or `description = \"..\"`";
const NAME_MAX: usize = 64;
