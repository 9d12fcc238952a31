import FCM
import JSON
import Model
import TestSupport
import Testing

private func content(_ fcm: String, badge: BadgeChange = .none) throws -> MessageContent {
    MessageContent(
        notification: NotificationText(title: "Carillon", body: "Noon"), badge: badge, sound: "default",
        data: [DataMember(name: "article", json: try json("42"))], overrides: [.fcm: try json(fcm)])
}

private func merged(_ fcm: String, _ path: String) throws -> JSONValue? {
    try JSONReader.read(Array(try body(content(fcm)).utf8)).value(at: try #require(JSONPointer("/message" + path)))
}

@Suite("The sender's fcm object")
struct OverrideTests {
    private let id = "0192f3a4-b5c6-7d8e-8f01-234567890abc"

    @Test("merges over the common part, member by member; null removes a member")
    func mergePatch() throws {
        let fcm = #"""
            {"android":{"ttl":"5.5s","notification":{"channel_id":"news","sound":null,"tag":"mine"}},"data":{"article":null,
            "own":"1"},"apns":{"headers":{"apns-expiration":"7"},"payload":{"aps":{"category":"c"},"x":{"y":[null]}}},
            "webpush":{"headers":{"TTL":"9"},"fcm_options":{"link":"https://example.com/"}}}
            """#
        #expect(
            try body(content(fcm))
                == #"{"message":{"notification":{"title":"Carillon","body":"Noon"},"#
                + #""data":{"own":"1","carillon_id":"\#(id)"},"#
                + #""webpush":{"headers":{"TTL":"9"},"notification":{"tag":"\#(id)"},"#
                + #""fcm_options":{"link":"https://example.com/"}},"#
                + #""android":{"priority":"HIGH","ttl":"5.5s","notification":{"tag":"mine","channel_id":"news"}},"#
                + #""token":"tok:en","apns":{"payload":{"aps":{"sound":"default","category":"c"},"x":{"y":[null]}},"#
                + #""headers":{"apns-collapse-id":"0192f3a4b5c67d8e8f01234567890abc","apns-expiration":"7"}}}}"#)
    }

    @Test("keeps a null in the state and attributes of a Live Activity: it is the app's own value")
    func activity() throws {
        let aps = #"{"event":"update","content-state":{"score":null},"attributes":{"cup":null},"category":null}"#
        #expect(
            try merged(#"{"apns":{"payload":{"aps":\#(aps)}}}"#, "/apns/payload/aps") == [
                "sound": "default", "event": "update", "content-state": ["score": .null], "attributes": ["cup": .null],
            ])
    }

    @Test(
        "may spell its names in snake case or camel case",
        arguments: [
            (#"{"android":{"collapseKey":"k"}}"#, "/android/collapse_key", "k"),
            (#"{"android":{"notification":{"clickAction":"c"}}}"#, "/android/notification/click_action", "c"),
            (#"{"android":{"notification":{"bodyLocKey":"c"}}}"#, "/android/notification/body_loc_key", "c"),
            (#"{"fcmOptions":{"analyticsLabel":"l"}}"#, "/fcm_options/analytics_label", "l"),
            (#"{"apns":{"headers":{"APNS-Collapse-ID":"n"}}}"#, "/apns/headers/apns-collapse-id", "n"),
            (#"{"webpush":{"headers":{"ttl":"5"}}}"#, "/webpush/headers/TTL", "5"),
            (#"{"webpush":{"headers":{"urgency":"high"}}}"#, "/webpush/headers/Urgency", "high"),
        ])
    func spellings(fcm: String, path: String, value: String) throws {
        #expect(try merged(fcm, path)?.string == value)
    }

    @Test("fails to compile with one name in both spellings")
    func namedTwice() throws {
        #expect(
            fault(try content(#"{"android":{"collapse_key":"a","collapseKey":"b"}}"#))
                == .namedTwice(.root / "fcm" / "android" / "collapseKey"))
        #expect(
            fault(try content(#"{"apns":{"headers":{"apns-priority":"5","Apns-Priority":"10"}}}"#))?.code
                == "duplicate_member")
    }

    @Test("may contain unknown keys at every level")
    func unknownKeys() throws {
        #expect(try merged(#"{"newThing":{"aB":[1]}}"#, "/newThing/aB/0") == 1)
        #expect(try merged(#"{"android":{"newThing":1}}"#, "/android/newThing") == 1)
        #expect(
            try merged(#"{"android":{"notification":{"new_thing":true}}}"#, "/android/notification/new_thing") == true)
        #expect(try merged(#"{"apns":{"headers":{"apns-new":"1"}}}"#, "/apns/headers/apns-new") == "1")
        #expect(try merged(#"{"webpush":{"notification":{"newThing":1}}}"#, "/webpush/notification/newThing") == 1)
    }

    @Test(
        "cannot contain members of the older protocol, whose names today are given",
        arguments: [
            ("to", #""a""#, "audience.tokens"), ("registration_ids", #"["a"]"#, "audience.tokens"),
            ("priority", #""high""#, "options.priority"), ("time_to_live", "60", "options.ttl_seconds"),
            ("collapse_key", #""a""#, "options.collapse_id"), ("dry_run", "true", "options.dry_run"),
            ("content_available", "true", "fcm.apns.payload.aps.content-available"),
            ("contentAvailable", "null", "fcm.apns.payload.aps.content-available"),
            ("mutable_content", "true", "fcm.apns.payload.aps.mutable-content"),
        ])
    func legacy(name: String, value: String, today: String) throws {
        let found = fault(try content(#"{"\#(name)":\#(value)}"#))
        #expect(found?.code == "unknown_member" && found?.pointer == .root / "fcm" / name)
        #expect(found?.detail.contains("Today it is \(today)") == true)
    }

    @Test("cannot contain members of the older protocol's notification")
    func legacyNotification() throws {
        let found = fault(try content(#"{"notification":{"click_action":"OPEN"}}"#))
        #expect(found?.pointer == .root / "fcm" / "notification" / "click_action")
        #expect(found?.detail.contains("Today it is fcm.android.notification.click_action") == true)
    }

    @Test("cannot name a target", arguments: ["token", "topic", "condition", "fid", "name"])
    func targets(name: String) throws {
        #expect(fault(try content(#"{"\#(name)":"a"}"#)) == .reservedKey(.root / "fcm" / name))
        #expect(fault(try content(#"{"\#(name)":null}"#))?.code == "reserved_key")
    }

    @Test(
        "cannot contain members of the surrounding request",
        arguments: [
            ("validate_only", "options.dry_run"), ("validateOnly", "options.dry_run"), ("message", "move"),
        ])
    func ofTheRequest(name: String, answers: String) throws {
        let found = fault(try content(#"{"\#(name)":{"a":true}}"#))
        #expect(found == .reservedKey(.root / "fcm" / name))
        #expect(found?.detail.contains(answers) == true)
    }

    @Test("cannot set a badge if the registry counts it")
    func badgeTwice() throws {
        let android = #"{"android":{"notification":{"notificationCount":1}}}"#
        #expect(
            fault(try content(android, badge: .increment))
                == .badgeTwice(.root / "fcm" / "android" / "notification" / "notificationCount"))
        let apple = #"{"apns":{"payload":{"aps":{"badge":1}}}}"#
        #expect(
            fault(try content(apple, badge: .value(1)))
                == .badgeTwice(.root / "fcm" / "apns" / "payload" / "aps" / "badge"))
        #expect(try merged(android, "/android/notification/notification_count") == 1)
        #expect(try merged(apple, "/apns/payload/aps/badge") == 1)
        #expect(fault(try content(#"{"apns":{"payload":{"aps":{"badge":null}}}}"#, badge: .increment)) == nil)
    }

    @Test("cannot remove the push's id from a platform's own data")
    func identity() throws {
        for path in ["/data", "/android/data", "/webpush/data"] {
            let fcm = #"{"data":{"a":"1"},"android":{"data":{"a":"1"}},"webpush":{"data":{"a":"1"}}}"#
            #expect(try merged(fcm, path + "/carillon_id")?.string == id)
        }
        #expect(try merged(#"{"data":null}"#, "/data")?.object?.count == 1)
        #expect(fault(try content(#"{"data":{"carillon_id":null}}"#))?.code == "reserved_key")
    }

    @Test(
        "cannot use reserved names in data",
        arguments: ["from", "message_type", "notification", "google.a", "gcm.notification.x", "aps", "carillon_id", ""])
    func reservedNames(name: String) throws {
        let common = MessageContent(data: [DataMember(name: name, json: try json("1"))])
        #expect(fault(common) == .reservedKey(.root / "data" / name))
        #expect(fault(try content(#"{"data":{"\#(name)":"a"}}"#)) == .reservedKey(.root / "fcm" / "data" / name))
        #expect(
            fault(try content(#"{"android":{"data":{"\#(name)":"a"}}}"#))
                == .reservedKey(.root / "fcm" / "android" / "data" / name))
    }
}

@Suite("The keys of fcm")
struct MessageKeysTests {
    /// A good and a bad value for every key of AndroidNotification.
    static let androidNotification: [(key: String, good: String, bad: String)] = [
        ("title", #""t""#, "1"), ("body", #""b""#, "[]"), ("icon", #""i""#, "true"),
        ("color", ##""#00fFaA""##, ##""#00ffa""##), ("sound", #""s""#, "{}"), ("tag", #""t""#, "1"),
        ("click_action", #""c""#, "1"), ("body_loc_key", #""k""#, "1"), ("body_loc_args", #"["a"]"#, "[1]"),
        ("title_loc_key", #""k""#, "1"), ("title_loc_args", "[]", #""a""#), ("channel_id", #""c""#, "1"),
        ("ticker", #""t""#, "1"), ("sticky", "true", #""true""#),
        ("event_time", #""2026-12-01T12:00:00.5Z""#, #""2026-12-01""#), ("local_only", "false", "0"),
        ("notification_priority", #""PRIORITY_MAX""#, #""MAX""#), ("default_sound", "true", "1"),
        ("default_vibrate_timings", "true", "1"), ("default_light_settings", "true", "1"),
        ("vibrate_timings", #"["1.5s","0s"]"#, "[1.5]"), ("visibility", #""SECRET""#, #""secret""#),
        ("notification_count", "7", "-1"),
        (
            "light_settings",
            #"{"color":{"red":0,"green":0.5,"blue":1,"alpha":1.0},"light_on_duration":"1s","lightOffDuration":"2s"}"#,
            #"{"light_on_duration":"1s","light_off_duration":"2s"}"#
        ),
        ("image", #""http://example.com/a.png""#, #""a.png""#), ("bypass_proxy_notification", "true", #""yes""#),
        ("proxy", #""IF_PRIORITY_LOWERED""#, #""MAYBE""#),
    ]

    @Test(
        "accept a valid value and refuse an invalid one, each key of an Android notification",
        arguments: 0..<androidNotification.count)
    func android(place: Int) throws {
        let row = Self.androidNotification[place]
        let path = "/android/notification/\(row.key)"
        #expect(fault(try content(#"{"android":{"notification":{"\#(row.key)":\#(row.good)}}}"#)) == nil)
        let bad = fault(try content(#"{"android":{"notification":{"\#(row.key)":\#(row.bad)}}}"#))
        #expect(bad?.code == "invalid_value")
        #expect(bad?.pointer?.description.hasPrefix("/fcm" + path) == true)
        #expect(fault(try content(#"{"android":{"notification":{"\#(row.key)":null}}}"#)) == nil)
    }

    @Test(
        "pass if their values have the documented form",
        arguments: [
            #"{"notification":{"title":"a","body":"b","image":"https://example.com/a.png"}}"#,
            #"{"android":{"priority":"high","ttl":"2419200s","restricted_package_name":"a.b","direct_boot_ok":true}}"#,
            #"{"android":{"ttl":"0s","bandwidth_constrained_ok":true,"restricted_satellite_ok":false,"data":{"a":"b"}}}"#,
            #"{"android":{"ttl":"3.000000001s","fcm_options":{"analytics_label":"aZ0-_.~%"}}}"#,
            #"{"apns":{"headers":{"apns-priority":"10","apns-expiration":"0","apns-push-type":"alert"}}}"#,
            #"{"apns":{"payload":{"aps":{"alert":{"title":"a"},"sound":{"critical":1},"badge":0}}}}"#,
            #"{"apns":{"fcm_options":{"image":"https://example.com/a","analytics_label":"a"},"live_activity_token":"a"}}"#,
            #"{"webpush":{"headers":{"TTL":"0","Urgency":"very-low","Topic":"aZ0-_"},"data":{"a":"b"}}}"#,
            #"{"webpush":{"notification":{"dir":"rtl","lang":"fr","renotify":true,"requireInteraction":true}}}"#,
            #"{"webpush":{"notification":{"silent":false,"timestamp":1.5e12,"vibrate":[1,2],"data":[1]}}}"#,
            #"{"webpush":{"notification":{"actions":[{"action":"a","title":"b","icon":"c"}],"badge":"/b.png"}}}"#,
            #"{"fcm_options":{"analytics_label":"a"}}"#, "{}",
        ])
    func pass(fcm: String) throws { #expect(fault(try content(fcm)) == nil) }

    @Test(
        "fail with their place if a value has another form",
        arguments: [
            ("[]", "/fcm"), ("1", "/fcm"), (#"{"notification":"a"}"#, "/fcm/notification"),
            (#"{"notification":{"image":"http://example.com/a.png"}}"#, "/fcm/notification/image"),
            (#"{"notification":{"image":"https://"}}"#, "/fcm/notification/image"),
            (#"{"data":{"a":1}}"#, "/fcm/data/a"), (#"{"data":[]}"#, "/fcm/data"),
            (#"{"android":1}"#, "/fcm/android"), (#"{"android":{"priority":"URGENT"}}"#, "/fcm/android/priority"),
            (#"{"android":{"ttl":3600}}"#, "/fcm/android/ttl"), (#"{"android":{"ttl":"3600"}}"#, "/fcm/android/ttl"),
            (#"{"android":{"ttl":"-1s"}}"#, "/fcm/android/ttl"), (#"{"android":{"ttl":"1.s"}}"#, "/fcm/android/ttl"),
            (#"{"android":{"ttl":"2419200.1s"}}"#, "/fcm/android/ttl"),
            (#"{"android":{"ttl":"s"}}"#, "/fcm/android/ttl"),
            (#"{"android":{"ttl":true}}"#, "/fcm/android/ttl"),
            (#"{"android":{"ttl":"1.0000000001s"}}"#, "/fcm/android/ttl"),
            (#"{"android":{"collapseKey":1}}"#, "/fcm/android/collapseKey"),
            (#"{"android":{"data":{"a":true}}}"#, "/fcm/android/data/a"),
            (#"{"android":{"directBootOk":1}}"#, "/fcm/android/directBootOk"),
            (
                #"{"android":{"notification":{"vibrate_timings":["1s","2"]}}}"#,
                "/fcm/android/notification/vibrate_timings/1"
            ),
            (
                #"{"android":{"notification":{"notification_count":2147483648}}}"#,
                "/fcm/android/notification/notification_count"
            ),
            (
                #"{"android":{"notification":{"notification_count":true}}}"#,
                "/fcm/android/notification/notification_count"
            ),
            (
                #"{"android":{"notification":{"light_settings":{"color":{"red":1,"green":1,"blue":1.1,"alpha":1},"light_on_duration":"1s","light_off_duration":"1s"}}}}"#,
                "/fcm/android/notification/light_settings/color/blue"
            ),
            (
                #"{"android":{"notification":{"lightSettings":{"color":{"red":1,"green":1,"blue":1},"light_on_duration":"1s","light_off_duration":"1s"}}}}"#,
                "/fcm/android/notification/lightSettings/color/alpha"
            ),
            (##"{"android":{"notification":{"color":"#0011223"}}}"##, "/fcm/android/notification/color"),
            (##"{"android":{"notification":{"color":"#00112g"}}}"##, "/fcm/android/notification/color"),
            (##"{"android":{"notification":{"color":"#\u0301abcd"}}}"##, "/fcm/android/notification/color"),
            (##"{"android":{"notification":{"color":"0011223"}}}"##, "/fcm/android/notification/color"),
            (#"{"fcm_options":{"analytics_label":"a b"}}"#, "/fcm/fcm_options/analytics_label"),
            (#"{"fcm_options":{"analytics_label":""}}"#, "/fcm/fcm_options/analytics_label"),
            (#"{"apns":{"headers":{"apns-priority":"7"}}}"#, "/fcm/apns/headers/apns-priority"),
            (#"{"apns":{"headers":{"apns-priority":10}}}"#, "/fcm/apns/headers/apns-priority"),
            (#"{"apns":{"headers":{"apns-expiration":"tomorrow"}}}"#, "/fcm/apns/headers/apns-expiration"),
            (#"{"apns":{"headers":{"apns-expiration":true}}}"#, "/fcm/apns/headers/apns-expiration"),
            (#"{"apns":{"headers":{"apns-collapse-id":""}}}"#, "/fcm/apns/headers/apns-collapse-id"),
            (#"{"apns":{"headers":{"apns-push-type":"loud"}}}"#, "/fcm/apns/headers/apns-push-type"),
            (#"{"apns":{"headers":{"apns-new":"a\nb"}}}"#, "/fcm/apns/headers/apns-new"),
            (#"{"apns":{"payload":[]}}"#, "/fcm/apns/payload"),
            (#"{"apns":{"payload":{"aps":1}}}"#, "/fcm/apns/payload/aps"),
            (#"{"apns":{"payload":{"aps":{"badge":true}}}}"#, "/fcm/apns/payload/aps/badge"),
            (#"{"apns":{"live_activity_token":1}}"#, "/fcm/apns/live_activity_token"),
            (#"{"webpush":{"headers":{"TTL":60}}}"#, "/fcm/webpush/headers/TTL"),
            (#"{"webpush":{"headers":{"ttl":"60s"}}}"#, "/fcm/webpush/headers/ttl"),
            (#"{"webpush":{"headers":{"Urgency":"HIGH"}}}"#, "/fcm/webpush/headers/Urgency"),
            (#"{"webpush":{"headers":{"Topic":"a.b"}}}"#, "/fcm/webpush/headers/Topic"),
            (#"{"webpush":{"fcm_options":{"link":"http://example.com/"}}}"#, "/fcm/webpush/fcm_options/link"),
            (#"{"webpush":{"notification":{"dir":"up"}}}"#, "/fcm/webpush/notification/dir"),
            (#"{"webpush":{"notification":{"actions":[{"action":1}]}}}"#, "/fcm/webpush/notification/actions/0/action"),
        ])
    func refused(fcm: String, pointer: String) throws {
        #expect(fault(try content(fcm))?.code == "invalid_value")
        #expect(fault(try content(fcm))?.pointer?.description == pointer)
    }
}
