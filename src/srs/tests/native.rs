//! Native files: what they hold, what is refused.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bellperson::groth16::Parameters;
use blstrs::Bls12;

use super::{work, Fixture, CIRCUIT, STEM};
use crate::cancel::Cancel;
use crate::circuit::Shape;
use crate::error::Code;
use crate::kind::{CircuitId, ProofKind};
use crate::srs::{Counts, Srs};

/// A fixture whose native file exists.
fn imported() -> (Fixture, PathBuf) {
    let fixture = Fixture::new();
    work(|w| fixture.store(true).import(CIRCUIT, STEM, w)).unwrap();
    let native = fixture.store(true).native_path(STEM);
    (fixture, native)
}

fn refused(result: crate::Result<Srs>, path: &std::path::Path) -> String {
    let e = result.unwrap_err();
    assert_eq!(e.code(), Code::ParametersInvalid, "{e}");
    assert!(e.message().contains(path.to_str().unwrap()), "{e}");
    e.message().to_owned()
}

#[test]
fn the_points_are_those_that_bellperson_reads() {
    let (fixture, native) = imported();
    let srs = Srs::open(&native, CIRCUIT, true).unwrap();
    let params = Parameters::<Bls12>::read(&fs::read(&fixture.params).unwrap()[..], true).unwrap();
    assert!(*srs.vk() == params.vk);
    assert_eq!(srs.h(), &params.h[..]);
    assert_eq!(srs.l(), &params.l[..]);
    assert_eq!(srs.a(), &params.a[..]);
    assert_eq!(srs.b_g1(), &params.b_g1[..]);
    assert_eq!(srs.b_g2(), &params.b_g2[..]);
    assert!(srs.is_development());
    assert_eq!(srs.h().as_ptr() as usize % 64, 0);
    assert!(std::ptr::eq(srs.pvk(), srs.pvk()));
    srs.will_need();
    srs.populate(&Cancel::new()).unwrap();
    work(|w| srs.verify(w)).unwrap();
}

#[test]
fn threads_share_it() {
    fn shared<T: Send + Sync>() {}
    shared::<Srs>();
}

#[test]
fn it_is_never_larger_than_the_params_file() {
    let (fixture, native) = imported();
    let srs = Srs::open(&native, CIRCUIT, true).unwrap();
    assert_eq!(Counts::of_shape(&fixture.shape).native_len(), Some(srs.mapped().0));
    let len = |path| fs::metadata(path).unwrap().len();
    assert!(len(&native) <= len(&fixture.params));
    for ic in 1..400 {
        let counts = Counts { ic, queries: [1; 5] };
        assert!(counts.native_len().unwrap() <= counts.params_len().unwrap(), "{ic}");
    }
}

#[test]
fn lengths_of_another_circuit_are_refused() {
    let (fixture, native) = imported();
    let srs = Srs::open(&native, CIRCUIT, true).unwrap();
    let shape = fixture.shape;
    srs.check_shape(&shape).unwrap();
    for (word, other) in [
        ("ic", Shape { inputs: shape.inputs + 1, ..shape }),
        ("h", Shape { constraints: shape.constraints * 2, ..shape }),
        ("l", Shape { aux: shape.aux - 1, ..shape }),
        ("a", Shape { a_aux_density: shape.a_aux_density - 1, ..shape }),
        ("b_g1", Shape { b_input_density: 1, ..shape }),
    ] {
        let e = srs.check_shape(&other).unwrap_err();
        assert_eq!(e.code(), Code::ParametersInvalid);
        assert!(e.message().contains(&format!("points in {word},")), "{e}");
    }
}

#[test]
fn foreign_circuits_and_development_keys_are_refused() {
    let (_fixture, native) = imported();
    let other = CircuitId { kind: ProofKind::WindowPost, ..CIRCUIT };
    let message = refused(Srs::open(&native, other, true), &native);
    assert!(message.contains("wpost-2k") && message.contains("winning-2k"), "{message}");
    assert!(refused(Srs::open(&native, CIRCUIT, false), &native).contains("allow_development_parameters"));
    let missing = native.with_extension("none");
    assert_eq!(Srs::open(&missing, CIRCUIT, true).unwrap_err().code(), Code::ParametersMissing);
}

#[test]
fn every_truncation_is_refused() {
    let (fixture, native) = imported();
    let bytes = fs::read(&native).unwrap();
    let head = super::super::header::head_len(fixture.shape.inputs) as usize;
    for cut in (0..head).step_by(61).chain([head - 1, head, head + 1, bytes.len() - 96, bytes.len() - 1]) {
        fs::write(&native, &bytes[..cut]).unwrap();
        refused(Srs::open(&native, CIRCUIT, true), &native);
    }
    fs::write(&native, [&bytes[..], &[0; 96]].concat()).unwrap();
    refused(Srs::open(&native, CIRCUIT, true), &native);
}

#[test]
fn every_corrupt_byte_of_the_head_is_refused() {
    let (fixture, native) = imported();
    let bytes = fs::read(&native).unwrap();
    let covered = 320 + 3 * 48 + 3 * 96 + 48 * fixture.shape.inputs as usize + 32;
    for at in 0..covered {
        let mut changed = bytes[..covered].to_vec();
        changed[at] ^= 1 << (at % 8);
        let e = super::super::header::Header::decode(&changed, &native).unwrap_err();
        assert_eq!(e.code(), Code::ParametersInvalid, "byte {at}");
    }
}

#[test]
fn corrupt_points_are_refused() {
    let (fixture, native) = imported();
    let store = fixture.store(true);
    work(|w| store.open(CIRCUIT, STEM, &fixture.shape, w)).unwrap();
    let len = fs::metadata(&native).unwrap().len();
    let head = super::super::header::head_len(fixture.shape.inputs);
    for at in [head, (head + len) / 2, len - 1] {
        let good = fs::read(&native).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&native).unwrap();
        file.write_all_at(&[good[at as usize] ^ 1], at).unwrap();
        // What was remembered does not hold for a file that changed.
        let message = refused(work(|w| store.open(CIRCUIT, STEM, &fixture.shape, w)), &native);
        assert!(message.contains("checksum"), "{message}");
        assert!(work(|w| store.check(STEM, w)).is_err());
        fs::write(&native, good).unwrap();
        work(|w| store.open(CIRCUIT, STEM, &fixture.shape, w)).unwrap();
    }
}
