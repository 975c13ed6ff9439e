//! The stages of an access, in the order of its way. They say where its time goes.
//!
//! A stage is at a place. A hop of the fabric can repeat: behind a switch there is another link, with a stage of its own.

/// The switches that a way can have: CXL 3.0 cascades more, which no machine here has.
pub const MOST_SWITCHES: usize = 2;

/// Where a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Core,
    /// mesh, home agents and the link between the sockets
    Home,
    /// root ports, links and switches
    Fabric,
    Device,
    Media,
}

impl Place {
    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Place::Core => "core",
            Place::Home => "home",
            Place::Fabric => "fabric",
            Place::Device => "device",
            Place::Media => "media",
        }
    }
}

macro_rules! stages {
    ($($stage:ident $place:ident $name:literal $description:literal,)+) => {
        /// Where a request's time goes, in the order of its way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Stage { $(#[doc = $description] $stage,)+ }

        impl Stage {
            pub const ALL: &'static [Stage] = &[$(Stage::$stage,)+];

            /// The name in results.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Stage::$stage => $name,)+ }
            }

            /// Description of the work in this stage.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Stage::$stage => $description,)+ }
            }

            /// The place where it is spent.
            #[must_use]
            pub fn place(self) -> Place {
                match self { $(Stage::$stage => Place::$place,)+ }
            }
        }
    };
}

stages! {
    Translation Core "translation" "second TLB, or waiting for a walk of the page tables",
    FillBuffer Core "fill_buffer" "waiting for a fill buffer of the core",
    ToHome Home "to_home" "L1 and L2 look-up, mesh to the LLC slice and home agent, LLC and snoop filter look-up",
    Snoop Home "snoop" "other cores are asked for the line, or told to forget it",
    HomeQueue Home "home_queue" "waiting for an entry of the home agent's table of requests",
    HomeToMemory Home "home_to_memory" "mesh from the home agent to the memory controller, root port or socket link",
    SocketLinkOut Home "socket_link_out" "socket-to-socket link, towards the other socket: queueing, serialisation, flight",
    RemoteHome Home "remote_home" "home agent of the other socket: coherence check, remote snoop filter, mesh",
    RootPortQueue Fabric "root_port_queue" "waiting for an entry of the root port's request and response FIFO",
    HostOut Fabric "host_out" "bridge and CXL protocol of the host, outwards",
    LinkM2s Fabric "link_m2s" "credit wait, packing into flits, serialisation, towards the device",
    SwitchOut Fabric "switch_out" "ports of the first switch, towards the device",
    LinkM2s2 Fabric "link_m2s_2" "the link behind the first switch, towards the device",
    SwitchOut2 Fabric "switch_out_2" "ports of the second switch, towards the device",
    LinkM2s3 Fabric "link_m2s_3" "the link behind the second switch, towards the device",
    DeviceIn Device "device_in" "CXL protocol of the device, inwards",
    DeviceQueue Device "device_queue" "waiting for an entry of the device's queue",
    DeviceCache Device "device_cache" "look-up of the device's cache, and the wait for a page from flash",
    Media Media "media" "queueing and access of the DRAM",
    LinkS2m3 Fabric "link_s2m_3" "CXL protocol of the device, then the link behind the second switch, towards the host",
    SwitchBack2 Fabric "switch_back_2" "ports of the second switch, towards the host",
    LinkS2m2 Fabric "link_s2m_2" "CXL protocol of a device behind one switch, then the link behind that switch, towards the host",
    SwitchBack Fabric "switch_back" "ports of the first switch, towards the host",
    LinkS2m Fabric "link_s2m" "CXL protocol of the device, then packing and serialisation, towards the host",
    HostIn Fabric "host_in" "CXL protocol and bridge of the host, back",
    SocketLinkBack Home "socket_link_back" "mesh of the other socket, then the socket-to-socket link back",
    MemoryToHome Home "memory_to_home" "mesh back to the home agent",
    FromHome Home "from_home" "mesh back to the core and fill",
}

impl Stage {
    /// M2S on the link behind so many switches.
    #[must_use]
    pub fn link_m2s(switches: u8) -> Stage {
        [Stage::LinkM2s, Stage::LinkM2s2, Stage::LinkM2s3][usize::from(switches)]
    }

    /// S2M on the link behind so many switches.
    #[must_use]
    pub fn link_s2m(switches: u8) -> Stage {
        [Stage::LinkS2m, Stage::LinkS2m2, Stage::LinkS2m3][usize::from(switches)]
    }

    /// Through a switch towards the device, so many switches from the host.
    #[must_use]
    pub fn switch_out(switches: u8) -> Stage {
        [Stage::SwitchOut, Stage::SwitchOut2][usize::from(switches)]
    }

    /// Through a switch towards the host, so many switches from the host.
    #[must_use]
    pub fn switch_back(switches: u8) -> Stage {
        [Stage::SwitchBack, Stage::SwitchBack2][usize::from(switches)]
    }
}
