//! A lease as JSON: its length in milliseconds.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::session::Lease;

pub(in crate::engine::operations) fn serialize<S: Serializer>(
    lease: &Lease,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    lease.millis().serialize(serializer)
}

pub(in crate::engine::operations) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Lease, D::Error> {
    Lease::from_millis(u64::deserialize(deserializer)?).map_err(de::Error::custom)
}
