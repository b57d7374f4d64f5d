#!/usr/bin/env bash
# Installs the Debian packages that hunch needs and that are missing; the one list of them. Where there is a
# CUDA compiler with cuDNN, it also puts cudnn-frontend's headers, which NVIDIA ships on PyPI, into .deps/.
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
  libfmt-dev libcli11-dev libsimdjson-dev libdeflate-dev libisal-dev libsqlite3-dev libtomlplusplus-dev libexpected-dev libhwy-dev libdnnl-dev
  ocl-icd-opencl-dev  # Debian's oneDNN is built with OpenCL, and its CMake package asks for it
  # to test
  libgtest-dev libgmock-dev python3 python3-pytest
)

# Not in the list: MPI (libopenmpi-dev openmpi-bin, 37 packages). hunch does without it, and clusters have
# their own; where CMake finds one, the tests run with several processes too.

# cuDNN's C++ headers; no Debian package has them.
cudnn_frontend=nvidia-cudnn-frontend==1.32.0

install_cudnn_frontend() {
  local deps nvcc
  deps=$(cd "$(dirname "$0")/.." && pwd)/.deps
  nvcc=$(command -v nvcc || true)
  [ -n "$nvcc" ] && [ -e "$(dirname "$(readlink -f "$nvcc")")/../include/cudnn.h" ] || return 0
  [ ! -e "$deps/include/cudnn_frontend.h" ] || return 0
  command -v pip3 >/dev/null || { echo "hunch: no pip3, so no cudnn-frontend: built without cuDNN" >&2; return 0; }
  echo "hunch: fetching $cudnn_frontend" >&2
  local wheel
  wheel=$(mktemp -d)
  if pip3 download -q --no-deps --only-binary=:all: -d "$wheel" "$cudnn_frontend" &&
    python3 -m zipfile -e "$wheel"/*.whl "$wheel/unpacked"; then
    mkdir -p "$deps"
    cp -r "$wheel/unpacked/include" "$deps/"
  else
    echo "hunch: could not fetch it: built without cuDNN" >&2
  fi
  rm -rf "$wheel"
}

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} = 0 ]; then
  [ "${1:-}" = --check ] || install_cudnn_frontend
  exit 0
fi

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
install_cudnn_frontend
