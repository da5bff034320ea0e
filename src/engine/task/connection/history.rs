//! The conversation so far, read from the journal for a new connection.

use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::engine::telling::history::{History, Outline, Part, RECORDS_MAX, bounded, read};
use crate::live::continuation::{self, Role};
use crate::session::{HistoryForm, Json, Route, Seq, response};

impl SessionTask {
    /// Returns the history that a new connection needs. `resumes` is true if it resumes by a
    /// handle.
    pub(in crate::engine) async fn history_for(
        &self,
        resumes: bool,
    ) -> Result<Option<History>, Error> {
        let covered = self.stream.session.resumption.as_ref().filter(|_| resumes);
        let after = covered.map_or(Seq(0), |it| it.covers);
        let through = self.stream.session.head;
        let mut outline = Outline::default();
        let from = after.0.max(through.0.saturating_sub(RECORDS_MAX)) + 1;
        read(
            &self.stream.ledger,
            &self.stream.session,
            Seq(from),
            &mut outline,
        )
        .await?;
        let mut owed = self.stream.session.deliveries.values();
        let owes = owed.any(|it| it.route != Route::Caller);
        let wanted = !owes && outline.wants_an_answer();
        if wanted {
            outline.forget_the_unfinished_answer();
        }
        let mut turns = self.stream.told(&outline).await?;
        let open = turns.iter().skip(outline.open_from);
        let open = open.filter(|(_, text)| !text.is_empty()).count();
        turns.retain(|(_, text)| !text.is_empty());
        let (turns, left_out) = bounded(turns);
        let asked = if wanted { open.min(turns.len()) } else { 0 };
        if turns.is_empty() {
            return Ok(None);
        }
        let (history, asked) = turns.split_at(turns.len() - asked);
        let capabilities = self.agent.capabilities;
        let mut frames = Vec::new();
        let form = if !resumes && capabilities.initial_history && !history.is_empty() {
            frames.push(continuation::turns(history, true));
            if wanted {
                frames.push(continuation::asked(asked, capabilities));
            }
            HistoryForm::Announced
        } else if capabilities.client_content {
            frames.push(continuation::turns(&turns, wanted));
            HistoryForm::Turns
        } else {
            frames.push(continuation::text(history, asked));
            HistoryForm::LiveText
        };
        Ok(Some(History {
            after,
            through,
            turns: u32::try_from(turns.len()).unwrap_or(u32::MAX),
            left_out: outline.left_out.saturating_add(left_out),
            answer_wanted: wanted,
            form,
            frames,
        }))
    }
}

impl Stream {
    async fn told(&self, outline: &Outline) -> Result<Vec<(Role, String)>, Error> {
        let mut turns = Vec::new();
        for part in &outline.parts {
            turns.push(match part {
                Part::Said { role, text, .. } => (*role, text.clone()),
                Part::Called { call } => {
                    let (name, args) = self.asked_for(*call).await?;
                    let text = format!(
                        "[tool call] Your call {name}({args}) is under way; \
                         its outcome will follow."
                    );
                    (Role::Engine, text)
                }
                Part::Ended {
                    response,
                    call,
                    outcome,
                } => {
                    let (name, args) = self.asked_for(*call).await?;
                    let body = match outline.worded.get(response) {
                        Some(answer) => self.answered_by_hook(*answer).await?,
                        None => self.response_body(*response).await?,
                    };
                    let body = body.unwrap_or_else(Json::empty_object);
                    let text = response::as_conversation(&name, &args, *outcome, &body);
                    (Role::Engine, text)
                }
            });
        }
        Ok(turns)
    }

    async fn asked_for(&self, call: Seq) -> Result<(String, Json), Error> {
        let received = self.ledger.call_received(self.session.id, call).await?;
        let name = received.and_then(|it| it.name).unwrap_or_default();
        Ok((name, self.args_that_ran(call).await?))
    }
}
