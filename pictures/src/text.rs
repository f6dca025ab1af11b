//! How wide a text is at most, and fitting it into its room.
//!
//! The reader's font is not known here; the measure is DejaVu Sans, the widest of the common sans-serif fonts.

/// The sizes of text in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Title,
    Body,
    Small,
}

impl Size {
    /// The style sheet's class.
    pub fn class(self) -> &'static str {
        match self {
            Size::Title => "title",
            Size::Body => "body",
            Size::Small => "small",
        }
    }

    /// Pixels.
    pub fn px(self) -> f64 {
        match self {
            Size::Title => 17.0,
            Size::Body => 13.0,
            Size::Small => 12.0,
        }
    }

    /// How much wider than the regular face it is.
    fn weight(self) -> f64 {
        match self {
            Size::Title => 1.2,
            Size::Body | Size::Small => 1.02,
        }
    }
}

/// Widths of the characters from space to tilde, in hundredths of the font's size.
const ASCII: [u8; 95] = [
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64,
    62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98,
    64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
];

fn hundredths(c: char) -> f64 {
    let known = (c as usize).checked_sub(32).and_then(|i| ASCII.get(i));
    match known {
        Some(width) => f64::from(*width),
        None if c == '…' => 100.0,
        None if (c as u32) < 0x1F000 => 120.0,
        None => 150.0,
    }
}

/// Pixels that the text takes at most.
pub fn width(text: &str, size: Size) -> f64 {
    text.chars().map(hundredths).sum::<f64>() / 100.0 * size.px() * size.weight()
}

/// The text with its end replaced by an ellipsis where it needs more than `room` pixels.
pub fn shortened(text: &str, size: Size, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let room = room - width("…", size);
    let mut end = 0;
    let mut used = 0.0;
    for (at, c) in text.char_indices() {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        if used > room {
            break;
        }
        end = at + c.len_utf8();
    }
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

/// The text in lines of at most `room` pixels, broken between words; what the last allowed line cannot hold ends
/// in an ellipsis.
pub fn wrapped(text: &str, size: Size, room: f64, most_lines: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.len() >= most_lines;
        let Some(line) = lines.last_mut() else { break };
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if line.is_empty() || full || width(&longer, size) <= room {
            *line = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| shortened(line, size, room)).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As DejaVu Sans and its bold face set them.
    #[test]
    fn no_text_is_wider_than_its_estimate_and_none_much_narrower() {
        let title = "4 porep-2k requests at once, memory.limit 1.5 GiB, 2 threads";
        for (text, size, real) in [
            (title, Size::Body, 401.16),
            (title, Size::Title, 589.66),
            ("illicit little", Size::Body, 63.46),
            ("illicit little", Size::Title, 98.53),
        ] {
            let estimate = width(text, size);
            assert!(estimate >= real && estimate < real * 1.1, "{text}: {estimate}, really {real}");
        }
    }

    #[test]
    fn a_text_that_fits_stays_and_a_longer_one_ends_in_an_ellipsis_within_its_room() {
        assert_eq!(shortened("short", Size::Body, 200.0), "short");
        let cut = shortened("a rather long label of a partition", Size::Body, 100.0);
        assert!(cut.ends_with('…') && cut.starts_with("a rather"), "{cut}");
        assert!(width(&cut, Size::Body) <= 100.0);
    }

    #[test]
    fn wrapping_keeps_every_word_while_there_are_lines_left() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrapped(text, Size::Body, 120.0, 9);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, Size::Body) <= 120.0));
        assert_eq!(lines.join(" "), text);
        let two = wrapped(text, Size::Body, 120.0, 2);
        assert!(two.len() == 2 && two[1].ends_with('…'), "{two:?}");
    }
}
