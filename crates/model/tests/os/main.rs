//! The operating system: what must hold whatever the figures, and each policy by what its source says.

mod applications;
mod laws;
mod mempolicies;
mod policies;
mod system;
