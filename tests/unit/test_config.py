import pytest

from keepword.config import PREFIX, Settings, read_settings, unprefixed, variable
from keepword.errors import BadSettings, NotFound


def test_everything_has_a_default(tmp_path):
    found = read_settings({}, tmp_path)
    assert (found.settings.host, found.settings.port) == ("127.0.0.1", 8002)
    assert found.settings.home.is_absolute()
    assert set(found.origins.values()) == {"default"}
    assert set(found.origins) == set(Settings.model_fields)


def test_a_variable_wins_over_the_file_and_each_knows_its_origin(tmp_path):
    (tmp_path / "keepword.toml").write_text('port = 9000\nhost = "::1"\nlog_level = "debug"\n')
    found = read_settings({"KEEPWORD_PORT": "9001", "PORT": "1", "UNRELATED": "x"}, tmp_path)
    assert (found.settings.port, found.settings.host, found.settings.log_level) == (9001, "::1", "debug")
    assert found.origins["port"] == "KEEPWORD_PORT"
    assert found.origins["host"] == str(tmp_path / "keepword.toml")
    assert found.origins["home"] == "default"


@pytest.mark.parametrize("name", ["KEEPWORD_PROT", "KEEPWORD_", "KEEPWORD_port", "KEEPWORD_HOME_DIR"])
def test_an_unknown_variable_is_an_error_that_lists_the_known(tmp_path, name):
    with pytest.raises(BadSettings, match=f"{name};.*KEEPWORD_PORT"):
        read_settings({name: "1"}, tmp_path)


def test_a_misspelt_setting_is_told_which_one_was_probably_meant(tmp_path):
    with pytest.raises(BadSettings, match=r"unknown setting KEEPWORD_PROT; did you mean KEEPWORD_PORT\? There are: "):
        read_settings({"KEEPWORD_PROT": "1"}, tmp_path)
    (tmp_path / "keepword.toml").write_text("prot = 1")
    with pytest.raises(BadSettings, match=r"unknown setting prot in .*; did you mean port\? There are: "):
        read_settings({}, tmp_path)


def test_a_setting_without_its_prefix_is_noticed_unless_it_is_there_with_it_too():
    set_ = {"DATABASE_URL": "x", "REDIS_URL": "y", "KEEPWORD_REDIS_URL": "z", "HOME": "/root", "HOST": "me", "PATH": ""}
    assert unprefixed(set_) == ["database_url"]
    assert unprefixed({"TOOL_SYNTH_MODEL": "tiny"}) == []


@pytest.mark.parametrize("text", ["prot = 1", "[server]\nport = 1", "KEEPWORD_PORT = 1", "Port = 1"])
def test_an_unknown_key_in_the_file_is_an_error_that_names_the_file(tmp_path, text):
    (tmp_path / "keepword.toml").write_text(text)
    with pytest.raises(BadSettings, match=r"unknown setting .*keepword\.toml.*port"):
        read_settings({}, tmp_path)


@pytest.mark.parametrize("raw", [b"port = ", b"port = 1\nport = 2", b"\xff\xfe", b"port = 1 2"])
def test_a_file_that_is_not_toml_is_an_error_that_names_it(tmp_path, raw):
    (tmp_path / "keepword.toml").write_bytes(raw)
    with pytest.raises(BadSettings, match=r"keepword\.toml is not valid TOML"):
        read_settings({}, tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("port", "x", "integer"),
        ("port", "65536", "65535"),
        ("port", "-1", "0"),
        ("port", "", "integer"),
        ("host", "", "1 character"),
        ("pool_size", "0", "1"),
        ("pool_size", "501", "500"),
        ("request_timeout_seconds", "0", "greater than 0"),
        ("request_timeout_seconds", "nan", "3600"),
        ("request_timeout_seconds", "inf", "3600"),
        ("statement_timeout_seconds", "soon", "number"),
        ("log_level", "loud", "'debug', 'info'"),
        ("url", "not a url", "URL"),
        ("url", "ftp://x", "http"),
    ],
)
def test_a_bad_value_is_an_error_with_the_key_the_value_and_what_is_allowed(tmp_path, key, value, allowed):
    with pytest.raises(BadSettings) as caught:
        read_settings({variable(key): value}, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{variable(key)} is {value!r} (from {variable(key)})")
    assert allowed in said


def test_a_bad_value_in_the_file_says_so(tmp_path):
    (tmp_path / "keepword.toml").write_text("port = 70000")
    with pytest.raises(BadSettings, match=r"KEEPWORD_PORT is 70000 \(from .*keepword\.toml\)"):
        read_settings({}, tmp_path)


def test_all_bad_values_are_named_at_once(tmp_path):
    with pytest.raises(BadSettings) as caught:
        read_settings({"KEEPWORD_PORT": "x", "KEEPWORD_LOG_LEVEL": "y"}, tmp_path)
    assert str(caught.value).count("\n") == 1


def test_a_secret_shows_neither_in_errors_nor_in_what_is_printed(tmp_path):
    with pytest.raises(BadSettings) as caught:
        read_settings({"KEEPWORD_DATABASE_URL": "mysql://me:hunter2@db/x"}, tmp_path)
    assert "KEEPWORD_DATABASE_URL" in str(caught.value)
    assert "postgresql://" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    found = read_settings(
        {"KEEPWORD_DATABASE_URL": "postgresql://me:hunter2@db/x", "KEEPWORD_KEY": "kw_hunter2"}, tmp_path
    )
    assert "hunter2" not in repr(found)
    assert "hunter2" not in str(found.settings)


def test_settings_do_not_change(tmp_path):
    with pytest.raises(ValueError, match="frozen"):
        read_settings({}, tmp_path).settings.port = 1


def test_home_may_be_relative_or_start_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/somewhere")
    assert read_settings({"KEEPWORD_HOME": "data"}, tmp_path).settings.home == tmp_path / "data"
    assert str(read_settings({"KEEPWORD_HOME": "~/data"}, tmp_path).settings.home) == "/somewhere/data"


def test_every_setting_is_described_and_spelled_like_the_others():
    for name, field in Settings.model_fields.items():
        assert field.description
        assert name == name.lower()
        assert variable(name).startswith((PREFIX, "TOOL_SYNTH_"))


def test_a_remote_embedder_needs_its_address_and_its_model(tmp_path):
    given = {"KEEPWORD_EMBEDDING": "remote", "KEEPWORD_EMBEDDING_URL": "https://api.example.com/v1"}
    with pytest.raises(BadSettings, match="KEEPWORD_EMBEDDING_MODEL"):
        read_settings(given, tmp_path)
    assert read_settings(given | {"KEEPWORD_EMBEDDING_MODEL": "m"}, tmp_path).settings.embedding == "remote"


@pytest.mark.parametrize("address", ["https://me:hunter2@api.example.com/v1", "https://api.example.com/v1?key=hunter2"])
def test_a_secret_in_the_embedders_address_is_refused_and_not_shown(tmp_path, address):
    with pytest.raises(BadSettings, match="KEEPWORD_EMBEDDING_KEY") as caught:
        read_settings({"KEEPWORD_EMBEDDING_URL": address}, tmp_path)
    assert "hunter2" not in str(caught.value)


def test_the_tool_models_settings_keep_the_names_that_they_are_known_by(tmp_path):
    env = {"TOOL_SYNTH_ENDPOINT": "http://127.0.0.1:1/v1", "TOOL_SYNTH_MODEL": "small", "KEEPWORD_LLM_KEY": "sk-1"}
    found = read_settings(env, tmp_path)
    assert str(found.settings.tool_synth_endpoint) == "http://127.0.0.1:1/v1"
    assert found.settings.tool_synth_model == "small"
    assert found.origins["tool_synth_model"] == "TOOL_SYNTH_MODEL"
    assert "sk-1" not in str(found.settings)


def test_a_models_key_that_no_header_can_carry_is_refused_without_showing_it(tmp_path):
    with pytest.raises(BadSettings, match=r"KEEPWORD_LLM_KEY is \(hidden\)"):
        read_settings({"KEEPWORD_LLM_KEY": "a\nb"}, tmp_path)


def test_more_fields_for_a_models_requests_are_a_json_object(tmp_path):
    given = {"KEEPWORD_LLM_EXTRA_BODY": '{"reasoning_effort": "high"}'}
    assert read_settings(given, tmp_path).settings.llm_extra_body == {"reasoning_effort": "high"}
    (tmp_path / "keepword.toml").write_text('[llm_extra_body]\nreasoning_effort = "high"\n')
    assert read_settings({}, tmp_path).settings.llm_extra_body == {"reasoning_effort": "high"}
    for bad, why in (("high", "JSON object"), ("[1]", "JSON object"), ('{"messages": []}', "may not hold messages")):
        with pytest.raises(BadSettings, match=f"KEEPWORD_LLM_EXTRA_BODY .*{why}"):
            read_settings({"KEEPWORD_LLM_EXTRA_BODY": bad}, tmp_path)


@pytest.mark.parametrize(
    "setting", ["KEEPWORD_LLM_URL", "TOOL_SYNTH_ENDPOINT", "KEEPWORD_URL", "KEEPWORD_EMBEDDING_URL"]
)
@pytest.mark.parametrize("address", ["http://me:hunter2@h/v1", "http://h/v1?api_key=hunter2"])
def test_a_secret_in_an_address_is_refused_and_not_shown(tmp_path, setting, address):
    with pytest.raises(BadSettings, match="a key belongs into KEEPWORD_") as refused:
        read_settings({setting: address}, tmp_path)
    assert "hunter2" not in str(refused.value)


def test_authorization_servers_are_addresses_with_commas_or_blanks_between(tmp_path):
    given = {"KEEPWORD_OAUTH_SERVERS": "https://a.example, https://b.example/realm"}
    servers = read_settings(given, tmp_path).settings.oauth_servers
    assert [str(one) for one in servers] == ["https://a.example/", "https://b.example/realm"]
    with pytest.raises(BadSettings, match="KEEPWORD_OAUTH_SERVERS"):
        read_settings({"KEEPWORD_OAUTH_SERVERS": "a.example"}, tmp_path)


SERVERS = "north=postgresql://a,b/kw south=postgresql://c/kw"


@pytest.mark.parametrize("text", [SERVERS, SERVERS.replace(" ", ", "), SERVERS.replace(" ", ",")])
def test_servers_are_read_in_their_order_with_spaces_or_commas_between(text, tmp_path):
    servers = read_settings({"KEEPWORD_SERVERS": text}, tmp_path).settings.servers
    assert [(one.name, one.url.get_secret_value()) for one in servers] == [
        ("north", "postgresql://a,b/kw"), ("south", "postgresql://c/kw"),
    ]  # fmt: skip


def test_servers_are_a_table_in_the_file(tmp_path):
    (tmp_path / "keepword.toml").write_text('[servers]\nnorth = "postgresql://a/kw"\nsouth = "postgresql://c/kw"\n')
    settings = read_settings({}, tmp_path).settings
    assert [one.name for one in settings.servers] == ["north", "south"]
    assert settings.main_url == settings.servers[0].url
    assert settings.on(settings.server("south")).main_url == settings.servers[1].url
    with pytest.raises(NotFound, match="there are: north, south"):
        settings.server("west")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"SERVERS": "a=postgresql://h/kw a=postgresql://i/kw"}, "names the server a twice"),
        ({"SERVERS": "a=mysql://h/kw"}, "must start with postgresql://"),
        ({"SERVERS": "postgresql://u:hidden@h/kw"}, "pattern"),
        ({"SERVERS": SERVERS, "DATABASE_URL": "postgresql://h/kw"}, "can't be combined with KEEPWORD_DATABASE_URL"),
        ({"SERVERS": SERVERS, "REPLICA_URLS": "postgresql://h/kw"}, "can't be combined with KEEPWORD_REPLICA_URLS"),
    ],
)
def test_servers_that_can_t_be_used_are_refused_without_showing_a_password(given, said, tmp_path):
    with pytest.raises(BadSettings, match=said) as refused:
        read_settings({f"KEEPWORD_{name}": value for name, value in given.items()}, tmp_path)
    assert "hidden@" not in str(refused.value)
