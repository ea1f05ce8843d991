//! Records out of files: which files are meant, what they hold once unpacked, where each JSON value in them begins and
//! ends, which traces the values make, and the threads that do something with each.

mod feed;
pub(crate) mod frames;
mod job;
pub(crate) mod pipeline;
pub(crate) mod source;
mod stitch;
pub(crate) mod unpack;

pub(crate) use feed::ReadOptions;
pub(crate) use job::{Job, RecordError, place_of};
