//! One self-contained page about a fitted model, made from [`ModelRecords`] alone: no rows, no model, no network.
//!
//! The page is whole without a script: charts are drawn here as SVG, tables are tables. A small script adds what only a
//! script can: sorting, filtering, pointing at marks, downloads. The same records give the same bytes.

mod axis;
mod figure;
mod html;
mod ink;
mod number;
mod options;
mod page;
mod paint;
mod plot;
mod raster;
mod records;
mod sections;
mod svg;

pub use figure::{Content, Figure, FigureLine, FigurePoint, FigureRow, Panel};
pub use options::PageOptions;
pub use page::{render, render_run};
pub use records::{
    ArmFindings, ArmOverlap, ArmWeights, AskedGroup, Average, Balance, Bin, Curve, CurvePoint, EffectGroup, EffectNode,
    EffectSplit, EffectSummary, EffectTree, FeatureCurve, Findings, FurtherArm, Interval, Making, Mixture,
    MixtureCandidate, ModelRecords, OverlapSummary, Param, Question, RunComparison, RunPair, RunPublished, RunRecords,
    RunScore, RunTail, SortedEffect, Subgroup, Tail, TargetPoint, WeightRank,
};
