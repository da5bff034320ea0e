//! Reports of a client about a call that it holds.

use axum::response::IntoResponse;
use recount::control::checked;
use recount::engine::{ClaimKey, ClientAction, Operation};
use recount::session::{Json as RawJson, Seq, SessionId};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::claims::lease;
use crate::problems::Problem;
use crate::requests::{InPath, Strict, call, session};
use crate::routes::caller::Caller;
use crate::routes::outcome::{Done, of_control};
use crate::routes::shapes::OnRecordShape;

/// Declares the bodies: each names its claim, and has the fields of its report.
macro_rules! reports {
    ($($(#[$($doc:tt)*])* $name:ident { $($fields:tt)* })+) => {$(
        $(#[$($doc)*])*
        #[derive(Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            /// The id of the claim.
            claim: String,
            /// The number of the start. By default the newest one.
            #[serde(default)]
            attempt: Option<u32>,
            $($fields)*
        }
    )+};
}

reports! {
    /// A renewal of the lease.
    Renewal {
        /// The length of the lease from now on, in milliseconds: 1 s to 24 h, 60 s by default.
        #[serde(default)]
        #[schema(minimum = 1000, maximum = 86_400_000)]
        lease_ms: Option<u64>,
    }
    /// One of several results.
    Yielded {
        /// The result: any JSON value. An object is recorded as it is, any other value under
        /// `output`, unless the agent has another shape of responses.
        #[schema(value_type = serde_json::Value)]
        response: Box<RawValue>,
    }
    /// An event of the run, such as progress.
    Reported {
        /// The name of the event.
        name: String,
        /// The data of the event.
        #[schema(value_type = serde_json::Value)]
        data: Box<RawValue>,
    }
    /// The result of the run.
    Finished {
        /// The result: any JSON value. An object is recorded as it is, any other value under
        /// `output`, unless the agent has another shape of responses.
        #[schema(value_type = serde_json::Value)]
        result: Box<RawValue>,
    }
    /// The failure of the run.
    Failed {
        /// The reason.
        failed: String,
    }
    /// The end of the claim without a result.
    Released {
        /// The reason.
        #[serde(default)]
        reason: Option<String>,
        /// True if the client has not begun to run the call. It is then ready for another client,
        /// and not in doubt.
        #[serde(default)]
        not_begun: bool,
    }
}

/// The place of a call in a path, in which the caller may report.
struct Held {
    caller: Caller,
    session: SessionId,
    call: Seq,
}

impl Held {
    async fn of(caller: Caller, id: &str, name: &str) -> Result<Held, Problem> {
        let session = session(id)?;
        caller.driven(session, None).await?;
        let call = caller.call(session, call(name)?).await?;
        // The tool of a sealed session without its key is unknown, and so is its call.
        let tool = caller.ledger().tool_of(session, call).await?;
        caller.driven(session, tool.as_deref()).await?;
        Ok(Held {
            caller,
            session,
            call,
        })
    }

    /// Records a report. The engine checks that the caller holds the claim.
    async fn report(
        self,
        claim: String,
        attempt: Option<u32>,
        action: ClientAction,
    ) -> Result<Done, Problem> {
        let key = ClaimKey {
            session: self.session,
            call: self.call,
            attempt,
            claim,
        };
        self.caller.operate(Operation::Client { key, action }).await
    }
}

fn json(text: &RawValue) -> Result<RawJson, Problem> {
    checked(text).map_err(of_control)
}

/// Declares a route of a report: the path, the body, and the action.
macro_rules! route {
    (
        $(#[$($doc:tt)*])*
        $name:ident, $path:tt, $operation:tt, $body:ident, $it:ident => $action:expr
    ) => {
        $(#[$($doc)*])*
        #[utoipa::path(
            post,
            path = $path,
            operation_id = $operation,
            tag = "programs",
            params(
                ("id" = String, Path, description = "The id of the session"),
                ("call" = String, Path, description = "The call: the seq of its record, or its id"),
            ),
            request_body = $body,
            responses(
                (status = 200, description = "The report is recorded; `late` if it came after \
                    the lease", body = OnRecordShape),
                (status = 403, description = "Another client holds the claim", body = Problem,
                    content_type = "application/problem+json"),
                (status = 409, description = "The claim or the call has ended", body = Problem,
                    content_type = "application/problem+json"),
            ),
        )]
        pub(crate) async fn $name(
            caller: Caller,
            InPath((id, call)): InPath<(String, String)>,
            Strict($it): Strict<$body>,
        ) -> Result<impl IntoResponse, Problem> {
            let held = Held::of(caller, &id, &call).await?;
            let action = $action;
            held.report($it.claim, $it.attempt, action).await
        }
    };
}

route! {
    /// Renews the lease of a claim. A shorter lease than the current one has no effect.
    renew, "/v1/sessions/{id}/calls/{call}/claim/renew", "renewClaim", Renewal,
    it => ClientAction::Renew(lease(it.lease_ms)?)
}

route! {
    /// Reports one of several results of a claimed call.
    yield_one, "/v1/sessions/{id}/calls/{call}/claim/yield", "yieldResult", Yielded,
    it => ClientAction::Yield(json(&it.response)?)
}

route! {
    /// Reports an event of a claimed call, such as progress.
    report, "/v1/sessions/{id}/calls/{call}/claim/report", "reportEvent", Reported,
    it => ClientAction::Report {
        name: it.name,
        data: json(&it.data)?,
    }
}

route! {
    /// Reports the result of a claimed call.
    ///
    /// A result after the lease still settles the doubt about the call, unless its outcome was
    /// decided.
    finish, "/v1/sessions/{id}/calls/{call}/claim/finish", "finishClaim", Finished,
    it => ClientAction::Return(Ok(json(&it.result)?))
}

route! {
    /// Reports the failure of a claimed call.
    fail, "/v1/sessions/{id}/calls/{call}/claim/fail", "failClaim", Failed,
    it => ClientAction::Return(Err(it.failed))
}

route! {
    /// Gives a claimed call back without a result.
    release, "/v1/sessions/{id}/calls/{call}/claim/release", "releaseClaim", Released,
    it => ClientAction::End {
        reason: it.reason,
        not_begun: it.not_begun,
    }
}
