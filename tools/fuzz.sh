#!/usr/bin/env bash
# Builds the fuzzers and runs each in turn for the given minutes, one process on one core; prints what each did.
#
# usage: tools/fuzz.sh MINUTES [TARGET...]     (targets: read_trace nsys gzip guess spool analysis; default: all)
#   BUILD     build folder, default build/fuzz
#   CORPUS    where inputs found are kept between runs, default BUILD/corpus; findings go to BUILD/findings
#   NO_BUILD  set: use the fuzzers that are there
#
# Exit 1 where a fuzzer found something. What it found is to be fixed, with the input made small as a test.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:?usage: tools/fuzz.sh MINUTES [TARGET...]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(read_trace nsys gzip guess spool analysis)
build=${BUILD:-build/fuzz}
corpus=${CORPUS:-$build/corpus}
findings=$build/findings

if [ -z "${NO_BUILD:-}" ]; then
  cmake --preset fuzz -B "$build" >/dev/null
  cmake --build "$build" --target "${targets[@]/%/_fuzz}"
fi

mkdir -p "$findings"
status=0
printf '%-12s %12s %10s %10s %10s\n' target executions a-second inputs findings
for target in "${targets[@]}"; do
  mkdir -p "$corpus/$target"
  log=$findings/$target.log
  before=$(find "$findings" -name "$target-*" | wc -l)
  nice -n 19 "$build/fuzz/${target}_fuzz" -max_total_time=$((minutes * 60)) -timeout=20 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$findings/$target-" "$corpus/$target" "fuzz/corpus/$target" \
    >"$log" 2>&1 || status=1
  number() { grep -oP "stat::$1:\s+\K\d+" "$log" || echo 0; }
  printf '%-12s %12s %10s %10s %10s\n' "$target" "$(number number_of_executed_units)" \
    "$(number average_exec_per_sec)" "$(find "$corpus/$target" -type f | wc -l)" \
    "$(($(find "$findings" -name "$target-*" | wc -l) - before))"
done
exit $status
