"""The deep space as people run it: in the service, alone, with another model."""

import signal
import subprocess
import time

import pytest

from conftest import KEEPWORD, environment
from integration.embedding.endpoint import EmbeddingServer
from keepword.postgres import migrate
from patience import HANG_SECONDS, stretched

DEEP = "minilm-conversation-v1"
COUNT = "SELECT count(*) FROM vectors v JOIN spaces s ON s.id = v.space_id WHERE s.name = %s"


@pytest.fixture
def endpoint():
    made = EmbeddingServer()
    yield made
    made.stop()


def wait_for(condition, seconds=HANG_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def say(service, *texts):
    with service.client() as client:
        client.put("/v1/conversations/c", json={})
        batch = [{"role": "assistant", "content": text} for text in texts]
        assert client.post("/v1/conversations/c/messages", json=batch).status_code == 201


def vectors(service, space=DEEP):
    with migrate.owner(service.conninfo) as conn:
        return conn.execute(COUNT, (space,)).fetchone()[0]


def metric(service, line):
    with service.client() as client:
        found = [row for row in client.get("/metrics").text.splitlines() if row.startswith(f"{line} ")]
    return float(found[0].split()[-1]) if found else None


def test_the_service_embeds_what_it_is_told_and_stops_at_once(make_service):
    service = make_service(worker="true").start()
    say(service, "The harbour opens at nine.", "Bring the invoice.")
    wait_for(lambda: vectors(service) == 2)
    wait_for(lambda: metric(service, f'keepword_texts_embedded_total{{space="{DEEP}"}}') == 2)
    assert metric(service, f'keepword_backlog_entries{{space="{DEEP}",state="waiting"}}') == 0
    say(service, *["word " * 400] * 100)  # more than it can embed before it is stopped
    wait_for(lambda: vectors(service) > 2)
    started = time.monotonic()
    assert service.stop() == 0
    assert time.monotonic() - started < stretched(5)
    assert "Traceback" not in service.log()


def test_workers_alone_do_the_work_of_a_service_without_one(make_service, cli):
    service = make_service().start()
    say(service, "The harbour opens at nine.")
    assert metric(service, f'keepword_backlog_entries{{space="{DEEP}",state="waiting"}}') == 1
    env = environment(service.home)
    workers = [
        subprocess.Popen([KEEPWORD, "worker"], env=env, cwd="/", stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert all("worker runs" in worker.stdout.readline() for worker in workers)
    wait_for(lambda: vectors(service) == 1)
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    for worker in workers:
        assert worker.wait(stretched(5)) == 0
        worker.stdout.close()
    doctor = cli(service.home, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert f"the bundled model works: space {DEEP}" in " ".join(doctor.stdout.split())


def test_another_model_is_filled_while_the_old_one_serves_and_then_serves(make_service, cli, endpoint):
    service = make_service().start()
    say(service, "one", "two", "three")
    remote = {"embedding": "remote", "embedding_url": endpoint.url, "embedding_model": "tiny", "embedding_key": "sk-x"}
    sick = cli(service.home, "doctor", **remote)
    assert sick.returncode == 1
    assert f"searches use the space {DEEP}, and the settings choose tiny-8" in " ".join(sick.stdout.split())
    assert "sk-x" not in sick.stdout
    done = cli(service.home, "embed", "--space", "tiny-8", **remote)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "searches use the space tiny-8\n"
    assert vectors(service, "tiny-8") == 3
    unknown = cli(service.home, "embed", "--space", "other", **remote)
    assert unknown.returncode == 1
    assert f"there are: tiny-8, {DEEP}" in unknown.stderr


def test_without_an_embedder_there_is_nothing_to_fill(make_service, cli):
    service = make_service(worker="true", embedding="none").start()
    say(service, "one")
    wait_for(lambda: vectors(service, "instant-v1") == 1)
    assert vectors(service) == 0
    refused = cli(service.home, "embed", embedding="none")
    assert refused.returncode == 1
    assert "KEEPWORD_EMBEDDING" in refused.stderr
