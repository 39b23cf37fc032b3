//! `underpin.survey/1`: check, tree and trace of one program, and the resulting advice.

use super::check::{AdviceRecord, CheckDocument};
use super::gain::BindingGain;
use super::trace::TraceDocument;
use super::tree::TreeDocument;
use super::trial::AllocatorTrial;
use super::{Document, SchemaTag, Verb};
use crate::bytes::Raw;
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin survey`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SurveyDocument {
    /// Always `underpin.survey/1`.
    pub schema: SchemaTag<SurveyDocument>,
    /// The program, as the user named it.
    pub program: Raw,
    /// What it is and where it runs.
    pub check: CheckDocument,
    /// What it loads.
    pub tree: TreeDocument,
    /// What its start did; null if it was not run.
    pub trace: Option<TraceDocument>,
    /// Why it was not run or could not be traced.
    pub trace_absent: Option<String>,
    /// What binding would save; null if it was not computed.
    pub binding: Option<BindingGain>,
    /// What other allocators would change; null if that was not tried.
    pub allocators: Option<AllocatorTrial>,
    /// Why they were not tried.
    pub allocators_absent: Option<String>,
    /// What to do about it, the most important first; the advice of `check` is in it.
    pub advice: Vec<AdviceRecord>,
}

impl Document for SurveyDocument {
    const VERB: Verb = Verb::Survey;
}

/// The start-up half of a survey.
#[derive(Clone, Debug)]
pub enum StartUp {
    /// It was traced.
    Traced(Box<TraceDocument>),
    /// It was not; a sentence says why.
    Absent(String),
}

impl SurveyDocument {
    /// Combines the parts and derives the advice from them.
    #[must_use]
    pub fn new(check: CheckDocument, tree: TreeDocument, start_up: StartUp) -> SurveyDocument {
        let (trace, trace_absent) = match start_up {
            StartUp::Traced(trace) => (Some(*trace), None),
            StartUp::Absent(reason) => (None, Some(reason)),
        };
        let advice = crate::advice::survey_advice(&check, &tree, trace.as_ref());
        SurveyDocument {
            schema: SchemaTag::new(),
            program: tree.program.clone(),
            check,
            tree,
            trace,
            trace_absent,
            binding: None,
            allocators: None,
            allocators_absent: None,
            advice,
        }
    }

    /// The same, with what binding would save; advised if it is worth it.
    #[must_use]
    pub fn with_binding(mut self, gain: BindingGain) -> SurveyDocument {
        // What only the environment causes is fixed in the environment: no file has to be rewritten for it.
        if !crate::advice::is_of_environment_alone(&self.tree) {
            self.advice.splice(0..0, crate::advice::binding_advice(&self.program, &gain));
        }
        self.binding = Some(gain);
        self
    }

    /// The same, with what other allocators would change; advised if the gain is worth the price.
    #[must_use]
    pub fn with_allocators(mut self, trial: Result<AllocatorTrial, String>) -> SurveyDocument {
        match trial {
            Ok(trial) => {
                let command = self.trace.as_ref().map_or_else(|| vec![self.program.clone()], |it| it.command.clone());
                self.advice.splice(0..0, crate::advice::allocator_advice(&command, &trial));
                self.allocators = Some(trial);
            }
            Err(reason) => self.allocators_absent = Some(reason),
        }
        self
    }
}
