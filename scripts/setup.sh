#!/usr/bin/env bash
# Brings a machine (Debian 12, Ubuntu 24.04) to where ulpfuzz builds and runs.
#
#   scripts/setup.sh [build|check|fuzz]
#
# build: compiler, libraries, and .venv with the Python packages of requirements.lock.
# check: clang-format and clang-tidy as well.
# fuzz: clang with libFuzzer as well.
#
# Every make target calls this, so it says nothing and returns at once when nothing is missing.
# Exit status 2: a package is missing and this user may not install it; one line says which.
set -euo pipefail

mode=${1:-build}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
lock=$root/requirements.lock
stamp=$venv/requirements.sha256

fail() {
  echo "setup: $*" >&2
  exit 2
}

packages=(
  ca-certificates git
  g++ cmake ninja-build make ccache mold
  libcli11-dev nlohmann-json3-dev libfmt-dev libsqlite3-dev libssl-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 python3-venv python3-dev # python3-dev: inductor compiles against Python.h
)
# Debian 12's default Boost, 1.74, recurses without end in boost::rational's == under C++20.
if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
  packages+=(libboost1.81-dev)
else
  packages+=(libboost-dev)
fi
case $mode in
  build) ;;
  fuzz) packages+=(clang libclang-rt-dev) ;; # libFuzzer and the sanitizers' runtime
  check) packages+=(clang-format-14 clang-tidy) ;; # formats differ from version to version
  *) fail "unknown mode '$mode': build, check or fuzz" ;;
esac

# The packages that dpkg does not know as installed, one a line.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
    awk '$2 == "installed" { print $1 }') || true
  comm -13 <(sort -u <<<"$installed") <(printf '%s\n' "${packages[@]}" | sort)
}

install_packages() {
  # Elsewhere than on Debian and its kin, CMake says what it does not find.
  command -v dpkg-query >/dev/null || return 0
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0

  if [[ $(id -u) != 0 ]]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      as_root=(sudo)
    else
      fail "as root, run: apt-get install ${missing[*]}"
    fi
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0
    -o DPkg::Lock::Timeout=300)
  echo "setup: installing ${missing[*]}" >&2
  "${as_root[@]}" update
  "${as_root[@]}" install -y --no-install-recommends --no-remove "${missing[@]}" >/dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

venv_is_current() {
  [[ -x $venv/bin/python && -f $stamp && $(<"$stamp") == "$(sha256sum <"$lock")" ]]
}

# The lock file's hashes and markers are for these. The distribution's interpreter comes first: its
# headers and venv module are packages that were installed above.
find_python() {
  local python
  for python in /usr/bin/python3 python3 python3.12 python3.11; do
    if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' \
      2>/dev/null; then
      echo "$python"
      return
    fi
  done
  fail "needs CPython 3.11 or 3.12 with the venv module"
}

install_python_packages() {
  venv_is_current && return
  local python
  python=$(find_python)
  [[ $(uname -sm) == "Linux x86_64" ]] || fail "the Python packages are locked for Linux x86_64"
  echo "setup: installing torch and its companions into .venv (about 5 GB, some minutes)" >&2
  [[ -x $venv/bin/python ]] || "$python" -m venv --clear "$venv"
  rm -f "$stamp"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --only-binary=:all: --require-hashes -r "$lock"
  sha256sum <"$lock" >"$stamp"
}

install_packages
venv_is_current && exit 0
# Two makes in one tree must not install at once.
exec 9<"$root"
flock 9
install_python_packages
