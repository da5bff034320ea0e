//! `recount show`: the object behind a hash in a record.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use crate::failures::{Exit, Failure};
use crate::journal::{Keys, Location, UnknownKinds};
use crate::terminal::{Screen, Tone};
use recount::ledger::{self, Ledger};
use recount::session::catalog::{contract_hash, declaration_hash};
use recount::session::{
    Event, ObjectHash, Observation, RunnerAttached, Seq, Session, SessionId, evolve,
};
use recount_telling::{escaped, one_line};

/// The number of records that are read at a time.
const PAGE: usize = 1024;

/// The minimum number of digits that name a hash.
const PREFIX_MIN: usize = 4;

/// Shows the policies, the tools, the declaration or the contract behind a hash.
#[derive(Args)]
pub(crate) struct Show {
    /// The journal: a directory or postgres://…, or an export of it.
    path: Location,
    /// The hash, or a unique beginning of it.
    hash: String,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    unknown: UnknownKinds,
    /// Prints one JSON object: hash, kind, the record that names it, content.
    #[arg(long)]
    json: bool,
}

/// An object with a hash.
#[derive(Clone, PartialEq)]
struct Found {
    hash: ObjectHash,
    kind: &'static str,
    session: SessionId,
    seq: Seq,
    content: Value,
}

impl Show {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let wanted = self.hash.to_ascii_lowercase();
        let hex = wanted.chars().all(|c| c.is_ascii_hexdigit());
        if !hex || wanted.len() < PREFIX_MIN || wanted.len() > 64 {
            let shown = one_line(&self.hash);
            let what = format!(
                "expected a hash of 64 digits or its first {PREFIX_MIN} or more, found {shown:?}"
            );
            return Err(Failure::new("not-a-hash", what).exit(Exit::Usage));
        }
        let ledger = self.unknown.looking(&self.path, &self.keys, screen)?;
        let (found, sealed) = search(&ledger, &wanted).await?;
        match found.as_slice() {
            [it] if self.json => screen.json(&as_json(it))?,
            [it] => show(it, screen)?,
            [] => {
                let what = format!("nothing in the journal has the hash {wanted}");
                let advice = if sealed {
                    "some sessions are sealed; give --keys DIR to search them, too"
                } else {
                    "`recount log PATH SESSION --json` shows the hashes that records name"
                };
                return Err(Failure::new("unknown-hash", what).advice(advice));
            }
            several => {
                let hashes: Vec<String> = several.iter().map(|it| it.hash.to_string()).collect();
                let what = format!(
                    "expected one hash, {} begin with {wanted}: {}",
                    hashes.len(),
                    hashes.join(", ")
                );
                return Err(Failure::new("ambiguous-id", what).advice("give more digits"));
            }
        }
        Ok(Exit::Ok)
    }
}

/// Every object whose hash begins with `wanted`, and a flag that is true if sealed sessions were
/// skipped.
async fn search(ledger: &Ledger, wanted: &str) -> Result<(Vec<Found>, bool), Failure> {
    let (mut found, mut seen, mut sealed): (Vec<Found>, BTreeSet<_>, bool) = Default::default();
    for summary in ledger.sessions().await? {
        let mut seq = Seq(1);
        loop {
            let facts = match ledger.facts(summary.id, seq, PAGE).await {
                Ok(facts) => facts,
                Err(ledger::Error::Sealed { .. }) => {
                    sealed = true;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(last) = facts.last() else { break };
            seq = last.seq.next();
            for fact in &facts {
                let Event::Observed(Observation::RunnerAttached(attached)) = &fact.event else {
                    continue;
                };
                if !seen.insert((attached.catalog, attached.policies)) {
                    continue;
                }
                let mut session = Session::new(summary.id);
                ledger.provide(&mut session, fact).await?;
                let session = evolve(session, fact);
                for it in named(&session, attached, fact.seq) {
                    let known = found.iter().any(|other| other.hash == it.hash);
                    if it.hash.to_string().starts_with(wanted) && !known {
                        found.push(it);
                    }
                }
            }
        }
    }
    Ok((found, sealed))
}

/// The objects with a hash that a runner attached.
fn named(session: &Session, attached: &RunnerAttached, seq: Seq) -> Vec<Found> {
    let found = |hash, kind, content| Found {
        hash,
        kind,
        session: session.id,
        seq,
        content,
    };
    let (catalog, policies) = (&session.terms.catalog, &session.terms.policies);
    let mut all = vec![
        found(attached.catalog, "catalog", json!(**catalog)),
        found(attached.policies, "policies", json!(**policies)),
    ];
    for (name, declaration) in &catalog.tools {
        let policy = policies.of(name);
        let content = json!({"declaration": declaration, "policy": policy});
        let (whole, contract) = (
            declaration_hash(declaration, policy),
            contract_hash(declaration, policy),
        );
        all.push(found(whole, "declaration", content.clone()));
        all.push(found(contract, "contract", content));
    }
    all
}

fn as_json(it: &Found) -> Value {
    json!({
        "hash": it.hash,
        "kind": it.kind,
        "session": it.session,
        "seq": it.seq,
        "content": it.content,
    })
}

fn show(it: &Found, screen: &mut Screen) -> Result<(), Failure> {
    let what = match it.kind {
        "catalog" => "the tools that were declared to the model",
        "policies" => "the policies for the calls of the tools",
        "contract" => "the parts of the tool that an approval of a call covers",
        _ => "everything that was declared about the tool",
    };
    screen.toned(Tone::Heading, &format!("{} {}", it.kind, it.hash))?;
    screen.toned(
        Tone::Quiet,
        &format!(
            "{what}; first named by session {}, seq {}",
            it.session, it.seq
        ),
    )?;
    let text = serde_json::to_string_pretty(&it.content).unwrap_or_default();
    for line in text.lines() {
        screen.line(&escaped(line))?;
    }
    Ok(())
}
