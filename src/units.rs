//! Byte counts with checked arithmetic and human formatting.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Code, Error, Result};

/// A number of bytes. Arithmetic is checked: it returns `None` instead of wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` KiB.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Bytes {
        Bytes(n << 30)
    }

    /// The sum, or `None` where it overflows.
    pub fn checked_add(self, other: Bytes) -> Option<Bytes> {
        self.0.checked_add(other.0).map(Bytes)
    }

    /// The difference, or `None` where `other` is larger.
    pub fn checked_sub(self, other: Bytes) -> Option<Bytes> {
        self.0.checked_sub(other.0).map(Bytes)
    }

    /// The product, or `None` where it overflows.
    pub fn checked_mul(self, n: u64) -> Option<Bytes> {
        self.0.checked_mul(n).map(Bytes)
    }

    /// The sum, capped at the largest count.
    pub fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    /// The difference, floored at zero.
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut unit = 0;
        let mut value = self.0 as f64;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if unit == 0 {
            write!(f, "{} B", self.0)
        } else {
            write!(f, "{value:.1} {}", UNITS[unit])
        }
    }
}

impl FromStr for Bytes {
    type Err = Error;

    /// Parses `"1234"`, `"64 MiB"`, `"1.5GiB"`, `"2GB"`; units are case-insensitive.
    fn from_str(text: &str) -> Result<Bytes> {
        let bad = || {
            Error::new(
                Code::InvalidArgument,
                format!("{text:?} is not a size; expected a number and a unit such as 64MiB or 1.5GiB"),
            )
        };
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let scale: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(bad()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(scale).map(Bytes).ok_or_else(bad);
        }
        let value = number.parse::<f64>().map_err(|_| bad())? * scale as f64;
        if value.is_finite() && value >= 0.0 && value < u64::MAX as f64 {
            Ok(Bytes(value as u64))
        } else {
            Err(bad())
        }
    }
}

impl Serialize for Bytes {
    /// A plain number.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    /// A number of bytes, or a text such as `"44GiB"`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Bytes, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number of bytes, or a size such as \"44GiB\"")
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> std::result::Result<Bytes, E> {
                Ok(Bytes(bytes))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> std::result::Result<Bytes, E> {
                u64::try_from(bytes)
                    .map(Bytes)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Bytes, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_in_binary_units() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes::mib(340).to_string(), "340.0 MiB");
        assert_eq!(Bytes::gib(44).to_string(), "44.0 GiB");
    }

    #[test]
    fn parses_what_people_write() {
        for (text, value) in [("0", 0), ("64MiB", 64 << 20), ("1.5 GiB", 3 << 29), ("2gb", 2_000_000_000)] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(value));
        }
        for text in ["", "MiB", "-1", "1 parsec", "1e9", "99999999999TiB", "1.2.3"] {
            assert_eq!(text.parse::<Bytes>().unwrap_err().code(), Code::InvalidArgument, "{text}");
        }
    }

    #[test]
    fn numbers_and_texts_are_read() {
        let read = |json: &str| serde_json::from_str::<Bytes>(json);
        assert_eq!(read("4096").unwrap(), Bytes::kib(4));
        assert_eq!(read("\"44GiB\"").unwrap(), Bytes::gib(44));
        assert_eq!(serde_json::to_string(&Bytes::kib(4)).unwrap(), "4096");
        for bad in ["-1", "\"4 parsec\"", "1.5", "true"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn arithmetic_never_wraps() {
        assert_eq!(Bytes(u64::MAX).checked_add(Bytes(1)), None);
        assert_eq!(Bytes(1).checked_sub(Bytes(2)), None);
        assert_eq!(Bytes(u64::MAX).checked_mul(2), None);
        assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes::ZERO);
    }
}
