//! Markers: instructions by which the guest tells the plugin where it is. `crates/marker` executes them.

/// A marker: the 8-byte NOP `0f 1f 84 00 <id16> c5 1a`, found at translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// the user's region of interest begins
    RegionBegin,
    /// the user's region of interest ends
    RegionEnd,
    /// the launched program is about to be executed
    ProgramStart,
    /// the launched program has exited
    ProgramEnd,
    /// a program in the guest asks for the machine's counters
    Counters,
    /// the program has printed the text that detail begins with; the stream tells it as `RegionBegin`
    FromOutput,
    /// Linux is up, and nothing of the run is known to it yet
    Booted,
    /// the program is frozen at its checkpoint
    Checkpoint,
}

impl Marker {
    const ALL: [Marker; 8] = [
        Marker::RegionBegin,
        Marker::RegionEnd,
        Marker::ProgramStart,
        Marker::ProgramEnd,
        Marker::Counters,
        Marker::FromOutput,
        Marker::Booted,
        Marker::Checkpoint,
    ];

    /// Bytes of a marker instruction.
    pub const LENGTH: usize = 8;

    /// The id in the instruction's displacement.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Marker::RegionBegin => 1,
            Marker::RegionEnd => 2,
            Marker::ProgramStart => 0x100,
            Marker::ProgramEnd => 0x101,
            Marker::Counters => 0x102,
            Marker::FromOutput => 0x103,
            Marker::Booted => 0x104,
            Marker::Checkpoint => 0x105,
        }
    }

    #[must_use]
    pub fn from_id(id: u16) -> Option<Marker> {
        Marker::ALL.into_iter().find(|marker| marker.id() == id)
    }

    /// The marker that an instruction's bytes are, if they are one.
    #[must_use]
    pub fn from_instruction(bytes: &[u8]) -> Option<Marker> {
        match bytes {
            [0x0f, 0x1f, 0x84, 0x00, low, high, 0xc5, 0x1a] => Marker::from_id(u16::from_le_bytes([*low, *high])),
            _ => None,
        }
    }
}
