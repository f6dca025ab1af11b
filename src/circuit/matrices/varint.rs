//! Numbers of variable length (LEB128), and columns as differences.

use super::chunk::damaged;
use crate::error::Result;

pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `bytes`.
#[inline]
pub(super) fn get(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let Some((byte, rest)) = bytes.split_first() else {
            return Err(damaged("a number is cut off"));
        };
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            break;
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("a number is longer than 64 bits"))
}

/// As [`get`], for a number of at most 32 bits.
pub(super) fn get_u32(bytes: &mut &[u8]) -> Result<u32> {
    let value = get(bytes)?;
    u32::try_from(value).map_err(|_| damaged(format!("{value} where at most 32 bits are expected")))
}

/// Appends columns as zigzag differences, the first from `start`.
pub(super) fn put_columns(out: &mut Vec<u8>, columns: &[u64], start: u64) {
    let mut last = start;
    for column in columns {
        let step = column.wrapping_sub(last) as i64;
        put(out, ((step << 1) ^ (step >> 63)) as u64);
        last = *column;
    }
}

/// Appends the columns of a whole list.
pub(super) fn get_columns(mut list: &[u8], start: u64, columns: &mut Vec<u64>) -> Result<()> {
    let mut last = start;
    while !list.is_empty() {
        let code = get(&mut list)?;
        let step = (code >> 1) as i64 ^ -((code & 1) as i64);
        last = last.wrapping_add(step as u64);
        columns.push(last);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn round_trips(columns in proptest::collection::vec(any::<u64>(), 0..50), start in any::<u64>()) {
            let mut bytes = Vec::new();
            put_columns(&mut bytes, &columns, start);
            let mut back = Vec::new();
            get_columns(&bytes, start, &mut back).unwrap();
            prop_assert_eq!(&back, &columns);
            bytes.clear();
            for column in &columns {
                put(&mut bytes, *column);
            }
            let mut rest = bytes.as_slice();
            for column in &columns {
                prop_assert_eq!(get(&mut rest).unwrap(), *column);
            }
            prop_assert!(rest.is_empty() && get(&mut rest).is_err());
        }
    }

    #[test]
    fn refuses_what_is_too_long() {
        assert!(get(&mut [0x80; 12].as_slice()).is_err());
        assert!(get(&mut [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02].as_slice()).is_err());
        assert!(get_u32(&mut [0xff, 0xff, 0xff, 0xff, 0x1f].as_slice()).is_err());
    }
}
