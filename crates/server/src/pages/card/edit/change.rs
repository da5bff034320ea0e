//! The steps of a change: the form, the difference, the answer.

use axum::response::Response;
use recount::session::Json;
use recount::tool::ArgumentCheck;

use super::super::decide::{done, quoted, send};
use super::super::loaded::Loaded;
use super::draw;
use super::fields::{Field, fields, fill, made, only_known, place};
use crate::access::Role;
use crate::pages::frame::{Form, Frame};
use crate::problems::{Code, Problem};
use crate::requests::{InPath, session};
use crate::routes::Caller;

/// Shows the form with the arguments of the call.
pub(crate) async fn form(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let loaded = editable(&caller, &id, &name).await?;
    Ok(draw::form(&frame, &loaded, &all_fields(&loaded), &[]))
}

/// Shows the difference, or sends the answer with the changed arguments.
///
/// A fault is shown at its field, with everything as it was typed.
pub(crate) async fn change(
    caller: Caller,
    frame: Frame,
    InPath((id, name)): InPath<(String, String)>,
    form: Form,
) -> Result<Response, Problem> {
    only_known(&form, &["request", "request_hash", "step", "reason"])?;
    let loaded = match editable(&caller, &id, &name).await {
        // Decided meanwhile: the card shows by whom.
        Err(problem) if problem.code() == Code::RequestExpired => {
            return done(&caller, &frame, (&id, &name), &form, Err(problem)).await;
        }
        loaded => loaded?,
    };
    let mut fields = all_fields(&loaded);
    fill(&mut fields, &form);
    if form.one("step")? == Some("back") {
        return Ok(draw::form(&frame, &loaded, &fields, &[]));
    }
    let args = match checked(&loaded, &mut fields) {
        Ok(args) => args,
        Err(faults) => return Ok(draw::form(&frame, &loaded, &fields, &faults)),
    };
    if form.one("step")? != Some("send") {
        return Ok(draw::difference(&frame, &loaded, &args, &fields));
    }
    match send(&caller, &form, &given(&form, &args)?).await {
        Err(problem) if problem.code() == Code::InvalidArgs => {
            let faults = [problem.detail().to_owned()];
            Ok(draw::form(&frame, &loaded, &fields, &faults))
        }
        sent => done(&caller, &frame, (&id, &name), &form, sent).await,
    }
}

/// The call, if its open request permits other arguments.
async fn editable(caller: &Caller, id: &str, name: &str) -> Result<Loaded, Problem> {
    caller.session(session(id)?, Role::Approver).await?;
    let loaded = Loaded::of(caller, id, name).await?;
    if loaded.open().is_none() {
        let detail = "no request of the call is open any more";
        return Err(Problem::new(Code::RequestExpired, detail));
    }
    if loaded.edits().is_none() {
        let detail = "the tool allows no other arguments";
        return Err(Problem::new(Code::EditsNotAllowed, detail));
    }
    Ok(loaded)
}

fn all_fields(loaded: &Loaded) -> Vec<Field> {
    let schema = loaded.declared().and_then(|it| it.parameters.as_ref());
    fields(&loaded.args(), schema, loaded.sealed())
}

/// The arguments that the fields make, if they fit the schema of the tool. Otherwise the faults of
/// no field; the others are at their fields.
fn checked(loaded: &Loaded, fields: &mut [Field]) -> Result<Json, Vec<String>> {
    let args = made(fields).ok_or_else(Vec::new)?;
    let schema = loaded.declared().and_then(|it| it.parameters.as_ref());
    let check = ArgumentCheck::new(schema).map_err(|fault| vec![fault])?;
    match check.check(&args.to_value(), loaded.sealed()) {
        Ok(()) => Ok(args),
        Err(faults) => Err(place(fields, &faults)),
    }
}

/// The answer as JSON text.
fn given(form: &Form, args: &Json) -> Result<String, Problem> {
    let mut answer = format!(r#"{{"confirmed":true,"args":{}"#, args.as_str());
    for name in ["reason", "request_hash"] {
        if let Some(text) = form.one(name)? {
            answer.push_str(&format!(r#","{name}":{}"#, quoted(text)));
        }
    }
    answer.push('}');
    Ok(answer)
}
