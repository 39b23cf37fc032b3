//! `underpin.doctor/1`: what this machine permits, and the command that enables what is missing. The facts are gathered
//! by the caller; nothing here examines a machine.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin doctor`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorDocument {
    /// Always `underpin.doctor/1`.
    pub schema: SchemaTag<DoctorDocument>,
    /// Version of underpin.
    pub underpin: String,
    /// One per fact, by topic.
    pub items: Vec<DoctorItem>,
}

impl Document for DoctorDocument {
    const VERB: Verb = Verb::Doctor;
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorItem {
    /// What it belongs to.
    pub topic: Topic,
    /// Its name.
    pub name: String,
    /// Whether it is as it should be.
    pub state: State,
    /// What was found.
    pub value: String,
    /// What follows, if it is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// The command that fixes it.
    #[serde(rename = "mend", skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// What a fact belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Kernel and processors.
    Machine,
    /// Watching a program with ptrace.
    Tracing,
    /// Measuring time and counters.
    Measuring,
    /// C libraries and their loaders.
    Loaders,
    /// Compilers.
    Compilers,
    /// What `underpin build` builds for.
    Builds,
    /// Emulators of other processors.
    Emulators,
}

impl Topic {
    /// The heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Topic::Machine => "Machine",
            Topic::Tracing => "Tracing",
            Topic::Measuring => "Measuring",
            Topic::Loaders => "C libraries and loaders",
            Topic::Compilers => "Compilers",
            Topic::Builds => "What `underpin build` would use",
            Topic::Emulators => "Emulators",
        }
    }
}

/// Whether a fact is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Good,
    /// Something is missing or makes figures less accurate; every verb works.
    Limited,
    /// A verb cannot work.
    Broken,
}

impl DoctorDocument {
    /// A document of these facts.
    #[must_use]
    pub fn new(version: &str, items: Vec<DoctorItem>) -> DoctorDocument {
        DoctorDocument { schema: SchemaTag::new(), underpin: version.to_owned(), items }
    }

    /// How many facts are in this state.
    #[must_use]
    pub fn count(&self, state: State) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }
}
