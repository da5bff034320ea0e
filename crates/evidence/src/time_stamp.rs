//! Time stamps of RFC 3161: the request to an authority, and the check of its response.
//!
//! The signature of the authority and its chain of certificates are not checked here. `openssl ts
//! -verify` does that with the response as it is kept.

use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Reader, SliceReader, Tag, TagNumber, Tagged};
use recount_journal::Hash;

const SHA_256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");
const TST_INFO: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.4");

/// The explicit tag `[0]` of a constructed value.
const TAG_0: Tag = Tag::ContextSpecific {
    constructed: true,
    number: TagNumber(0),
};

/// The begin of a request: its length, version 1, and an imprint with SHA-256.
const REQUEST_BEGIN: [u8; 24] = [
    0x30, 0x43, 0x02, 0x01, 0x01, 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65,
    0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20,
];

/// The header of a nonce of eight bytes.
const NONCE_BEGIN: [u8; 2] = [0x02, 0x08];

/// The wish for the certificate of the authority in the response.
const REQUEST_END: [u8; 3] = [0x01, 0x01, 0xff];

/// The reason why a response is no time stamp for a request.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotATimeStamp {
    /// The bytes are no response of RFC 3161.
    #[error("expected a DER response of RFC 3161, found another form at {place}")]
    Form {
        /// The part of the response.
        place: &'static str,
    },
    /// The authority refused.
    #[error("expected the status granted, the authority answered status {status}")]
    Refused {
        /// The number of the status.
        status: u64,
    },
    /// The time stamp is for another message.
    #[error("expected a time stamp for the SHA-256 {expected}, found one for {found}")]
    OtherMessage {
        /// The hash of the message.
        expected: Hash,
        /// The hash in the time stamp, in hexadecimal digits.
        found: String,
    },
    /// The time stamp answers another request.
    #[error("expected the nonce of the request, found another one or none")]
    OtherRequest,
}

/// A request for a time stamp of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TimeStampRequest {
    imprint: Hash,
    nonce: [u8; 8],
}

/// A response of an authority that fits its request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TimeStamp {
    /// The time in it, such as `2026-11-28T19:00:00Z`.
    pub time: String,
    /// The response as it came: a `TimeStampResp` in DER, for `openssl ts -verify`.
    pub response: Vec<u8>,
}

impl TimeStampRequest {
    /// Creates a request with a random nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(message: &[u8]) -> Result<Self, getrandom::Error> {
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce)?;
        // So that eight bytes are its shortest form, as DER demands, and it is positive.
        let [first, ..] = &mut nonce;
        *first = *first & 0x7f | 0x40;
        let imprint = Hash::of_object(message);
        Ok(Self { imprint, nonce })
    }

    /// The request in DER.
    pub fn to_der(&self) -> Vec<u8> {
        [
            &REQUEST_BEGIN,
            self.imprint.as_bytes().as_slice(),
            &NONCE_BEGIN,
            &self.nonce,
            &REQUEST_END,
        ]
        .concat()
    }

    /// Checks that a response grants a time stamp for this request.
    ///
    /// # Errors
    /// [`NotATimeStamp`].
    pub fn accept(&self, response: &[u8]) -> Result<TimeStamp, NotATimeStamp> {
        let mut outer = Part::of(response, "the response");
        let mut body = outer.next(Tag::Sequence)?;
        outer.end()?;
        body.place = "the status";
        let status = number(body.next(Tag::Sequence)?.bytes(Tag::Integer)?);
        // 0 is granted, 1 granted with modifications.
        if status > 1 {
            return Err(NotATimeStamp::Refused { status });
        }
        body.place = "the token";
        let mut token = body.next(Tag::Sequence)?;
        token.expect(SIGNED_DATA)?;
        let mut signed = token.next(TAG_0)?.next(Tag::Sequence)?;
        signed.bytes(Tag::Integer)?;
        signed.bytes(Tag::Set)?;
        let mut content = signed.next(Tag::Sequence)?;
        content.expect(TST_INFO)?;
        let info = content.next(TAG_0)?.bytes(Tag::OctetString)?;
        let time = self.fits(info)?;
        Ok(TimeStamp {
            time,
            response: response.to_vec(),
        })
    }

    /// Checks the content of a token, and returns its time.
    fn fits(&self, info: &[u8]) -> Result<String, NotATimeStamp> {
        let mut info = Part::of(info, "the content of the token").next(Tag::Sequence)?;
        info.bytes(Tag::Integer)?;
        info.bytes(Tag::ObjectIdentifier)?;
        let mut imprint = info.next(Tag::Sequence)?;
        imprint.next(Tag::Sequence)?.expect(SHA_256)?;
        let found = imprint.bytes(Tag::OctetString)?;
        if found != self.imprint.as_bytes() {
            return Err(NotATimeStamp::OtherMessage {
                expected: self.imprint,
                found: found.iter().map(|it| format!("{it:02x}")).collect(),
            });
        }
        info.bytes(Tag::Integer)?;
        let form = NotATimeStamp::Form {
            place: "the time of the token",
        };
        let time = time(info.bytes(Tag::GeneralizedTime)?).ok_or(form)?;
        // The accuracy and the order come before the nonce, the name of the authority after it.
        while let Some(it) = info.any()? {
            if it.tag() == Tag::Integer {
                return match it.value() == self.nonce {
                    true => Ok(time),
                    false => Err(NotATimeStamp::OtherRequest),
                };
            }
        }
        Err(NotATimeStamp::OtherRequest)
    }
}

/// A part of a response that is not read yet.
struct Part<'a> {
    reader: Option<SliceReader<'a>>,
    place: &'static str,
}

impl<'a> Part<'a> {
    fn of(bytes: &'a [u8], place: &'static str) -> Self {
        let reader = SliceReader::new(bytes).ok();
        Self { reader, place }
    }

    fn form(&self) -> NotATimeStamp {
        NotATimeStamp::Form { place: self.place }
    }

    /// Reads the next value. `None` at the end.
    fn any(&mut self) -> Result<Option<AnyRef<'a>>, NotATimeStamp> {
        let form = self.form();
        let reader = self.reader.as_mut().ok_or_else(|| form.clone())?;
        if reader.is_finished() {
            return Ok(None);
        }
        reader.decode().map(Some).map_err(|_| form)
    }

    fn bytes(&mut self, tag: Tag) -> Result<&'a [u8], NotATimeStamp> {
        let found = self.any()?.filter(|it| it.tag() == tag);
        found.map(|it| it.value()).ok_or_else(|| self.form())
    }

    fn next(&mut self, tag: Tag) -> Result<Self, NotATimeStamp> {
        Ok(Self::of(self.bytes(tag)?, self.place))
    }

    fn expect(&mut self, id: ObjectIdentifier) -> Result<(), NotATimeStamp> {
        let is_it = self.bytes(Tag::ObjectIdentifier)? == id.as_bytes();
        is_it.then_some(()).ok_or_else(|| self.form())
    }

    fn end(&mut self) -> Result<(), NotATimeStamp> {
        let left = self.any()?;
        left.is_none().then_some(()).ok_or_else(|| self.form())
    }
}

/// A small number of DER. A larger one is no status that grants anything.
fn number(bytes: &[u8]) -> u64 {
    match bytes {
        [byte] if *byte < 0x80 => u64::from(*byte),
        _ => u64::MAX,
    }
}

/// The text of RFC 3339 for a time such as `20261128190000.5Z`.
fn time(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    if whole.len() != 14 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let (date, clock) = whole.split_at_checked(8)?;
    let (year, day) = date.split_at_checked(4)?;
    let (month, day) = day.split_at_checked(2)?;
    let (hour, rest) = clock.split_at_checked(2)?;
    let (minute, second) = rest.split_at_checked(2)?;
    let fraction = text.get(14..)?;
    Some(format!(
        "{year}-{month}-{day}T{hour}:{minute}:{second}{fraction}Z"
    ))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let value = parts.concat();
        let length = u16::try_from(value.len()).unwrap();
        let header = match value.len() {
            0..0x80 => vec![tag, value.len() as u8],
            0x80..0x100 => vec![tag, 0x81, value.len() as u8],
            _ => [&[tag, 0x82][..], &length.to_be_bytes()].concat(),
        };
        [header, value].concat()
    }

    /// A response without signatures, as an authority sends it.
    fn response(status: u8, imprint: Hash, nonce: &[u8]) -> Vec<u8> {
        let id = |it: ObjectIdentifier| der(6, &[it.as_bytes()]);
        let algorithm = der(0x30, &[&id(SHA_256), &[5, 0]]);
        let imprint = der(0x30, &[&algorithm, &der(4, &[imprint.as_bytes()])]);
        let accuracy = der(0x30, &[&[2, 1, 1]]);
        let info = der(
            0x30,
            &[
                &[2, 1, 1],
                &id(SHA_256),
                &imprint,
                &[2, 1, 7],
                &der(0x18, &[b"20261128190000.5Z"]),
                &accuracy,
                &[1, 1, 0xff],
                &der(2, &[nonce]),
                &der(0xa0, &[&[5, 0]]),
            ],
        );
        let content = der(0x30, &[&id(TST_INFO), &der(0xa0, &[&der(4, &[&info])])]);
        let signed = der(
            0x30,
            &[&[2, 1, 3], &der(0x31, &[]), &content, &der(0x31, &[])],
        );
        let token = der(0x30, &[&id(SIGNED_DATA), &der(0xa0, &[&signed])]);
        der(0x30, &[&der(0x30, &[&[2, 1, status]]), &token])
    }

    #[test]
    fn fitting_response_is_accepted() {
        let request = TimeStampRequest::new(b"note").unwrap();
        let bytes = response(0, Hash::of_object(b"note"), &request.nonce);
        let accepted = request.accept(&bytes).unwrap();
        assert_eq!(accepted.time, "2026-11-28T19:00:00.5Z");
        assert_eq!(accepted.response, bytes);
        assert_eq!(request.to_der().len(), 0x45);
    }

    #[test]
    fn response_to_another_request_is_refused() {
        let request = TimeStampRequest::new(b"note").unwrap();
        let (hash, nonce) = (Hash::of_object(b"note"), request.nonce);
        let refused = |bytes: &[u8]| request.accept(bytes).unwrap_err();
        assert_eq!(
            refused(&response(2, hash, &nonce)),
            NotATimeStamp::Refused { status: 2 }
        );
        let other = Hash::of_object(b"other");
        let found = refused(&response(0, other, &nonce));
        assert!(
            matches!(found, NotATimeStamp::OtherMessage { .. }),
            "{found}"
        );
        let found = refused(&response(0, hash, &[0x41; 8]));
        assert_eq!(found, NotATimeStamp::OtherRequest);
    }

    #[test]
    fn cut_response_is_refused_and_never_panics() {
        let request = TimeStampRequest::new(b"note").unwrap();
        let bytes = response(0, Hash::of_object(b"note"), &request.nonce);
        for cut in 0..bytes.len() {
            request.accept(bytes.get(..cut).unwrap()).unwrap_err();
        }
        let mut longer = bytes.clone();
        longer.push(0);
        request.accept(&longer).unwrap_err();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            *flipped.get_mut(at).unwrap() ^= 0xff;
            let _either = request.accept(&flipped);
        }
    }
}
