//! What bad input gets: a typed error that names the part.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use filecoin_hashers::poseidon::PoseidonDomain;
use filecoin_proofs::constants::SectorShape2KiB as Tree;
use filecoin_proofs::{FallbackPoStSectorProof, PartitionProof};
use forebay_sector::Kind;
use serde_json::{json, Value};

use crate::error::{Code, Error};
use crate::filecoin::decode;
use crate::filecoin::testing::{default_request, default_sector};
use crate::wire::SubmitProofRequest;

fn refusal(request: &SubmitProofRequest) -> Error {
    match decode(request) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

/// The request of this kind, changed, is refused with an `InvalidRequest` whose message has this part.
#[track_caller]
fn refused(kind: Kind, part: &str, change: impl FnOnce(&mut SubmitProofRequest)) {
    let mut request = default_request(kind);
    change(&mut request);
    let error = refusal(&request);
    assert_eq!(error.code(), Code::InvalidRequest, "{error}");
    assert!(error.message().contains(part), "{error}");
}

/// As [`refused`], with the C1 output changed.
#[track_caller]
fn c1_refused(part: &str, change: impl FnOnce(&mut Value)) {
    let mut c1: Value = serde_json::from_slice(default_sector().c1_json()).unwrap();
    change(&mut c1);
    refused(Kind::PorepC2, part, |request| envelop(request, c1.to_string().as_bytes()));
}

fn envelop(request: &mut SubmitProofRequest, c1: &[u8]) {
    let envelope = json!({
        "SectorNum": request.sector_number,
        "Phase1Out": STANDARD.encode(c1),
        "SectorSize": request.sector_size,
    });
    request.vanilla_proof = envelope.to_string().into_bytes();
}

/// A 32-byte value in JSON, every byte the same.
fn bytes(value: u8) -> Value {
    Value::from(vec![value; 32])
}

/// The challenges of the only partition.
fn challenges(c1: &mut Value) -> &mut Vec<Value> {
    c1["vanilla_proofs"]["StackedDrg2KiBV1"][0].as_array_mut().unwrap()
}

#[test]
fn kind_and_payload_must_fit() {
    for number in [0, 5, -1, i32::MAX] {
        refused(Kind::WindowPost, "proof_kind", |r| r.proof_kind = number);
    }
    let empty = SubmitProofRequest::default();
    assert_eq!(refusal(&empty).code(), Code::InvalidRequest);
    for kind in Kind::ALL {
        refused(kind, "neither vanilla_proof nor vanilla_proofs", |r| {
            r.vanilla_proof.clear();
            r.vanilla_proofs.clear();
        });
        refused(kind, "both", |r| {
            r.vanilla_proof = vec![1];
            r.vanilla_proofs = vec![vec![1]];
        });
    }
    refused(Kind::PorepC2, "vanilla_proofs is given instead", |r| {
        r.vanilla_proofs = vec![std::mem::take(&mut r.vanilla_proof)];
    });
    refused(Kind::SnapUpdate, "vanilla_proof is given instead", |r| {
        r.vanilla_proof = r.vanilla_proofs.remove(0);
    });
    let windows = default_request(Kind::WindowPost).vanilla_proofs;
    refused(Kind::WinningPost, "10 openings", |r| r.vanilla_proofs = windows.clone());
    refused(Kind::SnapUpdate, "vanilla proof 0", |r| r.vanilla_proofs = windows.clone());
}

#[test]
fn registered_proof_and_sector_size_must_agree() {
    for kind in Kind::ALL {
        refused(kind, "sector_size is 34359738368", |r| r.sector_size = 32 << 30);
        refused(kind, "sector_size is 0", |r| r.sector_size = 0);
        refused(kind, "is not a", |r| r.registered_proof = 77);
    }
    refused(Kind::WindowPost, "winning_post", |r| r.registered_proof = 0);
    refused(Kind::WinningPost, "window_post", |r| r.registered_proof = 5);
    refused(Kind::PorepC2, "the C1 output is of StackedDrg2KiBV1_1", |r| r.registered_proof = 0);
    let mut request = default_request(Kind::PorepC2);
    request.registered_proof = 15;
    assert_eq!(refusal(&request).code(), Code::Unsupported);
}

#[test]
fn the_envelope_must_be_whole() {
    refused(Kind::PorepC2, "JSON object", |r| r.vanilla_proof = b"not json".to_vec());
    refused(Kind::PorepC2, "JSON object", |r| {
        r.vanilla_proof.pop();
    });
    refused(Kind::PorepC2, "JSON object", |r| r.vanilla_proof.push(b'}'));
    refused(Kind::PorepC2, "base64", |r| {
        r.vanilla_proof = json!({"SectorNum": r.sector_number, "Phase1Out": "***", "SectorSize": 2048})
            .to_string()
            .into_bytes();
    });
    refused(Kind::PorepC2, "SectorNum", |r| r.sector_number += 1);
    refused(Kind::PorepC2, "SectorSize", |r| {
        let text = String::from_utf8(r.vanilla_proof.clone()).unwrap();
        r.vanilla_proof = text.replace("\"SectorSize\":2048", "\"SectorSize\":4096").into_bytes();
    });
    let mut request = default_request(Kind::PorepC2);
    request.sector_number = 0;
    assert!(decode(&request).is_ok(), "a sector number that is left out comes from the envelope");
    refused(Kind::PorepC2, "not the expected JSON", |r| envelop(r, b"{}"));
    refused(Kind::PorepC2, "not the expected JSON", |r| envelop(r, b""));
    refused(Kind::PorepC2, "at most", |r| envelop(r, &vec![b' '; 8 << 20]));
}

#[test]
fn the_c1_output_must_fit_the_statement() {
    refused(Kind::PorepC2, "replica id", |r| r.miner_id += 1);
    c1_refused("comm_r in the C1 output is zero", |c1| c1["comm_r"] = bytes(0));
    c1_refused("comm_d in the C1 output is not a field element", |c1| c1["comm_d"] = bytes(255));
    c1_refused("seed", |c1| c1["seed"] = bytes(0));
    c1_refused("replica id", |c1| c1["ticket"][0] = json!((c1["ticket"][0].as_u64().unwrap() + 1) % 256));
    c1_refused("replica id", |c1| c1["replica_id"] = bytes(255));
    c1_refused("ask for another", |c1| {
        c1["seed"][0] = json!((c1["seed"][0].as_u64().unwrap() + 1) % 256);
    });
    c1_refused("do not give comm_r", |c1| c1["comm_r"] = bytes(1));
    c1_refused("StackedDrg2KiBV1_1_Feat_SyntheticPoRep", |c1| {
        c1["registered_proof"] = json!("StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
    });
    c1_refused("for sectors of 8388608 bytes", |c1| {
        let proofs = c1["vanilla_proofs"]["StackedDrg2KiBV1"].take();
        c1["vanilla_proofs"] = json!({ "StackedDrg8MiBV1": proofs });
    });
}

#[test]
fn vanilla_proofs_of_porep_must_have_their_structure() {
    c1_refused("0 partitions", |c1| c1["vanilla_proofs"]["StackedDrg2KiBV1"] = json!([]));
    c1_refused("1 challenges; expected 2", |c1| {
        challenges(c1).pop();
    });
    c1_refused("3 challenges; expected 2", |c1| {
        let extra = challenges(c1)[0].clone();
        challenges(c1).push(extra);
    });
    c1_refused("ask for another", |c1| challenges(c1).swap(0, 1));
    c1_refused("1 labelling proofs", |c1| {
        challenges(c1)[0]["labeling_proofs"].as_array_mut().unwrap().pop();
    });
    c1_refused("5 base parents", |c1| {
        challenges(c1)[1]["replica_column_proofs"]["drg_parents"].as_array_mut().unwrap().pop();
    });
    c1_refused("1 labels in a column", |c1| {
        challenges(c1)[0]["replica_column_proofs"]["c_x"]["column"]["rows"].as_array_mut().unwrap().pop();
    });
    c1_refused("levels in a Merkle path", |c1| {
        challenges(c1)[0]["comm_r_last_proof"]["data"]["Single"]["path"]["path"]
            .as_array_mut()
            .unwrap()
            .pop();
    });
    c1_refused("not a field element", |c1| {
        challenges(c1)[0]["comm_d_proofs"]["data"]["Single"]["leaf"] = bytes(255);
    });
    c1_refused("expected less than 2", |c1| {
        challenges(c1)[0]["comm_d_proofs"]["data"]["Single"]["path"]["path"][0]["index"] = json!(2);
    });
    c1_refused("the root of the data tree is not comm_d", |c1| {
        challenges(c1)[1]["comm_d_proofs"]["data"]["Single"]["root"] = bytes(1);
    });
}

#[test]
fn commitments_of_an_update_are_checked() {
    type Field = fn(&mut SubmitProofRequest) -> &mut Vec<u8>;
    let fields: [(&str, Field); 3] = [
        ("comm_r_old", |r| &mut r.comm_r_old),
        ("comm_r_new", |r| &mut r.comm_r_new),
        ("comm_d_new", |r| &mut r.comm_d_new),
    ];
    for (name, field) in fields {
        refused(Kind::SnapUpdate, &format!("{name} is zero"), |r| *field(r) = vec![0; 32]);
        refused(Kind::SnapUpdate, &format!("{name} is not a field element"), |r| *field(r) = vec![255; 32]);
        refused(Kind::SnapUpdate, &format!("{name} has 31 bytes"), |r| {
            field(r).pop();
        });
        refused(Kind::SnapUpdate, &format!("{name} has 0 bytes"), |r| field(r).clear());
        // A wrong but well-formed commitment does not fit the vanilla proofs.
        refused(Kind::SnapUpdate, "challenge", |r| *field(r) = vec![1; 32]);
    }
    refused(Kind::SnapUpdate, "2 vanilla proofs", |r| {
        let extra = r.vanilla_proofs[0].clone();
        r.vanilla_proofs.push(extra);
    });
}

#[track_caller]
fn update_refused(part: &str, change: impl FnOnce(&mut PartitionProof<Tree>)) {
    refused(Kind::SnapUpdate, part, |request| {
        let mut proof = bincode::deserialize(&request.vanilla_proofs[0]).unwrap();
        change(&mut proof);
        request.vanilla_proofs[0] = bincode::serialize(&proof).unwrap();
    });
}

fn not_a_scalar() -> PoseidonDomain {
    bincode::deserialize(&[0xff; 32]).unwrap()
}

#[test]
fn vanilla_proofs_of_an_update_must_have_their_structure() {
    update_refused("7 apex leaves", |proof| {
        proof.apex_leafs.pop();
    });
    update_refused("9 challenges", |proof| {
        proof.challenge_proofs.pop();
    });
    update_refused("0 challenges", |proof| proof.challenge_proofs.clear());
    update_refused("comm_c is not a field element", |proof| proof.comm_c = not_a_scalar());
    update_refused("path opens node", |proof| proof.challenge_proofs.reverse());
    for kind in [Kind::SnapUpdate, Kind::WindowPost, Kind::WinningPost] {
        refused(kind, "bincode", |r| {
            r.vanilla_proofs[0].pop();
        });
        refused(kind, "bincode", |r| r.vanilla_proofs[0].push(0));
        refused(kind, "bincode", |r| r.vanilla_proofs[0].clear());
    }
}

#[track_caller]
fn post_refused(kind: Kind, part: &str, change: impl FnOnce(&mut FallbackPoStSectorProof<Tree>)) {
    refused(kind, part, |request| {
        let mut proof = bincode::deserialize(&request.vanilla_proofs[0]).unwrap();
        change(&mut proof);
        request.vanilla_proofs[0] = bincode::serialize(&proof).unwrap();
    });
}

#[test]
fn vanilla_proofs_of_post_must_have_their_structure() {
    for kind in [Kind::WindowPost, Kind::WinningPost] {
        post_refused(kind, "exactly one sector", |proof| proof.vanilla_proof.sectors.clear());
        post_refused(kind, "openings", |proof| {
            proof.vanilla_proof.sectors[0].inclusion_proofs.pop();
        });
        post_refused(kind, "comm_r is not a field element", |proof| proof.comm_r = not_a_scalar());
        post_refused(kind, "do not give comm_r", |proof| proof.comm_r = PoseidonDomain::default());
        post_refused(kind, "the randomness asks for", |proof| {
            proof.vanilla_proof.sectors[0].inclusion_proofs.reverse();
        });
        post_refused(kind, "the randomness asks for", |proof| proof.sector_id = 7.into());
        refused(kind, "the randomness asks for", |r| r.randomness[0] ^= 1);
        refused(kind, "randomness has 31 bytes", |r| {
            r.randomness.pop();
        });
        refused(kind, "randomness has 0 bytes", |r| r.randomness.clear());
    }
    refused(Kind::WinningPost, "2 vanilla proofs", |r| {
        let extra = r.vanilla_proofs[0].clone();
        r.vanilla_proofs.push(extra);
    });
    refused(Kind::WindowPost, "3 vanilla proofs", |r| {
        r.vanilla_proofs = vec![r.vanilla_proofs[0].clone(); 3];
    });
    refused(Kind::WindowPost, "ascending", |r| r.vanilla_proofs = vec![r.vanilla_proofs[0].clone(); 2]);
}
