#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""openapi_check.py PORT ROUTES_C - asks a server for all that its OpenAPI document says, and looks whether the answers are like that.

Every route of the server's table below /v1/ is in the document; every GET answers as declared, with each of its arguments and without; every
one of them declares a 400, and answers so to an argument that is not declared. Answers in JSON are checked member by member: one that is not declared fails."""
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

port, routes = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
failures = []


def fail(what):
    failures.append(what)
    print("openapi:", what, file=sys.stderr)


def get(path):
    try:
        with urllib.request.urlopen("http://127.0.0.1:%s%s" % (port, path), timeout=60) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, where):
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(is_type(value, name) for name in names):
        return fail("%s is %r, and not %s" % (where, value, names))
    if "enum" in schema and value not in schema["enum"]:
        fail("%s is %r" % (where, value))
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        fail("%s is %r" % (where, value))
    if isinstance(value, dict):
        members = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                fail("%s lacks %s" % (where, name))
        for name, member in value.items():
            if name in members:
                check(member, members[name], "%s.%s" % (where, name))
            elif schema.get("additionalProperties") is False:
                fail("%s has %s, which is not declared" % (where, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            check(item, schema.get("items", {}), "%s[%d]" % (where, index))
    return None


status, kind, body = get("/v1/openapi.json")
if status != 200 or kind != "application/json":
    sys.exit("openapi: there is none: %s %s" % (status, kind))
document = json.loads(body)

# ---- what there is, is declared ----
for path, has_id in re.findall(r'^    \{"(/v1/[^"]*)", (true|false)', routes, re.MULTILINE):
    declared = path + "{id}" if has_id == "true" else path
    if declared not in document["paths"]:
        fail("%s is a route and not in the document" % declared)

# ---- what is declared, is there ----
snapshot = json.loads(get("/v1/snapshots")[2])["snapshots"][0]
ids = {"/v1/snapshots/": snapshot["id"], "/v1/issues/": snapshot["issue"]}
EXAMPLES = {"since": "2026-01-01", "until": "2999-12-31", "base_since": "2020-01-01", "base_until": "2026-01-01", "limit": "2", "before": "9",
            "cursor": "0", "state": "open", "sort": "last", "issue": snapshot["issue"], "app": snapshot["app"], "cause": "sleep",
            "version": "1.0", "scene": "inbox", "base": "0.9", "q": "a"}


# Asked by machines that may add arguments of their own, and the same for all.
TAKES_ANYTHING = ("/v1/openapi.json", "/metrics", "/healthz")


def ask(path, operation, arguments, where):
    address = path + ("?" + urllib.parse.urlencode(arguments) if arguments else "")
    answer_status, answer_kind, answer = get(address)
    declared = operation["responses"].get(str(answer_status))
    if declared is None:
        return fail("%s answers %s, which is not declared" % (where, answer_status))
    content = declared.get("content", {})
    if content and answer_kind not in content:
        return fail("%s answers %s" % (where, answer_kind))
    if answer_kind == "application/json":
        check(json.loads(answer), content[answer_kind]["schema"], where)
    return answer_status


for path, item in document["paths"].items():
    operation = item.get("get")
    if operation is None or path == "/v1/policy/{id}":
        continue
    prefix = path.split("{")[0]
    address = path.replace("{id}", ids.get(prefix, ""))
    if ask(address, operation, {}, path) != 200:
        fail("%s does not answer 200" % path)
    if "{id}" in path:
        wrong = ask(path.replace("{id}", "0" * 32), operation, {}, path + " of nobody")
        if wrong != 404:
            fail("%s of nobody answers %s" % (path, wrong))
    for parameter in operation["parameters"]:
        if parameter["in"] == "query":
            name = parameter["name"]
            if ask(address, operation, {name: EXAMPLES[name]}, "%s?%s" % (path, name)) != 200:
                fail("%s with %s does not answer 200" % (path, name))
    if path in TAKES_ANYTHING:
        continue
    if "400" not in operation["responses"]:
        fail("%s declares no 400" % path)
    if ask(address, operation, {"colour": "red"}, path + "?colour") != 400:
        fail("%s does not refuse what is not declared" % path)
    if ask(address, operation, {name: "" for name in map(str, range(17))}, path + " with 17 arguments") != 400:
        fail("%s does not refuse seventeen arguments" % path)

# Three stalls of three issues of one application, all on one system: it is as frequent in each as in all.
systems = json.loads(get("/v1/issues/" + snapshot["issue"])[2])["sums"]["systems"]
if [(label.get("share"), label.get("app_share"), label.get("ratio")) for label in systems] != [(1, 1, 1)]:
    fail("the systems of an issue do not stand beside its application's: %r" % systems)

print("openapi: %d paths, %d failures" % (len(document["paths"]), len(failures)))
sys.exit(1 if failures else 0)
