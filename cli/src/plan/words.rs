//! Numbers and texts as people read them.

use forebay::simulate::Mix;
use forebay::units::Bytes;

/// Columns of the text.
const COLUMNS: usize = 98;

/// 0.995 as 99.5 %.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if (0.05..9.95).contains(&percent) || (99.5..99.95).contains(&percent) => {
            format!("{percent:.1} %")
        }
        percent => format!("{percent:.0} %"),
    }
}

/// 0.105 more as +10.5 %.
pub fn change(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// A number with about three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        middle if middle >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Seconds with their unit: 0.25 s, 187 s, 31.2 min, 5.1 h.
pub fn seconds(value: f64) -> String {
    match value {
        long if long >= 10_800.0 => format!("{} h", number(long / 3600.0)),
        middle if middle >= 600.0 => format!("{} min", number(middle / 60.0)),
        short => format!("{} s", number(short)),
    }
}

/// A size as a configuration has it: in full MiB where it is large, else exact.
pub fn setting(size: Bytes) -> String {
    const LARGE: Bytes = Bytes::mib(64);
    let size = if size >= LARGE { Bytes(size.0 >> 20 << 20) } else { size };
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let exact = UNITS.into_iter().find(|(unit, _)| size.0 % unit == 0);
    exact.map_or_else(|| size.0.to_string(), |(unit, name)| format!("{}{name}", size.0 / unit))
}

/// One GPU, 2 GPUs.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// The same text, which no line break may part.
pub fn unbroken(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// `8 porep-32g, 2 winning-32g`, no entry parted by a line break.
pub fn requests(mix: &Mix) -> String {
    let entries = mix.entries.iter().map(|entry| unbroken(&format!("{} {}", entry.count, entry.circuit)));
    entries.collect::<Vec<_>>().join(", ")
}

/// A paragraph; further lines are indented.
pub fn paragraph(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in words(text) {
        let room = COLUMNS - if out.is_empty() { 0 } else { 2 };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            push(&mut out, &line);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    push(&mut out, &line);
    out
}

/// Words; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 12] = ["B", "KiB", "MiB", "GiB", "TiB", "ms", "s", "min", "h", "%", "time", "times"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        match words.last_mut().filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(last) => *last += &format!(" {word}"),
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn push(out: &mut String, line: &str) {
    if !out.is_empty() {
        *out += "  ";
    }
    *out += line;
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_about_three_digits() {
        for (value, text) in [(0.123, "0.12"), (37.886, "37.9"), (95.02, "95.0"), (1234.5, "1234")] {
            assert_eq!(number(value), text);
        }
        for (share, text) in
            [(0.0, "0 %"), (0.0058, "0.6 %"), (0.7743, "77 %"), (0.9963, "99.6 %"), (1.0, "100 %")]
        {
            assert_eq!(percent(share), text);
        }
        for (value, text) in [(0.25, "0.25 s"), (187.7, "188 s"), (1800.0, "30.0 min"), (36000.0, "10.0 h")] {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn a_setting_is_never_more_than_the_size() {
        assert_eq!(setting(Bytes(23_696_728_320)), "22598MiB");
        for size in [Bytes::gib(124), Bytes::mib(1500), Bytes::kib(3), Bytes(1001)] {
            assert_eq!(setting(size).parse::<Bytes>().unwrap(), size);
        }
        assert_eq!(setting(Bytes::gib(124)), "124GiB");
    }

    #[test]
    fn no_line_is_wider_than_a_hundred_columns_nor_parts_a_number_from_its_unit() {
        let text = paragraph(&"word and 1.5 GiB, ".repeat(40));
        assert!(text.lines().all(|line| !line.ends_with("1.5")), "{text}");
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
