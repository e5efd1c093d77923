"""A JSON:API client that nobody here wrote does all five operations."""

from uuid import uuid4

import httpx
import jsonapi_requests
import pytest
import requests
from jsonapi_requests import JsonApiObject
from jsonapi_requests.request_factory import ApiClientError

from patience import HANG_SECONDS

MEMORY = "User prefers invoices sorted by due_date ascending. Works in EUR and occasionally GBP. 🙂"


class Bearer(requests.auth.AuthBase):
    def __init__(self, key):
        self.key = key

    def __call__(self, request):
        request.headers["Authorization"] = f"Bearer {self.key}"
        return request


@pytest.fixture
def api(keyed_service):
    key = keyed_service.make_key(f"client-{uuid4().hex}")
    headers = {"Authorization": f"Bearer {key}"}
    assert (
        httpx.put(f"{keyed_service.url}/v1/users/ann", json={}, headers=headers, timeout=HANG_SECONDS).status_code
        == 201
    )
    config = {
        "API_ROOT": f"{keyed_service.url}/v1/",
        "AUTH": Bearer(key),
        "APPEND_SLASH": False,
        "TIMEOUT": HANG_SECONDS,
    }
    return jsonapi_requests.Api.config(config)


def linked(user):
    return {"membership": {"data": {"type": "membership", "id": user}}}


def test_create_list_retrieve_update_and_delete(api):
    new = JsonApiObject.from_data(
        {"type": "memory", "attributes": {"type": "user", "memory": MEMORY}, "relationships": linked("ann")}
    )
    made = api.endpoint("memories").post(object=new)
    assert made.status_code == 201
    id_ = made.data.id
    assert (made.data.type, made.data.attributes["memory"]) == ("memory", MEMORY)
    assert made.data.relationships["membership"].data.id == "ann"
    assert made.data.relationships["workspace"].data.type == "workspace"

    (listed,) = api.endpoint("memories").get(params={"filter[type]": "user", "sort": "-updated_at"}).data
    assert listed == made.data
    assert api.endpoint(f"memories/{id_}").get().data == made.data

    change = JsonApiObject(type="memory", id=id_, attributes={"memory": "something else"})
    changed = api.endpoint(f"memories/{id_}").patch(object=change)
    assert changed.status_code == 200
    assert changed.data.attributes["memory"] == "something else"
    assert changed.data.attributes["created_at"] == made.data.attributes["created_at"]

    assert api.endpoint(f"memories/{id_}").delete().status_code == 204
    assert list(api.endpoint("memories").get().data) == []


def test_the_client_understands_what_is_refused(api):
    with pytest.raises(ApiClientError) as refused:
        api.endpoint("memories").post(object=JsonApiObject(type="memory", attributes={"memory": MEMORY}))
    assert refused.value.status_code == 422
    with pytest.raises(ApiClientError) as refused:
        api.endpoint(f"memories/{uuid4()}").get()
    assert refused.value.status_code == 404


def test_the_clients_models_make_and_read_memories(api):
    orm = jsonapi_requests.orm.OrmApi(api)

    class Memory(jsonapi_requests.orm.ApiModel):
        class Meta:
            api = orm
            type = "memory"
            path = "memories"

        memory = jsonapi_requests.orm.AttributeField("memory")
        kind = jsonapi_requests.orm.AttributeField("type")

    made = Memory()
    made.memory, made.kind = MEMORY, "workspace"
    made.save()
    (found,) = Memory.get_list()
    assert (found.memory, found.kind) == (MEMORY, "workspace")
