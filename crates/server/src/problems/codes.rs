//! The one table of codes: each with its status and its title.

use axum::http::StatusCode;

/// Declares the codes: the variant, the code on the wire, its status, and its title.
macro_rules! codes {
    ($($variant:ident $code:literal $status:ident $title:literal;)+) => {
        /// The stable code of a problem, the same as that of the command line.
        ///
        /// ```
        /// use recount_server::Code;
        /// let code = Code::named("already-answered").unwrap();
        /// assert_eq!((code.as_str(), code.status().as_u16()), ("already-answered", 409));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $title] $variant,)+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The code as it is spelled on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Code::$variant => $code,)+
                }
            }

            /// The HTTP status of a response with this code.
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Code::$variant => StatusCode::$status,)+
                }
            }

            /// A short description, the same for every problem with this code.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Code::$variant => $title,)+
                }
            }

            /// Returns the code with this spelling.
            pub fn named(code: &str) -> Option<Code> {
                match code {
                    $($code => Some(Code::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    // The request itself.
    Unauthenticated "unauthenticated" UNAUTHORIZED "No valid credentials";
    RoleMissing "role-missing" FORBIDDEN "The role does not allow this";
    CrossSite "cross-site" FORBIDDEN "The request comes from another site";
    CsrfToken "csrf-token" FORBIDDEN "The token against cross-site requests is missing or wrong";
    WrongHost "wrong-host" MISDIRECTED_REQUEST "The service does not serve this host name";
    NotFound "not-found" NOT_FOUND "No such resource";
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED "No such method here";
    ContentType "content-type" UNSUPPORTED_MEDIA_TYPE "The body is not JSON by its content type";
    TooSlow "too-slow" REQUEST_TIMEOUT "The body of the request comes too slowly";
    NotJson "not-json" UNPROCESSABLE_ENTITY "The body is not strict JSON";
    BadRequest "bad-request" UNPROCESSABLE_ENTITY "The request is malformed";
    NotAnId "not-an-id" UNPROCESSABLE_ENTITY "An id is malformed";
    NotATime "not-a-time" UNPROCESSABLE_ENTITY "A time is malformed";
    BadAnswer "bad-answer" UNPROCESSABLE_ENTITY "A finding is malformed";
    UnfitIdempotencyKey "unfit-idempotency-key" UNPROCESSABLE_ENTITY "The idempotency key is unfit";
    IdempotencyKeyReused "idempotency-key-reused" UNPROCESSABLE_ENTITY
        "The idempotency key belongs to another request";
    IdempotencyInProgress "idempotency-in-progress" CONFLICT
        "The first request with the idempotency key has not ended";
    TooManyRequests "too-many-requests" TOO_MANY_REQUESTS "Too many requests";
    TooManyAnswers "too-many-answers" TOO_MANY_REQUESTS "Too many approvals within a minute";

    // Unknown ids. The same for sessions outside the caller's scope.
    UnknownSession "unknown-session" NOT_FOUND "No such session";
    UnknownRequest "unknown-request" NOT_FOUND "No such confirmation request";
    UnknownCall "unknown-call" NOT_FOUND "No such call";
    UnknownLeave "unknown-leave" NOT_FOUND "No such standing leave";
    UnknownHold "unknown-hold" NOT_FOUND "No such legal hold";
    UnknownAgent "unknown-agent" NOT_FOUND "No such agent";
    UnknownTool "unknown-tool" NOT_FOUND "No such tool in the session";
    UnknownSink "unknown-sink" NOT_FOUND "No such sink of notifications";
    UnknownLetter "unknown-letter" NOT_FOUND "The sink has no such dead letter";
    NoSuchRecord "no-such-record" NOT_FOUND "The session has fewer records";

    // Decided before.
    AlreadyAnswered "already-answered" CONFLICT "The request was answered before";
    AlreadySupplied "already-supplied" CONFLICT "The call has another result";
    AlreadyOnRecord "already-on-record" CONFLICT "The call has the same result already";
    AlreadyReconciled "already-reconciled" CONFLICT "The outcome was found before";
    AlreadyApproved "already-approved" CONFLICT "The same person approved before";
    AlreadyPaused "already-paused" CONFLICT "The pause is in force already";
    AlreadyClaimed "already-claimed" CONFLICT "Another client holds the call";
    CallSettled "call-settled" CONFLICT "The call has ended";
    CallOpen "call-open" CONFLICT "The call has not ended";
    CallNotPaused "call-not-paused" CONFLICT "The call does not wait for a result";
    CallNotReady "call-not-ready" CONFLICT "The call cannot start now";
    NotForClients "not-for-clients" CONFLICT "Clients do not run this tool";
    OutcomeKnown "outcome-known" CONFLICT "The outcome of the call is known";
    NothingToSettle "nothing-to-settle" CONFLICT "The request is not about a call in doubt";
    NotPaused "not-paused" CONFLICT "No such pause is in force";
    SessionClosed "session-closed" CONFLICT "The session is closed";
    LeaveEnded "leave-ended" CONFLICT "The standing leave ended before";
    HoldReleased "hold-released" CONFLICT "The hold was released before";
    SessionErased "session-erased" CONFLICT "The session was erased before";
    ErasureRequested "erasure-requested" CONFLICT "The erasure of the session was requested before";
    KeyReused "key-reused" CONFLICT "The key belongs to another call";
    ClaimEnded "claim-ended" CONFLICT "The claim has ended";
    StaleAttempt "stale-attempt" CONFLICT "The claim is of an older start";
    ToolGone "tool-gone" CONFLICT "The tool is gone or has changed";
    HookMissing "hook-missing" CONFLICT "A hook of the agent is not registered here";
    NotConnected "not-connected" CONFLICT "The session has no live connection";
    Conflict "conflict" CONFLICT "Another process wrote to the session";
    Owned "owned" CONFLICT "Another node owns the session and did not answer";
    Fenced "fenced" CONFLICT "Another node has taken the session over";
    Sealed "sealed" CONFLICT "The session is sealed and its key is not here";
    RequestExpired "request-expired" GONE "The request expired";
    RequestWithdrawn "request-withdrawn" GONE "The request was withdrawn";
    RequestSuperseded "request-superseded" GONE "Another request replaced this one";
    OtherRequest "other-request" PRECONDITION_FAILED "The answer names the hash of another request";

    // Not an approver of this request.
    NotAnApprover "not-an-approver" FORBIDDEN "The actor is no approver of this request";
    IsTheRequester "is-the-requester" FORBIDDEN "The requester may not approve";
    RequesterUnknown "requester-unknown" FORBIDDEN "The requester is unknown";
    AutomaticAnswer "automatic-answer" FORBIDDEN "A program may not answer this request";
    UnverifiedAnswer "unverified-answer" FORBIDDEN "An unverified name may not answer this request";
    NotTheHolder "not-the-holder" FORBIDDEN "Another client holds the claim";

    // A content that does not fit.
    NoReason "no-reason" UNPROCESSABLE_ENTITY "The reason is empty";
    NoLabel "no-label" UNPROCESSABLE_ENTITY "The name of the label is empty";
    MalformedAnswer "malformed-answer" UNPROCESSABLE_ENTITY "The answer is malformed";
    InvalidPayload "invalid-payload" UNPROCESSABLE_ENTITY "The payload does not fit its schema";
    InvalidArgs "invalid-args" UNPROCESSABLE_ENTITY "The arguments do not fit their schema";
    InvalidLeave "invalid-leave" UNPROCESSABLE_ENTITY "The bound of the standing leave is unfit";
    EditsNotAllowed "edits-not-allowed" UNPROCESSABLE_ENTITY "The tool allows no other arguments";
    LeaveNotPermitted "leave-not-permitted" UNPROCESSABLE_ENTITY "The tool permits no leave";
    OtherContent "other-content" UNPROCESSABLE_ENTITY "The approval differs from the first";
    AnswersTheCall "answers-the-call" UNPROCESSABLE_ENTITY "The answer is a result of the call";
    ForeignSession "foreign-session" UNPROCESSABLE_ENTITY "The answer names another session";
    WrongName "wrong-name" UNPROCESSABLE_ENTITY "The call is of another tool";
    WrongId "wrong-id" UNPROCESSABLE_ENTITY "The response is for another call";
    ResponseNotAnObject "response-not-an-object" UNPROCESSABLE_ENTITY "The result is no object";
    UnfitState "unfit-state" UNPROCESSABLE_ENTITY "A value of the state is unfit";
    UnfitKey "unfit-key" UNPROCESSABLE_ENTITY "The key of the call is unfit";
    UnfitClaim "unfit-claim" UNPROCESSABLE_ENTITY "The id of the claim is unfit";
    UnfitJson "unfit-json" UNPROCESSABLE_ENTITY "Readers could read the JSON differently";
    TooDeep "too-deep" UNPROCESSABLE_ENTITY "The JSON nests too deeply";
    TooLarge "too-large" PAYLOAD_TOO_LARGE "The content is too large";
    ClientMessage "client-message" UNPROCESSABLE_ENTITY "The message of a client is unfit";
    Configuration "configuration" UNPROCESSABLE_ENTITY "The configuration is unfit";

    // The service.
    Draining "draining" SERVICE_UNAVAILABLE "The service is shutting down";
    NoSpace "no-space" SERVICE_UNAVAILABLE "The disk of the journal is nearly full";
    PauseUnconfirmed "pause-unconfirmed" SERVICE_UNAVAILABLE "A node did not confirm the pause";
    IssuerKeys "issuer-keys" SERVICE_UNAVAILABLE "The keys of the issuer of tokens are not there";
    ReadNotRecorded "read-not-recorded" SERVICE_UNAVAILABLE "The read could not be put on record";
    NotWritable "not-writable" SERVICE_UNAVAILABLE "The journal cannot be written";
    JournalUnavailable "journal-unavailable" SERVICE_UNAVAILABLE "The journal failed meanwhile";
    Unreadable "unreadable" INTERNAL_SERVER_ERROR "A record cannot be read";
    NewerRules "newer-rules" INTERNAL_SERVER_ERROR "The session has newer rules";
    UnknownField "unknown-field" INTERNAL_SERVER_ERROR "A recorded field is unknown here";
    Damaged "damaged" INTERNAL_SERVER_ERROR "The journal is damaged";
    KeyStore "key-store" INTERNAL_SERVER_ERROR "The key store cannot be used";
    Journal "journal" INTERNAL_SERVER_ERROR "The journal failed";
    Engine "engine" INTERNAL_SERVER_ERROR "The engine failed";
    UnknownUser "unknown-user" INTERNAL_SERVER_ERROR "The system does not name the service's user";
    Broken "broken" INTERNAL_SERVER_ERROR "A fault of Recount";
}

/// The problems that may be gone with the next attempt, although the request is the same.
const MOMENTARY: [Code; 13] = [
    Code::AlreadyClaimed,
    Code::CallNotPaused,
    Code::CallNotReady,
    Code::CallOpen,
    Code::Conflict,
    Code::Fenced,
    Code::HookMissing,
    Code::IdempotencyInProgress,
    Code::NotConnected,
    Code::Owned,
    Code::Sealed,
    Code::ToolGone,
    // The credentials were revoked while the request waited.
    Code::Unauthenticated,
];

impl Code {
    /// True if the same request may succeed later: the service cannot now, or the conflict is one
    /// of a moment.
    pub(crate) fn is_momentary(self) -> bool {
        let status = self.status();
        let is_busy = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        is_busy || MOMENTARY.contains(&self)
    }

    /// Returns the code of a refusal, which records spell with underscores.
    ///
    /// ```
    /// use recount_server::Code;
    /// assert_eq!(Code::of_refusal("already_answered"), Code::AlreadyAnswered);
    /// ```
    #[must_use]
    pub fn of_refusal(code: &str) -> Code {
        // A test compares the table with every rejection, so the fallback is never reached.
        Code::named(&code.replace('_', "-")).unwrap_or(Code::Broken)
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
