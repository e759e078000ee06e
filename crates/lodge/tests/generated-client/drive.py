"""Drives every operation of the course's API with the generated client, on a fresh server.

usage: drive.py SERVER GATE_KEY, a key of a gate of resort 3
"""

import json
import pkgutil
import sys
from http import HTTPStatus
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from lodge_client import AuthenticatedClient, Client, models
from lodge_client.api import resorts, skiers
from lodge_client.api.resorts import add_season, get_resort_seasons, get_resort_skiers_day, get_resorts
from lodge_client.api.skiers import get_skier_day_vertical, get_skier_resort_totals, write_new_lift_ride
from lodge_client.models import (
    LiftRide,
    NewSeason,
    Resort,
    ResortSkiers,
    ResortsList,
    ResponseMsg,
    SeasonsList,
    SkierSeason,
    SkierVertical,
    StoredEvent,
)

DAY = (3, "2025", "9", 77)

# Operations that were called successfully.
driven = set()


def is_of(value, kind):
    """Returns whether a value, with all nested values, has the client's declared type and no extra fields."""
    if kind is Any:
        return True
    if get_origin(kind) in (Union, UnionType):
        return any(is_of(value, one) for one in get_args(kind))
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_of(item, *get_args(kind)) for item in value)
    if attrs.has(kind):
        hints = get_type_hints(kind, localns=vars(models))
        fields = [field.name for field in attrs.fields(kind) if field.name != "additional_properties"]
        return type(value) is kind and not value.additional_properties and all(
            is_of(getattr(value, name), hints[name]) for name in fields
        )
    return type(value) is kind


def call(operation, *arguments, client, status, kind, **more):
    """Calls an operation. Returns the response, which must have this status and type."""
    answer = operation.sync_detailed(*arguments, client=client, **more)
    assert answer.status_code == status, (operation.__name__, arguments, answer)
    if kind is None:
        assert (answer.parsed, answer.content) == (None, b""), answer
    else:
        assert is_of(answer.parsed, kind), (operation.__name__, arguments, answer)
        told = answer.parsed.to_dict() if attrs.has(kind) else answer.parsed
        assert told == json.loads(answer.content), answer
    if status < 400:
        driven.add(operation.__name__)
    return answer


def good(operation, *arguments, kind, client, status=HTTPStatus.OK, **more):
    return call(operation, *arguments, client=client, status=status, kind=kind, **more).parsed


def bad(operation, *arguments, words, client, status=HTTPStatus.BAD_REQUEST, **more):
    answer = call(operation, *arguments, client=client, status=status, kind=ResponseMsg, **more)
    assert words in answer.parsed.message, answer


def rides(client):
    """Rides are stored once, and totals are as the course has published them."""
    ride = LiftRide(time=217, lift_id=21)
    made = good(write_new_lift_ride, *DAY, client=client, status=HTTPStatus.CREATED, kind=StoredEvent, body=ride)
    assert made.id
    for replayed in (None, "true"):
        again = call(
            write_new_lift_ride, *DAY, client=client, status=HTTPStatus.CREATED, kind=StoredEvent,
            body=LiftRide(time=218, lift_id=4), idempotency_key="gate 4: 17",
        )
        assert again.parsed == StoredEvent(id="gate 4: 17"), again
        assert again.headers.get("idempotency-replayed") == replayed, again
    good(write_new_lift_ride, 4, "2024", "9", 77, client=client, status=HTTPStatus.CREATED, kind=StoredEvent, body=ride)

    assert good(get_skier_day_vertical, *DAY, client=client, kind=int) == 250
    assert good(get_resort_skiers_day, 3, "2025", "9", client=client, kind=ResortSkiers) == ResortSkiers(
        time="Stevens Pass", num_skiers=1
    )
    assert good(get_skier_resort_totals, 77, client=client, kind=int) == 460
    of = {year: SkierSeason(season_id=year, total_vert=sum) for year, sum in (("2024", 210), ("2025", 250))}
    for question, years in (
        ({"resort": [3]}, ["2025"]),
        ({"resort": [3, 4]}, ["2024", "2025"]),
        ({"resort": [3, 4], "season": ["2024", "2023"]}, ["2024"]),
        ({"season": ["2024", "2025"]}, ["2024", "2025"]),
    ):
        totals = good(get_skier_resort_totals, 77, client=client, kind=SkierVertical, **question)
        assert totals.resorts == [of[year] for year in years], (question, totals)


def resorts_and_seasons(client):
    """Resorts are listed with their seasons: seasons with rides, and seasons that were added."""
    listed = good(get_resorts, client=client, kind=ResortsList).resorts
    assert len(listed) == 10 and listed[2] == Resort(resort_id=3, resort_name="Stevens Pass"), listed
    for _ in range(2):
        good(add_season, 3, client=client, status=HTTPStatus.CREATED, kind=None, body=NewSeason(year="2019"))
    assert good(get_resort_seasons, 3, client=client, kind=SeasonsList).seasons == ["2019", "2025"]
    assert good(get_resort_seasons, 5, client=client, kind=SeasonsList).seasons == []


def refusals(client, gate, stranger):
    """An invalid request is refused with a message that says why."""
    ride = LiftRide(time=217, lift_id=21)
    for place, words in (
        ((11, "2025", "9", 77), "resortID: must be a whole number from 1 to 10"),
        ((3, "0", "9", 77), "seasonID: must be"),
        ((3, "next", "9", 77), "seasonID: must be"),
        ((3, "2025", "367", 77), "dayID: must be"),
        ((3, "2025", "9/9", 77), "dayID: must be"),
        ((3, "2025", "9", 0), "skierID: must be"),
    ):
        bad(write_new_lift_ride, *place, client=client, words=words, body=ride)
        bad(get_skier_day_vertical, *place, client=client, words=words)
        if not words.startswith("skierID"):
            bad(get_resort_skiers_day, *place[:3], client=client, words=words)
    for time, lift, words in (
        (0, 21, "time: must be a whole number from 1 to 1440"),
        ("217", 21, "time: must be"),
        (217.0, 21, "time: must be"),
        (None, 21, "time: must be"),
        (217, 41, "liftID: must be a whole number from 1 to 40"),
        (217, -1, "liftID: must be"),
    ):
        bad(write_new_lift_ride, *DAY, client=client, words=words, body=LiftRide(time=time, lift_id=lift))
    more = LiftRide(time=217, lift_id=21)
    more["waitTime"] = 3
    bad(write_new_lift_ride, *DAY, client=client, words="unknown field `waitTime`", body=more)
    more["waitTime"] = "3" * 2000
    bad(write_new_lift_ride, *DAY, client=client, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words="larger", body=more)
    key = "gate 4: 17"
    bad(write_new_lift_ride, *DAY, client=client, words="Idempotency-Key: was", body=ride, idempotency_key=key)

    bad(get_skier_day_vertical, 3, "2025", "10", 77, client=client, status=HTTPStatus.NOT_FOUND, words="no ride")
    bad(get_skier_resort_totals, 78, client=client, status=HTTPStatus.NOT_FOUND, words="no rides")
    bad(get_skier_resort_totals, 0, client=client, words="skierID: must be")
    bad(get_skier_resort_totals, 77, client=client, words="resort: must be", resort=[3, 11])
    bad(get_skier_resort_totals, 77, client=client, words="season: must be", season=["last"])
    bad(get_resort_seasons, 11, client=client, words="resortID: must be")
    bad(add_season, 11, client=client, words="resortID: must be", body=NewSeason(year="2019"))
    bad(add_season, 3, client=client, words="year: must be", body=NewSeason(year="0"))
    bad(add_season, 3, client=client, words="year: must be", body=NewSeason(year=True))

    away = (4, *DAY[1:])
    bad(write_new_lift_ride, *DAY, client=stranger, status=HTTPStatus.UNAUTHORIZED, words="unknown", body=ride)
    bad(write_new_lift_ride, *away, client=gate, status=HTTPStatus.FORBIDDEN, words="another resort", body=ride)
    season = NewSeason(year="2019")
    bad(add_season, 3, client=stranger, status=HTTPStatus.UNAUTHORIZED, words="unknown", body=season)
    bad(add_season, 4, client=gate, status=HTTPStatus.FORBIDDEN, words="another resort", body=season)


def nothing_there(client):
    """A request that matches no operation is refused in the same form."""
    for method, path, status in (
        ("GET", "/resorts/3", HTTPStatus.NOT_FOUND),
        ("GET", "/skiers", HTTPStatus.NOT_FOUND),
        ("DELETE", "/resorts", HTTPStatus.METHOD_NOT_ALLOWED),
        ("PUT", "/skiers/77/vertical", HTTPStatus.METHOD_NOT_ALLOWED),
    ):
        answer = client.get_httpx_client().request(method, path)
        assert answer.status_code == status, answer
        assert is_of(ResponseMsg.from_dict(answer.json()), ResponseMsg), answer.text


def main(server, key):
    # A status that the document does not list is an error.
    client, gate, stranger = (
        made.with_timeout(30)
        for made in (
            Client(base_url=server, raise_on_unexpected_status=True),
            AuthenticatedClient(base_url=server, token=key, raise_on_unexpected_status=True),
            AuthenticatedClient(base_url=server, token="lodge_gate_x", raise_on_unexpected_status=True),
        )
    )
    rides(client)
    resorts_and_seasons(gate)
    refusals(client, gate, stranger)
    nothing_there(client)
    there = {
        f"{package.__name__}.{module.name}"
        for package in (resorts, skiers)
        for module in pkgutil.iter_modules(package.__path__)
    }
    assert there == driven, there ^ driven
    assert len(there) == 7, there


if __name__ == "__main__":
    main(*sys.argv[1:])
