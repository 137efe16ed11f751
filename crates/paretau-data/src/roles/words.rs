//! Words that mean yes and no, or that an arm is the control, in the languages whose number and date notations are read.

/// No and yes.
pub(super) const NO_YES: [(&str, &str); 17] = [
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("nein", "ja"),
    ("falsch", "wahr"),
    ("non", "oui"),
    ("faux", "vrai"),
    ("no", "sí"),
    ("no", "si"),
    ("no", "sì"),
    ("falso", "verdadero"),
    ("falso", "vero"),
    ("falso", "verdadeiro"),
    ("não", "sim"),
    ("nee", "ja"),
    ("nej", "ja"),
];

/// Control and treated, where both words are needed to know.
pub(super) const CONTROL_TREATED: [(&str, &str); 3] = [("0", "1"), ("n", "j"), ("off", "on")];

/// Arms that are the control whatever the others are called.
pub(super) const CONTROLS: [&str; 9] = [
    "control",
    "placebo",
    "none",
    "untreated",
    "usual care",
    "standard care",
    "standard of care",
    "no treatment",
    "kontrolle",
];
