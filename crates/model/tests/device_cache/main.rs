//! A device's cache: what it holds, against lists; how long requests take, and that none is lost.

mod policies;
mod reference;
mod station;
