//! Hostile payloads: random changes of real ones never panic.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use forebay_sector::Kind;
use proptest::prelude::*;
use serde_json::json;

use crate::cancel::Cancel;
use crate::filecoin::decode;
use crate::filecoin::testing::{default_request, default_sector};
use crate::wire::SubmitProofRequest;

/// A change of a byte string; places are fractions of its length.
#[derive(Clone, Debug)]
enum Change {
    Cut(f64),
    Flip(f64, u8),
    Fill(f64, u8),
    Insert(f64, Vec<u8>),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0.0..1.0f64;
    prop_oneof![
        place.clone().prop_map(Change::Cut),
        (place.clone(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (place.clone(), prop_oneof![Just(0u8), Just(0xff)]).prop_map(|(at, byte)| Change::Fill(at, byte)),
        (place, prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let at = |place: f64| (place * bytes.len() as f64) as usize;
    match change {
        Change::Cut(place) => bytes.truncate(at(*place)),
        Change::Flip(place, bit) => {
            let at = at(*place);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Change::Fill(place, value) => {
            let at = at(*place);
            bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = *value);
        }
        Change::Insert(place, new) => {
            let at = at(*place);
            bytes.splice(at..at, new.iter().copied());
        }
    }
}

/// Decoding either refuses, or the task goes through its steps without a panic: what the guard caught
/// would say so.
fn survives(request: &SubmitProofRequest, synthesize: bool) {
    let caught = |error: crate::Error| {
        assert!(!error.message().contains("failed inside Filecoin's proofs"), "a panic was caught: {error}");
    };
    match decode(request) {
        Err(error) => caught(error),
        Ok(task) => {
            task.public_inputs(0).map_err(caught).ok();
            if synthesize {
                task.synthesize(0, 0, &Cancel::new()).map(|_| ()).map_err(caught).ok();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn post_payloads(changes in prop::collection::vec(change(), 1..3), winning: bool) {
        let mut request = default_request(if winning { Kind::WinningPost } else { Kind::WindowPost });
        changes.iter().for_each(|change| apply(&mut request.vanilla_proofs[0], change));
        survives(&request, !winning);
    }

    #[test]
    fn update_payloads(changes in prop::collection::vec(change(), 1..3)) {
        let mut request = default_request(Kind::SnapUpdate);
        changes.iter().for_each(|change| apply(&mut request.vanilla_proofs[0], change));
        survives(&request, false);
    }

    #[test]
    fn porep_envelopes(changes in prop::collection::vec(change(), 1..3)) {
        let mut request = default_request(Kind::PorepC2);
        changes.iter().for_each(|change| apply(&mut request.vanilla_proof, change));
        survives(&request, false);
    }

    #[test]
    fn c1_outputs(changes in prop::collection::vec(change(), 1..3)) {
        let mut request = default_request(Kind::PorepC2);
        let mut c1 = default_sector().c1_json().to_vec();
        changes.iter().for_each(|change| apply(&mut c1, change));
        let envelope = json!({
            "SectorNum": request.sector_number,
            "Phase1Out": STANDARD.encode(&c1),
            "SectorSize": request.sector_size,
        });
        request.vanilla_proof = envelope.to_string().into_bytes();
        survives(&request, false);
    }

    #[test]
    fn random_requests(
        proof_kind in 0..6i32,
        registered_proof in 0..25u64,
        size in prop::sample::select(vec![0, 2u64 << 10, 8 << 20, 512 << 20, 32 << 30, 64 << 30, u64::MAX]),
        payload in prop::collection::vec(any::<u8>(), 0..200),
        many in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..3),
        fixed in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        survives(&SubmitProofRequest {
            proof_kind,
            registered_proof,
            sector_size: size,
            vanilla_proof: payload,
            vanilla_proofs: many,
            randomness: fixed.clone(),
            comm_r_old: fixed.clone(),
            comm_r_new: fixed.clone(),
            comm_d_new: fixed,
            partition_index: u32::MAX,
            ..SubmitProofRequest::default()
        }, false);
    }
}
