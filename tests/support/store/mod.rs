//! The journal of a directory, which outlives the processes of a test.
//!
//! If the tests use the database, the directory has a file with the name of the journal's schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recount::engine::{Engine, EngineBuilder};
use recount::journal::{DiskJournal, Journal, block_on, export, verify};

use crate::schema::{self, Schema};

/// A builder of an engine over the journal of a directory.
pub(crate) fn engine(path: impl Into<PathBuf>) -> EngineBuilder {
    let path = path.into();
    if schema::is_chosen() {
        return Engine::in_memory().journal(open(&path)).control(path);
    }
    Engine::builder(path)
}

/// Opens the journal of a directory as a new process.
pub(crate) fn open(path: &Path) -> Arc<dyn Journal> {
    if schema::is_chosen() {
        return schema_of(path).open();
    }
    Arc::new(DiskJournal::open(path).unwrap())
}

/// Opens the journal of a directory after a check that it is sound.
pub(crate) fn sound(path: impl AsRef<Path>) -> Arc<dyn Journal> {
    let path = path.as_ref();
    if !schema::is_chosen() {
        let report = verify::directory(path).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        return open(path);
    }
    let journal = open(path);
    assert_sound(&*journal);
    journal
}

/// Asserts that all of a journal is sound.
pub(crate) fn assert_sound(journal: &dyn Journal) {
    let mut exported = Vec::new();
    block_on(export(journal, None, &mut exported)).unwrap();
    let report = verify::export(&exported[..]).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
}

/// The schema of a directory, by its name.
pub(crate) fn schema_of(path: &Path) -> Schema {
    let file = path.join("schema");
    if let Ok(name) = fs::read_to_string(&file) {
        return Schema { name };
    }
    let schema = Schema::new();
    keep_in(path, &schema);
    schema
}

/// Puts the journal of a directory into a schema.
pub(crate) fn keep_in(path: &Path, schema: &Schema) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("schema"), &schema.name).unwrap();
}
