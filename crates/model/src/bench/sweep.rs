//! A sweep runs many points on all processors. Points that differ in their delay only are a group: its machine is warmed once.
//!
//! ```text
//!   jobs --> groups --warm--> Warmed --a copy for each delay--> points, in the order of the jobs
//!            next group, if no point of a warmed group waits
//! ```
//!
//! A thread takes a point of a warmed group first. So no more groups than threads are warm at once, and memory is bounded.
//! Which thread runs a point changes nothing in it.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use super::{Job, Point, Warmed};
use crate::error::ModelError;

/// Between two questions whether to go on: a person who presses ctrl-C sees no delay.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// News of a sweep for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// one more point has ended
    Ended,
    /// nothing has ended for a while
    Working,
}

/// A job by its place in the sweep, with the result of its point.
type Done = (usize, Result<Point, ModelError>);

/// Run the points of all jobs on so many threads. `told` says after each point, and now and then, whether to go on.
/// `None` if it did not: points that are under way have ended then.
///
/// # Errors
/// The first error of a point. No further point begins.
pub fn sweep(
    jobs: &[Job],
    threads: NonZeroUsize,
    mut told: impl FnMut(Told) -> ControlFlow<()>,
) -> Result<Option<Vec<Point>>, ModelError> {
    let hall = Hall::new(jobs);
    let mut points: Vec<Option<Point>> = vec![None; jobs.len()];
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel();
        for _ in 0..threads.get().min(jobs.len()) {
            let (hall, done) = (&hall, done.clone());
            scope.spawn(move || work(hall, jobs, &done));
        }
        drop(done);
        let close = Closing(&hall);
        loop {
            match ended.recv_timeout(ASK_EVERY) {
                Ok((place, point)) => points[place] = Some(point?),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if told(Told::Working).is_break() {
                        break;
                    }
                    continue;
                }
            }
            if told(Told::Ended).is_break() {
                break;
            }
        }
        drop(close);
        Ok::<(), ModelError>(())
    })?;
    Ok(points.into_iter().collect())
}

/// The next task of a thread.
enum Task {
    /// warm the machine of these jobs, which differ in their delay only
    Warm(Vec<usize>),
    /// run this job's point from a copy
    Run(Arc<Warmed>, usize),
}

/// Tasks of a sweep that nobody has taken yet.
struct Waiting {
    groups: VecDeque<Vec<usize>>,
    points: VecDeque<(Arc<Warmed>, usize)>,
    /// groups that are being warmed: their points will come
    warming: usize,
    closed: bool,
}

/// Where threads come for tasks.
struct Hall {
    waiting: Mutex<Waiting>,
    /// there are new points, or there will be none
    news: Condvar,
}

impl Hall {
    fn new(jobs: &[Job]) -> Hall {
        let mut groups: VecDeque<(Job, Vec<usize>)> = VecDeque::new();
        for (place, job) in jobs.iter().enumerate() {
            let alike = Job { delay: 0, ..job.clone() };
            match groups.iter_mut().find(|(other, _)| *other == alike) {
                Some((_, places)) => places.push(place),
                None => groups.push_back((alike, vec![place])),
            }
        }
        let groups = groups.into_iter().map(|(_, places)| places).collect();
        let waiting = Waiting { groups, points: VecDeque::new(), warming: 0, closed: false };
        Hall { waiting: Mutex::new(waiting), news: Condvar::new() }
    }

    fn open(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no thread panics between lines of this file")
    }

    /// The next task. `None` if no more will come.
    fn task(&self) -> Option<Task> {
        let mut waiting = self.open();
        loop {
            if waiting.closed {
                return None;
            }
            if let Some((warmed, place)) = waiting.points.pop_front() {
                return Some(Task::Run(warmed, place));
            }
            if let Some(group) = waiting.groups.pop_front() {
                waiting.warming += 1;
                return Some(Task::Warm(group));
            }
            if waiting.warming == 0 {
                return None;
            }
            waiting = self.news.wait(waiting).expect("no thread panics between lines of this file");
        }
    }

    /// These jobs can start from this machine.
    fn add(&self, warmed: Warmed, group: &[usize]) {
        let warmed = Arc::new(warmed);
        self.open().points.extend(group.iter().map(|place| (Arc::clone(&warmed), *place)));
    }

    /// A group is warm, or cannot be warmed.
    fn ends_warming(&self) {
        self.open().warming -= 1;
        self.news.notify_all();
    }
}

/// At its end no further task begins: after the last point, an error, a stop or a panic.
struct Closing<'a>(&'a Hall);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.open().closed = true;
        self.0.news.notify_all();
    }
}

/// A thread of a sweep. Nobody listens after a stop.
fn work(hall: &Hall, jobs: &[Job], done: &Sender<Done>) {
    let _after_a_panic_nobody_waits = Closing(hall);
    while let Some(task) = hall.task() {
        match task {
            Task::Run(warmed, place) => {
                let _nobody_listens = done.send((place, Arc::unwrap_or_clone(warmed).run(jobs[place].delay)));
            }
            Task::Warm(group) => {
                match (Warmed::new(&jobs[group[0]]), &group[..]) {
                    (Err(error), _) => {
                        let _nobody_listens = done.send((group[0], Err(error)));
                    }
                    (Ok(warmed), [place]) => {
                        let _nobody_listens = done.send((*place, warmed.run(jobs[*place].delay)));
                    }
                    (Ok(warmed), _) => hall.add(warmed, &group),
                }
                hall.ends_warming();
            }
        }
    }
}
