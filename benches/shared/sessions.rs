//! Typical sessions of gated calls, each asked, granted, run and answered, recorded as an engine
//! does.

use std::path::Path;
use std::sync::Arc;

use recount::journal::{DiskJournal, Durability, Journal, block_on};
use recount::ledger::{Ledger, Seal, Tail};
use recount::session::{Session, SessionId, evolve, open_work};
use recount::testing::{History, Toolbox, history, toolbox};
use serde_json::json;
use uuid::Uuid;

/// The number of calls in one session. Each makes ten records.
const CALLS: usize = 20;

/// Makes a journal with at least so many records.
pub(crate) fn fill(path: &Path, records: u64) {
    let journal: Arc<dyn Journal> = Arc::new(DiskJournal::open(path).expect("a journal"));
    let ledger = Ledger::new(Arc::clone(&journal));
    let tools = toolbox().gated("refund");
    let recorded = recorded(&tools);
    let sessions = records.div_ceil(recorded.facts().len() as u64);
    for number in 0..sessions {
        let id = SessionId(Uuid::from_u128(u128::from(number + 1)));
        write(&ledger, id, &recorded, &tools);
    }
    block_on(journal.close()).expect("a clean close");
}

fn recorded(tools: &Toolbox) -> History {
    let begun = history().opened("support").attached(tools).connected();
    (0..CALLS).fold(begun, |history, n| {
        history
            .call(&format!("c{n}"), "refund", json!({"order_id": n}))
            .granted("ada")
            .returned(json!({"refunded": true}))
            .sent()
            .heard()
    })
}

/// Writes a session in appends of a few records.
fn write(ledger: &Ledger, id: SessionId, recorded: &History, tools: &Toolbox) {
    let seal = Seal::default();
    let terms = seal.terms(id, tools.catalog(), tools.policies());
    let (mut objects, _) = terms.expect("objects");
    let library = recorded.session().library().clone();
    let mut session = Session::with_library(id, library);
    let (mut tail, mut open) = (Tail::EMPTY, Vec::new());
    for facts in recorded.facts().chunks(4) {
        session = facts.iter().fold(session, evolve);
        let objects = std::mem::take(&mut objects);
        let append = ledger.append(
            tail,
            &seal,
            &session,
            facts,
            &open,
            objects,
            Durability::Buffered,
        );
        tail = block_on(append).expect("an append");
        open = open_work(&session);
    }
}
