#!/bin/sh
# Processor time and peak memory of `effect` over a folder of Parquet files, by the number of files. Prints the
# table in reading.md. The folder is written part by part, so that no more than one part is ever held.
#
#   sh experiments/large/measure.sh PARETAU FOLDER ROWS_PER_PART PARTS...
#
# e.g. sh experiments/large/measure.sh target/release/paretau scratch 50000 1 4 16; FOLDER is removed at the end.
set -eu
paretau=$1 folder=$2 rows=$3
shift 3
mkdir -p "$folder"
trap 'rm -rf "$folder"' EXIT
simulate() { "$paretau" simulate grf --set design=aw2 --n "$2" --d 20 --seed "$1" --out "$3" --quiet > "$folder/log"; }
measured() { /usr/bin/time -f "%U %S %M" -o "$folder/time" "$@" > "$folder/log" 2>&1; }
simulate 1000 20000 "$folder/train.parquet"
"$paretau" fit "$folder/train.parquet" --treatment t --outcome y -e causal-forest --set n_estimators=200 --threads 1 \
    --out "$folder/model.paretau" --quiet > "$folder/log"
printf '| what | files | rows | processor seconds | thousand rows per processor second | peak memory, MB |\n|---|---|---|---|---|---|\n'
line() {
    read -r user system kib < "$folder/time"
    awk -v w="$1" -v f="$2" -v n="$3" -v s="$user" -v t="$system" -v k="$kib" \
        'BEGIN { printf "| %s | %d | %d | %.1f | %.1f | %.0f |\n", w, f, n, s + t, n / (s + t) / 1000, k / 1024 }'
}
made=0
for parts in "$@"; do
    mkdir -p "$folder/in"
    while [ "$made" -lt "$parts" ]; do
        simulate "$made" "$rows" "$folder/in/part-$(printf %04d "$made").parquet"
        made=$((made + 1))
    done
    n=$((rows * parts))
    rm -rf "$folder/out"
    measured "$paretau" effect "$folder/model.paretau" "$folder/in" --out "$folder/out/" --interval 0.95 --threads 1 --quiet
    line "effect into a folder" "$parts" "$n"
    measured "$paretau" effect "$folder/model.paretau" "$folder/in" --out "$folder/out/" --interval 0.95 --threads 1 --quiet --resume
    line "the same with --resume, all complete" "$parts" "$n"
    measured "$paretau" effect "$folder/model.paretau" "$folder/in" --out "$folder/one.parquet" --interval 0.95 --threads 1 --quiet
    line "effect into one file" "$parts" "$n"
done
