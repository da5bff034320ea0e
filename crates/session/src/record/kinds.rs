//! The macro that makes the enums of events from a table of kinds.

/// Declares an enum with one variant for each struct of the same name, and the journal's spelling
/// of each kind.
///
/// Replaces serde's tagged enums, which parse a body twice and lose the text of numbers.
macro_rules! events {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $kind:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant($variant),)+ }

        impl $name {
            /// The kinds, in the order of declaration.
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
                $(kinds.insert(
                    $kind.to_owned(),
                    <$variant as schemars::JsonSchema>::json_schema(generator).into(),
                );)+
            }

            /// Parses a body directly into the wanted type. An event is large, and a conversion
            /// afterwards would move it again.
            pub(crate) fn decode<E: From<$name>>(
                kind: &str,
                body: &str,
            ) -> Option<Result<E, serde_json::Error>> {
                match kind {
                    $($kind => Some(
                        serde_json::from_str(body).map(|it| E::from($name::$variant(it)))
                    ),)+
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
