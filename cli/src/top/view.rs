//! Draws a snapshot, on a terminal of any size or as plain text.

use forebay::units::Bytes;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};
use ratatui::Frame;

use super::model::{Job, Status};
use super::screen::Screen;
use super::Seen;
use crate::columns;

/// A snapshot that is older is said to be.
const STALE: std::time::Duration = std::time::Duration::from_secs(4);

const CLASSES: [(&str, &str, Color); 5] = [
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
    "stages: . waits, s synthesis, q queued, p proving, f finishing, d done",
];

fn bytes(count: u64) -> String {
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

fn age(milliseconds: u64) -> String {
    time(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

fn deadline(left: Option<i64>) -> String {
    left.map_or_else(|| "-".into(), time)
}

fn stages(status: &Status) -> [(&'static str, u64); 5] {
    let at = status.partitions;
    [
        ("waiting", at.waiting),
        ("synthesis", at.synthesis),
        ("queued", at.queued),
        ("proving", at.proving),
        ("finishing", at.proved + at.finishing + at.freeing),
    ]
}

fn class(status: &Status, name: &str) -> u64 {
    status.cells.iter().filter(|cell| cell.class == name).map(|cell| cell.reserved).sum()
}

fn works_on(status: &Status, job_id: &str, partition: Option<u64>) -> String {
    if job_id.is_empty() {
        return "free".into();
    }
    let job = status.jobs.iter().find(|job| job.job_id == job_id);
    let name = job.map_or(job_id, |job| &job.request_id);
    format!("{name} [{}]", partition.unwrap_or(0))
}

/// The snapshot as text, for scripts.
pub fn plain(status: &Status) -> String {
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let memory = &status.memory;
    let mut text = format!(
        "forebay {} ({}): {}, up {}\nmemory: {} promised of {}, most {}; resident {}, {} outside buffers; {} left; pressure {:.1} %\n",
        status.library,
        status.kernels,
        status.state,
        age(status.uptime_seconds * 1000),
        bytes(memory.reserved),
        bytes(memory.limit),
        bytes(memory.peak),
        bytes(status.process.resident),
        bytes(status.process.unbooked),
        bytes(memory.left),
        memory.pressure,
    );
    let parts: Vec<_> =
        CLASSES.iter().map(|(name, title, _)| format!("{title} {}", bytes(class(status, name)))).collect();
    text += &format!("by class: {}\n", parts.join(", "));
    let parts: Vec<_> = stages(status).iter().map(|(name, count)| format!("{name} {count}")).collect();
    text += &format!("partitions: {}\n\n", parts.join(", "));
    let mut rows = vec![row(&["kind", "waiting", "in progress", "headroom", "next deadline"])];
    rows.extend(status.queues.iter().map(|queue| {
        let counts = [queue.pending, queue.in_progress, queue.headroom].map(|count| count.to_string());
        row(&[&queue.kind, &counts[0], &counts[1], &counts[2], &deadline(queue.next_deadline_ms)])
    }));
    text += &columns::render(&rows);
    let mut rows = vec![row(&["\nslot", "works on", "promised"])];
    rows.extend(status.slots.iter().map(|slot| {
        row(&[&slot.name, &works_on(status, &slot.job_id, slot.partition), &bytes(slot.reserved)])
    }));
    text += &columns::render(&rows);
    let mut rows = vec![row(&["\ncircuit", "state", "promised", "users"])];
    rows.extend(status.circuits.iter().map(|circuit| {
        row(&[&circuit.circuit, &circuit.state, &bytes(circuit.bytes), &circuit.users.to_string()])
    }));
    text += &columns::render(&rows);
    let mut rows = vec![row(&["\nrequest", "kind", "waits for", "proved", "age", "time left"])];
    rows.extend(status.jobs.iter().map(|job| row(&cells(job).each_ref().map(String::as_str))));
    text += &columns::render(&rows);
    text
}

/// A request's columns.
fn cells(job: &Job) -> [String; 6] {
    [
        job.request_id.clone(),
        job.kind.clone(),
        if job.waits_for.is_empty() { "-".into() } else { job.waits_for.clone() },
        format!("{}/{}", job.partitions_done, job.partitions),
        age(job.total_ms),
        deadline(job.deadline_ms),
    ]
}

/// Draws everything that fits.
pub fn draw(frame: &mut Frame, seen: &Seen, screen: &mut Screen) {
    let Some(status) = &seen.status else {
        let words = seen.error.clone().unwrap_or_else(|| "connecting".into());
        frame.render_widget(Paragraph::new(format!("{words}\n\nq ends")), frame.area());
        return;
    };
    let panes = usize::max(status.slots.len(), status.circuits.len()).clamp(1, 6) as u16 + 1;
    let queues = status.queues.len() as u16 + 1;
    let errors = u16::from(status.recent.iter().any(failed)) * 2;
    let [head, memory, lanes, queue, both, jobs, last, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Length(queues),
        Constraint::Length(panes),
        Constraint::Min(3),
        Constraint::Length(errors),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(header(status, seen), head);
    draw_memory(frame, status, memory);
    frame.render_widget(lane_line(status), lanes);
    frame.render_widget(queue_table(status), queue);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(both);
    frame.render_widget(slot_table(status), left);
    frame.render_widget(circuit_table(status), right);
    draw_jobs(frame, status, screen, jobs);
    draw_errors(frame, status, last);
    let keys = format!(
        "q end  s sort ({})  p {}  ? help",
        screen.sort.name(),
        if screen.paused { "go on" } else { "pause" }
    );
    frame.render_widget(Paragraph::new(keys).dim(), foot);
    if screen.help {
        draw_help(frame);
    }
}

fn failed(job: &Job) -> bool {
    job.state == "failed"
}

fn header<'a>(status: &'a Status, seen: &'a Seen) -> Line<'a> {
    let mut line = vec![
        "forebay ".bold(),
        Span::raw(format!(
            "{} {}  {}  up {}  {} proved  {} failed",
            status.library,
            status.kernels,
            status.state,
            age(status.uptime_seconds * 1000),
            status.totals.completed,
            status.totals.failed,
        )),
    ];
    let old = seen.at.elapsed();
    if let Some(error) = seen.error.as_ref().filter(|_| old > STALE) {
        line.push(format!("  no word since {}: {error}", age(old.as_millis() as u64)).red().bold());
    }
    Line::from(line)
}

fn draw_memory(frame: &mut Frame, status: &Status, area: Rect) {
    let memory = &status.memory;
    let pressed = if memory.pressed { "  sealing is slowed" } else { "" };
    let words = format!(
        "{} of {} promised  resident {}  outside buffers {}  left {}  pressure {:.1} %{pressed}",
        bytes(memory.reserved),
        bytes(memory.limit),
        bytes(status.process.resident),
        bytes(status.process.unbooked),
        bytes(memory.left),
        memory.pressure,
    );
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
    let legend = CLASSES.iter().flat_map(|(name, title, color)| {
        [
            Span::styled("█ ", Style::new().fg(*color)),
            Span::raw(format!("{title} {}  ", bytes(class(status, name)))),
        ]
    });
    let lines = vec![Line::from(words), Line::from(bar), Line::from_iter(legend)];
    frame.render_widget(Paragraph::new(lines), area);
}

fn lane_line(status: &Status) -> Line<'static> {
    let mut line = vec!["partitions  ".bold()];
    for (name, count) in stages(status) {
        line.push(Span::raw(format!("{name} ")));
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

fn queue_table(status: &Status) -> Table<'static> {
    let rows = status.queues.iter().map(|queue| {
        let counts =
            [queue.pending, queue.in_progress, queue.headroom].map(|count| Cell::from(count.to_string()));
        Row::new(
            std::iter::once(Cell::from(queue.kind.clone()))
                .chain(counts)
                .chain([left_cell(queue.next_deadline_ms)]),
        )
    });
    let widths = [14, 9, 12, 10, 14].map(Constraint::Length);
    Table::new(rows, widths).header(head(["kind", "waiting", "in progress", "room for", "next deadline"]))
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
    let rows = shown.map(|job| {
        let [request, kind, waits, proved, age, _] = cells(job);
        let texts = [request, kind, waits, proved, job.stages.clone(), age].map(Cell::from);
        Row::new(texts.into_iter().chain([left_cell(job.deadline_ms)]))
    });
    let widths = [
        Constraint::Min(12),
        Constraint::Length(12),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(12),
        Constraint::Length(8),
        Constraint::Length(9),
    ];
    let titles = head(["request", "kind", "waits for", "proved", "stages", "age", "time left"]);
    frame.render_widget(Table::new(rows, widths).header(titles), area);
    if status.jobs.is_empty() {
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        frame.render_widget(Paragraph::new("every request is answered").dim(), below);
    }
}

fn draw_errors(frame: &mut Frame, status: &Status, area: Rect) {
    let failed = status.recent.iter().filter(|job| failed(job)).take(usize::from(area.height));
    let lines: Vec<_> = failed
        .map(|job| Line::from(format!("{} {}: {}", job.kind, job.request_id, job.error)).red())
        .collect();
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
