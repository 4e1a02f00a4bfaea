import pytest

from trellis import App, Client, HttpError, Request, Response


@pytest.fixture
def app():
    found = App(most_body=100)

    @found.route("/")
    def home(request):
        return "home"

    @found.route("/users/<id:int>")
    def user(request, id):
        if id == 0:
            raise HttpError(404, "nobody")
        return {"id": id}

    @found.route("/echo", ("POST",))
    def echo(request):
        return Response(request.body)

    @found.route("/docs/")
    def docs(request):
        return "docs", 201

    @found.route("/broken")
    def broken(request):
        return 1 / 0

    @found.route("/nothing")
    def nothing(request):
        return None

    return found


@pytest.fixture
def client(app):
    return Client(app)


def test_what_handlers_return_becomes_a_response(client):
    assert client.get("/").text == "home"
    assert client.get("/users/5").text == '{"id": 5}'
    assert client.get("/nothing").status == 204
    assert (client.get("/docs/").status, client.get("/docs/").text) == (201, "docs")


def test_what_is_wrong_has_a_status(client):
    assert client.get("/x").status == 404
    assert client.get("/users/0").text == "nobody"
    refused = client.get("/echo")
    assert (refused.status, refused.headers.get("Allow")) == (405, "POST")


def test_errors_come_in_the_form_that_is_liked(client):
    answer = client.get("/users/0", headers={"Accept": "application/json"})
    assert answer.text == '{"status": 404, "error": "nobody"}'
    assert client.get("/users/0", headers={"Accept": "image/png"}).text == "nobody"


def test_mistakes_of_the_program_stay_inside(app, client):
    answer = client.get("/broken")
    assert (answer.status, answer.text) == (500, "Internal Server Error")
    assert [type(error) for error in app.errors] == [ZeroDivisionError]
    client.get("/x")
    assert len(app.errors) == 1


def test_a_body_has_a_limit(client):
    assert client.post("/echo", body=b"x" * 100).status == 200
    assert client.post("/echo", body=b"x" * 101).status == 413


def test_a_missing_slash_is_added(client):
    answer = client.get("/docs?x=1", follow=False)
    assert (answer.status, answer.headers.get("Location")) == (301, "/docs/?x=1")
    assert client.get("/users/5/", follow=False).headers.get("Location") == "/users/5"
    assert client.post("/docs").status == 404


def test_middleware_lies_around(app, client):
    seen = []

    def outer(request, following):
        seen.append("in")
        response = following(request)
        seen.append("out")
        return response

    def inner(request, following):
        seen.append("inner")
        return following(request)

    app.use(outer)
    app.use(inner)
    client.get("/")
    assert seen == ["in", "inner", "out"]


def test_middleware_may_answer_itself(app, client):
    app.use(lambda request, following: Response("closed", 403))
    assert (client.get("/").status, client.get("/").text) == (403, "closed")


def test_statuses_and_exceptions_have_handlers(app, client):
    @app.on(404)
    def missing(request, error):
        return f"no {request.path}", 404

    @app.on(ArithmeticError)
    def arithmetic(request, error):
        return type(error).__name__, 400

    assert client.get("/x").text == "no /x"
    assert (client.get("/broken").text, client.get("/broken").status) == ("ZeroDivisionError", 400)
    assert app.errors == []


def test_a_handler_of_errors_may_fail(app, client):
    @app.on(404)
    def missing(request, error):
        raise ValueError("oops")

    assert client.get("/x").status == 500
    assert [str(error) for error in app.errors] == ["oops"]


def test_applications_are_mounted(app, client):
    inner = App()
    inner.route("/")(lambda request: f"inner {request.argument('x', '-')}")
    inner.route("/deep", name="deep")(lambda request: "deep")
    deeper = App()
    deeper.route("/")(lambda request: "deeper")
    app.mount("/in", inner)
    app.mount("/in/side/", deeper)
    assert client.get("/in").text == "inner -"
    assert client.get("/in?x=1").text == "inner 1"
    assert client.get("/in/deep").text == "deep"
    assert client.get("/in/side").text == "deeper"
    assert client.get("/inner").status == 404


def test_what_is_known_goes_along(app):
    inner = App()
    inner.route("/")(lambda request: request.state["who"])
    app.mount("/in", inner)

    def known(request, following):
        request.state["who"] = "ann"
        return following(request)

    app.use(known)
    assert app.handle(Request("GET", "/in")).text == "ann"


def test_a_head_has_no_body(app):
    answer = app.handle(Request("HEAD", "/"))
    assert (answer.status, answer.body, answer.headers.get("Content-Length")) == (200, b"", "4")
