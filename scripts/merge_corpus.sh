#!/usr/bin/env bash
# What has grown in build-libfuzzer/corpus/TARGET made small, and the part of it that the tests should have kept.
#
#   scripts/merge_corpus.sh TARGET
#
# The corpus becomes one of no more files than its coverage needs. Files with an edge that neither the
# generated seeds nor fuzz/targets/corpus/TARGET reach are added to the latter, small ones first, up
# to 40,000 bytes for a target.
set -euo pipefail

target=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../build-libfuzzer"
kept=../fuzz/targets/corpus/$target
most=40000

mapfile -t options < <(sed -n 's/^\([a-z_]*\) = /-\1=/p' "../fuzz/targets/$target.options")
merge() { # into the first folder
  "./fuzz_$target" -merge=1 -rss_limit_mb=2048 "${options[@]}" "$@" >merge.log 2>&1 || {
    tail -n 20 merge.log >&2
    exit 1
  }
}

mkdir -p "corpus/$target"
rm -rf "merged/$target" "edges/$target"
mkdir -p "merged/$target" "edges/$target"
merge "merged/$target" "corpus/$target" "seeds/$target" "$kept"
before=$(find "corpus/$target" -type f | wc -l)
rm -rf "corpus/$target"
mv "merged/$target" "corpus/$target"

cp "seeds/$target"/* "$kept"/* "edges/$target"
find "edges/$target" -type f -printf '%f\n' | sort >known
merge "edges/$target" "corpus/$target" -use_counters=0
bytes=$(cat "$kept"/* | wc -c)
added=0
while read -r size name; do
  ((bytes + size <= most)) || break
  cp "edges/$target/$name" "$kept/$name"
  bytes=$((bytes + size))
  added=$((added + 1))
done < <(find "edges/$target" -type f -printf '%s %f\n' | sort -n |
  awk 'NR == FNR { known[$1]; next } !($2 in known)' known -)
echo "$target: $before files, $(find "corpus/$target" -type f | wc -l) of them needed; $added more kept, $bytes bytes in all"
