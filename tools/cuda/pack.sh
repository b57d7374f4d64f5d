#!/usr/bin/env bash
# Puts programs and the shared libraries that they need into one folder, for a GPU machine that lacks them.
#
# usage: tools/cuda/pack.sh OUT PROGRAM...
#   then, on the other machine: OUT/run PROGRAM_NAME [ARGUMENTS]
#
# Programs are stripped; the C library and the compiler's runtime are the other machine's own. Libraries are
# packed with xz, and unpacked beside their archive by the first OUT/run.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
shift
rm -rf "$out"
mkdir -p "$out/lib"
for program in "$@"; do
  strip -o "$out/$(basename "$program")" "$program"
  chmod +x "$out/$(basename "$program")"
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// {print $3}'
done | sort -u | grep -vE '/(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux[^/]*|libstdc\+\+)\.so' |
  while read -r library; do cp -L "$library" "$out/lib/$(basename "$library")"; done
tar -C "$out" -cf - lib | xz -T2 -2 > "$out/lib.tar.xz"
rm -r "$out/lib"
cat > "$out/run" <<'RUN'
#!/usr/bin/env bash
here=$(cd "$(dirname "$0")" && pwd)
(
  flock 9  # several may start at once
  [ -e "$here/lib/.complete" ] || { tar -C "$here" -xf "$here/lib.tar.xz" && touch "$here/lib/.complete"; }
) 9> "$here/.lock"
program=$1
shift
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec ${WRAP:-} "$here/$program" "$@"
RUN
chmod +x "$out/run"
du -sh "$out" >&2
