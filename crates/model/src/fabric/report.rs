//! Report: what the fabric tells of its ways, and what a running machine changes of them.

use cxlab_kernel::Time;

use super::device::Device;
use super::device_cache::WriteLogReport;
use super::link::Link;
use super::root_port::RootPort;
use super::stats::{DeviceReport, ExpanderStats, Occupancy, RootPortReport};
use super::{Fabric, Station, Way, WayId};
use crate::cxl::{CxlError, Lanes, LinkRate, LinkSpec};
use crate::mem::AccessKind;

impl<M> Fabric<M> {
    /// Whether a way leads over CXL.
    #[must_use]
    pub fn is_cxl(&self, way: WayId) -> bool {
        !self.ways[usize::from(way.0)].links.is_empty()
    }

    /// The media at the end of a way.
    #[must_use]
    pub fn media(&self, way: WayId) -> &M {
        &self.media[usize::from(self.ways[usize::from(way.0)].media)]
    }

    pub fn all_media(&mut self) -> &mut [M] {
        &mut self.media
    }

    /// The link at the root port of a way.
    #[must_use]
    pub fn first_link(&self, way: WayId) -> Option<&LinkSpec> {
        let link = *self.ways[usize::from(way.0)].links.first()?;
        Some(&self.links[usize::from(link)].spec)
    }

    /// The link at the root port of a way is trained anew; both directions rest meanwhile.
    ///
    /// # Errors
    /// `CXL021` where that is more than the link has.
    ///
    /// # Panics
    /// Where the way has no link.
    pub fn retrain(&mut self, now: Time, way: WayId, lanes: Lanes, rate: LinkRate) -> Result<(), CxlError> {
        let link = self.ways[usize::from(way.0)].links[0];
        self.links[usize::from(link)].retrain(now, lanes, rate)
    }

    /// Counts of a way's components so far, if it leads over CXL; `elapsed` is the time they are a share of.
    #[must_use]
    pub fn stats(&self, way: WayId, elapsed: Time) -> Option<ExpanderStats> {
        let (port, links, device) = self.expander(way)?;
        let (m2s, s2m) = links[0].reports(elapsed);
        Some(ExpanderStats {
            root_port: RootPortReport::new(port.stats.clone(), elapsed),
            m2s,
            hops: links[1..].iter().map(|link| self.hop_stats(link, elapsed)).collect(),
            device: DeviceReport::new(device.stats.clone(), elapsed),
            device_cache: self.cache_of(way).map(|cached| cached.cache.stats.clone()),
            write_log: self
                .cache_of(way)
                .and_then(|cached| Some(WriteLogReport(cached.cache.log.as_ref()?.stats.clone()))),
            s2m,
        })
    }

    /// The buffers of a way's root port, its first link and its device at `now`, if it leads over CXL.
    #[must_use]
    pub fn occupancy(&self, way: WayId, now: Time) -> Option<Occupancy> {
        use AccessKind::{Read, Write};
        let (port, links, device) = self.expander(way)?;
        let (request_fifo, response_fifo) = port.occupied(now);
        let (out, back) = links[0].credits();
        Some(Occupancy {
            request_fifo,
            response_fifo,
            req_credits: out.at(Read).occupied(now),
            rwd_credits: out.at(Write).occupied(now),
            read_queue: device.queues.at(Read).occupied(now),
            write_queue: device.queues.at(Write).occupied(now),
            drs_credits: back.at(Read).occupied(now),
            ndr_credits: back.at(Write).occupied(now),
        })
    }

    fn expander(&self, way: WayId) -> Option<(&RootPort, Vec<&Link>, &Device)> {
        let Way { first: Station::RootPort(port), links, .. } = &self.ways[usize::from(way.0)] else { return None };
        let links: Vec<&Link> = links.iter().map(|link| &self.links[usize::from(*link)]).collect();
        let Station::Device(device) = links.last()?.lower else { return None };
        Some((&self.root_ports[usize::from(*port)], links, &self.devices[usize::from(device)].device))
    }
}
