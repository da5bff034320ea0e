//! Law 7: decisions can be derived again.

use recount_session::{Event, Fact, Observation, RULES, RULES_MIN, rules_needed, step};

use super::Verdict;
use super::recording::{Recording, body, observed};

/// Deriving the decisions again from every observation, parsed back from its bytes, gives the same
/// records: kind, body bytes, time and cause.
pub(crate) fn decisions_repeat(recording: &Recording) -> Verdict {
    let mut session = recording.start.clone();
    for batch in recording.batches() {
        let read = Event::decode(batch[0].event.kind(), &body(&batch[0]));
        let Ok(Event::Observed(observation)) = read else {
            return Err(format!("{} reads back as {read:?}", batch[0].seq));
        };
        let again = step(session, batch[0].at, observation).map_err(|it| it.to_string())?;
        let shown = |fact: &Fact| {
            let (seq, kind, body) = (fact.seq, fact.event.kind(), body(fact));
            format!(
                "{seq} {kind} {body} at {} because of {:?}",
                fact.at.0, fact.cause
            )
        };
        let recorded: Vec<String> = batch.iter().map(shown).collect();
        let decided: Vec<String> = again.facts.iter().map(shown).collect();
        if recorded != decided {
            return Err(format!("recorded {recorded:#?}\ndecided {decided:#?}"));
        }
        session = again.session;
    }
    Ok(())
}

/// The number of the rules is recorded when a session opens and when a runner attaches. It applies
/// from that record on. It is at least the number that the terms in force need, so that a program
/// that would overlook one of them refuses the session.
pub(crate) fn the_rules_in_force_are_on_record(recording: &Recording) -> Verdict {
    for (facts, session) in &recording.steps {
        let recorded =
            recording.facts[..*facts]
                .iter()
                .rev()
                .find_map(|fact| match observed(fact) {
                    Some(Observation::SessionOpened(it)) => Some(it.rules),
                    Some(Observation::RunnerAttached(it)) => Some(it.rules),
                    Some(Observation::CatalogChanged(it)) if recording.takes_terms(fact) => {
                        Some(it.rules)
                    }
                    _ => None,
                });
        if recorded != Some(session.rules) || !(RULES_MIN..=RULES).contains(&session.rules) {
            return Err(format!("recorded {recorded:?}, in force {}", session.rules));
        }
        let needed = rules_needed(&session.terms.catalog, &session.terms.policies);
        if session.rules < needed {
            return Err(format!(
                "rules {} in force, terms need {needed}",
                session.rules
            ));
        }
    }
    Ok(())
}
