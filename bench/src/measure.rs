//! CPU time of one thread, as the least of many rounds: what the work costs, not what the machine's other work adds.

use std::time::Duration;
use std::time::Instant;

use rustix::time::ClockId;
use rustix::time::clock_gettime;

/// How long a measurement goes on, at least.
const ROUNDS_FOR: Duration = Duration::from_millis(600);

/// Rounds, at least.
const ROUNDS_MIN: usize = 5;

/// The CPU time of one call of `work`.
///
/// # Errors
/// The first error of `work`.
pub fn cpu<E>(mut work: impl FnMut() -> Result<(), E>) -> Result<Duration, E> {
    // Short work is repeated within a round, so that the clock's own cost disappears.
    let started = Instant::now();
    work()?;
    let once = started.elapsed().max(Duration::from_nanos(20));
    let repeats = u32::try_from(Duration::from_millis(2).as_nanos() / once.as_nanos())
        .unwrap_or(u32::MAX)
        .clamp(1, 100_000);
    let mut least = Duration::MAX;
    let begun = Instant::now();
    let mut rounds = 0;
    while rounds < ROUNDS_MIN || begun.elapsed() < ROUNDS_FOR {
        let before = thread_time();
        for _ in 0..repeats {
            work()?;
        }
        least = least.min((thread_time() - before) / repeats);
        rounds += 1;
    }
    Ok(least)
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A duration in the unit that suits it.
#[must_use]
pub fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1_000.0 { format!("{micros:.2} µs") } else { format!("{:.3} ms", micros / 1e3) }
}
