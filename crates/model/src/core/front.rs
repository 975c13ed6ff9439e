//! Width: a stage handles a fixed number of micro-operations a cycle, in order.

use cxlab_kernel::Time;

/// Slots of a stage that handles `width` micro-operations a cycle in order.
#[derive(Clone, Debug)]
pub struct Slots {
    /// the cycle of the last slot given
    cycle: Time,
    /// slots given in this cycle
    used: u32,
    width: u32,
    period: Time,
}

/// The front end: dispatch in program order.
pub type Front = Slots;

impl Slots {
    pub fn new(period: Time, width: u32) -> Slots {
        Slots { cycle: Time::ZERO, used: 0, width, period }
    }

    /// The cycle of the last slot given.
    #[inline]
    pub fn now(&self) -> Time {
        self.cycle
    }

    /// Gives no slot before `time`.
    #[inline]
    pub fn advance_to(&mut self, time: Time) {
        if time > self.cycle {
            self.cycle = time;
            self.used = 0;
        }
    }

    /// Time of the next slot.
    #[inline]
    pub fn next(&self) -> Time {
        if self.used == self.width { self.cycle + self.period } else { self.cycle }
    }

    /// Takes the next slot. An instruction of several units takes the slots behind it too.
    #[inline]
    pub fn take(&mut self, units: u8) -> Time {
        if self.used == self.width {
            self.cycle += self.period;
            self.used = 0;
        }
        let first = self.cycle;
        self.used += u32::from(units);
        while self.used > self.width {
            self.cycle += self.period;
            self.used -= self.width;
        }
        first
    }
}
