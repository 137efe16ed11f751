//! What to run: read from TOML, checked against the registries before the first cell starts.

use std::path::Path;

use paretau_core::{DEFAULT_VALID_SHARE, Error, ErrorKind, Params, Result, Seed, parameter_of, resolve};
use paretau_data::{Dataset, RoleSpec};
use paretau_eval::{Better, METRICS, Metric};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::figures::FigureSpec;
use super::illustration::Illustration;
use super::reading::Reading;
use super::records::Record;
use crate::tune::TuneSpec;
use paretau::registry;

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name, used for titles.
    pub name: String,
    /// One line about it.
    pub summary: String,
    /// What a reader of the tables should know, e.g. how the data differ from the publication's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Data sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataSpec>,
    /// Methods to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// How rows are split.
    #[serde(default)]
    pub split: SplitSpec,
    /// Seeds of the fits.
    #[serde(default = "one_seed")]
    pub seeds: Vec<u64>,
    /// Metrics to record; all that the data allow when empty.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Label of the method that the study is about; comparisons start from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hero: Option<String>,
    /// How parameters are searched for before the fits; the estimators' own choices when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneSpec>,
    /// On which realisations' rows.
    #[serde(default, skip_serializing_if = "TuneOn::is_each")]
    pub tune_on: TuneOn,
    /// What `--quick` reduces, so that the plan runs in about a minute.
    #[serde(default)]
    pub quick: Quick,
    /// Figures published for the same study, to be set beside ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// What the figure shows; methods in rows when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<FigureSpec>,
    /// What to draw of the kernels alone, in a plan without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub illustration: Option<Illustration>,
}

/// On which rows parameters are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuneOn {
    /// On the training rows of every realisation, for that realisation.
    #[default]
    Each,
    /// On the training rows of the first realisation of a data set, for all of them: cheaper, and right when realisations
    /// are draws of one process.
    First,
}

impl TuneOn {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
    fn is_each(&self) -> bool {
        *self == Self::Each
    }
}

/// What the quick form of a plan reduces; it never searches for parameters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Realisations of each data set, at most.
    pub realisations: Option<usize>,
    /// Data sets, at most.
    pub data: Option<usize>,
    /// Rows of simulated data sets, at most.
    pub rows: Option<usize>,
    /// Parameters set for every method that has them.
    pub params: Params,
}

/// A published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The data set's name in the publication.
    pub data: String,
    /// The method's label in this plan.
    pub method: String,
    /// Mean of the first metric.
    pub mean: f64,
    /// Its standard deviation over realisations.
    pub sd: f64,
}

fn one_seed() -> Vec<u64> {
    vec![0]
}

/// A family of data sets: one of the catalog, a simulator, or files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Name in tables.
    pub name: String,
    /// Names in the catalog; the first that is present is used, else the simulator if one is named too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dataset: Vec<String>,
    /// A simulator's name; the realisation number is its seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulator: Option<String>,
    /// The simulator's parameters.
    #[serde(default)]
    pub params: Params,
    /// A file, relative to the data folder; `{i}` stands for the realisation number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether the file has a header line.
    #[serde(default = "yes")]
    pub header: bool,
    /// The columns' roles, for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<RoleSpec>,
    /// How the file is written, where its cells do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// Realisation numbers; of a set of the catalog all that are present when not given.
    #[serde(default)]
    pub realisations: Vec<u64>,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_yes(value: &bool) -> bool {
    *value
}

impl DataSpec {
    /// All that decides the rows, but for the realisation.
    pub(super) fn content(&self) -> Value {
        let mut content = json!({
            "dataset": self.dataset,
            "simulator": self.simulator,
            "params": self.params,
            "file": self.file,
            "header": self.header,
            "roles": self.roles,
        });
        // Not there unless given: keys of older records stay what they are.
        if let (Some(fields), Some(reading)) = (content.as_object_mut(), &self.reading) {
            fields.insert("reading".to_owned(), json!(reading));
        }
        content
    }

    /// One source: the first set of the catalog that is present, else the simulator.
    fn resolved(&self, folder: &Path) -> Result<Self> {
        if self.dataset.is_empty() {
            return Ok(self.clone());
        }
        for name in &self.dataset {
            let present = Dataset::named(name)?.realisations(folder);
            if !present.is_empty() {
                let mut wanted = self.realisations.clone();
                if wanted.is_empty() {
                    wanted.clone_from(&present);
                } else if self.dataset.len() > 1 {
                    // The first choice may have more realisations than the one that is here.
                    wanted.retain(|i| present.contains(i));
                }
                let label = if self.dataset.len() > 1 { name.clone() } else { self.name.clone() };
                let one = vec![name.clone()];
                return Ok(Self { name: label, dataset: one, simulator: None, realisations: wanted, ..self.clone() });
            }
        }
        match &self.simulator {
            Some(name) => Ok(Self { name: format!("{name} (simulated)"), dataset: vec![], ..self.clone() }),
            None => {
                let first = Dataset::named(&self.dataset[0])?;
                Err(first.load(folder, 1).err().unwrap_or_else(|| Error::unfit("the data set vanished")))
            }
        }
    }
}

/// An estimator with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Registry name or alias.
    pub estimator: String,
    /// Name in tables; the estimator's when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Parameters that differ from the defaults.
    #[serde(default)]
    pub params: Params,
    /// Whether a plan that searches for parameters does so for this method.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub tuned: bool,
}

impl Method {
    /// Name in tables.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.estimator)
    }
}

/// Shares of validation and test rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitSpec {
    /// Validation rows: estimators with early stopping choose by them; others learn from them too.
    pub valid: f64,
    /// Test rows: scored on, never learnt from.
    pub test: f64,
}

impl Default for SplitSpec {
    fn default() -> Self {
        Self { valid: DEFAULT_VALID_SHARE, test: 0.2 }
    }
}

/// A plan that comes with paretau.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// The plan's text.
    pub toml: &'static str,
}

/// All built-in plans.
pub const PLANS: &[BuiltIn] = &[
    BuiltIn { name: "first-look", toml: include_str!("plans/first-look.toml") },
    BuiltIn { name: "table1-news", toml: include_str!("plans/table1-news.toml") },
    BuiltIn { name: "table1-acic", toml: include_str!("plans/table1-acic.toml") },
    BuiltIn { name: "fig2", toml: include_str!("plans/fig2.toml") },
    BuiltIn { name: "fig3", toml: include_str!("plans/fig3.toml") },
    BuiltIn { name: "fig-appendix", toml: include_str!("plans/fig-appendix.toml") },
    BuiltIn { name: "overlap", toml: include_str!("plans/overlap.toml") },
];

impl BuiltIn {
    /// The plan, checked.
    pub fn plan(&self) -> Result<Plan> {
        Plan::parse(self.toml, Path::new(self.name))
    }
}

impl Plan {
    /// A built-in plan by name, or a plan from a TOML file.
    pub fn open(name_or_path: &str) -> Result<Self> {
        if let Some(built_in) = PLANS.iter().find(|plan| plan.name == name_or_path) {
            return built_in.plan();
        }
        let path = Path::new(name_or_path);
        if path.extension().is_none_or(|e| e != "toml") {
            return Err(Error::unknown_name("plan", name_or_path, PLANS.iter().map(|plan| plan.name)));
        }
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        Self::parse(&text, path)
    }

    /// A plan from TOML, checked.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let at = |row, message: String| Error::File { path: path.to_path_buf(), column: None, row, message };
        let plan: Self = toml::from_str(text).map_err(|e| {
            let row = e.span().map(|span| 1 + text[..span.start].matches('\n').count() as u64);
            at(row, format!("is not a plan: {}", e.message()))
        })?;
        plan.check().map_err(|e| at(None, e.to_string()))?;
        Ok(plan)
    }

    /// The plan on the data that are there: each data set has one source and its realisations in numbers.
    /// `quick` reduces it as its own `[quick]` says.
    pub fn resolved(mut self, folder: &Path, quick: bool) -> Result<Self> {
        self.data = self.data.iter().map(|data| data.resolved(folder)).collect::<Result<_>>()?;
        if !quick {
            return Ok(self);
        }
        let Quick { realisations, data, rows, params } = self.quick.clone();
        self.tune = None;
        self.data.truncate(data.unwrap_or(usize::MAX));
        for data in &mut self.data {
            if let (Some(rows), Some(_)) = (rows, &data.simulator) {
                data.params = data.params.clone().with("n", rows);
            }
        }
        self.with_realisations(realisations.unwrap_or(usize::MAX)).with_params(&params)
    }

    /// The plan with at most so many realisations of each data set.
    #[must_use]
    pub fn with_realisations(mut self, n: usize) -> Self {
        self.data.iter_mut().for_each(|data| data.realisations.truncate(n));
        self
    }

    /// The plan with parameters set for every method that has them; one that no method has is refused.
    pub fn with_params(mut self, params: &Params) -> Result<Self> {
        let mut known = Vec::new();
        for method in &mut self.methods {
            let entry = registry::find(&method.estimator)?;
            let names = entry.params().iter().map(|spec| spec.name).collect::<Vec<_>>();
            for (name, value) in params.0.iter().filter(|(name, _)| names.contains(&parameter_of(name))) {
                method.params = method.params.clone().with(name, value.clone());
            }
            registry::check(entry, &method.params)?;
            known.extend(names);
        }
        match params.0.keys().find(|name| !known.contains(&parameter_of(name))) {
            Some(unknown) if !self.methods.is_empty() => Err(Error::unknown_name("parameter", unknown, known)),
            _ => Ok(self),
        }
    }

    /// The plan with so many trials of a search for parameters, the plan's own search if it has one; refused when no method
    /// has anything to search.
    pub fn with_trials(mut self, trials: usize) -> Result<Self> {
        self.tune = Some(TuneSpec { trials, ..self.tune.unwrap_or_default() });
        self.check_search()?;
        Ok(self)
    }

    fn check_search(&self) -> Result<()> {
        let Some(spec) = &self.tune else { return Ok(()) };
        spec.check()?;
        let mut known = vec![];
        for method in &self.methods {
            let entry = registry::find(&method.estimator)?;
            spec.space_for(entry, &method.params).check(entry)?;
            known.extend(entry.params().iter().map(|spec| spec.name));
        }
        if let Some(unknown) = spec.space.0.keys().find(|name| !known.contains(&parameter_of(name))) {
            return Err(Error::unknown_name("parameter", unknown, known));
        }
        if self.methods.iter().all(|method| self.search_of(method).is_none()) {
            return Err(Error::unfit(
                "no method of the plan has a parameter to search that it does not fix; name some in the plan, e.g. \
                 [tune] with space = { penalty = { low = 0.001, high = 1000.0, log = true } }",
            ));
        }
        Ok(())
    }

    /// How a method's parameters are searched for: in the plan's space as far as the method has its parameters, else in the
    /// method's own. None when nothing is left to search.
    pub(super) fn search_of(&self, method: &Method) -> Option<TuneSpec> {
        let spec = self.tune.as_ref().filter(|_| method.tuned)?;
        let space = spec.space_for(registry::find(&method.estimator).ok()?, &method.params);
        (!space.is_empty()).then(|| TuneSpec { space, ..spec.clone() })
    }

    /// What readers of the results should know: the plan's note, and how parameters were searched for.
    pub(crate) fn note_in_words(&self) -> String {
        let note = Some(self.note.trim().to_owned()).filter(|note| !note.is_empty());
        note.into_iter().chain(self.search_in_words()).collect::<Vec<_>>().join("\n")
    }

    fn search_in_words(&self) -> Option<String> {
        let spec = self.tune.as_ref()?;
        let rows = match self.tune_on {
            TuneOn::Each => "of every realisation",
            TuneOn::First => "of the first realisation of each data set, for all its realisations",
        };
        let without: Vec<&str> =
            self.methods.iter().filter(|m| self.search_of(m).is_none()).map(Method::label).collect();
        let without =
            if without.is_empty() { String::new() } else { format!(" Not searched: {}.", without.join(", ")) };
        Some(format!(
            "Parameters were searched for with {} trials on training rows {rows}; test rows and the truth had no part in it.{without}",
            spec.trials
        ))
    }

    /// The metric that methods are compared by: the first of the plan's, else the first of all, that ranks by being low and
    /// that some record has.
    pub(crate) fn first_metric(&self, records: &[&Record]) -> Option<String> {
        let wanted: Vec<&str> = if self.metrics.is_empty() {
            METRICS.iter().map(|metric| metric.name).collect()
        } else {
            self.metrics.iter().map(String::as_str).collect()
        };
        let lower = |name: &&str| Metric::named(name).is_ok_and(|metric| metric.better == Better::Lower);
        let present = |name: &&str| records.iter().any(|record| record.scores.contains_key(*name));
        wanted.into_iter().filter(lower).find(present).map(str::to_owned)
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::unfit(message));
        if let Some(illustration) = &self.illustration {
            if !self.data.is_empty() || !self.methods.is_empty() || self.figure.is_some() {
                return wrong("a plan is either an illustration or has data and methods, not both".to_owned());
            }
            return illustration.check();
        }
        if self.data.is_empty() || self.methods.is_empty() || self.seeds.is_empty() {
            return wrong("a plan needs at least one data set, one method and one seed".to_owned());
        }
        let SplitSpec { valid, test } = self.split;
        if !(valid >= 0.0 && test > 0.0 && valid + test < 1.0) {
            return wrong("the split needs test rows and must leave rows to learn from".to_owned());
        }
        for data in &self.data {
            for name in &data.dataset {
                Dataset::named(name)?;
            }
            if let Some(name) = &data.simulator {
                check_simulator(name, &data.params)?;
            }
            match &data.reading {
                Some(reading) if data.file.is_some() => reading.check()?,
                Some(_) => return wrong(format!("data `{}` has reading options, but names no file", data.name)),
                None => {}
            }
            match (data.dataset.is_empty(), &data.simulator, &data.file) {
                (false, _, None) | (true, Some(_), None) => {}
                (true, None, Some(_)) if data.roles.is_some() => {}
                (true, None, Some(_)) => {
                    return wrong(format!("data `{}` names a file, but not its columns' roles", data.name));
                }
                _ => {
                    return wrong(format!(
                        "data `{}` needs either a data set of the catalog, a simulator or a file",
                        data.name
                    ));
                }
            }
            if data.realisations.is_empty() && (data.dataset.is_empty() || data.simulator.is_some()) {
                return wrong(format!("data `{}` has no realisations", data.name));
            }
        }
        for method in &self.methods {
            registry::check(registry::find(&method.estimator)?, &method.params)?;
        }
        self.check_search()?;
        for metric in &self.metrics {
            Metric::named(metric)?;
        }
        if let Some(figure) = &self.figure {
            figure.check(&self.data)?;
        }
        let labels: Vec<&str> = self.methods.iter().map(Method::label).collect();
        if let Some(hero) = self.hero.as_deref().filter(|hero| !labels.contains(hero)) {
            return Err(Error::unknown_name("method", hero, labels));
        }
        if let Some(twice) = labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label)) {
            return wrong(format!("two methods are called `{}`; give each its own label", twice.1));
        }
        Ok(())
    }
}

/// Refuses parameters that a simulator does not take: by their ranges, and by a small draw, which finds what one parameter
/// forbids another.
fn check_simulator(name: &str, params: &Params) -> Result<()> {
    /// Rows of the draw, at most.
    const FEW: u64 = 1000;
    let simulator = paretau_data::simulator(name)?;
    resolve::<Value>(simulator.name, simulator.params, &(simulator.defaults)(), params)?;
    let n = params.0.get("n").and_then(Value::as_u64).unwrap_or(FEW).min(FEW);
    match (simulator.run)(&params.clone().with("n", n), Seed(1)) {
        Err(error) if error.kind() == ErrorKind::Usage => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn built_in_plans_are_sound() {
        for plan in PLANS {
            let opened = Plan::open(plan.name).unwrap();
            assert_eq!(opened.name, plan.name);
            // What a run leaves in its folder reads back as the same plan.
            let text = toml::to_string(&opened).unwrap();
            assert_eq!(Plan::parse(&text, Path::new("again")).unwrap(), opened);
        }
    }

    #[test]
    fn parameters_reach_the_methods_that_have_them() {
        let plan = || Plan::open("table1-news").unwrap();
        let fewer = plan().with_params(&Params::none().with("members", 2)).unwrap();
        let with = |plan: &Plan| plan.methods.iter().filter(|m| m.params.0.contains_key("members")).count();
        assert_eq!((with(&plan()), with(&fewer)), (0, 9));
        let message = plan().with_params(&Params::none().with("membrs", 2)).unwrap_err().to_string();
        assert!(message.contains("did you mean `members`"), "{message}");
        assert!(plan().with_params(&Params::none().with("members", 0)).is_err());
        let searched = plan().with_trials(7).unwrap();
        let labels = searched.methods.iter().filter(|m| searched.search_of(m).is_some()).count();
        assert_eq!((labels, searched.tune_on), (9, TuneOn::First), "the nets, on the first realisation");
        assert!(plan().with_trials(0).is_err());
        let message = Plan::open("first-look").unwrap().with_trials(3).unwrap_err().to_string();
        assert!(message.contains("no method of the plan has a parameter to search"), "{message}");
        assert!(plan().with_realisations(3).data.iter().all(|data| data.realisations.len() == 3));
    }

    #[test]
    fn a_wrong_plan_is_refused_before_anything_runs() {
        let fail = |from: &str, to: &str| {
            let text = PLANS[0].toml.replace(from, to);
            assert_ne!(text, PLANS[0].toml, "the test's own replacement found nothing");
            Plan::parse(&text, Path::new("p.toml")).unwrap_err().to_string()
        };
        assert!(fail("lr-1", "lr-11").contains("did you mean `lr-1`"));
        assert!(fail("simulator = ", "simulatr = ").contains("p.toml, row"));
        assert!(fail("\"pehe\"", "\"pehee\"").contains("did you mean `pehe`"));
        assert!(Plan::open("frist-look").unwrap_err().to_string().contains("first-look"));
    }
}
