//! `recount repair`: recovers a damaged journal as far as possible.

use clap::Args;
use recount_journal::{Damage, Hurt, Progress, Remedy, RepairOptions, Repaired, repair};
use serde_json::json;

use crate::failures::{Exit, Failure};
use crate::journal::{Location, opening};
use crate::terminal::{Meter, Screen, Tone};
use recount_telling::{count, one_line};

/// The advice for a database.
const INSTEAD: &str = "restore the database with its own tools; `recount verify ADDRESS` lists \
                       what is wrong with it";

/// Recovers a damaged journal as far as possible, and lists exactly what is lost.
///
/// Records that the log has lost are restored from the index. A session keeps its records up to the
/// first gap; complete records behind a gap go into a file `salvage-1.jsonl` in the journal's
/// directory. The old log is kept as `log.damaged-1`. A sound journal is not changed. Exits with 0
/// if nothing is lost, with 4 if something is.
#[derive(Args)]
pub(crate) struct Repair {
    /// The directory of the journal.
    path: Location,
    /// Shows what a repair would do, and changes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Prints one JSON document.
    #[arg(long)]
    json: bool,
}

impl Repair {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let path = self.path.files("repair", INSTEAD)?;
        let meter = Meter::new("Building a new index");
        let mut options = RepairOptions::default()
            .program(recount::engine::PROGRAM)
            .progress(move |Progress { done, total }| meter.show(done, total));
        if self.dry_run {
            options = options.dry_run();
        }
        let options = if opening::trusts_others() {
            options.insecure_directory()
        } else {
            options
        };
        let repaired = repair(path, options)?;
        if self.json {
            screen.json(&as_json(&repaired, self.dry_run))?;
        } else {
            self.show(&repaired, screen)?;
        }
        // An unfinished repair is damage for `verify`, too.
        Ok(if repaired.lost_something() || repaired.unfinished {
            Exit::Damaged
        } else {
            Exit::Ok
        })
    }

    fn show(&self, repaired: &Repaired, screen: &mut Screen) -> Result<(), Failure> {
        let lives = format!(
            "{} and {}",
            count(repaired.sessions, "session"),
            count(repaired.records, "record")
        );
        if repaired.unfinished {
            screen.toned(Tone::Bad, "An earlier repair is not finished")?;
        } else if repaired.was_needed() {
            for damage in &repaired.damages {
                let what = one_line(&damage.what).into_owned();
                screen.line(&format!("  {what}: {}", damage.remedy))?;
            }
            for hurt in &repaired.hurt {
                show_hurt(hurt, screen)?;
            }
            if repaired.frames_unnamed > 0 {
                let frames = count(repaired.frames_unnamed, "frame");
                let what = format!("  {frames} with records that nothing refers to any more");
                screen.toned(Tone::Bad, &what)?;
            }
            for object in &repaired.objects_lost {
                screen.toned(Tone::Bad, &format!("  object {object} is lost"))?;
            }
            if repaired.cut_bytes > 0 {
                let bytes = count(repaired.cut_bytes, "byte");
                screen.line(&format!(
                    "  {bytes} at the end are an unfinished write, or damaged"
                ))?;
            }
            self.sum_up(repaired, &lives, screen)?;
        } else if repaired.records > 0 {
            screen.toned(Tone::Good, &format!("Nothing to repair: {lives}"))?;
        }
        for note in &repaired.notes {
            screen.toned(Tone::Quiet, &format!("note: {}", one_line(note)))?;
        }
        Ok(())
    }

    fn sum_up(&self, repaired: &Repaired, lives: &str, screen: &mut Screen) -> Result<(), Failure> {
        let done = if self.dry_run {
            "A repair would leave"
        } else {
            "Repaired:"
        };
        let (tone, loss) = if repaired.lost_something() {
            let is_uncounted = repaired.damages.iter().any(|it| it.remedy == Remedy::Lost);
            let lost = match repaired.records_lost() {
                0 if is_uncounted => "some".to_owned(),
                lost => lost.to_string(),
            };
            let loss = format!(", {} salvaged, {lost} lost", repaired.records_salvaged());
            (Tone::Bad, loss)
        } else {
            (Tone::Good, ", nothing lost".to_owned())
        };
        screen.toned(tone, &format!("{done} {lives}{loss}"))?;
        if let Some(name) = &repaired.salvage {
            screen.line(&format!("salvaged records are in {name}"))?;
        }
        if let Some(name) = &repaired.damaged_log {
            screen.line(&format!("the old log is kept as {name}"))?;
        }
        Ok(())
    }
}

fn show_hurt(hurt: &Hurt, screen: &mut Screen) -> Result<(), Failure> {
    let mut text = if hurt.session.is_nil() {
        "  the journal's own stream".to_owned()
    } else {
        format!("  session {}", hurt.session)
    };
    text.push_str(&match hurt.recovered {
        0 => ": nothing recovered".to_owned(),
        seq => format!(": recovered up to {seq}"),
    });
    for (what, ranges) in [("salvaged", &hurt.salvaged), ("lost", &hurt.lost)] {
        if !ranges.is_empty() {
            text.push_str(&format!(", {what} {}", in_words(ranges)));
        }
    }
    screen.toned(Tone::Bad, &text)
}

fn in_words(ranges: &[(u64, u64)]) -> String {
    let words = ranges.iter().map(|(from, to)| {
        if from == to {
            from.to_string()
        } else {
            format!("{from}-{to}")
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn as_json(repaired: &Repaired, dry_run: bool) -> serde_json::Value {
    let damage = |it: &Damage| {
        let remedy = it.remedy.to_string();
        json!({"frames": it.frames, "what": it.what, "remedy": remedy})
    };
    let hurt = |it: &Hurt| {
        json!({
            "session": it.session,
            "recovered": it.recovered,
            "salvaged": it.salvaged,
            "lost": it.lost,
        })
    };
    json!({
        "needed": repaired.was_needed(),
        "dry_run": dry_run,
        "unfinished": repaired.unfinished,
        "lost": repaired.lost_something(),
        "sessions": repaired.sessions,
        "records": repaired.records,
        "records_salvaged": repaired.records_salvaged(),
        "records_lost": repaired.records_lost(),
        "identical": repaired.identical,
        "was_closed": repaired.was_closed,
        "frames_from_index": repaired.frames_from_index,
        "frames_unnamed": repaired.frames_unnamed,
        "objects_lost": repaired.objects_lost,
        "cut_bytes": repaired.cut_bytes,
        "damages": repaired.damages.iter().map(damage).collect::<Vec<_>>(),
        "hurt": repaired.hurt.iter().map(hurt).collect::<Vec<_>>(),
        "salvage": repaired.salvage,
        "damaged_log": repaired.damaged_log,
        "notes": repaired.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_short() {
        assert_eq!(in_words(&[(1, 3), (5, 5)]), "1-3 5");
    }
}
