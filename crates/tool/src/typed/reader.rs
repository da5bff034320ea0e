//! A serde deserializer that keeps every digit of a number and the place of a mistake.
//!
//! serde_json reads a number into 64 bits before it knows the requested type. Here each value stays
//! text until the type requests it. So whole numbers of 128 bits are exact, and a number that a
//! float would change is rejected.

use recount_session::Json;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;

use super::decimal::{Decimal, kept_by_f32, kept_by_f64};
use super::misfit::Misfit;

/// Reads a type from a JSON text.
pub(crate) fn read<T: DeserializeOwned>(json: &Json) -> Result<T, Misfit> {
    T::deserialize(Reader::of(json.as_str()))
}

/// One value, as its text without surrounding white space.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    text: &'a str,
    /// True for a key, a string from which a type may also request a number.
    is_key: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn of(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            is_key: false,
        }
    }

    /// Returns the values of an array.
    pub(super) fn items(self) -> Result<Vec<Reader<'a>>, Misfit> {
        let items: Vec<&RawValue> = serde_json::from_str(self.text).map_err(Misfit::custom)?;
        Ok(items
            .into_iter()
            .map(|item| Reader::of(item.get()))
            .collect())
    }

    /// Returns the keys and values of an object, in their order.
    pub(super) fn members(self) -> Result<Vec<(Reader<'a>, Reader<'a>)>, Misfit> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Reader<'de>, Reader<'de>)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let key = Reader {
                        text: key.get(),
                        is_key: true,
                    };
                    found.push((key, Reader::of(value.get())));
                }
                Ok(found)
            }
        }
        serde_json::Deserializer::from_str(self.text)
            .deserialize_map(Members)
            .map_err(Misfit::custom)
    }

    /// Returns the contents of a string.
    pub(super) fn string(self) -> Result<String, Misfit> {
        serde_json::from_str(self.text).map_err(Misfit::custom)
    }

    pub(super) fn kind(self) -> Kind {
        match self.text.bytes().next() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// Returns the number token, if this is a number or a key that holds one.
    pub(super) fn number(self) -> Option<&'a str> {
        let inside = self.text.trim_matches('"');
        let is_number = match self.kind() {
            Kind::Number => true,
            Kind::String => {
                self.is_key && serde_json::from_str::<serde_json::Number>(inside).is_ok()
            }
            Kind::Object | Kind::Array | Kind::Boolean | Kind::Null => false,
        };
        is_number.then_some(inside)
    }

    /// Reads a whole number in any spelling: in JSON Schema 1.0 is an integer.
    fn whole<V: Visitor<'a>>(self, wide: bool, visitor: V) -> Result<V::Value, Misfit> {
        let Some(token) = self.number() else {
            return self.deserialize_any(visitor);
        };
        let Some((negative, amount)) = Decimal::of(token).whole() else {
            let found = format!("number {token}");
            return Err(Misfit::invalid_value(Unexpected::Other(&found), &visitor));
        };
        if let (false, Ok(number)) = (negative, u64::try_from(amount)) {
            return visitor.visit_u64(number);
        }
        let signed = i128::try_from(amount).map(|it| if negative { -it } else { it });
        // `i128::MIN` has no positive counterpart.
        let least = negative && amount == i128::MIN.unsigned_abs();
        match signed.ok().or(least.then_some(i128::MIN)) {
            Some(number) => match i64::try_from(number) {
                Ok(number) => visitor.visit_i64(number),
                Err(_) if wide => visitor.visit_i128(number),
                Err(_) => Err(too_wide(token, &visitor)),
            },
            None if wide && !negative => visitor.visit_u128(amount),
            None => Err(too_wide(token, &visitor)),
        }
    }
}

/// The kind of a JSON value.
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

fn too_wide<'a, V: Visitor<'a>>(token: &str, visitor: &V) -> Misfit {
    let found = format!("number {token}");
    Misfit::invalid_value(Unexpected::Other(&found), visitor)
}

macro_rules! whole_numbers {
    ($($method:ident: $wide:literal,)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            self.whole($wide, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.kind() {
            Kind::Null => visitor.visit_unit(),
            Kind::Boolean => visitor.visit_bool(self.text == "true"),
            Kind::String if self.text.contains('\\') => visitor.visit_string(self.string()?),
            Kind::String => visitor.visit_borrowed_str(self.text.trim_matches('"')),
            Kind::Array => {
                let mut left = self.items()?.into_iter().enumerate();
                let value = visitor.visit_seq(Items(&mut left))?;
                ended(left.next().is_none(), "a shorter array", value)
            }
            Kind::Object => {
                let mut members = Members {
                    left: self.members()?.into_iter(),
                    value: None,
                };
                let value = visitor.visit_map(&mut members)?;
                ended(members.left.next().is_none(), "fewer members", value)
            }
            Kind::Number => {
                let is_whole = !self.text.contains(['.', 'e', 'E']);
                if let Some(number) = self.text.parse().ok().filter(|_| is_whole) {
                    return visitor.visit_u64(number);
                }
                if let Some(number) = self.text.parse().ok().filter(|_| is_whole) {
                    return visitor.visit_i64(number);
                }
                let kept = kept_by_f64(self.text).ok_or_else(|| Misfit::digits(self.text))?;
                visitor.visit_f64(kept)
            }
        }
    }

    whole_numbers! {
        deserialize_i8: false,
        deserialize_i16: false,
        deserialize_i32: false,
        deserialize_i64: false,
        deserialize_i128: true,
        deserialize_u8: false,
        deserialize_u16: false,
        deserialize_u32: false,
        deserialize_u64: false,
        deserialize_u128: true,
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.number() {
            Some(token) => {
                visitor.visit_f64(kept_by_f64(token).ok_or_else(|| Misfit::digits(token))?)
            }
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.number() {
            Some(token) => {
                visitor.visit_f32(kept_by_f32(token).ok_or_else(|| Misfit::digits(token))?)
            }
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match (self.is_key, self.text) {
            (true, "\"true\"") => visitor.visit_bool(true),
            (true, "\"false\"") => visitor.visit_bool(false),
            (_, _) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.kind() {
            Kind::Null => visitor.visit_none(),
            Kind::Object | Kind::Array | Kind::String | Kind::Number | Kind::Boolean => {
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        if name == RAW_VALUE {
            // Only serde_json knows how it hands over a `RawValue`.
            return serde_json::Deserializer::from_str(self.text)
                .deserialize_newtype_struct(name, visitor)
                .map_err(Misfit::custom);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.kind() {
            Kind::String => visitor.visit_enum(Variant {
                tag: self,
                content: None,
            }),
            Kind::Object => match self.members()?.as_slice() {
                [(tag, content)] => visitor.visit_enum(Variant {
                    tag: *tag,
                    content: Some(*content),
                }),
                _ => Err(Misfit::invalid_value(
                    Unexpected::Map,
                    &"an object of one member that names the variant",
                )),
            },
            Kind::Array | Kind::Number | Kind::Boolean | Kind::Null => {
                self.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// Returns an error if the visitor left items over.
fn ended<T>(all: bool, expected: &str, value: T) -> Result<T, Misfit> {
    if all {
        Ok(value)
    } else {
        Err(Misfit::invalid_type(Unexpected::Other("more"), &expected))
    }
}

struct Items<'i, I>(&'i mut I);

impl<'de, I: Iterator<Item = (usize, Reader<'de>)>> SeqAccess<'de> for Items<'_, I> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misfit> {
        let Some((index, item)) = self.0.next() else {
            return Ok(None);
        };
        let value = seed.deserialize(item);
        value
            .map(Some)
            .map_err(|misfit| misfit.under(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint().1
    }
}

struct Members<'de, I> {
    left: I,
    /// The member whose key was read last.
    value: Option<(Reader<'de>, Reader<'de>)>,
}

impl<'de, I: Iterator<Item = (Reader<'de>, Reader<'de>)>> MapAccess<'de> for &mut Members<'de, I> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misfit> {
        self.value = self.left.next();
        match self.value {
            Some((key, _)) => seed.deserialize(key).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let Some((key, value)) = self.value.take() else {
            return Err(Misfit::custom("a value was asked for before its key"));
        };
        let read = seed.deserialize(value);
        read.map_err(|misfit| match key.string() {
            Ok(key) => misfit.under(&key),
            Err(_) => misfit,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.left.size_hint().1
    }
}

/// A variant: a string, or the only member of an object.
struct Variant<'de> {
    tag: Reader<'de>,
    content: Option<Reader<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misfit;
    type Variant = Variant<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Variant<'de>), Misfit> {
        let tag = self.tag.string()?;
        let plain = self.tag.text.trim_matches('"');
        let named = if plain == tag {
            seed.deserialize(BorrowedStrDeserializer::new(plain))
        } else {
            seed.deserialize(serde::de::value::StringDeserializer::new(tag))
        };
        named.map(|named| (named, self))
    }
}

impl<'de> Variant<'de> {
    fn inside<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, Misfit>) -> Result<T, Misfit> {
        let Some(content) = self.content else {
            let expected = "an object with the variant's content";
            return Err(Misfit::invalid_type(
                Unexpected::Str(&self.tag.string()?),
                &expected,
            ));
        };
        let tag = self.tag.string()?;
        read(content).map_err(|misfit| misfit.under(&tag))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        match self.content {
            Some(_) => self.inside(<() as serde::Deserialize>::deserialize),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Misfit> {
        self.inside(|content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.inside(|content| content.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.inside(|content| content.deserialize_any(visitor))
    }
}

/// The name by which serde_json requests the text of a value.
const RAW_VALUE: &str = "$serde_json::private::RawValue";
