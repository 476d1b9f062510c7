#!/usr/bin/env bash
# clang-format over all C++ files, then clang-tidy over the core; not over the LibTorch worker,
# whose headers take too long.
#
#   scripts/check.sh [room...]      some rooms only, for a quick look
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rooms=(ir oracle generators ops systems judge reducers report fuzz calibration cli)
(($# == 0)) || rooms=("$@")

folders=()
for folder in "${rooms[@]}" tests bench; do
  [[ ! -d $folder ]] || folders+=("$folder")
done

find "${folders[@]}" \( -name '*.cc' -o -name '*.h' -o -name '*.cu' \) -print0 |
  xargs -0 --no-run-if-empty clang-format-14 --dry-run -Werror

cmake --preset default >/dev/null # for build/compile_commands.json
mapfile -t sources < <(find "${folders[@]}" -maxdepth 1 -name '*.cc' -not -path 'bench/*')
((${#sources[@]})) || exit 0
# run-clang-tidy prints every command that it runs; only what was found is for a reader.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run-clang-tidy -quiet -p build -j "$(nproc)" "${sources[@]/#/^$PWD/}" >"$log" 2>&1 || {
  grep -vE 'clang-tidy(-[0-9]+)? --?use-color|clang-tidy(-[0-9]+)? -p|warnings? generated\.|^$' "$log" >&2
  exit 1
}
