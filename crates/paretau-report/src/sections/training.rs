//! How training went.

use paretau_core::Result;

use super::Section;
use crate::axis::Axis;
use crate::number::{count, significant};
use crate::paint::Paint;
use crate::plot::{Key, Mark, Plot, Shape};
use crate::records::{Curve, ModelRecords};

pub(crate) fn training(records: &ModelRecords) -> Result<Option<Section>> {
    let curves: Vec<&Curve> = records.training.iter().filter(|c| c.points.len() > 1).collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let mut names: Vec<&str> = vec![];
    for curve in &curves {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    let mut html = String::from(
        "<details><summary>Training curves</summary><p>The objective on rows held out from training and, where the net reports them, training losses and weights, at each \
         evaluation; a circle marks the parameters that were kept. Training losses count weights and penalties, so \
         their size differs from that of the objective.</p><div class=\"pair\">",
    );
    for (k, name) in names.iter().enumerate() {
        let own: Vec<&Curve> = curves.iter().filter(|c| c.name == *name).copied().collect();
        html += &plot(k, name, &own).html("")?;
    }
    html += "</div></details>";
    Ok(Some(Section { id: "training", heading: "How training went", html }))
}

fn plot(k: usize, name: &str, curves: &[&Curve]) -> Plot {
    let members = curves.len();
    let axis = curves.first().map_or("objective", |curve| curve.axis.as_str());
    let mut marks: Vec<Mark> = curves
        .iter()
        .map(|c| Mark::Line {
            points: c.points.clone(),
            paint: Paint::Main,
            width: if members > 4 { 1.0 } else { 1.6 },
            tip: if members > 1 { format!("member {}", c.member + 1) } else { String::new() },
        })
        .collect();
    for curve in curves {
        let Some(kept) = curve.kept else { continue };
        let Some(point) = curve.points.iter().find(|p| p.0 == kept) else { continue };
        let who = if members > 1 { format!("member {}: ", curve.member + 1) } else { String::new() };
        let tip = format!("{who}kept after step {}, {axis} {}", count(point.0 as usize), significant(point.1, 4));
        marks.push(Mark::Dot { at: *point, paint: Paint::Limit, hollow: true, tip });
    }
    let steps = curves.iter().flat_map(|c| c.points.iter().map(|p| p.0)).fold(0.0, f64::max);
    Plot {
        id: format!("training-{}", k + 1),
        title: name.to_owned(),
        alternative: format!("{} training curves over {} steps.", members, count(steps as usize)),
        x: Axis::over("step", curves.iter().flat_map(|c| c.points.iter().map(|p| p.0))),
        y: Axis::over(axis, curves.iter().flat_map(|c| c.points.iter().map(|p| p.1))),
        names: None,
        legend: vec![
            Key::new(Paint::Main, Shape::Line, if members > 1 { format!("{members} trainings") } else { axis.into() }),
            Key::new(Paint::Limit, Shape::Ring, "kept"),
        ],
        marks,
        height: 270,
    }
}
