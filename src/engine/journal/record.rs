//! One finished proof as the journal keeps it.
//!
//! A value is the format's number, a BLAKE2b-256 checksum of the rest, and a protobuf message.

use prost::Message as _;

use super::super::entry::{Digest, Identity};
use super::super::status::JobReport;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::prove::{KeyDigest, Proof};

const FORMAT: u8 = 1;
const CHECKSUM_LEN: usize = 32;

/// A verified proof, whose it is, and what it took.
#[derive(Clone, PartialEq, prost::Message)]
pub(in crate::engine) struct Record {
    #[prost(string, tag = "1")]
    pub request_id: String,
    /// Of the request's message.
    #[prost(bytes = "vec", tag = "2")]
    digest: Vec<u8>,
    #[prost(string, tag = "3")]
    circuit: String,
    /// Of the `.params` file it was proved with.
    #[prost(bytes = "vec", tag = "4")]
    key: Vec<u8>,
    #[prost(uint64, tag = "5")]
    partitions: u64,
    #[prost(bytes = "vec", tag = "6")]
    pub proof: Vec<u8>,
    /// Milliseconds since 1970 when it was answered.
    #[prost(uint64, tag = "7")]
    pub answered_ms: u64,
    #[prost(uint64, tag = "8")]
    constraints: u64,
    #[prost(string, tag = "9")]
    device: String,
    #[prost(uint32, tag = "10")]
    reproved: u32,
    #[prost(message, required, tag = "11")]
    times: Times,
}

/// Milliseconds, as in [`JobReport`].
#[derive(Clone, PartialEq, prost::Message)]
struct Times {
    #[prost(uint64, tag = "1")]
    queue_wait: u64,
    #[prost(uint64, tag = "2")]
    srs_load: u64,
    #[prost(uint64, tag = "3")]
    synthesis: u64,
    #[prost(uint64, tag = "4")]
    start: u64,
    #[prost(uint64, tag = "5")]
    finish: u64,
    #[prost(uint64, tag = "6")]
    verify: u64,
    #[prost(uint64, tag = "7")]
    total: u64,
}

impl Record {
    /// The record of a job that was answered with this proof.
    pub fn new(identity: &Identity, report: &JobReport, key: &KeyDigest, proof: Vec<u8>) -> Record {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Record {
            request_id: identity.request_id.clone(),
            digest: identity.digest.to_vec(),
            circuit: identity.circuit.to_string(),
            key: key.to_vec(),
            partitions: report.partitions as u64,
            proof,
            answered_ms: since.map_or(0, super::super::entry::millis),
            constraints: report.constraints,
            device: report.device.clone(),
            reproved: report.reproved,
            times: Times {
                queue_wait: report.queue_wait_ms,
                srs_load: report.srs_load_ms,
                synthesis: report.synthesis_ms,
                start: report.start_ms,
                finish: report.finish_ms,
                verify: report.verify_ms,
                total: report.total_ms,
            },
        }
    }

    /// The bytes that are kept.
    pub fn encode(&self) -> Vec<u8> {
        let message = self.encode_to_vec();
        let mut value = Vec::with_capacity(1 + CHECKSUM_LEN + message.len());
        value.push(FORMAT);
        value.extend(checksum(&message));
        value.extend(message);
        value
    }

    /// What was kept, where every byte of it is still what it was and its parts fit together.
    pub fn decode(value: &[u8]) -> Result<Record> {
        let unreadable = |what: &str| Error::new(Code::System, format!("a kept proof {what}"));
        let (format, rest) = value.split_first().ok_or_else(|| unreadable("is empty"))?;
        if *format != FORMAT {
            return Err(unreadable(&format!("has format {format}; expected {FORMAT}")));
        }
        let (sum, message) =
            rest.split_at_checked(CHECKSUM_LEN).ok_or_else(|| unreadable("is cut off in its checksum"))?;
        if checksum(message) != sum {
            return Err(unreadable("is cut off or damaged: its checksum does not match"));
        }
        let record = <Record as prost::Message>::decode(message).map_err(|e| unreadable(&e.to_string()))?;
        let proofs = usize::try_from(record.partitions).ok().and_then(|n| n.checked_mul(Proof::LEN));
        let sound = record.partitions > 0
            && proofs == Some(record.proof.len())
            && record.digest.len() == size_of::<Digest>()
            && record.key.len() == size_of::<KeyDigest>();
        if !sound {
            return Err(unreadable("has parts that do not fit together"));
        }
        record.circuit()?;
        Ok(record)
    }

    pub fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        // The length was checked, or is that of an identity's.
        self.digest.iter().zip(&mut digest).for_each(|(from, to)| *to = *from);
        digest
    }

    pub fn circuit(&self) -> Result<CircuitId> {
        self.circuit.parse()
    }

    pub fn is_of_key(&self, key: &KeyDigest) -> bool {
        self.key == key
    }

    /// The facts of a job that is answered from this record.
    pub fn report(&self) -> JobReport {
        let partitions = usize::try_from(self.partitions).unwrap_or(usize::MAX);
        JobReport {
            from_journal: true,
            partitions,
            partitions_done: partitions,
            constraints: self.constraints,
            queue_wait_ms: self.times.queue_wait,
            srs_load_ms: self.times.srs_load,
            synthesis_ms: self.times.synthesis,
            start_ms: self.times.start,
            finish_ms: self.times.finish,
            verify_ms: self.times.verify,
            total_ms: self.times.total,
            reproved: self.reproved,
            device: self.device.clone(),
            ..JobReport::default()
        }
    }
}

fn checksum(message: &[u8]) -> [u8; CHECKSUM_LEN] {
    let hash = blake2b_simd::Params::new().hash_length(CHECKSUM_LEN).hash(message);
    let mut sum = [0; CHECKSUM_LEN];
    hash.as_bytes().iter().zip(&mut sum).for_each(|(from, to)| *to = *from);
    sum
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kind::ProofKind;
    use crate::schedule::JobId;

    /// A record with this id; its digest and proof are made from the seed.
    pub fn record(request_id: &str, seed: u64, partitions: usize) -> Record {
        let mut digest = Digest::default();
        digest[..8].copy_from_slice(&seed.to_le_bytes());
        let identity = Identity {
            id: JobId(seed),
            job_id: format!("j{seed}"),
            request_id: request_id.into(),
            digest,
            kind: ProofKind::PorepC2,
            circuit: CircuitId::new(ProofKind::PorepC2, 2048).unwrap(),
            deadline: None,
        };
        let report = JobReport {
            partitions,
            constraints: seed,
            synthesis_ms: 3,
            total_ms: seed % 100_000,
            device: "cpu".into(),
            reproved: (seed % 3) as u32,
            ..JobReport::default()
        };
        let proof = (0..partitions * Proof::LEN).map(|i| (i as u64 ^ seed) as u8).collect();
        Record::new(&identity, &report, &[seed as u8; 64], proof)
    }

    proptest! {
        #[test]
        fn a_record_is_read_back_as_it_was_written(id in ".{1,200}", seed: u64, partitions in 1usize..20) {
            let record = record(&id, seed, partitions);
            let read = Record::decode(&record.encode()).unwrap();
            prop_assert_eq!(&read, &record);
            prop_assert_eq!(read.report().total_ms, seed % 100_000);
            prop_assert_eq!(read.digest(), record.digest());
        }

        #[test]
        fn a_damaged_record_is_never_read(seed: u64, at: prop::sample::Index, flip in 1u8..=255) {
            let mut value = record("id", seed, 2).encode();
            let at = at.index(value.len());
            value[at] ^= flip;
            prop_assert!(Record::decode(&value).is_err());
        }

        #[test]
        fn a_cut_off_or_foreign_record_is_never_read(seed: u64, len: prop::sample::Index, noise: Vec<u8>) {
            let value = record("id", seed, 1).encode();
            prop_assert!(Record::decode(&value[..len.index(value.len())]).is_err());
            prop_assert!(Record::decode(&noise).is_err());
            let longer = [value.as_slice(), &[0]].concat();
            prop_assert!(Record::decode(&longer).is_err());
        }
    }

    #[test]
    fn parts_that_do_not_fit_together_are_an_error() {
        let good = record("id", 1, 2);
        let mut bad = [(); 5].map(|()| good.clone());
        bad[0].partitions = 3;
        bad[1].partitions = u64::MAX;
        bad[2].digest.pop();
        bad[3].key.clear();
        bad[4].circuit = "porep-3k".into();
        assert!(Record::decode(&good.encode()).is_ok());
        for record in bad {
            assert!(Record::decode(&record.encode()).is_err(), "{record:?}");
        }
    }
}
