//! What foolsgold's server and its Ruby runtime share, so that neither depends on the other: the types that pass
//! between them ([`work`]), the files of an application ([`files`]) and the metrics that both keep ([`metrics`]).
#![forbid(unsafe_code)]

pub mod files;
pub mod metrics;
pub mod work;
