//! Resolution: from a stem to an open key.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::develop::{develop, Target, ToxicWaste};
use super::super::{Phase, Progress, Store, StoreConfig, Work};
use super::{circuit, with_work, work, Fixture, Plain, CIRCUIT, OFFICIAL, STEM};
use crate::cancel::Cancel;
use crate::error::Code;
use rand::SeedableRng;

#[test]
fn missing_parameters_name_file_and_folders() {
    let fixture = Fixture::new();
    let e = work(|w| fixture.store(true).open(CIRCUIT, OFFICIAL, &fixture.shape, w)).unwrap_err();
    assert_eq!(e.code(), Code::ParametersMissing);
    for part in [OFFICIAL, ".params", "elsewhere", "params;"] {
        assert!(e.message().contains(part), "{e}");
    }
    let none = Store::new(StoreConfig {
        parameter_dirs: vec![],
        cache_dir: fixture.cache(),
        allow_development: true,
    });
    let e = work(|w| none.check(OFFICIAL, w)).unwrap_err();
    assert_eq!(e.code(), Code::ParametersMissing);
    assert_eq!(none.verifying_key(OFFICIAL).unwrap_err().code(), Code::ParametersMissing);
}

#[test]
fn stems_are_plain_names() {
    let fixture = Fixture::new();
    for stem in ["", ".", "../params/x", "a/b", "a\0b", "ä"] {
        assert_eq!(fixture.store(true).locate(stem).unwrap_err().code(), Code::InvalidArgument);
    }
}

#[test]
fn files_are_listed() {
    let fixture = Fixture::named(OFFICIAL);
    let store = fixture.store(true);
    work(|w| store.open(CIRCUIT, OFFICIAL, &fixture.shape, w)).unwrap();
    let all = store.list().unwrap();
    assert_eq!(all, [store.locate(OFFICIAL).unwrap()]);
    let found = &all[0];
    assert!(found.params.is_some() && found.vk.is_some() && found.native.is_some());
    assert!(found.marked && found.listed);
    assert!(store.verifying_key(OFFICIAL).is_ok());
}

#[test]
fn parameters_of_another_circuit_are_refused_before_the_import() {
    let fixture = Fixture::new();
    let shape = crate::circuit::Shape { aux: fixture.shape.aux + 1, ..fixture.shape };
    let (result, phases) = with_work(|w| fixture.store(true).open(CIRCUIT, STEM, &shape, w));
    let e = result.unwrap_err();
    assert_eq!(e.code(), Code::ParametersInvalid);
    assert!(e.message().contains(fixture.params.to_str().unwrap()), "{e}");
    assert_eq!(phases, []);
    assert_eq!(Fixture::names(&fixture.cache()), [""; 0]);
}

#[test]
fn development_keys_are_refused_before_and_after_the_import() {
    for stem in [STEM, OFFICIAL] {
        let fixture = Fixture::named(stem);
        let open = |allow| work(|w| fixture.store(allow).open(CIRCUIT, stem, &fixture.shape, w));
        for _ in 0..2 {
            let e = open(false).unwrap_err();
            assert_eq!(e.code(), Code::ParametersInvalid);
            assert!(e.message().contains("allow_development_parameters"), "{e}");
            assert!(open(true).unwrap().is_development());
        }
        // The native file keeps the mark when the others are gone.
        fs::remove_dir_all(fixture.dir.path().join("params")).unwrap();
        assert!(open(false).unwrap_err().message().contains("allow_development_parameters"));
        assert!(open(true).unwrap().is_development());
    }
}

#[test]
fn a_foreign_key_in_the_cache_does_not_pass_for_an_official_one() {
    let fixture = Fixture::foreign("v28-of-somebody-else");
    let store = fixture.store(true);
    work(|w| store.open(CIRCUIT, "v28-of-somebody-else", &fixture.shape, w)).unwrap();
    fs::rename(store.native_path("v28-of-somebody-else"), store.native_path(OFFICIAL)).unwrap();
    let e = work(|w| store.open(CIRCUIT, OFFICIAL, &fixture.shape, w)).unwrap_err();
    assert_eq!(e.code(), Code::ParametersInvalid);
    assert!(e.message().contains("digest"), "{e}");
}

#[test]
fn a_new_params_file_is_imported_again() {
    let fixture = Fixture::new();
    let store = fixture.store(true);
    let open = || with_work(|w| store.open(CIRCUIT, STEM, &fixture.shape, w));
    let first = *open().0.unwrap().source_digest();
    let toxic = ToxicWaste::random(&mut rand_chacha::ChaCha8Rng::seed_from_u64(77));
    let folder = fixture.params.parent().unwrap();
    let target = Target { folder, stem: STEM, circuit: CIRCUIT };
    work(|w| develop(&target, || circuit(9, 60), &toxic, w)).unwrap();
    let (srs, phases) = open();
    assert_ne!(*srs.unwrap().source_digest(), first);
    assert_eq!(phases, [Phase::Import]);
    assert!(work(|w| store.check(STEM, w)).is_ok());
}

#[test]
fn an_interrupted_import_leaves_nothing_that_looks_whole() {
    let fixture = Fixture::new();
    let store = fixture.store(true);
    let cancel = Cancel::new();
    let progress = |_: Progress| cancel.cancel();
    let w = Work { arithmetic: &Plain, progress: &progress, cancel: &cancel };
    let e = store.open(CIRCUIT, STEM, &fixture.shape, &w).unwrap_err();
    assert_eq!(e.code(), Code::Cancelled);
    assert_eq!(Fixture::names(&fixture.cache()), [""; 0]);
    // A writer that died leaves a partial file, which the next one takes over.
    let partial = fixture.cache().join(format!("{STEM}.fsrs.partial"));
    fs::write(&partial, vec![7; 1 << 20]).unwrap();
    assert!(store.locate(STEM).unwrap().native.is_none());
    work(|w| store.open(CIRCUIT, STEM, &fixture.shape, w)).unwrap();
    assert_eq!(Fixture::names(&fixture.cache()), [format!("{STEM}.fsrs"), format!("{STEM}.fsrs.checked")]);
}

#[test]
fn many_callers_import_once() {
    let fixture = Fixture::new();
    let store = fixture.store(true);
    let imports = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..6 {
            s.spawn(|| {
                let cancel = Cancel::new();
                let progress = |p: Progress| {
                    if p.phase == Phase::Import && p.done == p.total {
                        imports.fetch_add(1, Ordering::Relaxed);
                    }
                };
                let w = Work { arithmetic: &Plain, progress: &progress, cancel: &cancel };
                store.open(CIRCUIT, STEM, &fixture.shape, &w).unwrap();
            });
        }
    });
    assert_eq!(imports.into_inner(), 1);
}

#[test]
fn a_key_that_differs_from_its_params_file_is_refused() {
    let fixture = Fixture::foreign("v28-of-somebody-else");
    let other = Fixture::named("v28-of-another");
    let toxic = ToxicWaste::random(&mut rand_chacha::ChaCha8Rng::seed_from_u64(5));
    let folder = other.params.parent().unwrap();
    let target = Target { folder, stem: "v28-of-another", circuit: CIRCUIT };
    let made = work(|w| develop(&target, || circuit(9, 60), &toxic, w)).unwrap();
    let vk = fixture.params.with_extension("vk");
    fs::copy(made.vk, &vk).unwrap();
    let e = work(|w| fixture.store(true).check("v28-of-somebody-else", w)).unwrap_err();
    assert_eq!(e.code(), Code::ParametersInvalid);
    assert!(e.message().contains(vk.to_str().unwrap()), "{e}");
}
