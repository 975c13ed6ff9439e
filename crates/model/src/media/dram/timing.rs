//! Timing: every constraint that bounds a schedule, in the standard's words, then in cycles of its clock.
//!
//! ```text
//!   [timing]
//!   tCCD_L = { value = "max(8nCK, 5ns)", source = "JESD79-5 ..." }   ->   Timing { t_ccd_l: 12nCK, .. }
//! ```

use schemars::JsonSchema;

use serde::{Deserialize, Serialize};

use super::clock::{Clock, Cycles, Generation, Minimum};
use crate::fact::Sourced;

macro_rules! timings {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal,)+) => {
        /// Timing as a file gives it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TimingSpec {
            $($(#[doc = $doc])+ #[serde(rename = $name)] pub $field: Sourced<Minimum>,)+
            #[doc = "mean time from a refresh to the next, a maximum"]
            #[serde(rename = "tREFI")]
            pub t_refi: Sourced<cxlab_kernel::Time>,
            #[doc = "refresh of one bank in each group (REFsb), DDR5 only"]
            pub same_bank_refresh: Option<SameBankRefreshSpec>,
        }

        /// Timing in cycles of its own clock `[nCK]`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Timing {
            $($(#[doc = $doc])+ pub $field: Cycles,)+
            #[doc = "mean time from a refresh to the next, a maximum"]
            pub t_refi: Cycles,
            #[doc = "cycles for which a burst is on the data bus, BL/2"]
            pub burst: Cycles,
            pub same_bank_refresh: Option<SameBankRefresh>,
        }

        impl TimingSpec {
            /// Timing in cycles of `clock`. A burst takes `burst` cycles.
            #[must_use]
            pub fn cycles(&self, clock: Clock, generation: Generation, burst: Cycles) -> Timing {
                let minimum = |spec: &Sourced<Minimum>| spec.cycles(clock, generation);
                Timing {
                    $($field: minimum(&self.$field),)+
                    t_refi: clock.whole_cycles(*self.t_refi),
                    burst,
                    same_bank_refresh: self.same_bank_refresh.as_ref().map(|spec| SameBankRefresh {
                        t_refi2: clock.whole_cycles(*spec.t_refi2),
                        t_rfc_sb: minimum(&spec.t_rfc_sb),
                        t_refsbrd: minimum(&spec.t_refsbrd),
                    }),
                }
            }
        }
    };
}

timings! {
    /// read command to first data, CAS latency
    cl = "CL",
    /// write command to first data, CAS write latency
    cwl = "CWL",
    /// activate to column command, same bank
    t_rcd = "tRCD",
    /// precharge to activate, same bank
    t_rp = "tRP",
    /// activate to precharge, same bank
    t_ras = "tRAS",
    /// activate to activate, same bank
    t_rc = "tRC",
    /// activate to activate, other bank group
    t_rrd_s = "tRRD_S",
    /// activate to activate, same bank group
    t_rrd_l = "tRRD_L",
    /// window in which a rank takes four activates
    t_faw = "tFAW",
    /// read to read, other bank group
    t_ccd_s = "tCCD_S",
    /// read to read, same bank group
    t_ccd_l = "tCCD_L",
    /// write to write, other bank group
    t_ccd_s_wr = "tCCD_S_WR",
    /// write to write, same bank group
    t_ccd_l_wr = "tCCD_L_WR",
    /// end of write data to read, other bank group
    t_wtr_s = "tWTR_S",
    /// end of write data to read, same bank group
    t_wtr_l = "tWTR_L",
    /// read to precharge
    t_rtp = "tRTP",
    /// end of write data to precharge, write recovery
    t_wr = "tWR",
    /// idle data bus from read data to write data: postamble, preamble and turn-around
    t_rtw = "tRTW",
    /// idle data bus when the rank changes
    t_cs = "tCS",
    /// precharge to precharge
    t_ppd = "tPPD",
    /// all-bank refresh to the next command, tRFC1
    t_rfc = "tRFC",
}

/// Same-bank refresh as a file gives it; allowed in fine granularity mode only, hence tREFI2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SameBankRefreshSpec {
    /// tREFI in fine granularity mode `[us]`; a REFsb comes once in this time for each bank of a group
    #[serde(rename = "tREFI2")]
    pub t_refi2: Sourced<cxlab_kernel::Time>,
    /// REFsb to the next activate of its banks
    #[serde(rename = "tRFCsb")]
    pub t_rfc_sb: Sourced<Minimum>,
    /// REFsb to an activate of another bank
    #[serde(rename = "tREFSBRD")]
    pub t_refsbrd: Sourced<Minimum>,
}

/// Same-bank refresh in cycles `[nCK]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameBankRefresh {
    pub t_refi2: Cycles,
    pub t_rfc_sb: Cycles,
    pub t_refsbrd: Cycles,
}

impl Timing {
    /// Cycles from a write command to the end of its data.
    #[must_use]
    pub fn write_end(&self) -> Cycles {
        self.cwl + self.burst
    }

    /// Cycles from a read command to a write command. The write's data follow the read's data after the turn-around.
    #[must_use]
    pub fn read_to_write(&self) -> Cycles {
        self.cl + self.burst + self.t_rtw - self.cwl
    }
}
