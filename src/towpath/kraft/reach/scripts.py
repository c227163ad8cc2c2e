"""Shell scripts that drivers run on hosts and in containers; `$1` is the path of a file."""

from __future__ import annotations

ABSENT = 44
"""Exit code for a file that is not there; ssh itself fails with 255, kubectl with 1."""
READ = f'[ -e "$1" ] || exit {ABSENT}; cat -- "$1"'
# The new file takes owner and rights of the old one, and its name in one step; a link stays, and
# the file that it names is written. Without an old one it belongs to the user `$2`, if one is
# given, who must be able to read it. It has `$3` bytes: the input of a cut connection ends early.
WRITE = (
    'set -e; umask 077; f=$1; if [ -L "$1" ]; then f=$(readlink -f -- "$1"); fi;'
    ' d=$(dirname -- "$f"); mkdir -p -- "$d"; n=$d/.$(basename -- "$f").towpath; rm -f -- "$n";'
    " trap 'rm -f -- \"$n\"' EXIT; trap 'exit 1' HUP INT TERM;"
    ' if [ -e "$f" ]; then cp -p -- "$f" "$n"; a=$(stat -c %u:%g -- "$f");'
    ' b=$(stat -c %u:%g -- "$n"); if [ "$a" != "$b" ]; then'
    ' echo "its owner $a cannot be kept by this login" >&2; exit 1; fi;'
    ' else : > "$n"; [ -z "$2" ] || chown -- "$2" "$n"; fi;'
    ' cat > "$n"; c=$(($(wc -c < "$n"))); if [ "$c" != "$3" ]; then'
    ' echo "$c of $3 bytes arrived" >&2; exit 1; fi;'
    ' sync -- "$n"; mv -f -- "$n" "$f"; sync -- "$d"'
)
# Of its variables the names alone are told, of those from which images make properties files.
_TELL = (
    'tr "\\0" "\\n" < "/proc/$p/cmdline"; ls -l "/proc/$p/fd" | grep -o "/[^ ]*[.]jar$";'
    ' tr "\\0" "\\n" < "/proc/$p/environ" | grep -o "^KAFKA_[A-Z_]*ZOOKEEPER_CONNECT="; exit 0'
)
PROCESS = f'p=$1; [ -d "/proc/$p" ] || exit {ABSENT}; {_TELL}'
"""What a process tells; `$1` is its pid: its command line, jars that it has open, variables."""
# The names in brackets are not found in the command line of this script.
PROCESS_WITH = (
    "for d in /proc/[0-9]*; do p=${d#/proc/};"
    ' if grep -qa "kafka[.]Kafka\\|Supported[K]afka" "$d/cmdline"'
    f' && grep -qaF "$1" "$d/cmdline"; then {_TELL}; fi; done; exit {ABSENT}'
)
"""The same of Kafka's process in a container; `$1` is its properties file."""
REMOVE = 'rm -rf -- "$1"'
_CONNECT = (
    "s=$(date +%s);"
    ' if command -v bash >/dev/null; then timeout 3 bash -c \': <>"/dev/tcp/$0/$1"\' "$h" "$p"'
    ' >/dev/null 2>&1; elif command -v nc >/dev/null; then timeout 3 nc -z "$h" "$p" >/dev/null'
    " 2>&1; else return; fi; c=$?; if [ $c = 0 ]; then w=open;"
    " elif [ $(($(date +%s) - s)) -ge 2 ]; then w=silent; else w=closed; fi"
)
REACH = (
    "look() { t=$1 p=${1##*:} h=${1%:*} w=untold a=-; h=${h#[}; h=${h%]};"
    " if command -v getent >/dev/null; then"
    ' a=$(getent ahosts "$h" | cut -d" " -f1 | sort -u | tr "\n" ,);'
    ' if [ -z "$a" ]; then echo "$t unresolved -"; return; fi; fi;'
    f' connect; echo "$t $w $a"; }}; connect() {{ {_CONNECT}; }};'
    ' for each; do look "$each" & done; wait'
)
"""What connections to the addresses `$@` came to, and the numbers of their names; a line for each.

Exit codes do not tell a refusal from silence, so the time that it took does.
"""
