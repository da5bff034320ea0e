//! Pages for people: HTML that reads and decides without a script.
//!
//! A page calls the same functions as its route under `/v1`, with the same checks of role and
//! scope. The actor of what it records is the principal.
//!
//! # Add a page
//!
//! 1. Write its handler in a file or folder of its own, with the extractors `Caller` and `Frame`:
//!
//!    ```ignore
//!    async fn show(caller: Caller, frame: Frame, params: Params) -> Result<Response, Problem> {
//!        let body = html! { p { "Agent " (said(&agent)) ", opened " (moment(at)) } };
//!        Ok(frame.page(Page::new("Sessions", body).live(&Watched::Session(id), position)))
//!    }
//!    ```
//!
//!    A `Problem` becomes a page by itself; 401 becomes the login page, which leads back.
//! 2. Add its route to `guarded` in `routes.rs`, and its entry to `frame/navigation.rs`, with the
//!    role that sees it. The navigation names only pages that exist.
//! 3. Show each text of a model, a tool or a person through `said`, each time through `moment` or
//!    `relative`, and link with `frame.links().to("sessions/…")`, which works under any prefix.
//! 4. A form is `frame.form("sessions/…/close", html! { … })`: a POST with the token against
//!    cross-site requests. Its handler takes the extractor `Form`, whose token was checked before,
//!    and ends with `frame.see_other("sessions/…")`.
//! 5. A live page names the records after which it looks anew (`Page::live`). The script then
//!    fetches the page again and replaces each element with `data-part` by that with its id.
//! 6. A listing continues with `next_page`, which takes the cursor.
//!
//! Styles are in `assets/page.css`, the script in `assets/page.js`; an inline style or script does
//! not run. Read `frame` first, then `assets`, `login` and `live`; then the pages.

mod assets;
mod audit;
mod card;
mod denying;
mod figures;
mod frame;
mod history;
mod inbox;
mod live;
pub(crate) mod login;
mod operations;
mod reads;
mod routes;
mod sessions;

pub(crate) use frame::{check, not_found};
pub(crate) use routes::routes;
