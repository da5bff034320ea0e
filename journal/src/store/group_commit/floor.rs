//! The free-space floor: appends are refused while the disk is nearly full, before anything is
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;
use crate::files::disk::Disk;
use crate::index::ROOM_LEAST;

/// How many appends go by between two looks at the disk while there is room.
const LOOK_EVERY: u32 = 64;

/// The free space, in bytes, from which a commit is expected to fit again: the least by which the
/// log grows.
const COMMIT_LEAST: u64 = 64 << 10;

/// Looks at the free space now and then, and at every append while there is too little.
pub(crate) struct Floor {
    disk: Arc<dyn Disk>,
    floor: u64,
    appends: AtomicU32,
}

impl Floor {
    pub(crate) fn new(disk: Arc<dyn Disk>, floor: u64) -> Self {
        Self {
            disk,
            floor,
            appends: AtomicU32::new(0),
        }
    }

    /// Whether there is room for an append.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let count = self.appends.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(LOOK_EVERY) {
            self.look()
        } else {
            Ok(())
        }
    }

    /// Looks at the free space. Where it is too little, every append looks from then on.
    pub(in crate::store) fn look(&self) -> Result<(), Error> {
        self.expect_free(self.floor)
    }

    /// Looks at the free space after a commit for which there was none.
    pub(super) fn look_again_after_full(&self) -> Result<(), Error> {
        self.expect_free(self.floor.max(COMMIT_LEAST))
    }

    fn expect_free(&self, least: u64) -> Result<(), Error> {
        if least == 0 {
            return Ok(());
        }
        let free = self
            .disk
            .free_space()
            .map_err(Error::io("ask for the free space of the disk"))?;
        if free >= least {
            return Ok(());
        }
        self.look_again();
        Err(Error::NoSpace {
            free,
            floor: self.floor,
        })
    }

    /// Has the next append look.
    fn look_again(&self) {
        self.appends.store(0, Ordering::Relaxed);
    }

    /// The free bytes and the floor of a disk that had no room for a commit.
    pub(in crate::store) fn no_room(&self) -> (u64, u64) {
        self.look_again();
        (self.disk.free_space().unwrap_or(0), self.floor)
    }

    /// True if so little is free that the index must wait: sled cannot go on after a write that had
    /// no room. It begins to wait at half the floor, so appends are refused before.
    pub(super) fn is_tight(&self) -> bool {
        let least = ROOM_LEAST.max(self.floor / 2);
        self.disk.free_space().is_ok_and(|free| free < least)
    }
}
