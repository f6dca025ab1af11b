//! Filecoin's own list of parameter files and their digests.

use std::path::Path;

use storage_proofs_core::parameter_cache::PARAMETERS;

use crate::error::Result;

use super::work::invalid;

/// A BLAKE2b-512 digest of a whole file.
pub(super) type Digest = [u8; 64];

/// Hex digits of a digest that the official list gives.
const LISTED_DIGITS: usize = 32;

/// The first 32 hex digits of the digest that the official list gives for a file of this name.
pub(super) fn listed(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    PARAMETERS.get(name).map(|entry| entry.digest.as_str())
}

/// The part of a digest that the official list compares.
pub(super) fn short(digest: &[u8]) -> String {
    hex(digest).chars().take(LISTED_DIGITS).collect()
}

/// Refuses a digest other than the listed one.
pub(super) fn compare(path: &Path, expected: &str, digest: &[u8]) -> Result<()> {
    let found = short(digest);
    if found == expected {
        return Ok(());
    }
    Err(invalid(
        path,
        format!(
            "expected the official parameters with BLAKE2b digest {expected}, found {found}; fetch the file again, or run the development setup if this is a test network"
        ),
    ))
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_official_list_are_known() {
        let porep = "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f";
        for extension in ["params", "vk"] {
            let path = format!("/a/folder/{porep}.{extension}");
            assert_eq!(listed(Path::new(&path)).unwrap().len(), LISTED_DIGITS);
        }
        assert_eq!(listed(Path::new("v28-something-else.params")), None);
        assert_eq!(listed(Path::new("/")), None);
    }

    #[test]
    fn the_digest_is_blake2b_512_cut_to_128_bits() {
        let digest = blake2b_simd::blake2b(b"abc");
        assert_eq!(short(digest.as_bytes()), "ba80a53f981c4d0d6a2797b69f12f6e9");
        compare(Path::new("x"), "ba80a53f981c4d0d6a2797b69f12f6e9", digest.as_bytes()).unwrap();
        let e = compare(Path::new("x"), "00", digest.as_bytes()).unwrap_err();
        assert!(e.message().contains("expected") && e.message().contains("ba80a53f"), "{e}");
    }
}
