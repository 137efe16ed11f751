#!/bin/sh
# Development draws for weighing.py: `sh experiments/auto/draws.sh path/to/candidates FOLDER SEED...`, the program being
# `target/debug/examples/candidates` after `cargo build --workspace --example candidates`. Draws that are there are skipped. The net and
# `dpsw-norm`, which take most of the time, are left out: run the program with `only=tarnet` on a draw to add them.
set -e
program=$1
folder=$2
shift 2
mkdir -p "$folder"
only="only=lr-2,t-learner,x-learner,dr-learner,t-learner over boosting,x-learner over a stack,t-learner over a stack,causal-forest"
only="$only,r-learner,x-learner over boosting,s-learner over boosting"
draw() {
    name=$1 rows=$2 process=$3
    shift 3
    file="$folder/$name-$seed.json"
    [ -e "$file" ] || "$program" "$process" "$rows" "$seed" "$file" "$@" "$only"
}
for seed in "$@"; do
    draw ca3 600 causalml d=10 mode=3
    draw ai2 600 grf d=10 design=ai2
    draw ov2 800 overlap d=20 strength=2
    draw syn 1000 synthetic d=15
    draw ca1 600 causalml d=10 mode=1
    draw aw2 600 grf d=10 design=aw2
    draw ca4 600 causalml d=10 mode=4
    draw aw1 600 grf d=10 design=aw1
    draw ov4 600 overlap d=10 strength=4
    draw acic 1000 acic
done
