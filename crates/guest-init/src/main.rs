//! PID 1 of the simulated machine: mounts the host's tree, runs one program, reports, powers off.
//!
//! ```text
//!   modules -> loopback -> the run -> ports -> CXL regions -> tree -> ready -> (run) -> program between two markers -> files written -> exit -> power off
//! ```
//!
//! While the program runs, init does nothing of its own. It sleeps in waitpid. Its pumps sleep until the program
//! writes or the host sends input.

mod checkpoint;
mod control;
mod cxl;
mod detached;
mod disk;
mod error;
mod firmware;
mod fuse;
mod group;
mod host_files;
mod huge_pages;
mod kernel_log;
mod namespace;
mod network;
mod phrase;
mod placement;
mod port;
mod probe;
mod program;
mod protocol;
mod srat;
mod stdio;
mod steering;
mod sysfs;
mod terminal;
mod tiering;
mod tree;
mod upper;
mod vmstat;

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cxlab_marker::{BOOTED, marker};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::time::TimeSpec;
use nix::sys::utsname::uname;
use nix::time::{ClockId, clock_settime};
use nix::unistd::sethostname;

use crate::checkpoint::Checkpoint;
use crate::control::{Events, Requests};
use crate::error::{Doing, Error, Result};
use crate::group::Group;
use crate::kernel_log::KernelLog;
use crate::phrase::{Awaited, Heard};
use crate::port::Ports;
use crate::probe::Probes;
use crate::program::Program;
use crate::protocol::{Event, Exit, Request, Run, Status, Step, Stream};
use crate::stdio::{Closer, Ends, Input, Output};
use crate::vmstat::Moved;

/// Wait of the guest before its program begins. It takes guest time and no host time. Meanwhile the kernel does the work
/// that it put off during boot: callbacks of RCU and work queues. Without it, a loop of 8 ms paid 0.21 M kernel
/// instructions, not 0.02 M.
const SETTLE: Duration = Duration::from_millis(50);

fn main() {
    if std::process::id() != 1 {
        eprintln!("cxlab-guest-init is PID 1 of a simulated machine; `cxlab run` starts it");
        std::process::exit(125);
    }
    if let Err(error) = boot() {
        report(&error);
    }
    let Err(errno) = reboot(RebootMode::RB_POWER_OFF);
    panic!("power off: {errno}");
}

/// On the console, which the host keeps as console.log.
fn report(error: &Error) {
    eprintln!("cxlab-guest-init: {}: {error}", error.code());
}

fn boot() -> Result<()> {
    tree::mount_kernel_file_systems(Path::new("/"))?;
    tree::load_modules("/modules/tree")?;
    network::loopback_up()?;
    // What is before this is the same for every run on this machine: the host may have kept its state.
    marker::<BOOTED>();
    let run: Run = control::wanted()?;
    set_date(&run)?;
    let ports = Ports::open()?;
    let (events, requests) = control::split(ports.control)?;
    let streams = Streams { stdin: ports.stdin, stdout: ports.stdout, stderr: ports.stderr };
    match serve(&run, &events, requests, streams) {
        Ok(()) => Ok(()),
        Err(error) => {
            events.send_failed(&error)?;
            // If the host does not end the machine, power off.
            thread::sleep(Duration::from_secs(2));
            Err(error)
        }
    }
}

/// The kernel's own date is the same in every run, so that a boot is (crates/qemu-plugin); the program's is the host's.
fn set_date(run: &Run) -> Result<()> {
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::new(run.date, 0)).doing(|| "setting the date".to_owned())
}

/// The program's streams, on the ports' side.
struct Streams {
    stdin: File,
    stdout: File,
    stderr: File,
}

/// One boot, one program.
fn serve(run: &Run, events: &Events, mut requests: Requests, streams: Streams) -> Result<()> {
    let regions = cxl::make_regions(&run.regions)?;
    disk::start(run)?;
    let files = if run.checkpoint { Some(host_files::serve(Path::new(tree::HOST))?) } else { None };
    if files.is_none() {
        tree::mount_host()?;
    }
    let layer = tree::enter()?;
    disk::mount_files(run)?;
    if let Some(tiering) = run.tiering {
        tiering.start()?;
    }
    if let Some(pages) = run.huge_pages {
        pages.set()?;
    }
    sethostname("cxlab").doing(|| "naming the host".to_owned())?;
    let kernel = uname().doing(|| "uname".to_owned())?.release().to_string_lossy().into_owned();
    let table = fs::read(srat::PATH).doing(|| srat::PATH.to_owned())?;
    let ready = Event::Ready { kernel, nodes: srat::parse(&table)?, regions };
    events.send(&ready)?;

    run.placement.write_weights()?;
    if run.steers {
        steering::allow(run.uid, run.gid)?;
    }
    let mut log = KernelLog::from_now()?;
    let Ends { given, stdin: pipe, stdout, stderr, terminal } = match stdio::ends(run)? {
        Ok(ends) => ends,
        Err(error) => {
            let exit = Exit::not_started(Step::Stdin, error.raw_os_error().unwrap_or(libc::EIO));
            events.send(&Event::Exit(Box::new(exit)))?;
            return await_power_off(&mut requests);
        }
    };
    let program = Program::prepare(run, given, run.placement.policy()?)?;
    let sent: [Arc<Mutex<u64>>; 2] = Default::default();
    let checkpoint = match files {
        Some(files) => {
            let group = Group::new()?;
            group.take(program.pid())?;
            let (sent, events, before) = (sent.clone(), events.clone(), Mutex::new(None));
            Some(Arc::new(Checkpoint { files, group, sent, events, ready, before }))
        }
        None => None,
    };

    // From here on there are threads, with a checkpoint since the host's files are served.
    if let Some(pipe) = pipe {
        let start = match requests.receive()? {
            Request::Input(start) => start,
            Request::PowerOff => return Ok(()),
            _ => return Err(Error::Unexpected { wanted: "input" }),
        };
        let mut input = Input::new(streams.stdin, pipe, terminal.is_some());
        input.prime(start).doing(|| "passing on standard input".to_owned())?;
        // It ends when the program no longer reads (EPIPE); nobody asks.
        thread::spawn(move || input.pump());
    }
    let heard = Arc::new(Heard::new(run));
    if let Some(probes) = Probes::lay(run, program.pid(), &heard)? {
        probes.await_calls();
    }
    let pump = |pipe, port, sent: &Arc<Mutex<u64>>| {
        Output::pump(pipe, port, Awaited::new(run, &heard, checkpoint.clone()), Arc::clone(sent))
    };
    let (stdout, stderr) = (pump(stdout, streams.stdout, &sent[0]), pump(stderr, streams.stderr, &sent[1]));
    let stop = Arc::new(AtomicBool::new(false));
    let power_off = listen(requests, stdout.closer(), stderr.closer(), terminal, Arc::clone(&stop));
    thread::sleep(SETTLE);
    let before = Moved::now()?;
    let status = program.run()?;
    let before = checkpoint.and_then(|checkpoint| checkpoint.taken()).unwrap_or(before);
    let moved = Moved::now()?.since(&before);

    let stdout_bytes = stdout.finish().doing(|| "passing on standard output".to_owned())?;
    let stderr_bytes = stderr.finish().doing(|| "passing on standard error".to_owned())?;
    let mut files = upper::written(&layer.path());
    disk::forget_mount_point(run, &mut files);
    if run.keep {
        match tree::mount_keep() {
            Ok(keep) => upper::copy(&mut files, &layer.path(), &keep),
            // The rest of the report is worth as much as before.
            Err(error) => files.iter_mut().for_each(|file| file.lost = Some(error.to_string())),
        }
    }
    let oom = log.oom_lines();
    let stopped = stop.load(Acquire) && status == Status::Signal(libc::SIGKILL);
    let (begun, ended) = (heard.has_begun(), heard.has_ended());
    events.send(&Event::Exit(Box::new(Exit {
        status,
        stdout_bytes,
        stderr_bytes,
        files,
        oom,
        moved,
        begun,
        ended,
        stopped,
    })))?;
    // An error means that the host has gone.
    let _ = power_off.recv();
    Ok(())
}

fn await_power_off(requests: &mut Requests) -> Result<()> {
    while !matches!(requests.receive()?, Request::PowerOff) {}
    Ok(())
}

/// Serve the host's requests while the program runs; the receiver hears of the last one.
fn listen(
    mut requests: Requests,
    stdout: Closer,
    stderr: Closer,
    terminal: Option<OwnedFd>,
    stop: Arc<AtomicBool>,
) -> Receiver<()> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        loop {
            let done = match requests.receive() {
                Ok(Request::Close(Stream::Stdout)) => stdout.close(),
                Ok(Request::Close(Stream::Stderr)) => stderr.close(),
                Ok(Request::Resize(size)) => match &terminal {
                    Some(terminal) => terminal::resize(terminal, size),
                    None => Ok(()),
                },
                Ok(Request::Stop) => {
                    stop.store(true, Release);
                    program::kill_all();
                    Ok(())
                }
                Ok(Request::PowerOff | Request::Input(_)) | Err(_) => break,
            };
            if let Err(error) = done {
                eprintln!("cxlab-guest-init: {error}");
            }
        }
        // Nobody listens any longer if init has failed meanwhile.
        let _ = sender.send(());
    });
    receiver
}
