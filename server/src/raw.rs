//! Requests as the bytes that came: the engine reads, checks and hashes these itself, so a message of hundreds of
//! megabytes is neither decoded twice nor written again.

use bytes::{Buf, Bytes};
use forebay::{Code, Error};
use prost::encoding::{decode_key, decode_varint, skip_field, DecodeContext, WireType};
use prost::Message;
use tonic::codec::{DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::Status;

use crate::status;

/// A message that was not decoded.
#[derive(Clone, Debug, Default)]
pub struct Raw(pub Bytes);

/// What the codec reads.
pub trait Incoming: Sized {
    /// From the bytes of one message.
    fn read(buffer: &mut DecodeBuf<'_>) -> Result<Self, Status>;
}

impl Incoming for Raw {
    fn read(buffer: &mut DecodeBuf<'_>) -> Result<Self, Status> {
        let length = buffer.remaining();
        Ok(Raw(buffer.copy_to_bytes(length)))
    }
}

macro_rules! decoded {
    ($($message:ty),* $(,)?) => {$(
        impl Incoming for $message {
            fn read(buffer: &mut DecodeBuf<'_>) -> Result<Self, Status> {
                <$message>::decode(buffer).map_err(|e| {
                    let name = stringify!($message).rsplit("::").next().unwrap_or_default().trim();
                    status::of(&Error::new(Code::InvalidArgument, format!("not a {name}: {e}")))
                })
            }
        }
    )*};
}

decoded!(
    forebay::wire::AwaitProofRequest,
    forebay::wire::CancelProofRequest,
    forebay::wire::GetStatusRequest,
    forebay::wire::GetMetricsRequest,
    forebay::wire::PreloadSrsRequest,
    forebay::wire::EvictSrsRequest,
    crate::v1::HeadroomRequest,
    crate::v1::StatusRequest,
    crate::v1::ReportRequest,
);

/// Writes messages with prost, and reads them as [`Incoming`].
pub struct Codec<T, U>(std::marker::PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Codec(std::marker::PhantomData)
    }
}

/// The half that writes.
pub struct Write<T>(std::marker::PhantomData<T>);
/// The half that reads.
pub struct Read<U>(std::marker::PhantomData<U>);

impl<T: Message + Send + 'static, U: Incoming + Send + 'static> tonic::codec::Codec for Codec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = Write<T>;
    type Decoder = Read<U>;

    fn encoder(&mut self) -> Write<T> {
        Write(std::marker::PhantomData)
    }

    fn decoder(&mut self) -> Read<U> {
        Read(std::marker::PhantomData)
    }
}

impl<T: Message> Encoder for Write<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, message: T, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        let unwritten = |e| status::of(&Error::internal(format!("writing an answer: {e}")));
        message.encode(buffer).map_err(unwritten)
    }
}

impl<U: Incoming> Decoder for Read<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        U::read(buffer).map(Some)
    }
}

/// Field 1 of a `cuzk.v1.ProveRequest`: the request as it would be submitted. `InvalidRequest`: there is none.
pub fn submission(prove: &Bytes) -> Result<Bytes, Error> {
    const SUBMIT: u32 = 1;
    let not = |why: String| Error::new(Code::InvalidRequest, format!("not a cuzk.v1.ProveRequest: {why}"));
    let malformed = |e: prost::DecodeError| not(e.to_string());
    let mut rest = prove.clone();
    let mut found = None;
    while rest.has_remaining() {
        let (tag, kind) = decode_key(&mut rest).map_err(malformed)?;
        if tag != SUBMIT || kind != WireType::LengthDelimited {
            skip_field(kind, tag, &mut rest, DecodeContext::default()).map_err(malformed)?;
            continue;
        }
        let length = decode_varint(&mut rest).map_err(malformed)?;
        if length > rest.remaining() as u64 {
            return Err(not(format!("field 1 has {length} bytes, {} are left", rest.remaining())));
        }
        if found.is_some() {
            return Err(not("it has field 1 (submit) twice; expected one".into()));
        }
        found = Some(rest.split_to(length as usize));
    }
    found.ok_or_else(|| not("it is without field 1 (submit)".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay::wire::{ProveRequest, SubmitProofRequest};

    fn prove() -> ProveRequest {
        let submit =
            SubmitProofRequest { request_id: "id".into(), miner_id: 7, ..SubmitProofRequest::default() };
        ProveRequest { submit: Some(submit) }
    }

    #[test]
    fn the_submission_is_cut_out_as_it_came() {
        let message = prove();
        let expected = message.submit.as_ref().unwrap().encode_to_vec();
        let mut bytes = message.encode_to_vec();
        assert_eq!(submission(&Bytes::from(bytes.clone())).unwrap(), expected);
        // A field of a later version: number 9, a varint.
        bytes.extend([9 << 3, 200, 1]);
        assert_eq!(submission(&Bytes::from(bytes)).unwrap(), expected);
    }

    #[test]
    fn what_is_no_prove_request_is_refused() {
        let whole = prove().encode_to_vec();
        let twice = [whole.clone(), whole.clone()].concat();
        let cut = whole[..whole.len() - 1].to_vec();
        for (bytes, says) in
            [(vec![], "without field 1"), (twice, "twice"), (cut, "are left"), (vec![0xff], "not a")]
        {
            let error = submission(&Bytes::from(bytes)).unwrap_err();
            assert_eq!(error.code(), Code::InvalidRequest);
            assert!(error.message().contains(says), "{error}");
        }
    }
}
