//! A read: a person or program got content of recorded sessions.

use recount::session::{Actor, SessionId};
use serde::{Deserialize, Serialize};

/// A read of recorded sessions, or an attempt that was refused.
///
/// ```json
/// {"by":{"name":"ada","authenticated_by":"token","issuer":"recount"},"how":"token",
///  "door":"http","route":"GET /v1/sessions/{id}/records","sessions":["0199…"],
///  "depth":"bodies","status":200}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The reader.
    pub by: Actor,
    /// The way in which the reader proved who it is.
    pub how: How,
    /// The door through which it came.
    pub door: Door,
    /// The method and the pattern of the path, without ids and parameters.
    pub route: String,
    /// The sessions of which the answer has something, or that the request named.
    pub sessions: Vec<SessionId>,
    /// True if the answer is about every session that the reader may see, such as a figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_session: bool,
    /// The depth of the answer.
    pub depth: Depth,
    /// The HTTP status of the answer: 200 for one that was served, 404 for a session that does not
    /// exist for the reader.
    pub status: u16,
}

impl Read {
    /// True if the reader got an answer and no refusal.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.status < 400
    }
}

/// The way in which a reader proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A token of the service.
    Token,
    /// A JWT of an issuer, which the actor names.
    Jwt,
    /// The headers of a trusted reverse proxy.
    Proxy,
    /// The embedding service.
    Embedder,
    /// The cookie of a browser that logged in with a one-time link, or through the embedding
    /// service.
    Login,
    /// The cookie of a browser that logged in with a token of the service.
    LoginWithToken,
    /// The token of the control socket, which the user of the service can read.
    ControlToken,
}

/// The door through which a reader came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// The HTTP API.
    Http,
    /// The pages.
    Pages,
    /// The control socket of a running service, which the command line uses.
    Control,
}

/// The depth of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Names, times, states and numbers of sessions and calls.
    Envelopes,
    /// Also what was said, arguments, results or reasons.
    Bodies,
}

/// The names as they are on record.
macro_rules! names {
    ($of:ident { $($value:ident => $name:literal),* $(,)? }) => {
        impl $of {
            /// The name as it is on record.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($of::$value => $name),*
                }
            }
        }
    };
}

names!(How {
    Token => "token",
    Jwt => "jwt",
    Proxy => "proxy",
    Embedder => "embedder",
    Login => "login",
    LoginWithToken => "login_with_token",
    ControlToken => "control_token",
});
names!(Door { Http => "http", Pages => "pages", Control => "control" });
names!(Depth { Envelopes => "envelopes", Bodies => "bodies" });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_on_record() {
        let hows = [
            How::Token,
            How::Jwt,
            How::Proxy,
            How::Embedder,
            How::Login,
            How::LoginWithToken,
            How::ControlToken,
        ];
        for how in hows {
            assert_eq!(serde_json::json!(how), how.as_str());
        }
        for door in [Door::Http, Door::Pages, Door::Control] {
            assert_eq!(serde_json::json!(door), door.as_str());
        }
        for depth in [Depth::Envelopes, Depth::Bodies] {
            assert_eq!(serde_json::json!(depth), depth.as_str());
        }
    }
}
