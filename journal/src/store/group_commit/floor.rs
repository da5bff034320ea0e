//! The free-space floor: appends are rejected while the disk is nearly full, before anything is
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::files::disk::Disk;
use crate::index::FREE_SPACE_MIN;
use crate::{Error, Space};

/// The number of appends between two checks of the disk while there is room.
const CHECK_EVERY: u32 = 64;

/// The free space, in bytes, from which a commit is expected to fit again. The log grows by at
/// least that much.
const COMMIT_ROOM_MIN: u64 = 64 << 10;

/// Checks the free space at every 64th append, and at every append while there is too little.
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

    /// Rejects an append if the disk is nearly full.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let count = self.appends.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(CHECK_EVERY) {
            self.check_free_space()
        } else {
            Ok(())
        }
    }

    /// Checks the free space. If there is too little, every append checks from then on.
    pub(in crate::store) fn check_free_space(&self) -> Result<(), Error> {
        self.expect_free(self.floor)
    }

    /// Checks the free space after a commit that had no room.
    pub(super) fn check_after_full(&self) -> Result<(), Error> {
        self.expect_free(self.floor.max(COMMIT_ROOM_MIN))
    }

    fn expect_free(&self, least: u64) -> Result<(), Error> {
        if least == 0 {
            return Ok(());
        }
        let Space { free, .. } = self.space()?;
        if free >= least {
            return Ok(());
        }
        self.check_at_next_append();
        Err(Error::NoSpace {
            free,
            floor: self.floor,
        })
    }

    /// The free space now, and the floor.
    pub(in crate::store) fn space(&self) -> Result<Space, Error> {
        let free = self
            .disk
            .free_space()
            .map_err(Error::io("ask for the free space of the disk"))?;
        Ok(Space {
            free,
            floor: self.floor,
        })
    }

    /// Makes the next append check the free space.
    fn check_at_next_append(&self) {
        self.appends.store(0, Ordering::Relaxed);
    }

    /// The free bytes and the floor, for the error of a commit that had no room.
    pub(in crate::store) fn no_room(&self) -> (u64, u64) {
        self.check_at_next_append();
        (self.disk.free_space().unwrap_or(0), self.floor)
    }

    /// True if the index must wait because so little space is free. sled cannot continue after a
    /// write that had no room. The limit is half the floor, so appends are rejected before the
    /// index waits.
    pub(super) fn is_tight(&self) -> bool {
        let least = FREE_SPACE_MIN.max(self.floor / 2);
        self.disk.free_space().is_ok_and(|free| free < least)
    }
}
