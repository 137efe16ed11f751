"""Two builds on the same draws: bias in standard deviations of the draws, standard error over it, and coverage of each average.

`python experiments/coverage/compare.py experiments/coverage/before.jsonl experiments/coverage/records.jsonl` prints a line per process and
average over the draws that both have. Averages count whether the program would show their interval or not.
"""

import json
import sys

AVERAGES = ["ate", "att", "atc", "ato"]


def records(path):
    """Records by process and seed."""
    with open(path, encoding="utf-8") as file:
        return {(record["process"], record["seed"]): record for record in map(json.loads, file)}


def figures(entries):
    """Bias and mean standard error in standard deviations of the draws; percent held."""
    errors = [value - truth for value, _, _, _, truth in entries]
    bias = sum(errors) / len(errors)
    sd = max((sum((e - bias) ** 2 for e in errors) / len(errors)) ** 0.5, 1e-12)
    se = sum(entry[1] for entry in entries) / len(entries)
    held = sum(lo <= truth <= hi for _, _, lo, hi, truth in entries)
    return f"{bias / sd:.2f}", f"{se / sd:.2f}", f"{100 * held / len(entries):.1f}"


def main():
    """Prints the table."""
    before, after = map(records, sys.argv[1:3])
    shared = sorted(set(before) & set(after))
    print("| process | average | draws | bias/sd before | now | se/sd before | now | covered before | now |")
    print("|---|---|---|---|---|---|---|---|---|")
    for process in sorted({process for process, _ in shared}):
        for average in AVERAGES:
            both = [(before[key][average], after[key][average]) for key in shared if key[0] == process]
            both = [(a, b) for a, b in both if a and b]
            if both:
                pairs = zip(figures([a for a, _ in both]), figures([b for _, b in both]))
                cells = [cell for pair in pairs for cell in pair]
                print(f"| {process} | {average} | {len(both)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
