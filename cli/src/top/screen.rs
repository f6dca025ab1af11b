//! What the keys have changed.

use std::time::Duration;

use ratatui::crossterm::event::KeyCode;

use super::model::Job;

/// The order of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// As they are served.
    #[default]
    Turn,
    /// The oldest first.
    Age,
    /// The least time left first.
    Deadline,
    Kind,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Turn => "turn",
            Sort::Age => "age",
            Sort::Deadline => "time left",
            Sort::Kind => "kind",
        }
    }

    fn next(self) -> Sort {
        match self {
            Sort::Turn => Sort::Age,
            Sort::Age => Sort::Deadline,
            Sort::Deadline => Sort::Kind,
            Sort::Kind => Sort::Turn,
        }
    }

    /// The requests in this order.
    pub fn sorted(self, jobs: &[Job]) -> Vec<&Job> {
        let mut sorted: Vec<_> = jobs.iter().collect();
        match self {
            Sort::Turn => {}
            Sort::Age => sorted.sort_by_key(|job| std::cmp::Reverse(job.total_ms)),
            Sort::Deadline => sorted.sort_by_key(|job| job.deadline_ms.unwrap_or(i64::MAX)),
            Sort::Kind => sorted.sort_by(|a, b| a.kind.cmp(&b.kind)),
        }
        sorted
    }
}

/// State of the view.
#[derive(Debug, Default)]
pub struct Screen {
    pub paused: bool,
    pub help: bool,
    pub sort: Sort,
    /// The first request that is shown.
    pub first: usize,
    /// Requests that fit; set when they are drawn.
    pub fits: usize,
    /// How old a snapshot may be.
    pub patience: Duration,
}

impl Screen {
    pub fn press(&mut self, key: KeyCode) {
        let page = self.fits.max(1);
        match key {
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Down | KeyCode::Char('j') => self.first = self.first.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.first = self.first.saturating_sub(1),
            KeyCode::PageDown => self.first = self.first.saturating_add(page),
            KeyCode::PageUp => self.first = self.first.saturating_sub(page),
            KeyCode::Home => self.first = 0,
            KeyCode::End => self.first = usize::MAX,
            _ => {}
        }
    }

    /// Keeps the first request that is shown where the last page can be filled.
    pub fn settle(&mut self, requests: usize, fits: usize) {
        self.fits = fits;
        self.first = self.first.min(requests.saturating_sub(fits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_scroll_within_what_is_there() {
        let mut screen = Screen::default();
        screen.settle(100, 10);
        for (key, first) in [
            (KeyCode::Up, 0),
            (KeyCode::Down, 1),
            (KeyCode::PageDown, 11),
            (KeyCode::End, 90),
            (KeyCode::PageDown, 90),
            (KeyCode::PageUp, 80),
            (KeyCode::Home, 0),
        ] {
            screen.press(key);
            screen.settle(100, 10);
            assert_eq!(screen.first, first, "{key:?}");
        }
        screen.press(KeyCode::End);
        screen.settle(3, 10);
        assert_eq!(screen.first, 0);
    }

    #[test]
    fn requests_are_sorted_as_asked() {
        let job = |kind: &str, total_ms, deadline_ms| Job {
            kind: kind.into(),
            total_ms,
            deadline_ms,
            ..Job::default()
        };
        let jobs = [job("porep_c2", 5, None), job("window_post", 9, Some(50)), job("a", 7, Some(-3))];
        let order = |sort: Sort| sort.sorted(&jobs).iter().map(|job| job.total_ms).collect::<Vec<_>>();
        assert_eq!(order(Sort::Turn), [5, 9, 7]);
        assert_eq!(order(Sort::Age), [9, 7, 5]);
        assert_eq!(order(Sort::Deadline), [7, 9, 5]);
        assert_eq!(order(Sort::Kind), [7, 5, 9]);
    }
}
