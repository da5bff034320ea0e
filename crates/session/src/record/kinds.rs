//! The table of kinds from which the enums of events are made.

/// Declares an enum with one variant a struct of the same name, and the journal's spelling of each
/// kind.
///
/// serde's own tagged enums read a body twice and lose the text of numbers; this is the table they
/// would be.
macro_rules! events {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $kind:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant($variant),)+ }

        impl $name {
            /// Every kind, in the order of declaration.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The kind, as the journal spells it.
            pub fn kind(&self) -> &'static str {
                match self { $($name::$variant(_) => $kind,)+ }
            }

            pub(crate) fn body(&self) -> Result<String, serde_json::Error> {
                let mut body = Vec::with_capacity(256);
                self.write_body(&mut body)?;
                String::from_utf8(body).map_err(serde::ser::Error::custom)
            }

            pub(crate) fn write_body(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
                match self { $($name::$variant(it) => serde_json::to_writer(out, it),)+ }
            }

            #[cfg(feature = "schema")]
            pub(crate) fn schemas(
                generator: &mut schemars::SchemaGenerator,
                kinds: &mut serde_json::Map<String, serde_json::Value>,
            ) {
                $(kinds.insert($kind.to_owned(), <$variant as schemars::JsonSchema>::json_schema(generator).into());)+
            }

            /// As what is wanted of it at once: an event is large, and a wrapping later would move
            /// it again.
            pub(crate) fn decode<E: From<$name>>(kind: &str, body: &str) -> Option<Result<E, serde_json::Error>> {
                match kind {
                    $($kind => Some(serde_json::from_str(body).map(|it| E::from($name::$variant(it)))),)+
                    _ => None,
                }
            }
        }

        $(impl From<$variant> for $name {
            fn from(it: $variant) -> $name {
                $name::$variant(it)
            }
        })+
    };
}

pub(crate) use events;
