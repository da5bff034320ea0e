//! The frame of every page: its layout, its checks, its forms, and the ways in which it shows text.
//!
//! Read `layout` first, then `guard`, the middleware. `links` leads from page to page, `navigation`
//! has the entries of the header. `form` is the body of a POST, `text` shows untrusted text,
//! `times` shows times, `paging` leads to the next page of a listing and tells a wrong filter.

mod form;
mod guard;
mod layout;
mod links;
mod navigation;
mod paging;
mod text;
mod times;

pub(crate) use form::Form;
pub(crate) use guard::{check, guard, no_such_method, not_found, takes_html};
pub(crate) use layout::{Frame, Page};
pub(crate) use links::is_page;
pub(crate) use paging::{next_page, not_filtered, query};
pub(crate) use text::{said, said_in_lines};
pub(crate) use times::{moment, relative};
