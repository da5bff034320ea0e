//! Stand-ins for the disk under the log: one in memory that can be cut, torn and made to fail.
