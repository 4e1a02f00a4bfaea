import pytest

from trellis import App, Client, HttpError, RateLimit, Request, Response


def test_a_bucket_empties_and_fills():
    limit = RateLimit(2, 60)
    assert [limit.take("a", 100) for _ in range(3)] == [0, 0, 30]
    assert limit.take("a", 115) == 15
    assert limit.take("a", 130) == 0
    assert limit.take("a", 130) == 30


def test_clients_have_their_own():
    limit = RateLimit(1, 10)
    assert limit.take("a", 0) == 0
    assert limit.take("b", 0) == 0
    assert limit.take("a", 0) == 10


def test_a_bucket_does_not_overflow():
    limit = RateLimit(2, 60)
    limit.take("a", 0)
    assert limit.left("a", 10_000) == 2
    assert limit.left("new", 0) == 2


def test_full_buckets_are_dropped():
    limit = RateLimit(2, 60)
    limit.take("a", 0)
    limit.take("b", 20)
    assert limit.forget(29) == 0
    assert limit.forget(30) == 1
    assert limit.forget(100) == 1


def test_it_stands_before_an_application():
    app = App()
    app.use(RateLimit(2, 60, of=lambda request: request.argument("who", "")))
    app.route("/")(lambda request: "ok")
    client = Client(app)
    assert client.get("/?who=a").headers.get("X-Requests-Left") == "1"
    assert client.get("/?who=a").headers.get("X-Requests-Left") == "0"
    refused = client.get("/?who=a")
    assert (refused.status, refused.headers.get("Retry-After")) == (429, "30")
    assert client.get("/?who=b").status == 200


def test_clients_are_named_by_a_header():
    limit = RateLimit(1, 60)
    request = Request("GET", "/", {"X-Client": "a"})
    limit(request, lambda request: Response("ok"))
    with pytest.raises(HttpError, match="429"):
        limit(request, lambda request: None)
