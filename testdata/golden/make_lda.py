"""Writes lda.json: topics that scikit-learn's online variational Bayes finds from a given start.

scikit-learn draws the topics' start, and while it learns a start for every document; both are set here (the documents'
to one, as it does itself when it transforms), so that the rest can be compared number by number.

Usage: python make_lda.py [output directory]
"""
import json
import pathlib
import sys

import numpy as np
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

TOPICS, WORDS, DOCUMENTS, BATCH, SWEEPS = 4, 30, 50, 16, 3


class FromStart(LatentDirichletAllocation):
    def _init_latent_vars(self, n_features, *args, **kwargs):
        super()._init_latent_vars(n_features, *args, **kwargs)
        self.components_ = self.start.copy()
        expected = psi(self.start) - psi(self.start.sum(axis=1, keepdims=True))
        self.exp_dirichlet_component_ = np.exp(expected)

    def _e_step(self, X, cal_sstats, random_init, parallel=None):
        return super()._e_step(X, cal_sstats, random_init=False, parallel=parallel)


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    rng = np.random.default_rng(11)
    true_topics = rng.dirichlet(np.full(WORDS, 0.2), TOPICS)
    mixtures = rng.dirichlet(np.full(TOPICS, 0.4), DOCUMENTS)
    counts = np.array([rng.multinomial(40, z @ true_topics) for z in mixtures])
    start = rng.gamma(100.0, 0.01, (TOPICS, WORDS))
    model = FromStart(
        TOPICS, topic_word_prior=0.1, learning_method="online", batch_size=BATCH, max_iter=SWEEPS, random_state=0
    )
    model.start = start
    proportions = model.fit(counts).transform(counts)
    golden = {
        "batch": BATCH,
        "sweeps": SWEEPS,
        "counts": counts.tolist(),
        "start": start.tolist(),
        "topics": model.components_.tolist(),
        "proportions": proportions.tolist(),
    }
    (out / "lda.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
