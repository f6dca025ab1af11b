//! Virtual time: work that shares processors, devices and the disk, and who gets how much of them.

use crate::kind::Urgency;

/// Work that is shorter than this has ended: below any clock's resolution, above rounding.
const NOTHING: f64 = 1e-9;

/// What a phase of work occupies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// A synthesis worker: one thread, slowed by the others (memory bandwidth).
    Worker,
    /// This many threads.
    Processor(f64),
    /// A device, alone.
    Device(usize),
    /// Files, shared with others that read.
    Disk,
}

/// A stretch of work; its seconds are what it takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// Where.
    pub place: Place,
    /// How long.
    pub seconds: f64,
}

/// Work on the floor.
#[derive(Clone, Debug)]
pub struct Task<K> {
    /// Whose.
    pub key: K,
    /// How urgent.
    pub urgency: Urgency,
    /// While it runs, less urgent work on the processor stands still.
    pub overrides: bool,
    phases: Vec<Phase>,
    phase: usize,
    left: f64,
    /// When it came to its device; who came first goes first.
    turn: Option<u64>,
}

impl<K> Task<K> {
    /// Which phase it is in, and how much of that is done, 0 to 1.
    pub fn progress(&self) -> (usize, f64) {
        let whole = self.phases.get(self.phase).map_or(0.0, |phase| phase.seconds);
        (self.phase, if whole > 0.0 { (1.0 - self.left / whole).clamp(0.0, 1.0) } else { 1.0 })
    }

    fn place(&self) -> Place {
        self.phases.get(self.phase).map_or(Place::Disk, |phase| phase.place)
    }
}

/// How much there is of what work shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resources {
    /// Threads that run at once.
    pub cores: f64,
    /// By how much each further synthesis at the same time slows all of them, as a share of its time alone.
    pub synthesis_slowdown: f64,
}

/// How long what was busy, in seconds of one worker, core or device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Busy {
    /// Synthesis workers.
    pub workers: f64,
    /// Threads of the processor, synthesis included.
    pub cores: f64,
    /// By device.
    pub devices: Vec<f64>,
    /// The disk.
    pub disk: f64,
}

/// All work that runs, and the time.
#[derive(Clone, Debug)]
pub struct Floor<K> {
    now: f64,
    resources: Resources,
    tasks: Vec<Task<K>>,
    rates: Vec<f64>,
    turns: u64,
    busy: Busy,
}

/// A phase of a task has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<K> {
    /// Whose.
    pub key: K,
    /// Which phase.
    pub phase: usize,
    /// It was the last one: the task has left the floor.
    pub last: bool,
}

impl<K: Copy> Floor<K> {
    /// An empty floor with this many devices.
    pub fn new(resources: Resources, devices: usize) -> Floor<K> {
        let busy = Busy { devices: vec![0.0; devices], ..Busy::default() };
        Floor { now: 0.0, resources, tasks: Vec::new(), rates: Vec::new(), turns: 0, busy }
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// What was busy so far.
    pub fn busy(&self) -> &Busy {
        &self.busy
    }

    /// What runs.
    pub fn tasks(&self) -> &[Task<K>] {
        &self.tasks
    }

    /// Starts work. Without a phase of any length it ends at once, at the next [`Floor::advance`].
    pub fn start(&mut self, key: K, urgency: Urgency, overrides: bool, phases: Vec<Phase>) {
        let left = phases.first().map_or(0.0, |phase| phase.seconds);
        let mut task = Task { key, urgency, overrides, phases, phase: 0, left, turn: None };
        self.enter(&mut task);
        self.tasks.push(task);
        self.share();
    }

    fn enter(&mut self, task: &mut Task<K>) {
        match task.place() {
            Place::Device(_) => {
                self.turns += 1;
                task.turn.get_or_insert(self.turns);
            }
            _ => task.turn = None,
        }
    }

    /// When the next phase ends; `None` where nothing runs.
    pub fn next(&self) -> Option<f64> {
        let ends = self.tasks.iter().zip(&self.rates).filter_map(|(task, rate)| match *rate {
            _ if task.left <= NOTHING => Some(0.0),
            rate if rate > 0.0 => Some(task.left / rate),
            _ => None,
        });
        ends.min_by(f64::total_cmp).map(|after| self.now + after)
    }

    /// Lets time pass, and tells which phases have ended, in the order their tasks came.
    pub fn advance(&mut self, to: f64) -> Vec<Ended<K>> {
        let passed = (to - self.now).max(0.0);
        self.now = self.now.max(to);
        for (task, rate) in self.tasks.iter_mut().zip(&self.rates) {
            task.left -= passed * rate;
            let used = passed * rate;
            match task.place() {
                Place::Worker => {
                    self.busy.workers += if *rate > 0.0 { passed } else { 0.0 };
                    self.busy.cores += used;
                }
                Place::Processor(threads) => self.busy.cores += used * threads,
                Place::Device(device) => {
                    if let Some(busy) = self.busy.devices.get_mut(device) {
                        *busy += used;
                    }
                }
                Place::Disk => self.busy.disk += used,
            }
        }
        let mut ended = Vec::new();
        let mut kept = Vec::with_capacity(self.tasks.len());
        let rates = std::mem::take(&mut self.rates);
        for (mut task, rate) in std::mem::take(&mut self.tasks).into_iter().zip(&rates) {
            // What is left may be too little to move the clock.
            let over = task.left <= NOTHING || *rate > 0.0 && self.now + task.left / rate <= self.now;
            if !over {
                kept.push(task);
                continue;
            }
            let phase = task.phase;
            task.phase += 1;
            let last = task.phase >= task.phases.len();
            ended.push(Ended { key: task.key, phase, last });
            if !last {
                task.left = task.phases[task.phase].seconds;
                self.enter(&mut task);
                kept.push(task);
            }
        }
        self.tasks = kept;
        self.share();
        ended
    }

    /// Who gets how much: each a share of its speed alone, 0 to 1.
    fn share(&mut self) {
        let overriding = self.tasks.iter().filter(|task| task.overrides).map(|task| task.urgency).min();
        let stands = |task: &Task<K>| overriding.is_some_and(|urgency| urgency < task.urgency);
        let (mut threads, mut workers, mut readers) = (0.0, 0usize, 0usize);
        for task in self.tasks.iter().filter(|task| !stands(task)) {
            match task.place() {
                Place::Worker => {
                    threads += 1.0;
                    workers += 1;
                }
                Place::Processor(wanted) => threads += wanted,
                Place::Disk => readers += 1,
                Place::Device(_) => {}
            }
        }
        let share = (self.resources.cores / threads).min(1.0);
        let others = workers.saturating_sub(1) as f64;
        let synthesis = share / (1.0 + self.resources.synthesis_slowdown * others);
        let rates = self.tasks.iter().map(|task| match task.place() {
            Place::Device(device) => f64::from(u8::from(self.holds(task, device))),
            Place::Disk => 1.0 / readers.max(1) as f64,
            _ if stands(task) => 0.0,
            Place::Worker => synthesis,
            Place::Processor(_) => share,
        });
        self.rates = rates.collect();
    }

    /// A device works on one task at a time: the most urgent one when it gets free, of these the first to
    /// come; nobody is interrupted.
    fn holds(&self, task: &Task<K>, device: usize) -> bool {
        let there = self.tasks.iter().filter(|other| other.place() == Place::Device(device));
        let begun =
            |task: &Task<K>| task.phase > 0 && task.phases[task.phase - 1].place == Place::Device(device);
        let order = |task: &Task<K>| {
            let fresh = !begun(task) && task.left >= task.phases[task.phase].seconds;
            (fresh, task.urgency, task.turn)
        };
        there.map(order).min() == Some(order(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Resources = Resources { cores: 4.0, synthesis_slowdown: 0.5 };

    fn floor(resources: Resources) -> Floor<&'static str> {
        Floor::new(resources, 1)
    }

    fn phase(place: Place, seconds: f64) -> Phase {
        Phase { place, seconds }
    }

    /// Runs to the end: who ended when.
    fn run(floor: &mut Floor<&'static str>) -> Vec<(&'static str, f64)> {
        let mut ends = Vec::new();
        while let Some(next) = floor.next() {
            for ended in floor.advance(next).into_iter().filter(|ended| ended.last) {
                ends.push((ended.key, (floor.now() * 1e6).round() / 1e6));
            }
        }
        ends
    }

    #[test]
    fn work_that_fits_takes_the_time_it_takes_alone() {
        let mut floor = floor(ALONE);
        floor.start("a", Urgency::Patient, false, vec![phase(Place::Processor(2.0), 3.0)]);
        floor.start("b", Urgency::Patient, false, vec![phase(Place::Processor(2.0), 5.0)]);
        assert_eq!(run(&mut floor), [("a", 3.0), ("b", 5.0)]);
        assert_eq!(floor.busy().cores, 16.0);
    }

    #[test]
    fn threads_beyond_the_processors_share_them_fairly() {
        let mut floor = floor(Resources { cores: 2.0, synthesis_slowdown: 0.0 });
        floor.start("synthesis", Urgency::Patient, false, vec![phase(Place::Worker, 2.0)]);
        floor.start("start", Urgency::Patient, false, vec![phase(Place::Processor(2.0), 4.0)]);
        // Three threads on two cores: two thirds of the speed, until the synthesis has gone.
        assert_eq!(run(&mut floor), [("synthesis", 3.0), ("start", 5.0)]);
    }

    #[test]
    fn syntheses_slow_each_other() {
        let mut floor = floor(ALONE);
        for key in ["a", "b", "c"] {
            floor.start(key, Urgency::Patient, false, vec![phase(Place::Worker, 2.0)]);
        }
        assert_eq!(run(&mut floor), [("a", 4.0), ("b", 4.0), ("c", 4.0)]);
        assert_eq!(floor.busy().workers, 12.0);
    }

    #[test]
    fn a_device_finishes_one_task_before_the_next_and_prefers_the_urgent() {
        let mut floor = floor(ALONE);
        let kernels = || vec![phase(Place::Device(0), 2.0), phase(Place::Device(0), 2.0)];
        floor.start("first", Urgency::Patient, false, kernels());
        floor.advance(1.0);
        floor.start("second", Urgency::Patient, false, kernels());
        floor.start("urgent", Urgency::Critical, false, kernels());
        assert_eq!(run(&mut floor), [("first", 4.0), ("urgent", 8.0), ("second", 12.0)]);
        assert_eq!(floor.busy().devices, [12.0]);
    }

    #[test]
    fn less_urgent_work_stands_still_while_more_urgent_work_runs() {
        let mut floor = floor(ALONE);
        floor.start("patient", Urgency::Patient, false, vec![phase(Place::Processor(1.0), 5.0)]);
        floor.advance(1.0);
        floor.start("critical", Urgency::Critical, true, vec![phase(Place::Processor(1.0), 2.0)]);
        assert_eq!(run(&mut floor), [("critical", 3.0), ("patient", 7.0)]);
    }

    #[test]
    fn work_ends_however_late_it_is() {
        for late in [1.0, 2f64.powi(24), 2f64.powi(40)] {
            let mut floor = floor(ALONE);
            floor.advance(late);
            floor.start("a", Urgency::Patient, false, vec![phase(Place::Worker, 0.3)]);
            floor.start("b", Urgency::Patient, false, vec![phase(Place::Processor(3.7), 1e-7)]);
            let mut rounds = 0;
            while let Some(next) = floor.next() {
                floor.advance(next);
                rounds += 1;
                assert!(rounds < 10, "{late}");
            }
        }
    }

    #[test]
    fn readers_share_the_disk_and_empty_work_ends_at_once() {
        let mut floor = floor(ALONE);
        floor.start("a", Urgency::Patient, false, vec![phase(Place::Disk, 1.0)]);
        floor.start("b", Urgency::Patient, false, vec![phase(Place::Disk, 1.0)]);
        floor.start("nothing", Urgency::Patient, false, Vec::new());
        assert_eq!(run(&mut floor), [("nothing", 0.0), ("a", 2.0), ("b", 2.0)]);
    }
}
