"""A chat completions endpoint for tests: a real HTTP server with scripted behaviours and a record.

In a test:     with ModelServer() as server: server.script({"do": "status", "status": 429}); ... server.url
As a process:  python -m tests.model_server --port 8123
               It prints its URL; POST /_script takes a list of behaviours, GET /_requests gives the record.

Without a script a chat gets the line of the system message that shares most words with the question, and a
request for facts those of a few fixed patterns ("I live in X", "меня зовут X"). A summary names the values asked for, a
consolidation changes nothing.

A behaviour is a dict. `do` is one of
    text     answer with `text`                      json     answer with `value` as JSON
    status   HTTP `status`, `message`, `retry_after` hang     headers, `pieces` of `text`, then silence
    drop     close the connection unanswered         broken   half of `text`, then a lost connection
    ended    half of `text`, then a clean end        garbage  an HTML page with status 200
    error    half of `text`, then an error event     empty    an answer of no characters
    filtered half of `text`, then a filter's end     refusal  a refusal, in the field for it
    deaf     nothing at all, for `seconds`          endless  `text` again and again, for ever
A `usage` in it takes the place of what was counted. `for` may be "chat", "structured", "summary" or "dream": the first
waiting behaviour that fits a request is used, once.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

Body = dict[str, Any]
Behaviour = dict[str, Any]

MODEL = "fake-model"
_LINE = re.compile(r"^\[(\d+)\] (user|assistant)[^:]*: (.*)$")
_WORD = re.compile(r"\w{3,}")
_OBJECT = r"(?P<object>[^.,!?;\n]+?)(?=[.,!?;\n]| and | now| и |$)"
_PATTERNS: tuple[tuple[str, str, str, str, str], ...] = (
    (r"\bI (?:now )?live in ", "Lives in {}", "personal", "fact", "lives_in"),
    (r"\bmy name is ", "Name is {}", "personal", "fact", "name"),
    (r"\bI work as (?:an? )?", "Works as {}", "personal", "fact", "works_as"),
    (r"\bI(?:'m| am) allergic to ", "Allergic to {}", "preferences", "preference", "allergic_to"),
    (r"\bI (?:like|love) ", "Likes {}", "preferences", "preference", "likes"),
    (r"\bменя зовут ", "Имя: {}", "personal", "fact", "name"),
    (r"\bя (?:теперь )?живу в ", "Живёт в {}", "personal", "fact", "lives_in"),
    (r"\bя люблю ", "Любит {}", "preferences", "preference", "likes"),
)


def recalling_answer(body: Body) -> str:
    """Names the line of the system message that has most words in common with the question."""
    system = "\n".join(turn["content"] for turn in body["messages"] if turn["role"] == "system")
    question = body["messages"][-1]["content"]
    asked = set(_WORD.findall(question.casefold()))
    lines = [line.strip() for line in system.splitlines() if line.strip()]
    best = max(lines, key=lambda line: len(asked & set(_WORD.findall(line.casefold()))), default="")
    shared = asked & set(_WORD.findall(best.casefold()))
    return f"I remember: {best}" if shared else f"You wrote: {question}"


def pattern_facts(body: Body) -> Body:
    """The facts that the patterns find in the user's lines of the last turn, with quote and message id."""
    facts = []
    for line in body["messages"][-1]["content"].splitlines():
        said = _LINE.match(line)
        if said is None or said[2] != "user":
            continue
        for opening, content, category, kind, predicate in _PATTERNS:
            if found := re.search(opening + _OBJECT, said[3], re.IGNORECASE):
                object_ = found["object"].strip()
                facts.append(
                    {
                        "content": content.format(object_),
                        "quote": found[0].strip(),
                        "message_ids": [int(said[1])],
                        "category": category,
                        "type": kind,
                        "subject": "user",
                        "predicate": predicate,
                        "object": object_,
                        "importance": 0.8,
                        "confidence": 0.95,
                        "valid_until": None,
                    }
                )
    return {"facts": facts}


def listed_values(body: Body) -> str:
    """A summary that names the values it was told to keep."""
    said: str = body["messages"][-1]["content"]
    return f"They spoke of {said.partition('in the summary as well: ')[2].splitlines()[0]}."


def no_changes(_body: Body) -> Body:
    """A consolidation that finds nothing to do."""
    return {"new": [], "merge": [], "supersede": [], "forget": [], "topics": []}


def is_summary(body: Body) -> bool:
    """Whether the request asks for a summary."""
    return "in the summary as well: " in body["messages"][-1]["content"]


def is_dream(body: Body) -> bool:
    """Whether the request asks for a consolidation."""
    return "\n\nCONVERSATION:\n" in body["messages"][-1]["content"]


def is_structured(body: Body) -> bool:
    """Whether the request asks for JSON, by its response_format or in plain words."""
    return "response_format" in body or "JSON Schema" in body["messages"][-1]["content"]


def _kind(body: Body) -> str:
    if is_dream(body):
        return "dream"
    if is_summary(body):
        return "summary"
    return "structured" if is_structured(body) else "chat"


class ModelServer:
    """The server, in threads of its own. `requests` are the bodies of chat completions, as they arrived.

    `answer` and `facts` make the unscripted answers. `refuses` are parameters answered with 400:
    "json_schema", "json_object", "stream_options", "temperature", "max_tokens". With a `key`, others get 401. A request
    of more than `most_words` is too long.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        key: str | None = None,
        models: Iterable[str] = (MODEL,),
        answer: Callable[[Body], str] = recalling_answer,
        facts: Callable[[Body], Body] = pattern_facts,
        summary: Callable[[Body], str] = listed_values,
        dream: Callable[[Body], Body] = no_changes,
        most_words: int | None = None,
        refuses: Iterable[str] = (),
        refuse_status: int = 400,
        piece_seconds: float = 0.0,
    ) -> None:
        self.key = key
        self.models = list(models)
        self.answer = answer
        self.facts = facts
        self.summary = summary
        self.dream = dream
        self.most_words = most_words
        self.refuses = set(refuses)
        self.refuse_status = refuse_status
        self.piece_seconds = piece_seconds
        self.requests: list[Body] = []
        self.request_headers: list[dict[str, str]] = []
        self.hung_up = threading.Event()
        self._waiting: list[Behaviour] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="model-server")

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL takes."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def script(self, *behaviours: Behaviour) -> None:
        """Adds behaviours for the next requests."""
        with self._lock:
            self._waiting += behaviours

    @property
    def waiting(self) -> int:
        """Behaviours that no request has used yet."""
        with self._lock:
            return len(self._waiting)

    def chats(self) -> list[Body]:
        return [body for body in self.requests if not is_structured(body)]

    def extractions(self) -> list[Body]:
        return [
            body
            for body in self.requests
            if is_structured(body) and not is_summary(body) and not is_dream(body)
        ]

    def dreams(self) -> list[Body]:
        return [body for body in self.requests if is_dream(body)]

    def summaries(self) -> list[Body]:
        return [body for body in self.requests if is_summary(body)]

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def take(self, body: Body, headers: dict[str, str]) -> Behaviour:
        """Records a request and chooses what to do with it."""
        kind = _kind(body)
        with self._lock:
            self.requests.append(body)
            self.request_headers.append(headers)
            if refused := self._refused(body):
                return {"do": "status", "status": self.refuse_status, "message": refused}
            if self.most_words is not None and (words := _words(body)) > self.most_words:
                most = f"This model's maximum context length is {self.most_words} tokens."
                message = f"{most} However, your messages resulted in {words} tokens."
                return {"do": "status", "status": 400, "message": message, "code": "context_length_exceeded"}
            for behaviour in self._waiting:
                if behaviour.get("for", kind) == kind:
                    self._waiting.remove(behaviour)
                    return behaviour
        if kind == "summary":
            return {"do": "json", "value": {"summary": self.summary(body)}}
        if kind == "dream":
            return {"do": "json", "value": self.dream(body)}
        if kind == "structured":
            return {"do": "json", "value": self.facts(body)}
        return {"do": "text", "text": self.answer(body)}

    def pause(self, seconds: float) -> None:
        """Waits, but not longer than the server lives."""
        self._stopping.wait(seconds)

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def _refused(self, body: Body) -> str | None:
        form = body.get("response_format", {}).get("type")
        if form in self.refuses:
            return f"response_format {form} is not supported by this model"
        if "max_tokens" in self.refuses and "max_tokens" in body:
            return "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        for name in ("stream_options", "temperature"):
            if name in self.refuses and name in body:
                return f"unknown parameter {name}"
        return None


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = (
        128  # the default of 5 makes many clients at once wait for their SYN to be sent again
    )

    def __init__(self, address: tuple[str, int], model: ModelServer) -> None:
        self.model = model
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that hangs up in the middle of an answer is part of what is tested.
        self.model.hung_up.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: Any) -> None:
        return None

    def do_GET(self) -> None:
        model, path = self.server.model, urlsplit(self.path).path
        if path == "/_requests":
            self._json(200, model.requests)
        elif path == "/v1/models" and self._key_fits():
            self._json(200, {"object": "list", "data": [{"id": m, "object": "model"} for m in model.models]})
        else:
            self._status({"status": 404, "message": "not found"})

    def do_POST(self) -> None:
        model, path = self.server.model, urlsplit(self.path).path
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        if path == "/_script":
            model.script(*body)
            self._json(200, {"waiting": model.waiting})
        elif path != "/v1/chat/completions":
            self._status({"status": 404, "message": "not found"})
        elif not self._key_fits():
            self._status({"status": 401, "message": f"wrong key {self.headers.get('Authorization')}"})
        elif body["model"] not in model.models:
            self._status({"status": 404, "message": f"no model {body['model']}"})
        else:
            self._behave(model.take(body, dict(self.headers)), body)

    def _behave(self, behaviour: Behaviour, body: Body) -> None:
        match behaviour["do"]:
            case "status":
                self._status(behaviour)
            case "drop":
                self._lose()
            case "deaf":
                self.server.model.pause(behaviour.get("seconds", 30))
                self._lose()
            case "garbage":
                self._send(200, "text/html", b"<html>Welcome to the hotel's Wi-Fi {</html>")
            case _ if body.get("stream"):
                self._stream(behaviour, body)
            case _:
                self._json(200, _completion(_text(behaviour), body))

    def _stream(self, behaviour: Behaviour, body: Body) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = re.findall(r"\s*\S+\s*", _text(behaviour))
        do = behaviour["do"]
        whole = do not in ("broken", "ended", "error", "hang", "filtered")
        shown = pieces if whole else pieces[: behaviour.get("pieces", len(pieces) // 2)]
        for piece in shown:
            self.server.model.pause(self.server.model.piece_seconds)
            self._event(_chunk(body, piece))
        while do == "endless" and not self.server.model.stopping:
            self.server.model.pause(self.server.model.piece_seconds)
            self._event(_chunk(body, _text(behaviour)))
        if do == "hang":
            # Comments keep the connection alive, as gateways do.
            for _ in range(int(behaviour.get("seconds", 30) / 0.05)):
                self._chunked(b": waiting\n\n")
                self.server.model.pause(0.05)
            self._lose()
        elif do == "broken":
            self.server.model.pause(0.1)  # what a reset overtakes is lost
            self._lose()
        elif do == "error":
            self._event({"error": {"message": "the model crashed", "code": 500}})
            self._chunked(b"")
        elif do == "ended":
            self._chunked(b"")
        elif do == "filtered":
            self._finish({"finish_reason": "content_filter"}, body, "".join(shown))
        else:
            if do == "refusal":
                self._event(_chunk(body, None, refusal="I'm sorry, I can't help with that."))
            self._finish(behaviour, body, "".join(pieces))

    def _finish(self, behaviour: Behaviour, body: Body, text: str) -> None:
        self._event(_chunk(body, None, behaviour.get("finish_reason", "stop")))
        if body.get("stream_options", {}).get("include_usage"):
            self._event(
                {**_chunk(body, None), "choices": [], "usage": behaviour.get("usage", _usage(body, text))}
            )
        self._chunked(b"data: [DONE]\n\n")
        self._chunked(b"")

    def _event(self, value: Body) -> None:
        self._chunked(f"data: {json.dumps(value)}\n\n".encode())

    def _chunked(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _lose(self) -> None:
        """Resets the connection, as a crashed server does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _key_fits(self) -> bool:
        key = self.server.model.key
        return key is None or self.headers.get("Authorization") == f"Bearer {key}"

    def _status(self, behaviour: Behaviour) -> None:
        error = {"message": behaviour.get("message", "scripted"), "code": behaviour.get("code")}
        headers = {"Retry-After": str(behaviour["retry_after"])} if "retry_after" in behaviour else {}
        self._json(behaviour["status"], {"error": error}, headers)

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(value).encode(), headers)

    def _send(self, status: int, kind: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        standard = {"Content-Type": kind, "Content-Length": str(len(data))}
        for name, value in {**standard, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _text(behaviour: Behaviour) -> str:
    match behaviour["do"]:
        case "empty" | "refusal":
            return ""
        case "json":
            return json.dumps(behaviour["value"])
        case _:
            return str(behaviour.get("text", "one two three four"))


def _chunk(
    body: Body, piece: str | None, finish_reason: str | None = None, *, refusal: str | None = None
) -> Body:
    delta = {} if piece is None else {"content": piece}
    if refusal is not None:
        delta = {"refusal": refusal}
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def _completion(text: str, body: Body) -> Body:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage(body, text),
    }


def _words(body: Body) -> int:
    return sum(len(turn["content"].split()) for turn in body["messages"])


def _usage(body: Body, text: str) -> Body:
    """Counts words, so that a test can reckon them."""
    prompt = _words(body)
    answer = len(text.split())
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def main() -> None:
    parser = argparse.ArgumentParser(description="a chat completions endpoint for tests")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key")
    options = parser.parse_args()
    with ModelServer(options.port, key=options.key) as server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
