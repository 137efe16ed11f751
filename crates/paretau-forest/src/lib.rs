//! Forests: relabel x split x leaf, paired in recipes
