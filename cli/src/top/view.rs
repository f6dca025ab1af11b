//! Draws a snapshot on a terminal of any size.

use forebay::units::Bytes;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table, Wrap};
use ratatui::Frame;

use super::model::{Job, Status};
use super::screen::Screen;
use super::Seen;

/// Narrower than this, what is told is told in fewer words.
const NARROW: u16 = 72;

pub(super) const CLASSES: [(&str, &str, Color); 5] = [
    ("srs", "keys", Color::Blue),
    ("matrices", "matrices", Color::Cyan),
    ("working_set", "working sets", Color::Yellow),
    ("witness", "witnesses", Color::Green),
    ("intake", "requests", Color::Magenta),
];

const HELP: [&str; 8] = [
    "q, Esc        end",
    "arrows, j, k  scroll the requests",
    "PgUp, PgDn    a page",
    "Home, End     to the first, the last",
    "s             sort by turn, age, time left, kind",
    "p             pause",
    "?             this help",
    "stages        . waits, s synthesis, q queued, p proving, f finishing, d done",
];

pub(super) fn bytes(count: u64) -> String {
    Bytes(count).to_string()
}

/// A time in the largest units that say enough.
fn time(milliseconds: i64) -> String {
    let sign = if milliseconds < 0 { "-" } else { "" };
    let tenths = milliseconds.unsigned_abs() / 100;
    let seconds = tenths / 10;
    match seconds {
        0..10 => format!("{sign}{seconds}.{}s", tenths % 10),
        10..100 => format!("{sign}{seconds}s"),
        100..3600 => format!("{sign}{}m{:02}s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{sign}{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{sign}{}d{:02}h", seconds / 86400, seconds / 3600 % 24),
    }
}

/// A text that miners chose, without what could command a terminal.
pub(super) fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// As many of these, in their order, as fit into a line.
fn fitting(parts: impl IntoIterator<Item = String>, width: u16) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { 0 } else { 2 };
        if line.chars().count() + gap + part.chars().count() > usize::from(width) {
            break;
        }
        line.push_str(&" ".repeat(gap));
        line.push_str(&part);
    }
    line
}

pub(super) fn age(milliseconds: u64) -> String {
    time(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

pub(super) fn deadline(left: Option<i64>) -> String {
    left.map_or_else(|| "-".into(), time)
}

pub(super) fn stages(status: &Status) -> [(&'static str, u64); 5] {
    let at = status.partitions;
    [
        ("waiting", at.waiting),
        ("synthesis", at.synthesis),
        ("queued", at.queued),
        ("proving", at.proving),
        ("finishing", at.proved.saturating_add(at.finishing).saturating_add(at.freeing)),
    ]
}

pub(super) fn class(status: &Status, name: &str) -> u64 {
    let cells = status.cells.iter().filter(|cell| cell.class == name);
    cells.fold(0, |sum, cell| sum.saturating_add(cell.reserved))
}

pub(super) fn works_on(status: &Status, job_id: &str, partition: Option<u64>) -> String {
    if job_id.is_empty() {
        return "free".into();
    }
    let job = status.jobs.iter().find(|job| job.job_id == job_id);
    let name = one_line(job.map_or(job_id, |job| &job.request_id));
    format!("{name} [{}]", partition.unwrap_or(0))
}

/// A request's columns.
pub(super) fn cells(job: &Job) -> [String; 6] {
    [
        one_line(&job.request_id),
        job.kind.clone(),
        if job.waits_for.is_empty() { "-".into() } else { job.waits_for.clone() },
        format!("{}/{}", job.partitions_done, job.partitions),
        age(job.total_ms),
        deadline(job.deadline_ms),
    ]
}

/// Where everything is. Memory, stages and requests come first; the others have a place where there is room.
fn areas(status: &Status, all: Rect) -> [Rect; 8] {
    const REQUESTS: u16 = 3;
    let legend = legend(status, all.width).len() as u16;
    let mut room = all.height.saturating_sub(5 + REQUESTS);
    let mut take = |rows: usize| {
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        // Where something has no place, nothing that matters less has one.
        let (taken, left) = if rows <= room { (rows, room - rows) } else { (0, 0) };
        room = left;
        taken
    };
    let legend = take(legend.into());
    let queues = take(status.queues.len() + 1);
    let panes = take(usize::max(status.slots.len(), status.circuits.len()).clamp(1, 6) + 1);
    let errors = take(status.recent.iter().filter(|job| failed(job)).count().min(2));
    Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2 + legend),
        Constraint::Length(1),
        Constraint::Length(queues),
        Constraint::Length(panes),
        Constraint::Min(REQUESTS),
        Constraint::Length(errors),
        Constraint::Length(1),
    ])
    .areas(all)
}

/// Draws everything that fits.
pub fn draw(frame: &mut Frame, seen: &Seen, screen: &mut Screen) {
    let Some(status) = &seen.status else {
        let words = seen.error.as_deref().map_or_else(|| "connecting".into(), one_line);
        frame.render_widget(
            Paragraph::new(format!("{words}\n\nq ends")).wrap(Wrap { trim: true }),
            frame.area(),
        );
        return;
    };
    let [head, memory, lanes, queue, both, jobs, last, foot] = areas(status, frame.area());
    frame.render_widget(header(status, seen, screen), head);
    draw_memory(frame, status, memory);
    frame.render_widget(lane_line(status, lanes.width), lanes);
    frame.render_widget(queue_table(status, queue.width), queue);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(both);
    frame.render_widget(slot_table(status), left);
    frame.render_widget(circuit_table(status), right);
    draw_jobs(frame, status, screen, jobs);
    draw_errors(frame, status, last);
    let keys = format!(
        "q end  ? help  p {}  s sort ({})",
        if screen.paused { "go on" } else { "pause" },
        screen.sort.name(),
    );
    frame.render_widget(Paragraph::new(keys).dim(), foot);
    if screen.help {
        draw_help(frame);
    }
}

pub(super) fn failed(job: &Job) -> bool {
    job.state == "failed"
}

fn header(status: &Status, seen: &Seen, screen: &Screen) -> Line<'static> {
    let old = seen.at.elapsed();
    if seen.error.is_some() || (old > screen.patience && !screen.paused) {
        let why = seen.error.as_deref().unwrap_or("it does not answer");
        return Line::from(format!("no word since {}: {}", age(old.as_millis() as u64), one_line(why)))
            .red()
            .bold();
    }
    let totals = &status.totals;
    let mut line = vec![
        "forebay ".bold(),
        Span::raw(format!(
            "{} {}  {}  up {}  {} proved  {} failed",
            one_line(&status.library),
            one_line(&status.kernels),
            one_line(&status.state),
            age(status.uptime_seconds.saturating_mul(1000)),
            totals.completed,
            totals.failed,
        )),
    ];
    if totals.verification_failures > 0 {
        line.push(format!("  {} not verified", totals.verification_failures).red().bold());
    }
    Line::from(line)
}

fn draw_memory(frame: &mut Frame, status: &Status, area: Rect) {
    let memory = &status.memory;
    let mut words = vec![
        format!("{} of {} promised", bytes(memory.reserved), bytes(memory.limit)),
        format!("resident {}", bytes(status.process.resident)),
        format!("pressure {:.1} %", memory.pressure),
        format!("left {}", bytes(memory.left)),
        format!("outside buffers {}", bytes(status.process.unbooked)),
    ];
    if memory.pressed {
        words.insert(1, "sealing is slowed".into());
    }
    let words = fitting(words, area.width);
    let width = u64::from(area.width);
    let mut bar = Vec::new();
    let mut used = 0;
    let mut sum = 0_u64;
    for (name, _, color) in CLASSES {
        sum = sum.saturating_add(class(status, name));
        let end = (u128::from(sum) * u128::from(width)).checked_div(u128::from(memory.limit)).unwrap_or(0);
        let end = u64::try_from(end).unwrap_or(width).min(width);
        bar.push(Span::styled("█".repeat(end.saturating_sub(used) as usize), Style::new().fg(color)));
        used = end.max(used);
    }
    bar.push("░".repeat((width - used) as usize).dark_gray());
    let mut lines = vec![Line::from(words), Line::from(bar)];
    lines.extend(legend(status, area.width));
    frame.render_widget(Paragraph::new(lines), area);
}

/// The classes' colours and bytes, in as many lines as they need.
fn legend(status: &Status, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for (name, title, color) in CLASSES {
        let parts = [Span::styled("█ ", color), format!("{title} {}  ", bytes(class(status, name))).into()];
        // The last gap may be cut.
        let needed = parts.iter().map(Span::width).sum::<usize>() - 2;
        if lines.last().is_some_and(|line| line.width() > 0 && line.width() + needed > width.into()) {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            line.spans.extend(parts);
        }
    }
    lines
}

fn lane_line(status: &Status, width: u16) -> Line<'static> {
    let narrow = width < NARROW;
    let mut line = if narrow { Vec::new() } else { vec!["partitions  ".bold()] };
    for ((name, count), letter) in stages(status).into_iter().zip([".", "s", "q", "p", "f"]) {
        line.push(Span::raw(format!("{} ", if narrow { letter } else { name })));
        line.push(Span::styled(format!("{count}  "), Style::new().add_modifier(Modifier::BOLD)));
    }
    Line::from(line)
}

fn head<const N: usize>(titles: [&'static str; N]) -> Row<'static> {
    Row::new(titles).style(Style::new().add_modifier(Modifier::BOLD | Modifier::DIM))
}

fn left_cell(left: Option<i64>) -> Cell<'static> {
    let cell = Cell::from(deadline(left));
    if left.is_some_and(|left| left < 0) {
        cell.red()
    } else {
        cell
    }
}

fn queue_table(status: &Status, width: u16) -> Table<'static> {
    let rows = status.queues.iter().map(|queue| {
        let counts =
            [queue.pending, queue.in_progress, queue.headroom].map(|count| Cell::from(count.to_string()));
        Row::new(
            std::iter::once(Cell::from(queue.kind.clone()))
                .chain(counts)
                .chain([left_cell(queue.next_deadline_ms)]),
        )
    });
    let (titles, widths) = match width < NARROW {
        true => (["kind", "waits", "runs", "room", "deadline"], [14, 5, 4, 5, 8]),
        false => (["kind", "waiting", "in progress", "room for", "next deadline"], [14, 9, 12, 10, 14]),
    };
    Table::new(rows, widths.map(Constraint::Length)).header(head(titles))
}

fn slot_table(status: &Status) -> Table<'static> {
    let rows = status.slots.iter().map(|slot| {
        Row::new([slot.name.clone(), bytes(slot.reserved), works_on(status, &slot.job_id, slot.partition)])
    });
    let widths = [Constraint::Length(13), Constraint::Length(10), Constraint::Min(10)];
    Table::new(rows, widths).header(head(["slot", "promised", "works on"]))
}

fn circuit_table(status: &Status) -> Table<'static> {
    let rows = status.circuits.iter().map(|circuit| {
        let pinned = if circuit.pinned { "*" } else { "" };
        Row::new([
            format!("{}{pinned}", circuit.circuit),
            bytes(circuit.bytes),
            circuit.users.to_string(),
            circuit.state.clone(),
        ])
    });
    let widths = [Constraint::Length(13), Constraint::Length(10), Constraint::Length(5), Constraint::Min(8)];
    Table::new(rows, widths).header(head(["circuit", "promised", "users", "state"]))
}

fn draw_jobs(frame: &mut Frame, status: &Status, screen: &mut Screen, area: Rect) {
    let fits = usize::from(area.height.saturating_sub(1));
    screen.settle(status.jobs.len(), fits);
    let sorted = screen.sort.sorted(&status.jobs);
    let shown = sorted.iter().skip(screen.first).take(fits);
    let narrow = area.width < NARROW;
    let rows = shown.map(|job| {
        let [request, kind, waits, proved, age, _] = cells(job);
        let left = left_cell(job.deadline_ms);
        let texts = match narrow {
            true => vec![request, waits, proved],
            false => vec![request, kind, waits, proved, one_line(&job.stages), age],
        };
        Row::new(texts.into_iter().map(Cell::from).chain([left]))
    });
    let (titles, widths) = match narrow {
        true => (head(["request", "waits for", "proved", "time left"]), vec![9, 7, 9]),
        false => (
            head(["request", "kind", "waits for", "proved", "stages", "age", "time left"]),
            vec![12, 9, 7, 12, 8, 9],
        ),
    };
    let widths = std::iter::once(Constraint::Min(12)).chain(widths.into_iter().map(Constraint::Length));
    frame.render_widget(Table::new(rows, widths).header(titles), area);
    if status.jobs.is_empty() {
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        frame.render_widget(Paragraph::new("every request is answered").dim(), below);
    }
}

/// What went wrong with a request.
pub(super) fn error_line(job: &Job) -> String {
    format!("{} {}: {}", job.kind, one_line(&job.request_id), one_line(&job.error))
}

fn draw_errors(frame: &mut Frame, status: &Status, area: Rect) {
    let failed = status.recent.iter().filter(|job| failed(job)).take(usize::from(area.height));
    let lines: Vec<_> = failed.map(|job| Line::from(error_line(job)).red()).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_help(frame: &mut Frame) {
    let all = frame.area();
    let (width, height) = (76.min(all.width), (HELP.len() as u16 + 2).min(all.height));
    let area = Rect { x: (all.width - width) / 2, y: (all.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP.join("\n")).block(Block::bordered().title(" keys ")), area);
}

#[cfg(test)]
mod tests;
