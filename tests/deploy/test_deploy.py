"""The files under deploy/, started or verified by their own programs where these are there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tidegate_server.settings.checking import fields_of
from tidegate_server.settings.environment import variable_of
from tidegate_server.settings.whole import Settings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
VARIABLES = {variable_of(name) for name, _ in fields_of(Settings)}


TESTS: Mapping[str, str] = {
    "Caddyfile": "deploy/test_proxy.py",
    "compose.yaml": "deploy/test_proxy.py",
    "compose-cluster.yaml": "deploy/test_compose_cluster.py",
    "Containerfile": "deploy/test_container.py",
    "requirements.txt": "deploy/test_locked.py",
    "python.cdx.json": "deploy/test_locked.py",
    "tidegate.service": "deploy/test_deploy.py",
    "systemd/*": "deploy/test_deploy.py",
    "hybrid/*": "deploy/test_deploy.py",
    "helm/**/*": "deploy/test_deploy.py",
    "grafana/*": "deploy/test_deploy.py",
    "prometheus/*": "deploy/test_deploy.py",
    "integrations/nginx/include/*": "integrations/test_nginx_include.py",
    "integrations/caddy/Caddyfile.fail-open": "integrations/test_fail_open.py",
    "ci/*": "deploy/test_ci.py",
    "integrations/traefik/*": "integrations/test_traefik.py",
    "integrations/javascript/**/*": "integrations/edges.py",
    "integrations/*/*": "integrations/edges.py",
}
"""The tests that start or read the files, by patterns; the first that fits counts."""


def run(*command: str, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)


def engine() -> str:
    """Docker or Podman, with what it needs to run; skips the test where neither is there."""
    for name in ("docker", "podman"):
        if shutil.which(name) and run(name, "info").returncode == 0:
            return name
    pytest.skip("neither docker (with its daemon) nor podman is on this machine")


def test_every_file_has_a_test() -> None:
    """The test names the file, or the folder of an example."""
    for path in DEPLOY.rglob("*"):
        place = path.relative_to(DEPLOY)
        if path.is_dir() or {"node_modules", "__pycache__"} & set(place.parts):
            continue
        test = next((test for pattern, test in TESTS.items() if _fits(place, pattern)), None)
        assert test is not None, f"no test is named for {place}"
        text = (DEPLOY.parent / "tests" / test).read_text()
        parts = {*place.parts} - {"integrations"}
        is_named = any(part in text for part in parts)
        assert is_named, f"{test} doesn't use {place}"


def _fits(place: Path, pattern: str) -> bool:
    if "**" in pattern:
        return str(place).startswith(pattern.partition("**")[0])
    return place.match(pattern) and len(place.parts) == pattern.count("/") + 1


def test_every_variable_is_a_setting() -> None:
    """A misspelt variable would be passed over in silence."""
    named = {
        name
        for folder in ("*", "systemd/*", "hybrid/*", "helm/**/*")
        for path in DEPLOY.glob(folder)
        if path.is_file()
        for name in re.findall(r"\bTIDEGATE_[A-Z_]+", path.read_text())
    }
    assert named <= VARIABLES | {"TIDEGATE_HOME", "TIDEGATE_KEY"}
    assert "TIDEGATE_STORE_DIRECTORY" in named


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path, process: None) -> None:
    """No unknown key and no bad value, as ``systemd-analyze verify`` finds them."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    for path, started in (
        (DEPLOY / "tidegate.service", "tidegate.service"),
        (DEPLOY / "systemd/tidegate@.service", "tidegate@a.service"),
        (DEPLOY / "hybrid/tidegate-daemon.service", "tidegate-daemon.service"),
        (DEPLOY / "hybrid/tidegate-capture.service", "tidegate-capture.service"),
    ):
        unit = tmp_path / path.name
        text = path.read_text()
        unit.write_text(text.replace("/opt/tidegate/bin/tidegate", sys.executable))
        done = run("systemd-analyze", "verify", str(tmp_path / started))
        assert done.returncode == 0, done.stderr
        assert "Unknown" not in done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "tidegate.service",
        "systemd/tidegate@.service",
        "hybrid/tidegate-daemon.service",
        "hybrid/tidegate-capture.service",
    ],
)
def test_the_unit_is_hardened(name: str, process: None) -> None:
    """The exposure that ``systemd-analyze security`` counts, of 10, is below 2."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    unit = str(DEPLOY / name)
    done = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze knows no --offline")
    assert done.returncode == 0, done.stdout[-300:]


def test_the_capture_has_two_capabilities_and_removes_its_table() -> None:
    """Of root's rights it has those of packet sockets and of nftables; a kill leaves no table."""
    text = (DEPLOY / "hybrid/tidegate-capture.service").read_text()
    rights = re.findall(r"^(?:CapabilityBoundingSet|AmbientCapabilities)=(.*)$", text, re.MULTILINE)
    assert rights == ["CAP_NET_ADMIN CAP_NET_RAW"] * 2
    assert re.search(r"^User=tidegate$", text, re.MULTILINE)
    assert re.search(r"^ExecStopPost=.*nft delete table inet tidegate$", text, re.MULTILINE)


def test_the_container_of_a_daemon_serves_others_over_tls_alone() -> None:
    """Its address is one that other containers reach, and it names a certificate."""
    text = (DEPLOY / "hybrid/Dockerfile").read_text()
    assert "TIDEGATE_DAEMON_HOST=0.0.0.0" in text
    assert "TIDEGATE_DAEMON_TLS_CERTIFICATE=" in text
    assert "TIDEGATE_DAEMON_TLS_KEY=" in text
    # A token in an image would be everybody's.
    assert "TIDEGATE_DAEMON_TOKEN=" not in text


def test_the_compose_file_is_one_that_compose_takes(process: None) -> None:
    """Every key and reference, as ``docker compose config`` finds them."""
    if shutil.which("docker") is None or run("docker", "compose", "version").returncode != 0:
        pytest.skip("docker compose is not on this machine")
    for name in ("compose.yaml", "compose-cluster.yaml"):
        command = ("docker", "compose", "-f", str(DEPLOY / name), "config", "--quiet")
        done = run("env", "POSTGRES_PASSWORD=secret", *command)
        assert done.returncode == 0, done.stderr


def test_the_nodes_of_the_compose_file_share_a_database_and_keys() -> None:
    """Each has a name and an address of its own, and node b waits for the keys of node a."""
    compose = yaml.safe_load((DEPLOY / "compose-cluster.yaml").read_text())
    services = compose["services"]
    for name in "ab":
        assert services[name]["command"] == f"serve --node-name {name} --node-address {name}:7400"
        assert "@primary,standby/" in services[name]["environment"]["TIDEGATE_STORE_URL"]
    assert services["b"]["depends_on"].keys() == {"keys"}
    assert services["keys"]["volumes"] == ["a:/from:ro", "b:/var/lib/tidegate"]


def rendered(template: str) -> list[Any]:
    """The objects of a template of the chart, which uses four forms of Helm's language alone."""
    values = yaml.safe_load((DEPLOY / "helm/values.yaml").read_text())

    def value(found: re.Match[str]) -> str:
        return json.dumps(values[found[1]])

    text = template.replace("{{ .Release.Name }}", "tidegate")
    text = re.sub(r"{{- \.Values\.(\w+) \| toYaml \| nindent \d+ }}", value, text)
    text = re.sub(r"{{ \.Values\.(\w+)(?: \| quote)? }}", value, text)
    assert "{{" not in text
    return list(yaml.safe_load_all(text))


def test_the_chart_makes_nodes_that_hand_over_one_after_the_other() -> None:
    """Ports, names and labels fit together; at most one node is taken out at a time."""
    found = {
        (each["kind"], each["metadata"]["name"]): each["spec"]
        for path in (DEPLOY / "helm/templates").iterdir()
        for each in rendered(path.read_text())
    }
    nodes = found["StatefulSet", "tidegate"]
    (container,) = nodes["template"]["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    address = next(each for each in container["env"] if each["name"] == "TIDEGATE_NODE_ADDRESS")
    assert address["value"] == f"$(POD_IP):{ports['nodes']}"
    labels = nodes["template"]["metadata"]["labels"]
    assert nodes["selector"]["matchLabels"] == labels
    assert nodes["serviceName"] == "tidegate-nodes"
    for name in ("tidegate", "tidegate-nodes"):
        service = found["Service", name]
        assert service["selector"] == labels
        assert {each["targetPort"] for each in service["ports"]} <= ports.keys()
    disruption = found["PodDisruptionBudget", "tidegate"]
    assert disruption == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    assert nodes["template"]["spec"]["terminationGracePeriodSeconds"] >= 60


def test_the_chart_keeps_strangers_from_the_port_for_nodes() -> None:
    """Nodes alone reach it; the port for callers is open."""
    (policy,) = rendered((DEPLOY / "helm/templates/network.yaml").read_text())
    (nodes,) = rendered((DEPLOY / "helm/templates/nodes.yaml").read_text())
    labels = nodes["spec"]["template"]["metadata"]["labels"]
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"]["podSelector"] == {"matchLabels": labels}
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["ingress"] == [
        {"ports": [{"port": "http"}]},
        {"ports": [{"port": "nodes"}], "from": [{"podSelector": {"matchLabels": labels}}]},
    ]


def test_the_chart_migrates_before_the_first_node_is_replaced() -> None:
    """A job of the new image has the keys and the database of the nodes."""
    templates = DEPLOY / "helm/templates"
    (job,) = rendered((templates / "migration.yaml").read_text())
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade"
    (nodes,) = rendered((templates / "nodes.yaml").read_text())
    migrating, serving = (each["spec"]["template"]["spec"] for each in (job, nodes))
    assert migrating["initContainers"] == serving["initContainers"]
    assert migrating["volumes"] == serving["volumes"]
    assert migrating["securityContext"] == serving["securityContext"]
    (container,), (node,) = migrating["containers"], serving["containers"]
    assert container["args"] == ["migrate"]
    for each in container["env"]:
        assert each in node["env"]
    assert {each["name"] for each in container["env"]} == {
        "TIDEGATE_STORE_DIRECTORY",
        "TIDEGATE_STORE_URL",
    }
    assert all(each in node["volumeMounts"] for each in container["volumeMounts"])


def test_the_container_serves(process: None) -> None:
    """Built of a wheel of this tree, it becomes healthy and ends by a stop."""
    program = engine()
    wheels = sorted((DEPLOY.parent / "dist").glob("tidegate-*-manylinux*.whl"))
    if not wheels:
        pytest.skip("there is no wheel in dist/: `make wheels` makes one")
    built = run(program, "build", "-q", "-f", str(DEPLOY / "Containerfile"), str(wheels[-1].parent))
    assert built.returncode == 0, built.stderr
    image = built.stdout.strip()
    started = run(
        program, "run", "-d", "--rm", "-e", "TIDEGATE_SERVER_BEHIND_PROXY=true", image
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    try:
        for _ in range(60):
            healthy = run(program, "exec", name, "tidegate", "healthcheck")
            if healthy.returncode == 0:
                break
        assert healthy.returncode == 0, healthy.stderr
    finally:
        run(program, "stop", name)
        run(program, "rmi", image)


GRAFANA_VARIABLES = {"$__rate_interval": "5m", "$__range": "1h"}


def asked_of_prometheus(expression: str) -> set[str]:
    """The metrics that an expression reads; parsed as Prometheus parses it."""
    for name, value in GRAFANA_VARIABLES.items():
        expression = expression.replace(name, value)
    promql_parser.parse(expression)
    return {
        name.removesuffix("_bucket")
        for name in re.findall(r"\b(?:tidegate|process)_\w+", expression)
    }


def documented() -> set[str]:
    """The metrics in the tables of the pages about service and daemon."""
    row = re.compile(r"^\| `(\w+)` \| (?:gauge|counter|histogram|summary) ", re.MULTILINE)
    pages = (DEPLOY.parent / "docs" / name for name in ("service.md", "hybrid.md"))
    return {name for page in pages for name in row.findall(page.read_text())}


def test_the_dashboard_shows_figures_that_are_there() -> None:
    """Each expression parses, and each metric in it is documented."""
    dashboard = json.loads((DEPLOY / "grafana/tidegate.json").read_text())
    panels = dashboard["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    named = {
        metric
        for panel in panels
        for target in panel["targets"]
        for metric in asked_of_prometheus(target["expr"])
    }
    assert named
    assert named <= documented()


def test_alerting_rules_are_about_figures_that_are_there() -> None:
    """Each rule has an expression that parses, documented metrics, a severity and a summary."""
    groups = yaml.safe_load((DEPLOY / "prometheus/tidegate.rules.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        metrics = asked_of_prometheus(rule["expr"])
        assert metrics, rule["alert"]
        assert metrics <= documented()
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"]["summary"]
