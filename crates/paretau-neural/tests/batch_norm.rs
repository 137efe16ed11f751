//! Which running statistics a step touches, and that nothing else does.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::ops::Range;

use paretau_core::Seed;
use paretau_kernels::parallel::Parallelism;
use paretau_kernels::weights::Weighting;
use paretau_neural::data::{Batch, Sample};
use paretau_neural::engine::{Block, Kind, Layout, Norm};
use paretau_neural::model::ganite::{DISCRIMINATOR, GENERATOR, INFERENCE, SECOND_DISCRIMINATOR};
use paretau_neural::model::repnet::{OUTCOME, PROPENSITY};
use paretau_neural::model::{Ganite, Model, Objective, RepNet, RepSpec};

/// Places of the running statistics.
fn statistics(layout: &Layout) -> Vec<usize> {
    let kept = |kind: Kind| matches!(kind, Kind::Means | Kind::Variances);
    layout.blocks().iter().filter(|b| kept(b.kind)).flat_map(Block::range).collect()
}

/// Whether all, none or (an error) some statistics within `range` differ.
fn moved(layout: &Layout, range: Range<usize>, before: &[f64], after: &[f64]) -> bool {
    let inside: Vec<usize> = statistics(layout).into_iter().filter(|i| range.contains(i)).collect();
    let changed = inside.iter().filter(|&&i| before[i] != after[i]).count();
    assert!(changed == 0 || changed == inside.len(), "{changed} of {} statistics changed", inside.len());
    assert!(!inside.is_empty(), "a net without statistics");
    changed > 0
}

struct Setting {
    sample: Sample<f64>,
    batch: Batch,
    model: RepNet<f64>,
    params: Vec<f64>,
    grads: Vec<f64>,
}

fn setting(joint: f64) -> Setting {
    let sample = common::sample(60, 4, false);
    let spec = RepSpec { norm: Norm::Batch, dropout: 0.1, ..common::spec(3) };
    let objective = Objective { joint, ..common::objective(Weighting::Norm) };
    let model = RepNet::new(spec, objective, &sample, 60).unwrap();
    let params = common::params(&model);
    Setting { batch: common::batch(&sample), grads: vec![0.0; params.len()], sample, model, params }
}

impl Setting {
    fn begin(&mut self) {
        self.model.begin(&self.sample, &self.batch).unwrap();
    }

    fn loss(&mut self, phase: usize) {
        self.model.loss(phase, &self.sample, (&self.params, &mut self.grads), Parallelism::None).unwrap();
    }

    /// Whether the statistics of encoders, propensity net and heads changed.
    fn absorb(&mut self, phase: usize) -> [bool; 4] {
        let before = self.params.clone();
        self.model.absorb(phase, &mut self.params);
        let nets = self.model.nets();
        let ranges = [
            nets.encoders.range(),
            nets.propensity.as_ref().unwrap().range(),
            nets.heads[0].range(),
            nets.heads[1].range(),
        ];
        ranges.map(|range| moved(&nets.layout, range, &before, &self.params))
    }
}

#[test]
fn every_training_pass_counts_once() {
    let mut s = setting(0.0);
    s.begin();
    s.loss(PROPENSITY);
    assert_eq!(s.absorb(PROPENSITY), [true, true, false, false]);
    // The encoders' pass serves both phases, and the propensity net is only read in the second.
    s.loss(OUTCOME);
    assert_eq!(s.absorb(OUTCOME), [false, false, true, true]);
    // In blocks the second phase runs the encoders itself.
    s.begin();
    s.loss(OUTCOME);
    assert_eq!(s.absorb(OUTCOME), [true, false, true, true]);
    let mut joint = setting(1.0);
    joint.begin();
    joint.loss(OUTCOME);
    assert_eq!(joint.absorb(OUTCOME), [true; 4]);
}

#[test]
fn validation_and_steps_that_were_not_taken_do_not_count() {
    let mut s = setting(0.0);
    s.begin();
    s.loss(OUTCOME);
    s.begin();
    assert_eq!(s.absorb(OUTCOME), [false; 4], "not taken");
    let rows: Vec<usize> = (0..60).collect();
    s.begin();
    s.model.validate(0, &s.sample, &rows, &s.params, Parallelism::None).unwrap();
    assert_eq!(s.absorb(OUTCOME), [false; 4], "validation");
}

#[test]
fn no_phase_moves_statistics_and_every_other_parameter_still_moves() {
    let s = setting(1.0);
    let kept = statistics(s.model.layout());
    let mut moved: Vec<usize> = s.model.moves(OUTCOME).into_iter().flat_map(|m| m.range).collect();
    moved.sort_unstable();
    assert!(moved.iter().all(|i| !kept.contains(i)));
    assert_eq!(moved.len() + kept.len(), s.params.len());
    let moves = s.model.moves(OUTCOME);
    for block in s.model.layout().blocks().iter().filter(|b| matches!(b.kind, Kind::Weights | Kind::Biases)) {
        let with = moves.iter().find(|m| m.range.contains(&block.start)).unwrap();
        assert_eq!(with.decays, block.kind == Kind::Weights);
    }
}

#[test]
fn phases_of_ganite_fold_the_net_that_they_move() {
    let sample = common::sample::<f64>(40, 4, false);
    let spec = RepSpec { norm: Norm::Batch, encoder: vec![5], representation: 4, ..common::spec(1) };
    let mut model = Ganite::new(spec, (1.0, 1.0), &sample, 40);
    let mut params: Vec<f64> = model.layout().initial(Seed(4));
    let mut grads = vec![0.0; params.len()];
    let batch = common::batch(&sample);
    for phase in [DISCRIMINATOR, GENERATOR, SECOND_DISCRIMINATOR, INFERENCE] {
        model.begin(&sample, &batch).unwrap();
        model.loss(phase, &sample, (&params, &mut grads), Parallelism::None).unwrap();
        let before = params.clone();
        model.absorb(phase, &mut params);
        let moves = model.moves(phase);
        let own = moves[0].range.start..moves[moves.len() - 1].range.end;
        assert!(moved(model.layout(), own.clone(), &before, &params), "phase {phase}");
        let elsewhere = |i: &usize| !own.contains(i) && before[*i] != params[*i];
        assert!(!(0..params.len()).any(|i| elsewhere(&i)), "phase {phase}");
    }
}

#[test]
fn a_spec_with_the_flag_of_older_files_is_read() {
    let norm = |norm: Norm| RepSpec { norm, ..common::spec(1) };
    for (flag, expected) in [(false, Norm::None), (true, Norm::Layer)] {
        let mut json = serde_json::to_value(common::spec(1)).unwrap();
        let fields = json.as_object_mut().unwrap();
        fields.remove("norm").unwrap();
        fields.insert("layer_norm".to_owned(), flag.into());
        assert_eq!(serde_json::from_value::<RepSpec>(json).unwrap(), norm(expected));
    }
    for kind in [Norm::None, Norm::Layer, Norm::Batch] {
        let text = serde_json::to_string(&norm(kind)).unwrap();
        assert_eq!(serde_json::from_str::<RepSpec>(&text).unwrap(), norm(kind));
    }
}

#[test]
fn a_negative_variance_is_no_net() {
    let s = setting(0.0);
    let layout = s.model.layout();
    assert!(layout.admits(&s.params));
    let variance = layout.blocks().iter().find(|b| b.kind == Kind::Variances).unwrap().start;
    for bad in [-0.1, f64::NAN, f64::INFINITY] {
        let mut params = s.params.clone();
        params[variance] = bad;
        assert!(!layout.admits(&params), "{bad}");
    }
    assert!(!layout.admits(&s.params[1..]));
}
