//! `underpin.image-layer/1`: what a recipe is when the layers lie over it and which file gave each line, and how the layers' appends
//! stand to the sources. The facts are gathered by the caller.

use super::{Document, SchemaTag, Verb};
use schemars::JsonSchema;
use serde::Serialize;

/// The document of `underpin image layer`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageLayerDocument {
    /// Always `underpin.image-layer/1`.
    pub schema: SchemaTag<ImageLayerDocument>,
    /// For which target the layers were selected.
    pub target: String,
    /// Every layer, in its order.
    pub layers: Vec<ImageLayer>,
    /// The recipe that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Its lines.
    pub lines: Vec<ImageRecipeLine>,
    /// Every change of an append that was looked at; of `image layer check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<ImageChange>>,
}

impl Document for ImageLayerDocument {
    const VERB: Verb = Verb::ImageLayer;
}

/// A layer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageLayer {
    /// Its name.
    pub name: String,
    /// Later ones lie over earlier ones.
    pub order: i64,
    /// Whether its appends are for this target.
    pub selected: bool,
    /// The recipes in it.
    pub recipes: Vec<String>,
    /// The images in it.
    pub images: Vec<String>,
    /// Its appends.
    pub appends: usize,
}

/// A value of a resolved recipe.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageRecipeLine {
    /// What: `version`, `config.SHA1_HWACCEL`, ...
    pub key: String,
    /// Its value.
    pub value: String,
    /// The layer that gave it.
    pub layer: String,
    /// File and line.
    pub at: String,
}

/// One change of an append.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImageChange {
    /// The recipe.
    pub recipe: String,
    /// File and line.
    pub at: String,
    /// Of the closed list.
    pub cause: String,
    /// In a sentence.
    pub why: String,
    /// Whether its patches apply, and the hunk that does not: `yes`, `upstream has it`, or the hunk. Absent without patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applies: Option<String>,
    /// Whether the cause is still seen in the sources; absent without evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_holds: Option<bool>,
    /// Whether the package fails to build without it; absent without `--rebuild`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<bool>,
}
