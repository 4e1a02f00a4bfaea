import pytest

from trellis import App, Client, Sessions, Signer


@pytest.fixture
def client():
    app = App()
    app.use(Sessions(Signer("key"), max_age=3600))

    @app.route("/count")
    def count(request):
        session = request.state["session"]
        session["n"] = session.get("n", 0) + 1
        return str(session["n"])

    @app.route("/look")
    def look(request):
        return str(request.state["session"].get("n"))

    @app.route("/leave")
    def leave(request):
        request.state["session"].clear()
        return "bye"

    @app.route("/say")
    def say(request):
        request.state["session"].flash("hello")
        return "ok"

    @app.route("/hear")
    def hear(request):
        return ",".join(request.state["session"].flashes())

    return Client(app)


def test_a_session_is_kept(client):
    assert [client.get("/count").text for _ in range(3)] == ["1", "2", "3"]
    assert client.get("/look").text == "3"


def test_a_session_that_did_not_change_is_not_sent(client):
    assert client.get("/look").headers.all("Set-Cookie") == []
    client.get("/count")
    assert client.get("/look").headers.all("Set-Cookie") == []


def test_a_session_ends_after_a_time(client):
    client.get("/count")
    client.now += 3600
    assert client.get("/look").text == "1"
    client.now += 1
    assert client.get("/look").text == "None"


def test_a_session_that_was_changed_by_the_client_is_empty(client):
    client.get("/count")
    client.cookies["session"] = client.cookies["session"].replace("1", "9", 1)
    assert client.get("/look").text == "None"
    client.cookies["session"] = "junk"
    assert client.get("/look").text == "None"


def test_an_empty_session_is_forgotten(client):
    client.get("/count")
    assert "session" in client.cookies
    client.get("/leave")
    assert client.cookies == {}


def test_messages_are_shown_once(client):
    client.get("/say")
    client.get("/say")
    assert client.get("/hear").text == "hello,hello"
    assert client.get("/hear").text == ""
