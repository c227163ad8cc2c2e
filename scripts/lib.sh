# What the scripts share; read by them, not run. Expects to stand in the repository's root.

OLDEST_PYTHON=3.11
OLDEST_JAVA=17

fail() { # what is wrong, how to get it
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 2
}

home_folder() { # prints the folder of what is kept between runs, as towpath.runtime.home has it
  echo "${TOWPATH_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/towpath}"
}

say() { printf "%s\n" "$@" >&2; }

find_python() { # prints the command of a Python that is new enough
  local name
  for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$name" -c "import sys; sys.exit(sys.version_info < (${OLDEST_PYTHON/./, }))" 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  fail "no Python $OLDEST_PYTHON or newer was found (looked for: ${PYTHON:-python3, python3.14 to python3.11})" \
    'Debian, Ubuntu: apt install python3 python3-venv' \
    'Fedora:         dnf install python3' \
    'macOS:          brew install python@3.12' \
    'or name one:    PYTHON=/path/to/python3 scripts/...'
}

check_java() {
  local java=java text major
  if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; fi
  command -v "$java" >/dev/null || no_java "no Java was found (looked for $java)"
  # Some commands of this name only say that there is no Java.
  text=$("$java" -version 2>&1) || no_java "$java -version answered: $text"
  major=$(sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' <<<"$text" | head -n 1)
  [ "${major:-0}" -ge "$OLDEST_JAVA" ] ||
    no_java "$java is Java ${major:-of an unknown version}, Kafka and Spark need $OLDEST_JAVA or newer"
}

no_java() {
  fail "$1" \
    'Debian, Ubuntu: apt install openjdk-17-jre-headless' \
    'Fedora:         dnf install java-21-openjdk-headless' \
    'macOS:          brew install openjdk@17' \
    'and put it on PATH, or its folder into JAVA_HOME'
}
