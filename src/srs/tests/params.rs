//! `.params` and `.vk` files: what is accepted, what is refused.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bellperson::groth16::Parameters;
use blstrs::{Bls12, G1Affine};

use super::super::{read_verifying_key, Origin, Query};
use super::{outside_g1, outside_g2, with_work, work, Fixture, OFFICIAL, STEM};
use crate::error::{Code, Error};
use crate::srs::Phase;

const FOREIGN: &str = "v28-of-somebody-else";

fn check(fixture: &Fixture, stem: &str, allow: bool) -> crate::Result<Origin> {
    let checked = work(|w| fixture.store(allow).check(stem, w))?;
    Ok(checked.params.unwrap().origin)
}

fn patch(path: &Path, offset: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

/// Byte offset of a query's first point.
fn offset(fixture: &Fixture, query: Query) -> u64 {
    let params = Parameters::<Bls12>::read(&fs::read(&fixture.params).unwrap()[..], false).unwrap();
    let mut at = 864 + 4 + 96 * params.vk.ic.len() as u64 + 4;
    let counts = [params.h.len(), params.l.len(), params.a.len(), params.b_g1.len()];
    for count in &counts[..query as usize] {
        at += 96 * *count as u64 + 4;
    }
    at
}

fn refused(result: crate::Result<Origin>, path: &Path, word: &str) -> Error {
    let e = result.unwrap_err();
    assert_eq!(e.code(), Code::ParametersInvalid, "{e}");
    assert!(e.message().contains(path.to_str().unwrap()) && e.message().contains(word), "{e}");
    e
}

#[test]
fn sound_files_are_told_apart() {
    let fixture = Fixture::new();
    assert_eq!(check(&fixture, STEM, true).unwrap(), Origin::Development);
    let fixture = Fixture::foreign(FOREIGN);
    assert_eq!(check(&fixture, FOREIGN, false).unwrap(), Origin::Foreign);
}

#[test]
fn development_keys_need_permission() {
    let fixture = Fixture::new();
    refused(check(&fixture, STEM, false), &fixture.params, "allow_development_parameters");
    let vk = fixture.params.with_extension("vk");
    assert!(read_verifying_key(&vk, false).unwrap_err().message().contains("allow_development_parameters"));
    read_verifying_key(&vk, true).unwrap();
    // Under an official name, too.
    let fixture = Fixture::named(OFFICIAL);
    refused(check(&fixture, OFFICIAL, false), &fixture.params, "allow_development_parameters");
    assert_eq!(check(&fixture, OFFICIAL, true).unwrap(), Origin::Development);
}

#[test]
fn an_official_name_needs_the_official_digest() {
    let fixture = Fixture::foreign(OFFICIAL);
    for allow in [false, true] {
        let e = refused(check(&fixture, OFFICIAL, allow), &fixture.params, "digest");
        let found = blake2b_simd::blake2b(&fs::read(&fixture.params).unwrap());
        assert!(e.message().contains(&found.to_hex()[..32]), "{e}");
    }
    let vk = fixture.params.with_extension("vk");
    assert_eq!(read_verifying_key(&vk, true).unwrap_err().code(), Code::ParametersInvalid);
}

#[test]
fn a_development_key_that_changed_is_refused() {
    let fixture = Fixture::new();
    let bytes = fs::read(&fixture.params).unwrap();
    let at = offset(&fixture, Query::H);
    // Two valid points change places: only the digest tells.
    let (first, second) = (&bytes[at as usize..][..96], &bytes[at as usize + 96..][..96]);
    patch(&fixture.params, at, &[second, first].concat());
    refused(check(&fixture, STEM, true), &fixture.params, "digest");
}

#[test]
fn every_truncation_and_every_excess_is_refused() {
    let fixture = Fixture::foreign(FOREIGN);
    let bytes = fs::read(&fixture.params).unwrap();
    let starts = Query::ALL.map(|q| offset(&fixture, q) as usize);
    let cuts = starts.iter().flat_map(|at| [at - 5, at - 4, at - 1, *at, at + 1, at + 96]);
    for cut in cuts.chain([0, 1, 95, 863, 864, 866, 868, 900, bytes.len() - 1]) {
        fs::write(&fixture.params, &bytes[..cut]).unwrap();
        refused(check(&fixture, FOREIGN, false), &fixture.params, "");
    }
    fs::write(&fixture.params, [&bytes[..], &[0]].concat()).unwrap();
    refused(check(&fixture, FOREIGN, false), &fixture.params, "bytes");
}

#[test]
fn absurd_counts_are_refused_without_memory() {
    let fixture = Fixture::foreign(FOREIGN);
    for at in [864, offset(&fixture, Query::H) - 4, offset(&fixture, Query::BG2) - 4] {
        let bytes = fs::read(&fixture.params).unwrap();
        patch(&fixture.params, at, &[0xff; 4]);
        refused(check(&fixture, FOREIGN, false), &fixture.params, "truncated");
        fs::write(&fixture.params, bytes).unwrap();
    }
}

#[test]
fn bad_points_are_named() {
    let fixture = Fixture::foreign(FOREIGN);
    let good = fs::read(&fixture.params).unwrap();
    let infinity = [&[0x40][..], &[0; 95]].concat();
    let valid = G1Affine::from(blstrs::G1Projective::from(outside_g1()));
    let compressed = [&valid.to_compressed()[..], &[0; 48]].concat();
    let g1 = |word, bytes: Vec<u8>| (Query::A, 96, word, bytes);
    for (query, len, word, bytes) in [
        g1("canonical point of the curve", vec![1; 96]),
        g1("canonical point of the curve", vec![0; 96]),
        g1("canonical point of the curve", vec![0x1f; 96]),
        g1("canonical point of the curve", infinity),
        g1("canonical point of the curve", compressed),
        g1("outside of it", outside_g1().to_uncompressed().to_vec()),
        (Query::BG2, 192, "canonical point of the curve", vec![1; 192]),
        (Query::BG2, 192, "outside of it", outside_g2().to_uncompressed().to_vec()),
    ] {
        fs::write(&fixture.params, &good).unwrap();
        patch(&fixture.params, offset(&fixture, query) + 2 * len, &bytes);
        let e = refused(check(&fixture, FOREIGN, false), &fixture.params, word);
        assert!(e.message().contains(&format!("point 2 of query {}", query.name())), "{e}");
    }
}

#[test]
fn bad_verifying_keys_are_refused() {
    let fixture = Fixture::foreign(FOREIGN);
    let path = fixture.params.with_extension("vk");
    let good = fs::read(&path).unwrap();
    read_verifying_key(&path, false).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let infinity = [&[0x40][..], &[0; 95]].concat();
    for bytes in [
        vec![],
        good[..good.len() - 1].to_vec(),
        [&good[..], &[0]].concat(),
        with(0, &[1; 96]),
        with(0, &infinity),
        with(868, &infinity),
        with(868, &outside_g1().to_uncompressed()),
        with(192, &outside_g2().to_uncompressed()),
        with(864, &[0xff; 4]),
    ] {
        fs::write(&path, &bytes).unwrap();
        let e = read_verifying_key(&path, false).unwrap_err();
        assert_eq!(e.code(), Code::ParametersInvalid);
        assert!(e.message().contains(path.to_str().unwrap()), "{e}");
    }
    fs::write(&path, with(864, &[0, 0, 0, 0])).unwrap();
    assert!(read_verifying_key(&path, false).is_err());
}

#[test]
fn the_expensive_check_is_done_once() {
    let fixture = Fixture::foreign(FOREIGN);
    let open = || with_work(|w| fixture.store(false).open(super::CIRCUIT, FOREIGN, &fixture.shape, w));
    assert_eq!(open().1, [Phase::Import]);
    assert_eq!(open().1, []);
    // A changed file is read again, and refused.
    let at = offset(&fixture, Query::A);
    patch(&fixture.params, at, &outside_g1().to_uncompressed());
    let (result, phases) = open();
    assert_eq!(phases, [Phase::Check]);
    assert_eq!(result.unwrap_err().code(), Code::ParametersInvalid);
}

#[test]
fn damage_that_leaves_the_times_alone_is_found_by_a_check() {
    let fixture = Fixture::foreign(FOREIGN);
    check(&fixture, FOREIGN, false).unwrap();
    let modified = fs::metadata(&fixture.params).unwrap().modified().unwrap();
    let bytes = fs::read(&fixture.params).unwrap();
    let at = offset(&fixture, Query::H) as usize;
    patch(&fixture.params, at as u64, &[&bytes[at + 96..][..96], &bytes[at..][..96]].concat());
    fs::File::options().write(true).open(&fixture.params).unwrap().set_modified(modified).unwrap();
    refused(check(&fixture, FOREIGN, false), &fixture.params, "damaged");
}
