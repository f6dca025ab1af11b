"""A Prometheus of one's own, and its HTTP API."""

import json
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Prometheus:
    """Scrapes one target every second, as job `forebay`."""

    def __init__(self, target):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "prometheus.yml"
        config.write_text(
            json.dumps(
                {
                    "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "2s"},
                    "rule_files": [str(ROOT / "dashboards" / "rules.yml")],
                    "scrape_configs": [{"job_name": "forebay", "static_configs": [{"targets": [target]}]}],
                }
            )
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={self.folder.name}/data",
                f"--web.listen-address={self.address}",
            ],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        for _ in range(100):
            try:
                get(f"http://{self.address}/-/ready")
                return self
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        self.log.seek(0)
        raise RuntimeError("Prometheus does not start: " + self.log.read()[-2000:])

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        self.folder.cleanup()

    def ask(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        answer = json.loads(get(f"http://{self.address}/api/v1/{path}?{query}"))
        if answer["status"] != "success":
            raise RuntimeError(f"{path} {parameters}: {answer}")
        return answer["data"]

    def query(self, expression):
        return self.ask("query", query=expression)["result"]

    def samples(self, metric, window="10m"):
        """Every stored sample: {time: {labels without the target's: value}}."""
        found = {}
        for series in self.query(f"{metric}[{window}]"):
            labels = {k: v for k, v in series["metric"].items() if k not in ("__name__", "instance", "job")}
            key = tuple(sorted(labels.items()))
            for at, value in series["values"]:
                found.setdefault(at, {})[key] = float(value)
        return found
