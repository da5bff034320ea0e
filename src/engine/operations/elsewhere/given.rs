//! An answer as JSON: as its record would have it, or why the input is none.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::session::{Actor, ConfirmationAnswered, ObjectHash, Seq, ToolConfirmation, UnfitAnswer};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given<'g> {
    Answer {
        record: Box<ConfirmationAnswered>,
        request_hash: Option<ObjectHash>,
    },
    Unfit(Cow<'g, UnfitAnswer>),
}

pub(in crate::engine::operations) fn serialize<S: Serializer>(
    given: &Result<ToolConfirmation, UnfitAnswer>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let given = match given {
        Ok(answer) => {
            // The request and the actor stand beside the answer. Those in a record of it count for
            // nothing.
            let record = answer.clone().into_record(Seq(0), Actor::unverified(""));
            Given::Answer {
                record: Box::new(record),
                request_hash: answer.request_hash,
            }
        }
        Err(unfit) => Given::Unfit(Cow::Borrowed(unfit)),
    };
    given.serialize(serializer)
}

pub(in crate::engine::operations) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Result<ToolConfirmation, UnfitAnswer>, D::Error> {
    Ok(match Given::deserialize(deserializer)? {
        Given::Answer {
            record,
            request_hash,
        } => {
            let mut answer = ToolConfirmation::recorded(*record, None);
            answer.request_hash = request_hash;
            answer.by = None;
            Ok(answer)
        }
        Given::Unfit(unfit) => Err(unfit.into_owned()),
    })
}
