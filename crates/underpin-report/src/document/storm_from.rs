//! From the model of a start at scale to the storm document.

use super::SchemaTag;
use super::storm::*;
use super::storm_advice::advice;
use super::trace::LookupsRecord;
use crate::bytes::Raw;
use underpin_resolve::storm::{Estimate, FileSystem, FileSystemTable, Limit, NodeDemand, Operations, Serves, StormJob};

impl StormDocument {
    /// Combines the cases and derives the advice from them. The first case is the unchanged program.
    #[must_use]
    pub fn new(
        program: Raw,
        job: &StormJob,
        file_system: FileSystemRecord,
        cases: Vec<StormInput>,
        absent: Vec<String>,
    ) -> StormDocument {
        let cases: Vec<StormCase> = cases.into_iter().map(StormCase::from).collect();
        let advice = advice(&program, &cases, !absent.is_empty());
        let opened_later = None;
        let job = job.into();
        StormDocument { schema: SchemaTag::new(), program, job, file_system, cases, opened_later, absent, advice }
    }

    /// The same, with what a run of the unchanged program opened later.
    #[must_use]
    pub fn with_run(self, opened_later: OpenedLater) -> StormDocument {
        StormDocument { opened_later: Some(opened_later), ..self }
    }
}

impl From<StormInput> for StormCase {
    fn from(input: StormInput) -> StormCase {
        let StormInput { name, binding, program, changes, objects, modelled, demand, estimate, following } = input;
        StormCase {
            name,
            binding,
            program,
            changes,
            objects,
            modelled,
            first: (&demand.first).into(),
            next: (&demand.next).into(),
            operations: estimate.operations,
            renewed: estimate.renewed,
            bytes: estimate.bytes,
            seconds: estimate.seconds,
            low_seconds: estimate.low,
            high_seconds: estimate.high,
            limit: estimate.limit.into(),
            following: (&following).into(),
        }
    }
}

impl FileSystemRecord {
    /// The parameters with their sources; `given` are flags of the user that replaced some.
    #[must_use]
    pub fn new(fs: &FileSystem, table: &FileSystemTable, mounted_at: Vec<Raw>, given: &[String]) -> FileSystemRecord {
        let (client, server) = (&fs.client, &fs.server);
        let known = fs.sources.iter().filter_map(|(covers, key)| {
            let source = table.sources.get(key)?;
            Some(StormSource { covers: covers.clone(), text: source.text.clone(), verified: source.verified })
        });
        let flags = given.iter().map(|flag| StormSource {
            covers: flag.clone(),
            text: "given on the command line".to_owned(),
            verified: true,
        });
        FileSystemRecord {
            name: fs.name.clone(),
            title: fs.title.clone(),
            mounted_at,
            client: ClientRecord {
                found: client.found.to_string(),
                absent: client.absent.to_string(),
                attributes: client.attributes.to_string(),
                links: client.links.to_string(),
                opened: client.opened.to_string(),
                open_finds: client.open_finds,
                access: client.access,
                close: client.close,
                pages: client.pages,
            },
            server: ServerRecord {
                latency_seconds: server.latency.as_secs_f64(),
                latency_doubt: server.latency_doubt,
                operations_per_second: server.rate,
                rate_doubt: server.rate_doubt,
                bytes_per_second: server.bandwidth,
                bandwidth_doubt: server.bandwidth_doubt,
                read_bytes: server.read_size,
                per_node: server.serves == Serves::Node,
                variation: server.variation,
                client_processor_seconds: server.client_processor.as_secs_f64(),
                client_wait_seconds: server.client_wait.as_secs_f64(),
            },
            touched: fs.touched,
            sources: flags.chain(known).collect(),
        }
    }
}

impl From<&StormJob> for JobRecord {
    fn from(job: &StormJob) -> JobRecord {
        JobRecord {
            nodes: job.nodes,
            per_node: job.per_node,
            cores: job.cores,
            processor_seconds: job.processor.as_secs_f64(),
            processor_known: job.processor_known,
        }
    }
}

impl From<&Estimate> for FollowingRecord {
    fn from(estimate: &Estimate) -> FollowingRecord {
        FollowingRecord {
            operations: estimate.operations,
            seconds: estimate.seconds,
            low_seconds: estimate.low,
            high_seconds: estimate.high,
        }
    }
}

impl From<&Operations> for OperationsRecord {
    fn from(operations: &Operations) -> OperationsRecord {
        OperationsRecord {
            total: operations.total(),
            waited_for: operations.waited_for(),
            lookups: operations.lookups,
            absent: operations.absent,
            opens: operations.opens,
            attributes: operations.attributes,
            links: operations.links,
            access: operations.access,
            reads: operations.reads,
            bytes: operations.bytes,
            closes: operations.closes,
        }
    }
}

impl From<Limit> for StormLimit {
    fn from(limit: Limit) -> StormLimit {
        match limit {
            Limit::Latency => StormLimit::Latency,
            Limit::Rate => StormLimit::Rate,
            Limit::Bandwidth => StormLimit::Bandwidth,
            Limit::Processor => StormLimit::Processor,
        }
    }
}

impl OpenedLater {
    /// From the requests of the later lookups alone, and the estimates of start and later lookups together.
    #[must_use]
    pub fn new(lookups: LookupsRecord, later: &NodeDemand, all: &Estimate, following: &Estimate) -> OpenedLater {
        OpenedLater {
            lookups,
            first: (&later.first).into(),
            next: (&later.next).into(),
            seconds: all.seconds,
            following_seconds: following.seconds,
        }
    }
}
