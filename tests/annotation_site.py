"""A small project with its server, and people who talk to it, for tests of the annotation pages."""

from dataclasses import dataclass, replace
from typing import Any

from fastapi.testclient import TestClient

from moralscope.annotation.forms import question_bank
from moralscope.annotation.options import Policies
from moralscope.annotation.records import AnnotationItem, Project
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage
from moralscope.server.annotate import annotation_app
from moralscope.server.running import ServerAddress

SECRET = b"for tests only, thirty-two bytes."
ITEMS = [
    AnnotationItem(
        f"i{n}", {"prompt": f"Should I keep promise {n}?", "reply": f"No, break promise {n}."}
    )
    for n in range(6)
]
GOOD = {
    "rule": "It's wrong to break a promise.",
    "alignment": "disagree",
    "consensus": 4,
    "severity": 3,
    "foundations": ["loyalty"],
    "revised_reply": "Yes, keep it if you can, and say so early if you cannot.",
}
ACTION = [AnnotationItem(f"a{n}", {"action": f"wave {n} times"}) for n in range(6)]


@dataclass
class Guest:
    """Somebody with a browser of their own."""

    client: TestClient
    csrf: str = ""

    def join(self, token: str) -> "Guest":
        answer = self.post("/api/join", {"token": token})
        assert answer.status_code == 200, answer.text
        self.csrf = answer.json()["csrf"]
        return self

    def get(self, address: str, **more: Any):
        return self.client.get(address, **more)

    def send(self, method: str, address: str, body: Any = None, **more: Any):
        headers = {"X-CSRF-Token": self.csrf, **more.pop("headers", {})}
        return self.client.request(method, address, json=body, headers=headers, **more)

    def post(self, address: str, body: Any = None, **more: Any):
        return self.send("POST", address, body, **more)

    def put(self, address: str, body: Any = None, **more: Any):
        return self.send("PUT", address, body, **more)

    def work(self) -> dict[str, Any]:
        return self.get("/api/work").json()["work"]


class Site:
    """A project in a folder, its service and its application."""

    def __init__(
        self, folder, task="rule-of-thumb", items=ITEMS, staging=0, database="", **policies
    ):
        known = {"qualification": False, "questionnaire": False, "staging_items": staging}
        rules = replace(Policies(), **{**known, **policies})
        texts = {"warning": "It is about harm.", "consent": "I agree."}
        books = {"rulebooks": ("moralscope",), "folder": str(folder)}
        project = Project("Trial", task, rules, **texts, **books)
        self.folder = folder
        self.service = AnnotationService(project, Storage(folder, database))
        self.service.add_items(self.service.owner, items, staging=staging)
        self.app = annotation_app(self.service, secret=SECRET, address=ServerAddress())

    def stranger(self) -> Guest:
        return Guest(
            TestClient(self.app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        )

    def invite(self, name: str = "Jo", role: str = "annotator") -> str:
        return self.service.invite(self.service.owner, name, role).token

    def lead(self) -> Guest:
        return self.stranger().join(self.invite("Lee", "lead"))

    def newcomer(self, name: str = "Jo") -> Guest:
        return self.stranger().join(self.invite(name))

    def annotator(self, name: str = "Jo") -> Guest:
        guest = self.newcomer(name)
        assert guest.post("/api/consent", {"agrees": True}).status_code == 200
        return guest


def right_answers(questions) -> dict[str, str]:
    """Return the right answers to the questions of a test."""
    return {each["id"]: question_bank()[each["id"]].right for each in questions}


def wrong_answers(questions) -> dict[str, str]:
    """Return a wrong answer to every question of a test."""
    right = right_answers(questions)
    return {
        each["id"]: next(c["value"] for c in each["choices"] if c["value"] != right[each["id"]])
        for each in questions
    }
