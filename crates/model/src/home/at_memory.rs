//! A request is at its memory controller or root port: an access of its line enters the fabric.

use cxlab_kernel::Time;

use super::{Around, Home, Socket};
use crate::mem::{Access, AccessKind, Extent, Stage, Tag};
use crate::request::{Op, Request, RequestKey};

impl Home {
    /// Handles a request that reaches its memory controller or root port.
    pub(super) fn arrive<A: Around>(&mut self, now: Time, key: RequestKey, around: &mut A) {
        let request = &mut self.requests[key];
        let node = &mut self.nodes[usize::from(request.node.0)];
        let away = node.socket == Socket::Other;
        request.stamp(if away { Stage::RemoteHome } else { Stage::HomeToMemory }, now);
        node.counts.written(request.op);
        let kind = if request.op.is_write() { AccessKind::Write } else { AccessKind::Read };
        let extent = if request.op == Op::PartialWrite { Extent::Part } else { Extent::Line };
        self.access_memory(now, key, kind, extent, around);
    }

    /// Sends an access of the request's line into the fabric.
    pub(super) fn access_memory<A: Around>(
        &mut self,
        now: Time,
        key: RequestKey,
        kind: AccessKind,
        extent: Extent,
        around: &mut A,
    ) {
        let Request { node, line, .. } = self.requests[key];
        let (way, dpa) = self.targets.locate(node, line);
        around.enter(now, way, Access { dpa, kind, tag: Tag(key.index()) }, extent, &mut self.requests);
    }
}
