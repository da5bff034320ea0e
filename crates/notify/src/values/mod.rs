//! The small values that the other rooms share.

mod detail;
mod name;
mod occasion;
mod zone;
mod zone_file;
mod zone_rule;

pub use detail::Detail;
pub use name::{SinkName, UnfitName};
pub use occasion::{Occasion, UnknownWord};
pub use zone::{NamedZone, Zone};
