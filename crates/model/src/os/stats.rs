//! Counters of the operating system, as in /proc/vmstat.

use cxlab_kernel::statistics;

statistics! {
    /// Counts and times since counting began.
    pub struct OsStats {
        first_touches: Counter [Pages] "placed by their first access",
        hint_faults: Counter [Events] "accesses to pages that a scan had marked",
        scanned: Counter [Pages] "marked so that their next access faults",
        candidates: Counter [Pages] "of the slow tier, hot by the policy's rule (pgpromote_candidate)",
        promotions: Counter [Pages] "moved from the slow tier to the fast one (pgpromote_success)",
        refused_cold: Counter [Pages] "not promoted: not hot by the policy's rule",
        refused_rate: Counter [Pages] "not promoted: above the rate limit",
        refused_full: Counter [Pages] "not promoted: no free frame on the fast tier",
        demotions: Counter [Pages] "moved from the fast tier to the slow one (pgdemote_kswapd)",
        ping_pongs: Counter [Pages] "promoted that had been demoted before",
        swap_ins: Counter [Pages] "read from the SSD (pswpin)",
        swap_outs: Counter [Pages] "written to the SSD (pswpout)",
        copied_lines: Counter [Lines] "read and written by migrations",
        shootdowns: Counter [Events] "TLB shoot-downs",
        interrupts: Counter [Events] "interrupts of other cores for them",
        migration_ns: Span [Nanoseconds] "mean time that a page was away in a migration",
        wait_ns: Span [Nanoseconds] "mean time that an access waited for a page that was away",
        swap_wait_ns: Span [Nanoseconds] "mean time of a fault that read from the SSD",
    }
}
