//! MessagePack of serde types, as a tonic codec.

use bytes::{Buf as _, BufMut as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

pub(crate) struct MessagePackCodec<Out, In>(PhantomData<fn(Out) -> In>);

impl<Out, In> MessagePackCodec<Out, In> {
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<Out, In> Codec for MessagePackCodec<Out, In>
where
    Out: Serialize + Send + 'static,
    In: DeserializeOwned + Send + 'static,
{
    type Encode = Out;
    type Decode = In;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::new()
    }

    fn decoder(&mut self) -> Self {
        Self::new()
    }
}

impl<Out: Serialize, In> Encoder for MessagePackCodec<Out, In> {
    type Item = Out;
    type Error = Status;

    fn encode(&mut self, item: Out, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        // With field names, so that empty fields can be left out.
        let mut to = rmp_serde::Serializer::new(to.writer()).with_struct_map();
        item.serialize(&mut to).map_err(|why| Status::internal(format!("it cannot be written: {why}")))
    }
}

impl<Out, In: DeserializeOwned> Decoder for MessagePackCodec<Out, In> {
    type Item = In;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<In>, Status> {
        let item = rmp_serde::from_read(from.reader());
        item.map(Some).map_err(|why| {
            Status::invalid_argument(format!("it says something that is not understood: {why}"))
        })
    }
}
