//! The values that all sections share: the contents, and the calls that the page counts.

use maud::{Markup, html};
use recount::audit::AuditedCall;
use recount::session::{ActedAs, Actor, Authentication, ObjectHash, Seq, SessionId};
use recount_journal::Hash;

use super::frame::{hash, long, number, said};
use crate::contents::Contents;
use crate::disclosure::Disclose;

/// The contents, with the calls that the page counts.
pub(super) struct Told<'c> {
    pub(super) contents: &'c Contents,
    /// The calls, in the order of sessions and records.
    pub(super) calls: Vec<&'c AuditedCall>,
}

impl<'c> Told<'c> {
    pub(super) fn of(contents: &'c Contents) -> Told<'c> {
        let calls = contents.calls().collect();
        Told { contents, calls }
    }

    /// A text of a call, or its hash if the content of the call is withheld.
    pub(super) fn text_of(&self, call: &AuditedCall, text: &str) -> Markup {
        if self.contents.is_disclosed(call) {
            return html! { code { (long(text)) } };
        }
        html! { (withheld()) ", SHA-256 " (hash(Hash::of_object(text.as_bytes()))) }
    }

    /// A text that a person wrote in a record about no one call.
    pub(super) fn free_text(&self, text: &str) -> Markup {
        if self.contents.request.disclose == Disclose::None {
            return html! { (withheld()) ", SHA-256 " (hash(Hash::of_object(text.as_bytes()))) };
        }
        long(text)
    }

    /// The reason that an actor gave, if any.
    pub(super) fn reason(&self, call: &AuditedCall, reason: Option<&str>) -> Markup {
        match reason {
            Some(reason) => self.text_of(call, reason),
            None => html! { "none given" },
        }
    }

    /// The file with the proof of an answer about a call, if the bundle has it.
    pub(super) fn proof(&self, call: &AuditedCall, answer: Seq) -> Option<String> {
        let is_signed = self.contents.places.is_signed(call.session, answer);
        let session = call.session;
        (is_signed && self.contents.is_disclosed(call))
            .then(|| format!("proofs/{session}-{answer}.tlog-proof"))
    }

    /// The place of a record: its number in the session, and its leaf.
    pub(super) fn record(&self, session: SessionId, seq: Seq) -> Markup {
        html! {
            "record " (seq)
            @if let Some(leaf) = self.contents.places.leaf(session, seq) {
                " (leaf " (number(leaf)) ")"
            }
        }
    }
}

/// The words for content that the bundle does not have.
pub(super) fn withheld() -> Markup {
    html! { span.quiet { "withheld" } }
}

/// A session's id.
pub(super) fn session(id: SessionId) -> Markup {
    html! { code.hash { (id.to_string()) } }
}

/// An object of the bundle: its folder, and the hash that names its file.
pub(super) fn object(folder: &str, hash: ObjectHash) -> Markup {
    html! { code.hash { (folder) "/" (hash.to_string()) } }
}

/// An actor by name, and how the name was verified.
pub(super) fn who(actor: &Actor) -> Markup {
    html! { (name(actor)) span.quiet { ", " (verified(actor)) } }
}

/// An actor by name. A name that was not verified is marked.
pub(super) fn name(actor: &Actor) -> Markup {
    html! {
        @if actor.authenticated_by == Authentication::None { "(identity not verified) " }
        @if let Some(ActedAs::Program(program)) = &actor.acted_as {
            "program " (said(program)) " for "
        }
        strong { (said(&actor.name)) }
    }
}

/// The words for how an actor's name was verified.
pub(super) fn verified(actor: &Actor) -> Markup {
    let how = match actor.authenticated_by {
        Authentication::Embedder => "named by the embedding program",
        Authentication::Token => "verified by a token",
        Authentication::OsUser => "user of the operating system",
        Authentication::None => "not verified",
    };
    let party = match &actor.acted_as {
        Some(ActedAs::Person) => "acted as a person",
        Some(ActedAs::Program(_)) => "a program decided, no person",
        None => "not recorded whether a person or a program",
    };
    let identity = actor.identity.as_deref();
    html! {
        (how)
        @if let Some(identity) = identity {
            " of " (said(&identity.issuer))
            @for role in &identity.roles { ", role " (said(role)) }
            @for group in &identity.groups { ", group " (said(group)) }
        }
        "; " (party)
    }
}
