"""The commands of ``tidegate`` by what they are for, with the sentences of the general help.

The sentences are here, so that the help need not import the commands: that took six times as long.
"""

from __future__ import annotations

from collections.abc import Mapping

PLACES = {
    "try": "tidegate.cli.packs.try_:try_",
    "demo": "tidegate.cli.demo:demo",
    "packs": "tidegate.cli.packs.packs:packs",
    "lists": "tidegate.cli.packs.lists:lists",
    "check": "tidegate.cli.check:check",
    "lint": "tidegate.cli.lint:lint",
    "fmt": "tidegate.cli.format:format_",
    "test": "tidegate.cli.policies.test:test",
    "coverage": "tidegate.cli.policies.coverage:coverage",
    "keys": "tidegate.cli.keys:keys",
    "bench": "tidegate.cli.policies.bench:bench",
    "schema": "tidegate.cli.schema:schema",
    "lsp": "tidegate.lsp.command:lsp",
    "explain-code": "tidegate.cli.findings.explain_code:explain_code",
    "decide": "tidegate.cli.decide:decide",
    "explain": "tidegate.cli.explain:explain",
    "eval": "tidegate.cli.evaluate:evaluate",
    "repl": "tidegate.repl.command:repl",
    "mapping": "tidegate.cli.mapping:mapping",
}
"""The place of each command of this distribution."""

_LIBRARY: Mapping[str, Mapping[str, str]] = {
    "Start here": {
        "try": "Show the answers that packs would have given to a log; no document is needed.",
        "demo": "Decide the bundled sample traffic and explain one block.",
    },
    "Write policies": {
        "packs": "Add ready policies to a definitions document, and keep them up to date.",
        "lists": "Refresh the lists of a definitions document from their published sources.",
        "check": "Check definitions documents or expressions; findings have their place.",
        "lint": "Find what definitions documents say but can't do, and what traffic shows.",
        "fmt": "Format the expressions of definitions documents, or single expressions.",
        "test": "Run the tests of policies in files, folders and patterns.",
        "coverage": "Report which clauses and which parts of expressions events exercise.",
        "keys": "Judge the keys of entity definitions by events.",
        "bench": "Measure how fast definitions decide, and which expressions take the most work.",
        "schema": "Print the JSON Schema of definitions documents or of tests, for an editor.",
        "lsp": "Serve an editor: findings, completions, hovers, renames (needs tidegate[lsp]).",
        "explain-code": "Explain the code of a finding, a refusal or a reason; list all codes.",
    },
    "Decide events": {
        "decide": "Decide each line of events or of an access log by definitions.",
        "explain": "Explain one decision: every condition, value and window.",
        "eval": "Evaluate an expression over each line of events, and print the values.",
        "repl": "Evaluate expressions as you type them, against an event (needs tidegate[repl]).",
        "mapping": "Show, check and guess mappings for logs in JSON and CSV.",
    },
}
SERVICE: Mapping[str, Mapping[str, str]] = {
    "Try definitions": {"play": "Try definitions on events on a local page, as you type."},
    "Run the service": {
        "serve": "Serve decisions and their control plane over HTTP.",
        "config": "Show the settings of the service.",
        "healthcheck": "Exit with 0 if the server can decide, with 1 otherwise.",
        "migrate": "Create a data directory, or upgrade it to this version.",
        "verify": "Compare the data directory with its checksums, next to a server or not.",
        "backup": "Copy the data directory into DIRECTORY, next to a running server or not.",
        "restore": "Make the data directory from the backup in DIRECTORY.",
        "cluster": "Show the nodes that share a database, move partitions, drain a node.",
        "operator": "Manage operators in this machine's database.",
    },
    "Use a service": {
        "tenant": "Create and list tenants of a running service.",
        "api-key": "Create, list and revoke the keys that sources of events call with.",
        "ban": "Block a network or an entity for a time, with a reason.",
        "allow": "Let a network or an entity through for a time, with a reason.",
        "override": "List and end what was banned or let through by hand.",
        "apply": "Replace a tenant's definitions by those of a document, and print the changes.",
        "export": "Print a tenant's definitions as a document that `tidegate apply` takes.",
        "record": "Write a test from a recorded decision, with the events that its windows needed.",
    },
    "Decide next to your proxy": {
        "init": "Create the folder of a daemon, and connect it to a service.",
        "sync": "Fetch a tenant's definitions to this machine.",
        "run": "Decide on this machine by the definitions of a service.",
        "status": "Show the state of the daemon on this machine.",
        "capture": "Read requests from the network or from access logs.",
    },
}
"""The commands that tidegate-server adds."""
GROUPS: Mapping[str, Mapping[str, str]] = {**_LIBRARY, **SERVICE}
"""All commands, in the order of the help."""
SENTENCES = {name: text for group in GROUPS.values() for name, text in group.items()}
EXAMPLES = (
    "tidegate try access.log",
    "tidegate decide shop.yaml access.log --summary",
    "tidegate serve --demo",
)
"""The first commands of somebody who measures, writes policies, or operates a service."""
EXAMPLE_OF = {
    "try": "tidegate try access.log",
    "demo": "tidegate demo",
    "packs": "tidegate packs add credential-stuffing --to shop.yaml",
    "lists": "tidegate lists refresh shop.yaml",
    "check": "tidegate check policies/ --warnings-as-errors",
    "lint": "tidegate lint shop.yaml --events access.log",
    "fmt": "tidegate fmt --check policies/",
    "test": "tidegate test policies/",
    "coverage": "tidegate coverage shop.yaml access.log --fail-under 80",
    "keys": "tidegate keys shop.yaml access.log",
    "bench": "tidegate bench shop.yaml access.log",
    "schema": "tidegate schema > tidegate.schema.json",
    "lsp": "tidegate lsp",
    "explain-code": "tidegate explain-code unknown-field",
    "decide": "tidegate decide shop.yaml access.log access.log.1.gz --summary",
    "explain": "tidegate explain shop.yaml access.log --line 6",
    "eval": "tidegate eval 'request.path' access.log --summary",
    "repl": "tidegate repl access.log",
    "mapping": "tidegate mapping guess app.log > mapping.yaml",
    "play": "tidegate play shop.yaml access.log",
    "serve": "tidegate serve --demo",
    "config": "tidegate config show",
    "healthcheck": "tidegate healthcheck --url http://127.0.0.1:8080",
    "migrate": "tidegate migrate",
    "verify": "tidegate verify --store-directory /backups/monday",
    "backup": "tidegate backup /backups/monday",
    "restore": "tidegate restore /backups/monday",
    "cluster": "tidegate cluster status",
    "operator": "tidegate operator create ann@example.com",
    "tenant": "tidegate tenant create shop",
    "api-key": "tidegate api-key create web --expires 90d",
    "ban": "tidegate ban 192.0.2.7 --for 2h --reason 'scans for logins'",
    "allow": "tidegate allow 192.0.2.0/24 --for 1h --reason 'our own scanner'",
    "override": "tidegate override end 192.0.2.7",
    "apply": "tidegate apply shop.yaml --dry-run",
    "export": "tidegate export -o shop.yaml",
    "record": "tidegate record --decision 0199f2a1-6c1e-7d53-9a01-5f7e6c0f4b21 --to complaint.yaml",
    "init": "tidegate init --server",
    "sync": "tidegate sync",
    "run": "tidegate run",
    "status": "tidegate status --json",
    "capture": "tidegate capture run --source access-log --file /var/log/nginx/access.log",
}
"""How each command is called, for the end of its help."""
