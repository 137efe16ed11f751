//! Finding the name a user meant.

/// The known name nearest to `name`, if one is near enough to be a likely slip of the finger.
///
/// ```
/// assert_eq!(paretau_core::nearest("lr1", ["lr-1", "dpsw"]), Some("lr-1"));
/// assert_eq!(paretau_core::nearest("zebra", ["lr-1", "dpsw"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= (wanted.chars().count() / 3).max(1))
        .map(|(_, candidate)| candidate)
}
