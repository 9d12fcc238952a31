"""The expected push of each device, built only from the documents (docs/push-types.md, docs/openapi.yaml).

This module shares no code with the gateway. The order of keys in FCM's message is not documented, so it is taken from
one observed push (`ordered_like`); values never are.
"""

import json


def written(value):
    """JSON without blanks, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_for(locale, notification):
    """Title and body for a device: each from its locale, else from its language, else the common one."""
    common = {name: notification[name] for name in ("title", "body")}
    if not locale:
        return common
    by_tag = {tag.replace("_", "-").lower(): text for tag, text in notification["localizations"].items()}
    wanted, text = locale.replace("_", "-").lower(), {}
    while wanted:
        # The text of a narrower locale wins.
        text = {**by_tag.get(wanted, {}), **text}
        wanted = wanted.rpartition("-")[0]
    return {**common, **text}


def badge_for(device, message):
    return device["badge"] + 1 if message["badge"] == "increment" else message["badge"]


def apns_body(device, message):
    """The canonical order: in `aps` alert, sound, what `apns` adds, and the badge last; then data."""
    aps = {"alert": text_for(device["locale"], message["notification"]), "sound": message["sound"]}
    aps.update(message["apns"]["aps"])
    aps["badge"] = badge_for(device, message)
    return {"aps": aps, **message["data"]}


def apns_headers(account, message, topic):
    return {
        "apns-topic": topic, "apns-push-type": "alert",
        "apns-priority": {"high": "10", "normal": "5"}[message["options"]["priority"]],
        "apns-expiration": str(account["expires_seconds"]),
        "apns-collapse-id": account["id"].replace("-", ""),
    }


def fcm_body(device, message, account, seconds_left):
    """One text for all platforms of a token. On each a repeat shows once, and each has its own badge."""
    identity, badge, sound = account["id"], badge_for(device, message), message["sound"]
    return {"message": {
        "token": device["token"], "notification": text_for(device["locale"], message["notification"]),
        "data": {
            **{name: value if isinstance(value, str) else written(value) for name, value in message["data"].items()},
            "carillon_id": identity,
        },
        "android": {
            "priority": message["options"]["priority"].upper(), "ttl": f"{seconds_left}s",
            "notification": {
                "tag": identity, "sound": sound, "notification_count": badge,
                **message["fcm"]["android"]["notification"],
            },
        },
        "webpush": {"headers": {"TTL": str(seconds_left)}, "notification": {"tag": identity}},
        "apns": {
            "headers": {
                "apns-priority": {"high": "10", "normal": "5"}[message["options"]["priority"]],
                "apns-expiration": str(account["expires_seconds"]), "apns-collapse-id": identity.replace("-", ""),
            },
            "payload": {"aps": {"badge": badge, "sound": sound}},
        },
    }}


def ordered_like(value, seen):
    """The same value with its keys in the observed order; other keys come last."""
    if isinstance(value, dict) and isinstance(seen, dict):
        names = [name for name in seen if name in value] + [name for name in value if name not in seen]
        return {name: ordered_like(value[name], seen.get(name)) for name in names}
    return value
