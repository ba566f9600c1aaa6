#!/bin/sh
# Fills in the settings and runs Envoy with them until Ctrl-C.
set -eu
: "${TIDEGATE_KEY:?the API key that \`tidegate serve\` printed}"
settings=$(sed -e "s|\${TIDEGATE_KEY}|$TIDEGATE_KEY|" -e "s|\${PORT}|${PORT:-8000}|" \
  -e "s|\${TIDEGATE_HOST}|${TIDEGATE_HOST:-127.0.0.1}|" \
  -e "s|\${TIDEGATE_PORT}|${TIDEGATE_PORT:-8080}|" "$(dirname "$0")/envoy.yaml")
file=$(mktemp)
mv "$file" "$file.yaml"
printf '%s\n' "$settings" >"$file.yaml" # mktemp made it readable for its owner alone
exec "${ENVOY:-envoy}" --config-path "$file.yaml" --log-level warning --use-dynamic-base-id
