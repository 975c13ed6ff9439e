//! memo proper: 16 random accesses of one kind after a flush, repeated, and their whole distribution.
//!
//! A sample is a batch's time less the cost of clock and fence, over 16. Accesses overlap, so a sample is below a
//! pointer chase's latency, as in MICRO 2023 figure 3. Translation is warm: the flush itself walks the pages. A random
//! pause precedes each batch. Otherwise batches of one length fall into step with the memory's refreshes, because a
//! batch that waits for a refresh ends with it.

use crate::buffer::Buffer;
use crate::chase::below;
use crate::error::{Error, Result};
use crate::instruction::{BATCH, Instruction};
use crate::isa::{LINE, leave_vectors};
use crate::progress::Progress;
use crate::report::Point;
use crate::session::Session;
use crate::tsc::Ticks;
use crate::{cpu, with_vector};
use cxlab_kernel::{Bytes, Stream};

/// The longest pause `[PAUSE instructions]`. It is more than 10 us at the 140 cycles of Intel's processors since Skylake.
/// Any tREFI is shorter (JESD79-4: 7.8 us). Source: Intel 64 optimization manual, 248966, "Pause Latency in Skylake
/// Client Microarchitecture".
const PAUSES: usize = 512;

#[derive(Clone, Debug)]
pub struct InstructionLatency {
    pub instructions: Vec<Instruction>,
    pub size: Bytes,
    pub warm_up: usize,
    pub repeats: usize,
}

impl InstructionLatency {
    pub fn run(&self, session: &Session, points: &mut Vec<Point>) -> Result<()> {
        let needed = Bytes::new((BATCH * LINE) as u64);
        if self.size < needed {
            let reason = format!("a batch has {BATCH} distinct lines of {LINE} B");
            return Err(Error::TooSmall { what: "--size", given: self.size, needed, reason });
        }
        let _pinned = cpu::Pinned::to(session.cpus[0])?;
        let buffer = session.buffer(self.size)?;
        let progress = Progress::of(self.instructions.len());
        for &instruction in &self.instructions {
            progress.starts(instruction.to_string());
            let latencies = self.latencies(session, &buffer, instruction);
            let Some(point) = Point::of_latencies(&latencies) else { break };
            points.push(Point { instruction: Some(instruction), ..point });
            progress.finished_one();
        }
        Ok(())
    }

    /// `[ns]`, one for each batch.
    fn latencies(&self, session: &Session, buffer: &Buffer, instruction: Instruction) -> Vec<f64> {
        // Lines of its own for each instruction: none is in a cache where flushing does nothing (a simulated machine).
        let mut random = Stream::new(session.seed, &format!("batches of {instruction}"));
        let nothing = draw(buffer, &mut random);
        let mut batch = || {
            let lines = draw(buffer, &mut random);
            (0..below(&mut random, PAUSES)).for_each(|_| std::hint::spin_loop());
            // SAFETY: the instruction set was detected; the lines are this measurement's own, and distinct.
            with_vector!(session.isa, V => unsafe { instruction.time_batch::<V>(&lines) })
        };
        let mut ticks = Vec::with_capacity(self.repeats.min(1 << 20));
        (0..self.warm_up).take_while(|_| !session.interrupt.has_come()).for_each(|_| _ = batch());
        let cost = session.roi.around(|| {
            let cost = overhead(instruction, &nothing);
            ticks.extend((0..self.repeats).take_while(|_| !session.interrupt.has_come()).map(|_| batch()));
            cost
        });
        leave_vectors();
        ticks.iter().map(|&t| session.tsc.nanoseconds(t - cost) / BATCH as f64).collect()
    }
}

/// The median cost of clock and fence around nothing.
fn overhead(instruction: Instruction, lines: &[*mut u8; BATCH]) -> Ticks {
    const TIMES: usize = 1001;
    let mut costs: Vec<Ticks> = (0..TIMES).map(|_| instruction.time_nothing(lines)).collect();
    costs.sort_unstable();
    costs[TIMES / 2]
}

/// Distinct random lines.
fn draw(buffer: &Buffer, random: &mut Stream) -> [*mut u8; BATCH] {
    let mut lines = [std::ptr::null_mut(); BATCH];
    for index in 0..BATCH {
        lines[index] = loop {
            let line = buffer.line(below(random, buffer.lines()));
            if !lines[..index].contains(&line) {
                break line;
            }
        };
    }
    lines
}
