//! Answers to a confirmation request, through the session's task or the desk.

use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::session::{Actor, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::ToolConfirmation;

impl Engine {
    /// Answers a confirmation request and returns the record of the answer. The first recorded
    /// answer counts.
    ///
    /// An approved call runs at once, whether its session is connected or not. If its agent is not
    /// registered here, the answer is still recorded. The call then runs once the agent is
    /// [registered](Engine::register), here or in the next process.
    ///
    /// # Errors
    /// [`Error::Refused`] with the earlier decision; [`Error::UnknownRequest`].
    pub async fn answer(
        &self,
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.answer_as(request, Ok(confirmation), by).await
    }

    /// Answers with a client's confirmation, or with the reason why it does not fit.
    pub(in crate::engine) async fn answer_as(
        &self,
        request: RequestId,
        given: Result<ToolConfirmation, UnfitAnswer>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let named = self.inner.ledger.journal().request(request.0).await?;
        let (session, _) = named.ok_or(Error::UnknownRequest { request })?;
        let session = SessionId(session);
        if let Some(turn) = self.turn_at_desk(session).await {
            let desk = turn.desk();
            return turn
                .write(async move { desk.answer_as(request, given, by).await })
                .await;
        }
        self.ask_task(session, |reply| Input::Answer {
            request,
            confirmation: given,
            by,
            reply,
        })
        .await
    }
}
