import pytest

from trellis import App, Client, HttpError, Response


@pytest.fixture
def client():
    app = App()

    @app.route("/login", ("POST",))
    def login(request):
        response = Response.redirect("/me", int(request.argument("status", "303")))
        response.set_cookie("user", request.form["name"][0])
        return response

    @app.route("/me", ("GET", "POST"))
    def me(request):
        return f"{request.method} {request.cookies.get('user')} {len(request.body)}"

    @app.route("/logout")
    def logout(request):
        response = Response("bye")
        response.delete_cookie("user")
        return response

    @app.route("/loop")
    def loop(request):
        return Response.redirect("/loop", 302)

    @app.route("/json", ("POST",))
    def json(request):
        return Response.json(request.json)

    return Client(app)


def test_it_keeps_cookies_and_goes_on(client):
    assert client.post("/login", form={"name": "ann lee"}).text == "GET ann lee 0"
    assert client.get("/me").text == "GET ann lee 0"
    client.get("/logout")
    assert client.get("/me").text == "GET None 0"


def test_some_redirects_keep_method_and_body(client):
    assert client.post("/login?status=307", form={"name": "ann"}).text == "POST ann 8"
    assert client.post("/login?status=302", form={"name": "ann"}).text == "GET ann 0"


def test_it_can_stay(client):
    assert client.post("/login", form={"name": "ann"}, follow=False).status == 303


def test_it_does_not_go_round_for_ever(client):
    with pytest.raises(HttpError, match="more than 10 redirects"):
        client.get("/loop")


def test_it_sends_json(client):
    assert client.post("/json", json={"a": [1]}).text == '{"a": [1]}'
    assert client.post("/json", json=0).text == "0"
