"""Signs deliveries as the Standard Webhooks specification says: HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
from datetime import datetime

from keepword.webhooks.events import SECRET_PREFIX


def sign(secret: str, id_: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver knows that the body is ours, and when it was sent."""
    timestamp = str(int(at.timestamp()))
    return {
        "webhook-id": id_,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{_digest(secret, id_, timestamp, body)}",
    }


def _digest(secret: str, id_: str, timestamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((id_.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
