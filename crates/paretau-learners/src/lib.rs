//! Ridge, logistic, cross-fitting and meta-learners
