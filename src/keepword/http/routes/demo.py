"""The demo's story in a tenant of its own, for who looks around on the service's machine."""

from collections.abc import Iterable

from fastapi import APIRouter, Request, Response

from keepword import story
from keepword.access import managed_keys
from keepword.answers import Demo, DemoRequest
from keepword.errors import Forbidden
from keepword.http import authorize
from keepword.http.guards import CallerDep
from keepword.http.peers import is_from_loopback
from keepword.http.problems import documented
from keepword.http.responses import respond
from keepword.story import StoryRequest

router = APIRouter(prefix="/v1/demo", tags=["operations"])


@router.post("", response_model=Demo, status_code=201, responses=documented(409))
async def open_demo(request: Request, caller: CallerDep) -> Response:
    """Open a tenant for the demo's story, by a key that works for a day; the requests that tell it are in the answer.

    There is one such tenant for each tenant. A key made for it before ends. `DELETE /v1/tenant` with its key erases it.
    """
    grant = authorize.as_owner(caller)
    if not is_from_loopback(request):
        raise Forbidden("this makes a tenant, which is done on the service's machine: keepword demo --to-service")
    services = caller.services
    now = services.clock()
    secret, opened = await managed_keys.open_demo(services.managed_keys, grant, now)
    told = (*story.set_up(), *(story.say(line, now) for line in story.LINES))
    demo = Demo(opened.name, secret.text, opened.is_told, _shown(told), _shown(story.questions()))
    answer = respond(Demo, demo, 201)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _shown(requests: Iterable[StoryRequest]) -> tuple[DemoRequest, ...]:
    return tuple(
        DemoRequest(one.method, one.path, dict(one.body) if one.body is not None else None) for one in requests
    )
