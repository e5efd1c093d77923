"""Things of which people use or prefer one at a time, by category: naming another of them ends the first."""

from collections.abc import Mapping
from functools import cache

from keepword.embedding.words import surfaces
from keepword.language.names import fold

_CATEGORIES = {
    "database": "postgres postgresql mysql mariadb sqlite oracle mongodb mongo cassandra dynamodb cockroachdb duckdb "
    "clickhouse couchdb firestore db2 mssql",
    "cache": "redis valkey memcached dragonfly hazelcast",
    "broker": "kafka rabbitmq nats pulsar sqs activemq kinesis",
    "cloud": "aws azure gcp hetzner digitalocean heroku ovh linode vercel netlify scaleway",
    "ci": "jenkins circleci travis buildkite teamcity drone",
    "tracker": "jira linear asana trello redmine bugzilla youtrack shortcut notion",
    "chat": "slack teams discord mattermost zulip whatsapp telegram signal",
    "video": "zoom meet webex jitsi",
    "host": "github gitlab bitbucket gitea codeberg",
    "editor": "vim neovim emacs nano vscode sublime helix pycharm intellij zed cursor",
    "frontend": "react vue svelte angular solid ember preact",
    "web": "django flask fastapi rails laravel express spring",
    "language": "python rust go java kotlin typescript javascript ruby php swift scala elixir haskell zig",
    "payment": "stripe adyen paypal braintree mollie square",
    "orchestration": "kubernetes nomad swarm ecs",
    "provisioning": "terraform pulumi ansible chef puppet cloudformation",
    "packaging": "pip poetry uv pdm conda npm yarn pnpm",
    "system": "linux windows macos ubuntu debian fedora arch",
    "phone": "android iphone ios pixel",
    "browser": "firefox chrome safari edge brave opera",
    "drink": "tea coffee espresso cappuccino latte matcha cocoa",
    "tongue": "english german french spanish portuguese italian dutch polish russian chinese japanese arabic turkish",
    "indent": "tabs spaces",
}


@cache
def _by_word() -> Mapping[str, str]:
    return {word: name for name, words in _CATEGORIES.items() for word in words.split()}


def category(text: str) -> str | None:
    """Return the category of the first word that has one."""
    known = _by_word()
    return next((known[word] for word in surfaces(fold(text)) if word in known), None)
