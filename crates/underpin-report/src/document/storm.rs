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
    /// Number of nodes.
    pub nodes: u32,
    /// Processes on each node.
    pub per_node: u32,
    /// Processors of each node.
    pub cores: u32,
    /// Processor time of one start without the file system.
    pub processor_seconds: f64,
    /// Whether that time was given rather than estimated from the number of objects.
    pub processor_known: bool,
}

/// The file system and every parameter used.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileSystemRecord {
    /// As `--fs` names it.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Where it is mounted; only names below that are looked up there.
    pub mounted_at: Vec<Raw>,
    /// What the kernel of a node remembers.
    pub client: ClientRecord,
    /// The server.
    pub server: ServerRecord,
    /// Share of each mapped file that a start reads.
    pub touched: f64,
    /// Where the parameters come from.
    pub sources: Vec<StormSource>,
}

/// What the kernel of a node remembers: `never`, `always`, or seconds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClientRecord {
    /// How long names that were found are remembered.
    pub found: String,
    /// How long names that were not found are remembered.
    pub absent: String,
    /// How long attributes are remembered.
    pub attributes: String,
    /// How long targets of symbolic links are remembered.
    pub links: String,
    /// How long opened files are remembered; `never` if the server is told of every open.
    pub opened: String,
    /// Whether open and lookup of an unknown name are one operation.
    pub open_finds: bool,
    /// Whether the check for the right to search a directory is a separate operation.
    pub access: bool,
    /// Whether the server is told of a close.
    pub close: bool,
    /// Whether contents stay in the page cache of a node.
    pub pages: bool,
}

/// The server. A `doubt` is the factor by which the figure before it may be smaller or larger.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ServerRecord {
    /// Time of one operation, there and back, while the server is otherwise idle.
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
    /// Squared coefficient of variation of the service times: 0 if all are equal, 1 if exponential.
    pub variation: f64,
    /// Processor time of one operation on the node that asks.
    pub client_processor_seconds: f64,
    /// Time of one operation besides latency and processor time.
    pub client_wait_seconds: f64,
}

/// Where some parameters come from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StormSource {
    /// Which parameters: `caching`, `latency`, `rate`, `contents`, or the flag that gave them.
    pub covers: String,
    /// What was read or measured.
    pub text: String,
    /// Whether it was read there, measured or given; otherwise it is general knowledge.
    pub verified: bool,
}

/// One way to start the program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StormCase {
    /// `as it is`, the words for a binding, or the name of another program.
    pub name: String,
    /// The modelled binding; null for a program as it is.
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
    /// Operations among them that ask again because a time to live has expired.
    pub renewed: u64,
    /// Bytes that the server sends, the whole job together.
    pub bytes: u64,
    /// Time until the last process has started, on nodes that know nothing of the file system.
    pub seconds: f64,
    /// The same with every uncertain parameter at its better end.
    pub low_seconds: f64,
    /// The same with every uncertain parameter at its worse end.
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
    /// Operations of the later ones in each other process of the node.
    pub next: OperationsRecord,
    /// Time until the last process of the unbound program has started and opened them.
    pub seconds: f64,
    /// The same for the same job once more, while the nodes remember.
    pub following_seconds: f64,
}

/// A start of the whole job after another one of the same nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FollowingRecord {
    /// Operations at the server, the whole job together.
    pub operations: u64,
    /// Time until the last process has started.
    pub seconds: f64,
    /// The same with every uncertain parameter at its better end.
    pub low_seconds: f64,
    /// The same with every uncertain parameter at its worse end.
    pub high_seconds: f64,
}

/// Operations of one start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationsRecord {
    /// All operations that reach the server.
    pub total: u64,
    /// Operations that the start waits for.
    pub waited_for: u64,
    /// Lookups of a name in a directory.
    pub lookups: u64,
    /// Lookups of names that do not exist.
    pub absent: u64,
    /// Opens.
    pub opens: u64,
    /// Reads of attributes.
    pub attributes: u64,
    /// Reads of the targets of symbolic links.
    pub links: u64,
    /// Checks of the right to search a directory.
    pub access: u64,
    /// Reads of contents.
    pub reads: u64,
    /// Bytes of those reads.
    pub bytes: u64,
    /// Closes, which no start waits for.
    pub closes: u64,
}

/// A binding that was modelled and not carried out.
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
