//! The vocabulary of paretau: designs, estimators, effects, parameters, seeds, errors
