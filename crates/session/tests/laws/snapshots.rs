//! A snapshot and the records after it give the same session as all records.

use recount_session::evolve;
use recount_session::snapshot::{self, Snapshot};

use super::lawful::Verdict;
use super::lawful::recording::Recording;

/// A snapshot may be taken after any record. Once restored with its catalogs and policies, it
/// equals the folded session, and folding continues from it without a difference.
pub(crate) fn snapshot_and_rest_equal_the_full_fold(recording: &Recording) -> Verdict {
    let (mut whole, mut cut) = (recording.start.clone(), recording.start.clone());
    for fact in &recording.facts {
        let bytes = snapshot::of(&cut).ok_or("no snapshot")?;
        let read = Snapshot::read(&bytes).ok_or_else(|| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            format!("after {} a snapshot does not read back: {text}", cut.head)
        })?;
        let missing = recording.start.library().missing(read.objects());
        if read.head() != cut.head || !missing.is_empty() {
            return Err(format!("it is of {}, without {missing:?}", read.head()));
        }
        let restored = read.restored(recording.start.library().clone());
        if restored.as_ref() != Some(&whole) {
            return Err(format!("{restored:#?} is not {whole:#?}"));
        }
        // From here on, the session comes from one more snapshot.
        cut = evolve(restored.ok_or("a library")?, fact);
        whole = evolve(whole, fact);
    }
    Ok(())
}
