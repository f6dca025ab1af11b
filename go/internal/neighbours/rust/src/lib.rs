//! What a host may have linked already: Rust's standard library, threads, unwinding, and a copy of blst.

use blst::min_pk::SecretKey;
use blst::BLST_ERROR;

const DOMAIN: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_";

/// Signs and verifies in a thread, and catches a panic. 1: all as it should be.
#[no_mangle]
pub extern "C" fn neighbour_check(seed: u8) -> i32 {
    let signed = std::thread::spawn(move || {
        let key = SecretKey::key_gen(&[seed; 32], &[]).expect("a seed of 32 bytes");
        let (good, bad) = (b"a message", b"another one");
        let signature = key.sign(good, DOMAIN, &[]);
        let judge = |message: &[u8]| signature.verify(true, message, DOMAIN, &[], &key.sk_to_pk(), true);
        judge(good) == BLST_ERROR::BLST_SUCCESS && judge(bad) == BLST_ERROR::BLST_VERIFY_FAIL
    });
    let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(seed))).is_err();
    i32::from(caught && matches!(signed.join(), Ok(true)))
}
