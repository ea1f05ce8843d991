//! Reads records from files: finds the files, decompresses them, splits them into JSON values, assembles traces, and distributes
//! the work over threads.

mod eval_archive;
mod feed;
pub(crate) mod frames;
mod job;
mod left_out;
pub(crate) mod pipeline;
pub(crate) mod source;
mod stitch;
pub(crate) mod unpack;

pub(crate) use feed::ReadOptions;
pub(crate) use job::{Found, Job, RecordError, Unread, in_source, place_of};
pub(crate) use left_out::LeftOut;
