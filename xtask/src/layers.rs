//! Checks the crates' arrows: each crate names its layer in `package.metadata.paretau`, and depends on lower ones only.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell;

pub(crate) fn run() -> Result<()> {
    let text = shell::output(&mut shell::cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let wrong = wrong_arrows(&metadata)?;
    if wrong.is_empty() { Ok(()) } else { bail!("wrong arrows between crates:\n  {}", wrong.join("\n  ")) }
}

fn wrong_arrows(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let layer_of = |name: &str| packages.iter().find(|p| p["name"] == name).map(|p| &p["metadata"]["paretau"]["layer"]);
    let mut wrong = vec![];
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(layer) = package["metadata"]["paretau"]["layer"].as_i64() else {
            wrong.push(format!("{name} does not name its layer in package.metadata.paretau"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // Tests may look sideways and up (a forest test may use a simulator); shipped code may not.
            if dependency["kind"] == "dev" {
                continue;
            }
            let target = dependency["name"].as_str().unwrap_or_default();
            if let Some(below) = layer_of(target).and_then(Value::as_i64)
                && below >= layer
            {
                wrong.push(format!("{name} (layer {layer}) -> {target} (layer {below})"));
            }
        }
    }
    Ok(wrong)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_sideways_and_upward_arrows_but_not_those_of_tests() {
        let package = |name: &str, layer: i64, deps: Value| json!({"name": name, "metadata": {"paretau": {"layer": layer}}, "dependencies": deps});
        let metadata = json!({"packages": [
            package("low", 0, json!([{"name": "serde", "kind": null}])),
            package("side", 1, json!([{"name": "low", "kind": null}, {"name": "other", "kind": null}])),
            package("other", 1, json!([{"name": "side", "kind": "dev"}])),
            json!({"name": "stray", "metadata": null, "dependencies": []}),
        ]});
        let wrong = wrong_arrows(&metadata).unwrap();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert_eq!(wrong[0], "side (layer 1) -> other (layer 1)");
        assert!(wrong[1].starts_with("stray"));
    }
}
