//! Building: components first, then the joints, then the ways over them.

use cxlab_kernel::Stream;

use super::device::{Device, DeviceSpec};
use super::link::{Buffer, Link};
use super::root_port::{RootPort, RootPortSpec};
use super::spec::ExpanderSpec;
use super::switch::{SwitchSpec, switch_below};
use super::{Fabric, Joined, Station, Way, WayId};
use crate::cxl::{CxlError, LinkSpec, ThrottleSpec};
use crate::mem::{MOST_SWITCHES, Media};

impl<M: Media> Fabric<M> {
    /// Channels that the home agents reach without CXL.
    pub fn add_local(&mut self, media: M) -> WayId {
        let media = self.add_media(media, None);
        self.add_way(Way { first: Station::Media(media), links: Vec::new(), media })
    }

    /// A root port, a link, the switches and links below it, a device and its media; `errors` decides which flits fail.
    ///
    /// # Errors
    /// Returns the errors of [`ExpanderSpec::check`] and [`SwitchSpec::check`].
    pub fn add_expander(
        &mut self,
        spec: &ExpanderSpec,
        switches: &[SwitchSpec],
        media: M,
        errors: Stream,
    ) -> Result<WayId, CxlError> {
        spec.check()?;
        if switches.len() > MOST_SWITCHES {
            return Err(CxlError::Switches { switches: switches.len(), most: MOST_SWITCHES });
        }
        let mut errors = errors;
        let port = self.add_root_port(&spec.root_port, spec.throttle.as_ref());
        let mut upper = (port, port_buffer(&spec.root_port));
        let (mut link, mut links) = (&spec.link, Vec::new());
        for switch in switches {
            let (lower, below, above) = self.add_switch(switch)?;
            links.push(self.join(link, (upper.0, lower), (upper.1, below), &mut errors));
            (upper, link) = ((lower, above), &switch.link);
        }
        let (device, media) = self.add_device(&spec.device, media);
        links.push(self.join(link, (upper.0, device), (upper.1, device_buffer(&spec.device)), &mut errors));
        Ok(self.add_way(Way { first: port, links, media }))
    }

    /// Another root port whose link goes to the first switch of a way.
    ///
    /// # Errors
    /// Returns the errors of [`LinkSpec::check`].
    ///
    /// # Panics
    /// Where the way has no switch.
    pub fn add_root_port_before(
        &mut self,
        way: WayId,
        spec: &RootPortSpec,
        throttle: Option<&ThrottleSpec>,
        switch: &SwitchSpec,
        link: &LinkSpec,
        errors: Stream,
    ) -> Result<WayId, CxlError> {
        link.check()?;
        let Way { links, media, .. } = self.ways[usize::from(way.0)].clone();
        let lower = self.links[usize::from(links[0])].lower;
        assert!(matches!(lower, Station::Switch(_)), "only a switch has several ports towards hosts");
        let (first, mut errors) = (self.add_root_port(spec, throttle), errors);
        let above = self.join(link, (first, lower), (port_buffer(spec), switch_below(switch)), &mut errors);
        let links = [above].into_iter().chain(links[1..].iter().copied()).collect();
        Ok(self.add_way(Way { first, links, media }))
    }

    fn add_root_port(&mut self, spec: &RootPortSpec, throttle: Option<&ThrottleSpec>) -> Station {
        self.root_ports.push(RootPort::new(spec, throttle));
        Station::RootPort(self.root_ports.len() as u16 - 1)
    }

    fn add_device(&mut self, spec: &DeviceSpec, media: M) -> (Station, u16) {
        let device = self.devices.len() as u16;
        let media = self.add_media(media, Some(device));
        self.devices.push(Joined { device: Device::new(spec), link: 0, media, cache: None });
        (Station::Device(device), media)
    }

    fn add_media(&mut self, media: M, behind: Option<u16>) -> u16 {
        self.media.push(media);
        self.behind.push(behind);
        self.media.len() as u16 - 1
    }

    fn join(
        &mut self,
        spec: &LinkSpec,
        ends: (Station, Station),
        buffers: (Buffer, Buffer),
        errors: &mut Stream,
    ) -> u16 {
        let link = self.links.len() as u16;
        if let Station::Device(device) = ends.1 {
            self.devices[usize::from(device)].link = link;
        }
        self.links.push(Link::new(spec, ends, buffers, errors));
        link
    }

    fn add_way(&mut self, way: Way) -> WayId {
        self.ways.push(way);
        WayId(self.ways.len() as u16 - 1)
    }
}

fn port_buffer(spec: &RootPortSpec) -> Buffer {
    Buffer { of_reads: *spec.drs_credits, of_writes: *spec.ndr_credits }
}

fn device_buffer(spec: &DeviceSpec) -> Buffer {
    Buffer { of_reads: *spec.req_credits, of_writes: *spec.rwd_credits }
}
