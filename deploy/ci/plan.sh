#!/usr/bin/env bash
# Write what `tidegate apply` would change to a file, as a comment on a merge or pull request.
# Exits with 1 if the definitions can't be applied; the comment then has the findings.
#
#   plan.sh DEFINITIONS COMMENT
set -euo pipefail
definitions=$1 comment=$2

code=0
plan=$(NO_COLOR=1 tidegate apply --dry-run "$definitions" 2>&1) || code=$?
case $code in
  0) title="No changes" ;;
  2) title="Changes when merged" ;;
  *) title="Can't be applied" ;;
esac
printf '%s\n' "$plan"
# Four spaces make it a code block, whatever the definitions contain.
shown=$(sed 's/^/    /' <<<"$plan")
{
  printf '### Tidegate: %s\n\n%s\n' "$title" "${shown:0:60000}"
  # A comment holds 65,536 characters; the log of the job has all of them.
  if ((${#shown} > 60000)); then echo "    (cut; see the log of the job)"; fi
} >"$comment"
[[ $code -eq 0 || $code -eq 2 ]]
