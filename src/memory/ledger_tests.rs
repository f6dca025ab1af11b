use super::*;
use proptest::prelude::*;

fn label(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn witness(bytes: u64) -> Demand {
    Demand::of(Stage::Synthesis, Class::Witness, Bytes(bytes))
}

#[test]
fn a_claim_is_granted_whole_or_not_at_all() {
    let mut ledger = Ledger::new(Bytes(100));
    let srs = Demand::of(Stage::Shared, Class::Srs, Bytes(60)).with(Class::Matrices, Bytes(10));
    let id = ledger.claim(&label("porep-2k"), srs).unwrap();
    let refusal = ledger.claim(&label("snap-2k"), witness(31)).unwrap_err();
    assert_eq!(refusal.need, Bytes(31));
    assert_eq!(refusal.limit, Bytes(100));
    assert_eq!(refusal.largest, [(label("porep-2k"), Bytes(70))]);
    let error = Error::from(refusal);
    assert_eq!(error.code(), Code::BudgetExceeded);
    assert!(error.message().contains("31 B") && error.message().contains("porep-2k"), "{error}");
    assert_eq!(ledger.reserved(), Bytes(70));
    ledger.claim(&label("snap-2k"), witness(30)).unwrap();
    assert_eq!(ledger.free(), Bytes::ZERO);
    ledger.release(id).unwrap();
    assert_eq!(ledger.class(Class::Srs), Bytes::ZERO);
    assert_eq!(ledger.class_peak(Class::Srs), Bytes(60));
    assert_eq!(ledger.peak(), Bytes(100));
}

#[test]
fn a_claim_is_released_once() {
    let mut ledger = Ledger::new(Bytes(10));
    let id = ledger.claim(&label("x"), witness(10)).unwrap();
    assert_eq!(ledger.release(id).unwrap(), witness(10));
    assert_eq!(ledger.release(id).unwrap_err().code(), Code::Internal);
    assert_eq!(ledger.reserved(), Bytes::ZERO);
}

#[test]
fn huge_demands_do_not_wrap() {
    let mut ledger = Ledger::new(Bytes(u64::MAX));
    let huge = witness(u64::MAX).with(Class::Srs, Bytes(u64::MAX));
    let id = ledger.claim(&label("x"), huge).unwrap();
    assert!(ledger.claim(&label("y"), witness(1)).is_err());
    let _ = ledger.release(id);
}

#[test]
fn overruns_are_booked_and_counted() {
    let mut ledger = Ledger::new(Bytes(10));
    let id = ledger.claim(&label("x"), witness(8)).unwrap();
    assert!(!ledger.correct(id, witness(6)).unwrap());
    assert!(ledger.correct(id, witness(12)).unwrap());
    assert_eq!((ledger.reserved(), ledger.free(), ledger.overruns()), (Bytes(12), Bytes::ZERO, 1));
    assert!(ledger.resize(id, witness(13)).unwrap().is_err());
    assert!(ledger.resize(id, witness(9)).unwrap().is_ok());
    ledger.move_to(id, Stage::Queued).unwrap();
    assert_eq!(ledger.cell(Class::Witness, Stage::Queued), Bytes(9));
    assert_eq!(ledger.cell(Class::Witness, Stage::Synthesis), Bytes::ZERO);
}

#[test]
fn a_device_has_a_budget_of_its_own() {
    let mut ledger = Ledger::new(Bytes(10)).with_devices([Bytes::ZERO, Bytes(100)]);
    let turn =
        |host, device| Demand::of(Stage::Proving, Class::WorkingSet, Bytes(host)).on_device(1, Bytes(device));
    let id = ledger.claim(&label("slot 1"), turn(4, 60)).unwrap();
    assert_eq!((ledger.reserved(), ledger.device(1).reserved), (Bytes(4), Bytes(60)));
    let refusal = ledger.claim(&label("slot 1"), turn(4, 41)).unwrap_err();
    assert_eq!((refusal.need, refusal.limit, refusal.reserved), (Bytes(41), Bytes(100), Bytes(60)));
    assert_eq!(ledger.reserved(), Bytes(4), "whole or not at all");
    ledger.claim(&label("slot 1"), turn(7, 1)).unwrap_err();
    ledger.release(id).unwrap();
    assert_eq!((ledger.device(1).reserved, ledger.device(1).peak), (Bytes::ZERO, Bytes(60)));
    ledger.claim(&label("slot 0"), turn(1, 1).on_device(7, Bytes(1))).unwrap_err();
}

#[test]
fn a_budget_below_what_is_promised_leaves_nothing_free() {
    let mut ledger = Ledger::new(Bytes(100));
    let id = ledger.claim(&label("x"), witness(60)).unwrap();
    ledger.set_budget(Bytes(50));
    assert_eq!((ledger.free(), ledger.reserved()), (Bytes::ZERO, Bytes(60)));
    assert!(ledger.claim(&label("y"), witness(1)).is_err());
    ledger.release(id).unwrap();
    ledger.claim(&label("y"), witness(50)).unwrap();
}

proptest! {
    #[test]
    fn sums_agree_with_the_holders(ops in proptest::collection::vec((0u8..4, 0u64..50, 0usize..5), 1..200)) {
        let mut ledger = Ledger::new(Bytes(200));
        let mut open: Vec<(ClaimId, u64)> = Vec::new();
        for (op, bytes, pick) in ops {
            let class = Class::ALL[pick];
            match op {
                0 => if let Ok(id) = ledger.claim(&label("p"), Demand::of(Stage::Waiting, class, Bytes(bytes))) {
                    open.push((id, bytes));
                },
                1 if !open.is_empty() => {
                    let (id, held) = open.swap_remove(pick % open.len());
                    prop_assert_eq!(ledger.release(id).unwrap().total(), Bytes(held));
                }
                2 if !open.is_empty() => {
                    let at = pick % open.len();
                    let demand = Demand::of(Stage::Queued, class, Bytes(bytes));
                    if ledger.resize(open[at].0, demand).unwrap().is_ok() {
                        open[at].1 = bytes;
                    }
                }
                3 if !open.is_empty() => ledger.move_to(open[pick % open.len()].0, Stage::Finishing).unwrap(),
                _ => {}
            }
            let sum: u64 = open.iter().map(|(_, b)| b).sum();
            prop_assert_eq!(ledger.reserved(), Bytes(sum));
            prop_assert!(ledger.reserved() <= ledger.budget());
            let cells: u64 = Class::ALL.iter().map(|c| ledger.class(*c).0).sum();
            prop_assert_eq!(cells, sum);
        }
    }
}
