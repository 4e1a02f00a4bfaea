import pytest

from trellis import HttpError, Router


def handler(request):
    return None


@pytest.fixture
def router():
    found = Router()
    found.add("/", handler, name="home")
    found.add("/users/<id:int>", handler, name="user")
    found.add("/users/<name>", handler, name="named")
    found.add("/users/new", handler, ("GET", "POST"), name="new")
    found.add("/files/<where:path>", handler, name="file")
    found.add("/blog/<post:slug>/v<version:float>", handler, name="post")
    return found


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        ("/", "home", {}),
        ("/users/5", "user", {"id": 5}),
        ("/users/ann%20lee", "named", {"name": "ann lee"}),
        ("/users/new", "new", {}),
        ("/files/a/b.txt", "file", {"where": "a/b.txt"}),
        ("/blog/a-b-1/v1.5", "post", {"post": "a-b-1", "version": 1.5}),
    ],
)
def test_a_path_leads_to_a_route(router, path, name, values):
    route, found = router.find("GET", path)
    assert (route.name, found) == (name, values)


@pytest.mark.parametrize(
    "path",
    ["/users", "/users/", "/users/5/x", "/files/", "/blog/A/v1.5", "/blog/a/v1", "/blogXa/v1.5"],
)
def test_other_paths_lead_nowhere(router, path):
    with pytest.raises(HttpError) as raised:
        router.find("GET", path)
    assert raised.value.status == 404


def test_a_route_takes_its_methods(router):
    assert router.find("head", "/users/5")[0].name == "user"
    assert router.find("POST", "/users/new")[0].name == "new"
    with pytest.raises(HttpError) as raised:
        router.find("DELETE", "/users/new")
    assert raised.value.status == 405
    assert raised.value.headers == {"Allow": "GET, HEAD, POST"}


def test_a_later_special_route_comes_first(router):
    assert router.find("GET", "/files/list")[0].name == "file"
    router.add("/files/list", handler, name="list")
    assert router.find("GET", "/files/list")[0].name == "list"


def test_paths_are_made(router):
    assert router.url_for("home") == "/"
    assert router.url_for("user", id=5) == "/users/5"
    assert router.url_for("named", name="a b", page=2, q="x&y") == "/users/a%20b?page=2&q=x%26y"
    assert router.url_for("file", where="a/b c") == "/files/a/b%20c"


def test_paths_need_good_values(router):
    with pytest.raises(KeyError, match="needs 'id'"):
        router.url_for("user")
    with pytest.raises(ValueError, match="'x' is no int"):
        router.url_for("user", id="x")
    with pytest.raises(KeyError, match="there is no route 'x'"):
        router.url_for("x")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("users", "begin with a slash"),
        ("/<a:date>", "'date' is no kind"),
        ("/<a>/<a>", "has 'a' twice"),
    ],
)
def test_wrong_patterns_are_refused(router, pattern, message):
    with pytest.raises(ValueError, match=message):
        router.add(pattern, handler)


def test_names_are_given_once(router):
    router.add("/users/<id:int>", handler, ("PUT",), name="user")
    assert router.find("PUT", "/users/5")[0].name == "user"
    with pytest.raises(ValueError, match="there is a route 'user' already"):
        router.add("/people", handler, name="user")
