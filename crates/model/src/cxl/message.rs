//! The messages of CXL.mem that a type-3 device without back-invalidation and its host exchange.
//!
//! ```text
//!   M2S Req   MemRd ...      1 header slot               S2M DRS  MemData  header + 4 data slots
//!   M2S RwD   MemWr ...      1 header slot + 4 data      S2M NDR  Cmp ...  header
//! ```
//!
//! The opcodes are those that memory traffic of this model makes; the encodings are the specification's.
//! Not modelled: MetaField and MetaValue (a host without a directory in the device sends No-Op), SnpType (a type-3
//! device has no cache to snoop). MemWrPtl has its opcode, but not its extra slot of byte enables.
//!
//! Source: CXL 2.0, 3.3.3 (M2S Req), 3.3.4 (M2S RwD), 3.3.5 (S2M NDR), 3.3.6 (S2M DRS): the tables of opcodes.

use crate::mem::AccessKind;

/// Requests without data, master to subordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum M2sReq {
    MemInv = 0b0000,
    MemRd = 0b0001,
    MemRdData = 0b0010,
    MemInvNt = 0b1001,
}

/// Requests with data, master to subordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum M2sRwd {
    MemWr = 0b0001,
    MemWrPtl = 0b0010,
}

/// Responses without data, subordinate to master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum S2mNdr {
    Cmp = 0b000,
    CmpS = 0b001,
    CmpE = 0b010,
}

/// Responses with data, subordinate to master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum S2mDrs {
    MemData = 0b000,
}

/// A message class with its opcode: each class has credits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Req(M2sReq),
    Rwd(M2sRwd),
    Drs(S2mDrs),
    Ndr(S2mNdr),
}

impl Class {
    /// The request that an access of `kind` to host-managed memory is.
    #[must_use]
    pub const fn request(kind: AccessKind) -> Class {
        match kind {
            AccessKind::Read => Class::Req(M2sReq::MemRd),
            AccessKind::Write => Class::Rwd(M2sRwd::MemWr),
        }
    }

    /// The response that completes it.
    #[must_use]
    pub const fn response(kind: AccessKind) -> Class {
        match kind {
            AccessKind::Read => Class::Drs(S2mDrs::MemData),
            AccessKind::Write => Class::Ndr(S2mNdr::Cmp),
        }
    }

    /// Slots of data that follow the header: a line of 64 B is four of 16 B.
    #[must_use]
    pub const fn data_slots(self) -> u8 {
        match self {
            Class::Rwd(_) | Class::Drs(_) => 4,
            Class::Req(_) | Class::Ndr(_) => 0,
        }
    }
}
