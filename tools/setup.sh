#!/usr/bin/env bash
# Installs the Debian packages that hunch needs and that are missing; the one list of them.
#
# usage: tools/setup.sh [--check]
#   --check   only say what is missing; exit 1 if anything is
#
# Needs root, or sudo, only when something is missing. Safe to run again: with all there it touches nothing.
set -euo pipefail

packages=(
  # to build
  g++ cmake ninja-build make pkg-config ccache
  # libraries (ARCHITECTURE.md says why each)
  libfmt-dev libcli11-dev libsimdjson-dev libdeflate-dev libtomlplusplus-dev libexpected-dev libhwy-dev libdnnl-dev
  ocl-icd-opencl-dev  # Debian's oneDNN is built with OpenCL, and its CMake package asks for it
  # to test
  libgtest-dev libgmock-dev python3
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "${1:-}" = --check ]; then
  echo "missing: ${missing[*]}"
  exit 1
fi

echo "hunch: installing ${missing[*]}" >&2
run=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "hunch: packages are missing and neither root nor sudo is at hand; install: ${missing[*]}" >&2
    exit 2
  fi
  run=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -qq
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
