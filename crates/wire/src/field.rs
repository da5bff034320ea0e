//! Messages that consist only of a table of fields.

use recount_text::json::{DecodeError, Number, RawJson};

use super::fields::{Fields, Message};
use super::object_writer::ObjectWriter;
use super::repeated::Repeated;

/// A type of field, with its way of reading and writing.
pub(super) trait Field: Sized {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError>;

    fn put(&self, object: &mut ObjectWriter, name: &str);
}

/// Declares a message, its fields and their names in the protocol.
///
/// A field of the wrong type stays in `other`, because none of these is worth rejecting the
/// message. Fields named after `known` also stay in `other`, with camelCase keys at every depth.
macro_rules! message {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$about_field:meta])* pub $field:ident: $kind:ty = $wire:literal,)+
        }
        $(known $($known:literal)+)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$about_field])* pub $field: $kind,)+
            /// All other fields.
            pub other: $crate::Other,
        }

        impl $name {
            /// Parses the message on its own.
            ///
            /// # Errors
            /// An error if the text is not a JSON object, nests too deeply, or repeats a field.
            pub fn decode(text: &str) -> Result<Self, $crate::DecodeError> {
                use $crate::fields::{Fields, Message as _};
                Self::read(&mut Fields::parse(text)?)
            }

            /// Serializes the message on its own, in camelCase.
            pub fn encode(&self) -> String {
                use $crate::fields::Message as _;
                self.to_text()
            }
        }

        impl $crate::fields::Message for $name {
            fn read(
                fields: &mut $crate::fields::Fields,
            ) -> Result<Self, $crate::DecodeError> {
                Ok(Self {
                    $($field: fields.or_left($wire),)+
                    other: fields.rest(&[$($($known),+)?])?,
                })
            }

            fn write(&self, object: &mut $crate::object_writer::ObjectWriter) {
                use $crate::field::Field as _;
                $(self.$field.put(object, $wire);)+
                object.rest(&self.other);
            }
        }
    };
}

pub(super) use message;

impl Field for Option<String> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.string(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.string(name, self.as_deref());
    }
}

impl Field for Option<bool> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.boolean(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.boolean(name, *self);
    }
}

impl Field for Option<Number> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.number(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.raw(name, self.as_ref().map(Number::raw));
    }
}

/// A user's value: its keys keep their spelling.
impl Field for Option<RawJson> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.raw(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.raw(name, self.as_ref());
    }
}

impl<M: Message> Field for Option<M> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.message(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.message(name, self.as_ref());
    }
}

impl<M: Message> Field for Repeated<M> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.messages(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.messages(name, self);
    }
}

impl Field for Repeated<String> {
    fn take(fields: &mut Fields, name: &str) -> Result<Self, DecodeError> {
        fields.strings(name)
    }

    fn put(&self, object: &mut ObjectWriter, name: &str) {
        object.strings(name, self);
    }
}
