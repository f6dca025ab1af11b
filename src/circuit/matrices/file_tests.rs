//! Matrix files: round trips, and everything that can be wrong with one.

use std::fs;

use blstrs::Scalar;
use proptest::prelude::*;

use super::file::{digest, DIGEST};
use super::tests::{check_evaluation, equal};
use super::*;
use crate::circuit::testing::{RandomCircuit, Recorder};
use crate::circuit::Expected;

const CIRCUIT: RandomCircuit =
    RandomCircuit { seed: 21, inputs: 5, aux: 60, boolean_percent: 60, values: true };

fn compiled() -> Matrices {
    let mut matrices = Matrices::compile("random-21", CIRCUIT.blank()).unwrap();
    matrices.set_wide_hint(77);
    matrices
}

fn witness() -> Witness {
    Witness::generate(CIRCUIT, Expected::default(), &Cancel::new()).unwrap()
}

/// Loads these bytes as a file.
fn load(bytes: &[u8]) -> Result<Matrices> {
    file::read(&mut &*bytes, bytes.len() as u64)
}

/// The bytes of a file.
fn saved() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    compiled().save(&path).unwrap();
    fs::read(&path).unwrap()
}

fn header_len(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize
}

/// Makes both checksums right again.
fn reseal(bytes: &mut [u8]) {
    let header = header_len(bytes);
    let body = digest([&bytes[header..]]);
    bytes[header - 2 * DIGEST..header - DIGEST].copy_from_slice(&body);
    let own = digest([&bytes[..header - DIGEST]]);
    bytes[header - DIGEST..header].copy_from_slice(&own);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn round_trips(seed in any::<u64>(), inputs in 0_usize..80, aux in 0_usize..400, wide in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let circuit = RandomCircuit { seed, inputs, aux, boolean_percent: 50, values: true };
        let mut matrices = Matrices::compile("ä tag", circuit).unwrap();
        if wide {
            matrices.set_wide_hint(seed >> 1);
        }
        let path = folder.path().join("m");
        matrices.save(&path).unwrap();
        let loaded = Matrices::load(&path).unwrap();
        prop_assert!(equal(&matrices, &loaded));
        prop_assert_eq!(Matrices::peek_shape(&path).unwrap(), *matrices.shape());
        let peeked = Matrices::peek(&path).unwrap();
        prop_assert_eq!((peeked.tag.as_str(), peeked.wide_hint), ("ä tag", matrices.wide_hint()));
        prop_assert_eq!(&peeked.shape, matrices.shape());
        prop_assert!(Matrices::load(&path).unwrap().mapped() <= peeked.mapped);
        let witness = Witness::generate(circuit, Expected::default(), &Cancel::new()).unwrap();
        check_evaluation(&loaded, &witness, &Recorder::of(circuit).unwrap());
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
    }
}

#[test]
fn truncated_and_lengthened_files_are_refused() {
    let whole = saved();
    for len in 0..whole.len() {
        let error = load(&whole[..len]).unwrap_err();
        assert_eq!(error.code(), Code::ParametersInvalid, "{len} bytes: {error}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert_eq!(load(&longer).unwrap_err().code(), Code::ParametersInvalid);
}

#[test]
fn flipped_bits_are_found() {
    let whole = saved();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let error = load(&bytes).unwrap_err();
        assert_eq!(error.code(), Code::ParametersInvalid, "byte {at}: {error}");
    }
}

/// A file whose checksums are right and whose content is not: an error, or matrices that can be used.
#[test]
fn forged_files_do_no_harm() {
    let whole = saved();
    let witness = witness();
    let mut refused = 0;
    for at in 16..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        reseal(&mut bytes);
        match load(&bytes) {
            Ok(matrices) => use_anyhow(&matrices, &witness),
            Err(_) => refused += 1,
        }
    }
    // Most of the file is coefficients, where one random number is as good as another.
    assert!(refused > 100, "only {refused} forgeries were refused");
}

#[test]
fn forged_dictionaries_do_no_harm() {
    let matrices = compiled();
    let plain = dictionary_bytes::write(&matrices.dictionary, &matrices.sequence.chunks);
    let witness = witness();
    let mut refused = 0;
    for at in 0..plain.len() {
        let mut bytes = plain.clone();
        bytes[at] = bytes[at].wrapping_add(1 + (at % 5) as u8 * 47);
        let forged = dictionary_bytes::read(&bytes).and_then(|(dictionary, chunks)| {
            let mut sequence = Sequence::empty()?;
            sequence.frames.extend_from_slice(matrices.sequence.frames.as_slice())?;
            sequence.chunks = chunks;
            sequence.verify(&dictionary, matrices.shape())?;
            Matrices::assemble("forged", *matrices.shape(), Densities::empty()?, dictionary, sequence)
        });
        match forged {
            Ok(forged) => use_anyhow(&forged, &witness),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0);
    for len in 0..plain.len() {
        assert!(dictionary_bytes::read(&plain[..len]).is_err(), "{len} bytes");
    }
}

fn use_anyhow(matrices: &Matrices, witness: &Witness) {
    let rows = matrices.shape().rows().min(1 << 20) as usize;
    let mut out = vec![Scalar::from(0); rows];
    for which in [Matrix::A, Matrix::B] {
        // Refusing is as good as computing something else.
        let _ = matrices.evaluate(which, witness, &mut out, &Cancel::new());
    }
}

#[test]
fn the_cache_is_rebuilt_where_it_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let build = |tag: &str| Matrices::load_or_compile(&path, tag, || Ok(CIRCUIT.blank())).unwrap();
    let unused = || -> Result<RandomCircuit> { Err(Error::internal("the cache was not used")) };
    let first = build("one");
    assert!(equal(&first, &Matrices::load_or_compile(&path, "one", unused).unwrap()));
    // Another circuit's cache is replaced.
    assert_eq!(build("two").tag(), "two");
    assert_eq!(Matrices::load(&path).unwrap().tag(), "two");
    // So is a damaged one, and one that is no matrix file at all.
    for damage in [b"garbage".to_vec(), fs::read(&path).unwrap()[..100].to_vec(), Vec::new()] {
        fs::write(&path, damage).unwrap();
        build("two");
        assert!(equal(&build("two"), &Matrices::load_or_compile(&path, "two", unused).unwrap()));
    }
    // An unusable folder costs the cache, not the matrices.
    let nowhere = folder.path().join("none").join("m");
    let matrices = Matrices::load_or_compile(&nowhere, "one", || Ok(CIRCUIT.blank())).unwrap();
    assert!(equal(&matrices, &first));
    assert_eq!(Matrices::load(&nowhere).unwrap_err().code(), Code::NotFound);
    assert_eq!(Matrices::peek_shape(folder.path()).unwrap_err().code(), Code::System);
}
