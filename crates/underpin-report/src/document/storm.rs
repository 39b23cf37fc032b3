//! `underpin.storm/1`: what the start of a job costs a file system, before and after a binding.

use super::check::AdviceRecord;
use super::trace::LookupsRecord;
use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;
use underpin_resolve::storm::{Estimate, NodeDemand};

/// The document of `underpin storm`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StormDocument {
    /// Always `underpin.storm/1`.
    pub schema: SchemaTag<StormDocument>,
    /// The program, as the user named it.
    pub program: Raw,
    /// The processes that start.
    pub job: JobRecord,
    /// The file system at which they start.
    pub file_system: FileSystemRecord,
    /// The program as it is, then what it is compared with.
    pub cases: Vec<StormCase>,
    /// What a run of the program as it is opened after its start; null if no run was asked for: then no case counts it.
    pub opened_later: Option<OpenedLater>,
    /// Comparisons that could not be made, a sentence each.
    pub absent: Vec<String>,
    /// What to do about it, the most important first.
    pub advice: Vec<AdviceRecord>,
}

impl Document for StormDocument {
    const VERB: Verb = Verb::Storm;
}

/// The processes that start.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct JobRecord {
    /// Nodes.
    pub nodes: u32,
    /// Processes on each.
    pub per_node: u32,
    /// Processors of each.
    pub cores: u32,
    /// Processor time of one start without the file system.
    pub processor_seconds: f64,
    /// Whether that time was given, not guessed from the number of objects.
    pub processor_known: bool,
}

/// The file system and every parameter used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileSystemRecord {
    /// As `--fs` names it.
    pub name: String,
    /// For people.
    pub title: String,
    /// Where it is mounted; only names below are looked up there.
    pub mounted_at: Vec<Raw>,
    /// What the kernel of a node remembers.
    pub client: ClientRecord,
    /// What answers.
    pub server: ServerRecord,
    /// Share of each mapped file that a start reads.
    pub touched: f64,
    /// Where the parameters come from.
    pub sources: Vec<StormSource>,
}

/// What the kernel of a node remembers: `never`, `always`, or seconds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClientRecord {
    /// Names that were found.
    pub found: String,
    /// Names that were not found.
    pub absent: String,
    /// Attributes.
    pub attributes: String,
    /// Targets of symbolic links.
    pub links: String,
    /// Opened files; `never` if the server hears of every open.
    pub opened: String,
    /// Whether open and lookup of an unknown name are one operation.
    pub open_finds: bool,
    /// Whether the right to search a directory is an operation of its own.
    pub access: bool,
    /// Whether the server hears of a close.
    pub close: bool,
    /// Whether contents stay in the page cache of a node.
    pub pages: bool,
}

/// What answers. A `doubt` is the factor by which the figure before it may be smaller or larger.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ServerRecord {
    /// One operation, there and back, if the server is otherwise idle.
    pub latency_seconds: f64,
    /// Factor; 1 if the user gave the figure.
    pub latency_doubt: f64,
    /// Operations per second; null for no limit.
    pub operations_per_second: Option<f64>,
    /// Factor; 1 if the user gave the figure.
    pub rate_doubt: f64,
    /// Bytes of contents per second; null for no limit.
    pub bytes_per_second: Option<f64>,
    /// Factor; 1 if the user gave the figure.
    pub bandwidth_doubt: f64,
    /// Bytes that one read brings.
    pub read_bytes: u64,
    /// Whether every node has a server of its own.
    pub per_node: bool,
    /// Squared coefficient of variation of the service times: 0 all alike, 1 exponential.
    pub variation: f64,
    /// Processor time of one operation on the node that asks.
    pub client_processor_seconds: f64,
    /// Time of one operation beside latency and processor.
    pub client_wait_seconds: f64,
}

/// Where some parameters come from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StormSource {
    /// Which: `caching`, `latency`, `rate`, `contents`, or the flag that gave them.
    pub covers: String,
    /// What was read or measured.
    pub text: String,
    /// Read in that place, measured, or given; otherwise general knowledge.
    pub verified: bool,
}

/// One way to start the program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StormCase {
    /// `as it is`, the words for a binding, or the name of another program.
    pub name: String,
    /// The binding that was foreseen; null for a program as it is.
    pub binding: Option<StormBinding>,
    /// What is started.
    pub program: Raw,
    /// Files that the binding would change.
    pub changes: Vec<Raw>,
    /// Objects that a start maps.
    pub objects: usize,
    /// Whether the loader's version is one whose calls are modelled.
    pub modelled: bool,
    /// Operations of the first process of a node.
    pub first: OperationsRecord,
    /// Operations of each other process of the node.
    pub next: OperationsRecord,
    /// Operations at the server, the whole job together.
    pub operations: u64,
    /// Those of them that ask again because a time to live is over.
    pub renewed: u64,
    /// Bytes that the server sends, the whole job together.
    pub bytes: u64,
    /// Until the last process has started, the nodes knowing nothing of the file system before.
    pub seconds: f64,
    /// The same with every uncertain parameter at its better end.
    pub low_seconds: f64,
    /// And at its worse end.
    pub high_seconds: f64,
    /// What most of the time is spent on.
    pub limit: StormLimit,
    /// The same job started once more, while the nodes remember what they learned.
    pub following: FollowingRecord,
}

/// Libraries that a run opened by dlopen(3), and what the same job costs with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpenedLater {
    /// The lookups that the run made.
    pub lookups: LookupsRecord,
    /// Operations of the later ones in the first process of a node.
    pub first: OperationsRecord,
    /// In each of the others.
    pub next: OperationsRecord,
    /// Until the last process as it is has started and opened them.
    pub seconds: f64,
    /// The same job once more, while the nodes remember.
    pub following_seconds: f64,
}

/// A start of the whole job after another one of the same nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FollowingRecord {
    /// Operations at the server, the whole job together.
    pub operations: u64,
    /// Until the last process has started.
    pub seconds: f64,
    /// The same with every uncertain parameter at its better end.
    pub low_seconds: f64,
    /// And at its worse end.
    pub high_seconds: f64,
}

/// Operations of one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationsRecord {
    /// All that reaches the server.
    pub total: u64,
    /// Those that the start waits for.
    pub waited_for: u64,
    /// Names in a directory.
    pub lookups: u64,
    /// Those of them that are not there.
    pub absent: u64,
    /// Opens.
    pub opens: u64,
    /// Attributes.
    pub attributes: u64,
    /// Targets of symbolic links.
    pub links: u64,
    /// Rights to search a directory.
    pub access: u64,
    /// Pieces of files.
    pub reads: u64,
    /// Bytes of those pieces.
    pub bytes: u64,
    /// Closes, which no start waits for.
    pub closes: u64,
}

/// A binding that was foreseen and not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StormBinding {
    /// The program and all its libraries are bound.
    Bind,
    /// The program alone is bound, to its whole closure.
    Flatten,
    /// The program alone searches one folder of links.
    Farm,
}

impl StormBinding {
    /// The name of its case.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            StormBinding::Bind => "bound",
            StormBinding::Flatten => "flattened",
            StormBinding::Farm => "farm of links",
        }
    }
}

/// What the time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StormLimit {
    /// One operation after another.
    Latency,
    /// The server's operations per second.
    Rate,
    /// The server's bytes per second.
    Bandwidth,
    /// The processors of the nodes.
    Processor,
}

impl StormLimit {
    /// The limit as text.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            StormLimit::Latency => "latency",
            StormLimit::Rate => "operations per second",
            StormLimit::Bandwidth => "bytes per second",
            StormLimit::Processor => "processors",
        }
    }
}

/// The input for one case.
#[derive(Clone, Debug)]
pub struct StormInput {
    /// Its name.
    pub name: String,
    /// The binding, if this case predicts one.
    pub binding: Option<StormBinding>,
    /// What is started.
    pub program: Raw,
    /// Files that the binding would change.
    pub changes: Vec<Raw>,
    /// Objects that a start maps.
    pub objects: usize,
    /// Whether the loader's calls are modelled.
    pub modelled: bool,
    /// The requests of a node.
    pub demand: NodeDemand,
    /// When the job will have started.
    pub estimate: Estimate,
    /// When it will have started a second time.
    pub following: Estimate,
}
