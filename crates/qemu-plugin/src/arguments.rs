//! The plugin's arguments: `ring=<fd>,model=<fd>,detail=all|marker|output|off,tsc=<Hz>,step=<ps>,idle=jump|pace,windows=<n>,vcpus=<n>,skew=<ps>`,
//! `sample=<detail>:<warm>:<every>:<seed>`, `sample=<detail>:<warm>:most=<windows>:<seed>`, `warmup=program`, `counters=<port>`,
//! `until=<ps>`, `until_idle=<ps>`, `disk=<fd>:<fd>:<B/s>:<dies>:<ps>:<ps>`, `control=<port>`, `boot=save|checkpoint|<ps>` and `cpuid=<leaf>:<subleaf or *>:<register>:<mask>:<bits>`.

use std::os::fd::RawFd;
use std::str::FromStr;

use cxlab_access::{BEGINNING, Schedule, Vcpu};

use crate::answer::Answer;

/// Instructions that go to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// all from the program's start to its end
    All,
    /// those between region markers
    Marker,
    /// all from a text in the program's output to its end
    Output,
    /// none: the guest runs functionally
    Off,
}

impl FromStr for Detail {
    type Err = ();

    fn from_str(text: &str) -> Result<Detail, ()> {
        match text {
            "all" => Ok(Detail::All),
            "marker" => Ok(Detail::Marker),
            "output" => Ok(Detail::Output),
            "off" => Ok(Detail::Off),
            _ => Err(()),
        }
    }
}

/// Whether the model follows the program functionally before a region of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// caches are cold where a region begins
    None,
    /// from the program's start
    Program,
}

/// Way in which an idle guest comes to its next timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// at once
    Jump,
    /// no faster than the host's clock, because somebody may type
    Pace,
}

/// When a run ends before its program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// after so much simulated time `[ps]`
    pub until_ps: Option<u64>,
    /// when no program has executed an instruction for so long `[ps]`
    pub until_idle_ps: Option<u64>,
    /// number of the serial port that brings the supervisor's request to stop the program
    pub control: Option<u16>,
}

/// Begin of a guest, and whether it ends when Linux is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// it boots, and runs its program
    Whole,
    /// it boots, and stands still for its state to be saved
    Save,
    /// it boots, runs its program, and stands still at the program's checkpoint for its state to be saved
    Checkpoint,
    /// its state was saved at this time `[ps]`
    Saved(u64),
}

impl FromStr for Boot {
    type Err = ();

    fn from_str(text: &str) -> Result<Boot, ()> {
        match text {
            "save" => Ok(Boot::Save),
            "checkpoint" => Ok(Boot::Checkpoint),
            ps => above_zero(ps).map(Boot::Saved).ok_or(()),
        }
    }
}

/// A disk whose other end the plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// descriptor of the socket whose other end is QEMU's device, inherited
    pub socket: RawFd,
    /// descriptor of the file with its data, inherited
    pub file: RawFd,
    pub drive: Drive,
}

/// The drive under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// bandwidth of its link, each way `[B/s]`
    pub bytes_per_second: u64,
    /// pages in a row lie on as many dies, one after the other
    pub dies: u64,
    /// a read of a page keeps its die so long `[ps]`
    pub die_ps: u64,
    /// the controller's part of each request `[ps]`
    pub controller_ps: u64,
}

/// The supervisor's arguments for the plugin.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// descriptor of the ring's shared memory, inherited
    pub ring: RawFd,
    /// descriptor of a pipe whose writing end only the model has, inherited
    pub model: RawFd,
    pub detail: Detail,
    /// frequency of the guest's time-stamp counter `[Hz]`
    pub tsc_hz: u64,
    /// time that an instruction takes where there is no detail `[ps]`
    pub step_ps: u64,
    pub idle: Idle,
    /// CXL windows of the machine, each with a memory backend `window<n>`, `persistent<n>` or both
    pub windows: u32,
    /// poisoned lines: window, and how far into it `[bytes]`
    pub poison: Vec<(u32, u64)>,
    /// vCPUs, 1 to 64
    pub vcpus: usize,
    /// how far a vCPU may be ahead of the one that is most behind `[ps]`
    pub skew_ps: u64,
    /// which instructions of a region are followed in detail, if not all
    pub sample: Option<Schedule>,
    pub warm_up: WarmUp,
    /// number of the serial port that the model answers a program in, if there is one
    pub counters: Option<u16>,
    pub bounds: Bounds,
    pub boot: Boot,
    pub disk: Option<Disk>,
    /// what CPUID answers where QEMU would answer something else
    pub cpuid: Vec<Answer>,
}

const VALID: &str = "ring=<fd>, model=<fd>, detail=all|marker|output|off, tsc=<Hz>, step=<ps>, idle=jump|pace, windows=<n>, \
                     poison=<window>:<bytes>, vcpus=<1 to 64>, skew=<ps>, counters=<port>, \
                     sample=<detail>:<warm>:<every>:<seed>, sample=<detail>:<warm>:most=<windows>:<seed>, warmup=program, \
                     until=<ps>, until_idle=<ps>, control=<port>, disk=<fd>:<fd>:<B/s>:<dies>:<ps>:<ps>, boot=save|checkpoint|<ps>, \
                     cpuid=<leaf>:<subleaf or *>:<register>:<mask>:<bits>";

impl Arguments {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let (mut ring, mut model, mut detail, mut tsc_hz) = (None, None, None, None);
        let (mut step_ps, mut idle, mut windows) = (1000, Idle::Jump, 0);
        let (mut vcpus, mut skew_ps, mut counters) = (1, 2_000_000, None);
        let mut poison = Vec::new();
        let (mut sample, mut warm_up, mut bounds) = (None, WarmUp::None, Bounds::default());
        let (mut boot, mut disk, mut cpuid) = (Boot::Whole, None, Vec::new());
        for word in words {
            let refuse = || format!("`{word}` is no argument; valid: {VALID}");
            let (key, value) = word.split_once('=').ok_or_else(refuse)?;
            match (key, value) {
                ("ring", fd) => ring = Some(fd.parse().map_err(|_| refuse())?),
                ("model", fd) => model = Some(fd.parse().map_err(|_| refuse())?),
                ("detail", which) => detail = Some(which.parse().map_err(|()| refuse())?),
                ("tsc", hz) => tsc_hz = Some(above_zero(hz).ok_or_else(refuse)?),
                ("step", ps) => step_ps = above_zero(ps).ok_or_else(refuse)?,
                ("idle", "jump") => idle = Idle::Jump,
                ("idle", "pace") => idle = Idle::Pace,
                ("windows", count) => windows = count.parse().map_err(|_| refuse())?,
                ("poison", place) => poison.push(pair(place).ok_or_else(refuse)?),
                ("vcpus", count) => {
                    vcpus = count.parse().ok().filter(|n| (1..=Vcpu::MOST).contains(n)).ok_or_else(refuse)?;
                }
                ("skew", ps) => skew_ps = ps.parse().map_err(|_| refuse())?,
                ("sample", numbers) => sample = Some(schedule(numbers).ok_or_else(refuse)?),
                ("warmup", "program") => warm_up = WarmUp::Program,
                ("counters", port) => counters = Some(above_zero(port).ok_or_else(refuse)?),
                ("control", port) => bounds.control = Some(above_zero(port).ok_or_else(refuse)?),
                ("until", ps) => bounds.until_ps = Some(above_zero(ps).ok_or_else(refuse)?),
                ("until_idle", ps) => bounds.until_idle_ps = Some(above_zero(ps).ok_or_else(refuse)?),
                ("cpuid", answer) => cpuid.push(answer.parse().map_err(|()| refuse())?),
                ("disk", numbers) => disk = Some(self::disk(numbers).ok_or_else(refuse)?),
                ("boot", begins) => boot = begins.parse().map_err(|()| refuse())?,
                _ => return Err(refuse()),
            }
        }
        let missing = |name: &str| format!("`{name}=` is missing; valid: {VALID}");
        Ok(Arguments {
            ring: ring.ok_or_else(|| missing("ring"))?,
            model: model.ok_or_else(|| missing("model"))?,
            detail: detail.ok_or_else(|| missing("detail"))?,
            tsc_hz: tsc_hz.ok_or_else(|| missing("tsc"))?,
            step_ps,
            idle,
            windows,
            poison,
            vcpus,
            skew_ps,
            // Periods of several vCPUs follow what windows have measured.
            sample: sample.map(|schedule| if vcpus > 1 { schedule } else { schedule.after(BEGINNING) }),
            warm_up,
            counters,
            bounds,
            boot,
            disk,
            cpuid,
        })
    }
}

fn above_zero<T: FromStr + PartialOrd + Default>(text: &str) -> Option<T> {
    text.parse().ok().filter(|number| *number > T::default())
}

/// Two numbers with a colon between them.
fn pair<First: FromStr, Second: FromStr>(text: &str) -> Option<(First, Second)> {
    let (first, second) = text.split_once(':')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

fn disk(numbers: &str) -> Option<Disk> {
    let [socket, file, bandwidth, dies, die, controller] = numbers.split(':').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (die_ps, controller_ps) = (die.parse().ok()?, controller.parse().ok()?);
    let drive = Drive { bytes_per_second: above_zero(bandwidth)?, dies: above_zero(dies)?, die_ps, controller_ps };
    Some(Disk { socket: socket.parse().ok()?, file: file.parse().ok()?, drive })
}

fn schedule(numbers: &str) -> Option<Schedule> {
    let [detail, warm, windows, seed] = numbers.split(':').collect::<Vec<_>>()[..] else { return None };
    let (detail, warm, seed) = (detail.parse().ok()?, warm.parse().ok()?, seed.parse().ok()?);
    match windows.strip_prefix("most=") {
        Some(most) => Schedule::thinning(detail, warm, most.parse().ok()?, seed).ok(),
        None => Schedule::new(detail, warm, windows.parse().ok()?, seed).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(text.split(',').map(String::from))
    }

    #[test]
    fn arguments_are_read_or_refused_by_name() {
        let arguments =
            parse("ring=7,model=8,detail=marker,tsc=2400000000,idle=pace,windows=2,vcpus=4,skew=500000").unwrap();
        assert_eq!((arguments.ring, arguments.detail, arguments.tsc_hz), (7, Detail::Marker, 2_400_000_000));
        assert_eq!((arguments.step_ps, arguments.idle, arguments.windows), (1000, Idle::Pace, 2));
        assert_eq!((arguments.vcpus, arguments.skew_ps), (4, 500_000));
        assert_eq!(arguments.counters, None);
        let sampled = parse("ring=7,model=8,detail=all,tsc=1,sample=1:2:30:4,warmup=program").unwrap();
        let after = |schedule: Result<Schedule, String>| Some(schedule.ok()?.after(BEGINNING));
        assert_eq!(sampled.sample, after(Schedule::new(1, 2, 30, 4)));
        assert_eq!(sampled.warm_up, WarmUp::Program);
        let thinned = parse("ring=7,model=8,detail=all,tsc=1,sample=1:2:most=4:5").unwrap();
        assert_eq!(thinned.sample, after(Schedule::thinning(1, 2, 4, 5)));
        assert_eq!(parse("ring=7,model=8,detail=all,tsc=1,counters=5").unwrap().counters, Some(5));
        let bounded = parse("ring=7,model=8,detail=output,tsc=1,until=200,until_idle=30,control=1").unwrap();
        assert_eq!(bounded.detail, Detail::Output);
        let bounds = Bounds { until_ps: Some(200), until_idle_ps: Some(30), control: Some(1) };
        assert_eq!(bounded.bounds, bounds);
        let drive = Drive { bytes_per_second: 60_000_000, dies: 32, die_ps: 85, controller_ps: 20 };
        let disk = Disk { socket: 9, file: 10, drive };
        assert_eq!(parse("ring=7,model=8,detail=all,tsc=1,disk=9:10:60000000:32:85:20").unwrap().disk, Some(disk));
        for (text, wanted) in [
            ("ring=7,model=8,detail=all,tsc=1,until=0", "`until=0`"),
            ("ring=7,model=8,detail=all,tsc=1,disk=9", "`disk=9`"),
            ("ring=7,model=8,detail=all,tsc=1,disk=9:10:0:1:1:1", "`disk=9:10:0:1:1:1`"),
            ("ring=7,model=8,detail=all,tsc=1,disk=9:10:1:0:1:1", "`disk=9:10:1:0:1:1`"),
            ("ring=7,model=8,detail=all,tsc=1,boot=load", "`boot=load`"),
            ("ring=7,model=8,detail=all,tsc=1,cpuid=4:0:ebx", "`cpuid=4:0:ebx`"),
            ("ring=7,model=8,detail=all,tsc=1,sample=1:2:3", "`sample=1:2:3`"),
            ("ring=7,model=8,detail=all,tsc=1,sample=9:2:3:0", "`sample=9:2:3:0`"),
            ("ring=7,model=8,detail=all,tsc=1,sample=9:2:most=3:0", "`sample=9:2:most=3:0`"),
            ("model=8,detail=all,tsc=1", "`ring=` is missing"),
            ("ring=7,model=8,detail=some,tsc=1", "`detail=some` is no argument"),
            ("ring=7,model=8,detail=all,tsc=0", "`tsc=0`"),
            ("ring=7,model=8,detail=all,tsc=1,vcpus=65", "`vcpus=65`"),
            ("ring=7,model=8,detail=all,tsc=1,counters=0", "`counters=0`"),
            ("ring", "`ring` is no argument"),
        ] {
            assert!(parse(text).unwrap_err().contains(wanted), "{text}");
        }
    }
}
