"""Provider tokens of APNs, created by PyJWT."""

import pathlib
import time

import jwt


def provider_token(stand_in):
    key = pathlib.Path(stand_in.told["apns_key_file"]).read_text()
    return jwt.encode(
        {"iss": stand_in.told["apns_team_id"], "iat": int(time.time())}, key, algorithm="ES256",
        headers={"kid": stand_in.told["apns_key_id"]})
