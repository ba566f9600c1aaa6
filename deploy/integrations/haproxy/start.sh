#!/bin/sh
# Runs HAProxy with the example until Ctrl-C.
set -eu
: "${TIDEGATE_KEY:?the API key that \`tidegate serve\` printed}"
export TIDEGATE_KEY PORT="${PORT:-8000}" SITE_PORT="${SITE_PORT:-8001}"
export TIDEGATE_LUA="$(dirname "$0")/tidegate.lua"
exec haproxy -db -f "$(dirname "$0")/haproxy.cfg"
