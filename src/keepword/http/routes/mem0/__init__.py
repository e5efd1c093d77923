"""What mem0's hosted client calls: its paths, its shapes and its errors over Keepword's memories."""

from fastapi import APIRouter

from keepword.http.routes.mem0 import adding, changing, managing, reading, webhooks

router = APIRouter(tags=["mem0"])
for part in (adding, reading, changing, managing, webhooks):
    router.include_router(part.router)
