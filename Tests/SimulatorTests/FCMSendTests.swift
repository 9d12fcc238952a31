import JSON
import Simulator
import Testing

@Suite("A message to the FCM simulator", .serialized)
struct FCMSendTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let message: String
        /// An empty text: the answer has no BadRequest detail.
        let field: String
        let hasCode: Bool
        var testDescription: String { message }

        init(_ message: String, at field: String, hasCode: Bool = false) {
            self.message = message
            self.field = field
            self.hasCode = hasCode
        }
    }

    private static func toPhone(_ members: String) -> String { #"{"message":{"token":"phone",\#(members)}}"# }
    private static func android(_ members: String) -> String { toPhone(#""android":{\#(members)}"#) }
    private static func notification(_ members: String) -> String { android(#""notification":{\#(members)}"#) }
    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let malformed: [Case] = [
        Case(#"{"message":{"token":"phone","subject":"x"}}"#, at: "message"),
        Case(#"{"message":{"token":"phone"},"dry_run":true}"#, at: ""),
        Case(toPhone(#""data":{"n":1}"#), at: "message.data[0].value"),
        Case(toPhone(#""data":{"a":"b","n":{}}"#), at: "message.data[1].value"),
        Case(toPhone(#""data":[]"#), at: "message.data"),
        Case(toPhone(#""notification":"x""#), at: "message.notification"),
        Case(toPhone(#""notification":{"title":7}"#), at: "message.notification.title"),
        Case(toPhone(#""topic":"news""#), at: "message"),
        Case(#"{"message":{"fid":"cabc","condition":"'a' in topics"}}"#, at: "message"),
        Case(android(#""ttl":3.5"#), at: "message.android.ttl"),
        Case(android(#""ttl":"3.5""#), at: "message.android.ttl"),
        Case(android(#""ttl":"1h""#), at: "message.android.ttl"),
        Case(android(#""ttl":".5s""#), at: "message.android.ttl"),
        Case(android(#""priority":"URGENT""#), at: "message.android.priority"),
        Case(android(#""direct_boot_ok":"true""#), at: "message.android.direct_boot_ok"),
        Case(android(#""collapse_key":"a","collapseKey":"b""#), at: "message.android.collapse_key"),
        Case(notification(#""body_loc_args":["a",1]"#), at: "message.android.notification.body_loc_args[1]"),
        Case(notification(#""event_time":"noon""#), at: "message.android.notification.event_time"),
        Case(
            notification(#""notification_priority":"HIGH""#), at: "message.android.notification.notification_priority"),
        Case(notification(#""notification_count":1.5"#), at: "message.android.notification.notification_count"),
        Case(notification(#""visibility":"private""#), at: "message.android.notification.visibility"),
        Case(notification(#""proxy":"NEVER""#), at: "message.android.notification.proxy"),
        Case(notification(#""vibrate_timings":[1]"#), at: "message.android.notification.vibrate_timings[0]"),
        Case(
            notification(#""light_settings":{"color":{"red":2}}"#),
            at: "message.android.notification.light_settings.color.red"),
        Case(toPhone(#""apns":{"headers":{"apns-priority":5}}"#), at: "message.apns.headers[0].value"),
        Case(toPhone(#""apns":{"payload":"x"}"#), at: "message.apns.payload"),
        Case(toPhone(#""webpush":{"notification":[]}"#), at: "message.webpush.notification"),
        Case("no JSON", at: ""), Case("[]", at: ""), Case("", at: ""),
    ]

    static let unfit: [Case] = [
        Case("{}", at: "message", hasCode: true),
        Case(#"{"message":{}}"#, at: "message", hasCode: true),
        Case(#"{"message":{"token":null}}"#, at: "message", hasCode: true),
        Case(#"{"message":{"token":""}}"#, at: "", hasCode: true),
        Case(#"{"message":{"token":"with space"}}"#, at: "", hasCode: true),
        Case(#"{"message":{"token":"ä"}}"#, at: "", hasCode: true),
        Case(#"{"message":{"topic":"/topics/news"}}"#, at: "message.topic", hasCode: true),
        Case(#"{"message":{"condition":"'a' in subjects"}}"#, at: "message.condition", hasCode: true),
        Case(#"{"message":{"condition":"'a' in topics &&"}}"#, at: "message.condition", hasCode: true),
        Case(toPhone(#""data":{"from":"x"}"#), at: "message.data[0].key", hasCode: true),
        Case(toPhone(#""data":{"a":"","message_type":"x"}"#), at: "message.data[1].key", hasCode: true),
        Case(toPhone(#""data":{"google.x":"x"}"#), at: "message.data[0].key", hasCode: true),
        Case(android(#""data":{"gcm.notification.x":"x"}"#), at: "message.android.data[0].key", hasCode: true),
        Case(
            toPhone(#""fcm_options":{"analytics_label":"a b"}"#), at: "message.fcm_options.analytics_label",
            hasCode: true),
        Case(notification(#""color":"red""#), at: "message.android.notification.color", hasCode: true),
        Case(
            notification(#""light_settings":{"color":{"red":1},"light_on_duration":"1s"}"#),
            at: "message.android.notification.light_settings.light_off_duration", hasCode: true),
        Case(
            toPhone(#""webpush":{"fcm_options":{"link":"http://x"}}"#), at: "message.webpush.fcm_options.link",
            hasCode: true),
        Case(android(#""ttl":"2419201s""#), at: "", hasCode: true),
        Case(android(#""ttl":"-1s""#), at: "", hasCode: true),
        Case(toPhone(#""data":{"a":"\#(text(4_096))"}"#), at: "", hasCode: true),
        Case(notification(#""body":"\#(text(4_093))""#), at: "", hasCode: true),
        Case(toPhone(#""apns":{"payload":{"a":"\#(text(4_096))"}}"#), at: "", hasCode: true),
        Case(#"{"message":{"topic":"news","data":{"a":"\#(text(2_048))"}}}"#, at: "", hasCode: true),
        Case(#"{"message":{"condition":"'a' in topics","data":{"a":"\#(text(2_048))"}}}"#, at: "", hasCode: true),
    ]

    @Test("gets an error that names the wrong field")
    func refused() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        for wrong in Self.malformed + Self.unfit {
            let answer = try client.send(wrong.message, authorization: authorization)
            #expect(answer.status == 400, "\(wrong.message.prefix(200))")
            let error = try FCMError(answer.body)
            #expect(error.status == "INVALID_ARGUMENT")
            #expect(error.code == (wrong.hasCode ? "INVALID_ARGUMENT" : nil), "\(wrong.message.prefix(200))")
            #expect(error.field == wrong.field, "\(wrong.message.prefix(200))")
        }
        let summary = await standIn.simulator.summary()
        #expect(summary.refused("INVALID_ARGUMENT") == Self.malformed.count + Self.unfit.count)
        #expect(summary.accepted == 0)
    }

    static let accepted: [String] = [
        #"{"message":{"token":"phone"}}"#, #"{"message":{"fid":"cAbCdEfGhIjKlMnOpQrStU"}}"#,
        #"{"message":{"topic":"news-1_.~%"}}"#, #"{"validate_only":false,"message":{"token":"phone","data":null}}"#,
        #"{"message":{"condition":"'a' in topics && ('b' in topics || !('c' in topics))"}}"#,
        toPhone(#""data":{"a":"\#(text(4_095))"}"#),
        toPhone(#""data":{"a":"\#(text(4_000))"},"android":{"data":{}}"#),
        toPhone(#""fcmOptions":{"analyticsLabel":"spring-1"}"#),
        android(
            #""collapse_key":"a","priority":"high","ttl":"3.5s","restricted_package_name":"x","direct_boot_ok":true"#),
        android(#""collapseKey":"a","priority":"NORMAL","ttl":"0s","bandwidth_constrained_ok":false"#),
        android(#""restrictedSatelliteOk":true,"ttl":"2419200s""#),
        notification(
            """
            "title":"t","body":"b","icon":"i","color":"#a0B1c2","sound":"default","tag":"t","click_action":"c",
            "body_loc_key":"k","body_loc_args":["a"],"title_loc_key":"k","title_loc_args":[],"channel_id":"c",
            "ticker":"t","sticky":true,"event_time":"2026-11-21T23:00:00.123456789Z","local_only":false,
            "notification_priority":"PRIORITY_MAX","default_sound":true,"default_vibrate_timings":true,
            "default_light_settings":true,"vibrate_timings":["0.5s","1s"],"visibility":"SECRET",
            "notification_count":"7","image":"https://example.com/a.png","bypass_proxy_notification":true,
            "proxy":"IF_PRIORITY_LOWERED","light_settings":{"color":{"red":0.5,"green":1,"blue":0,"alpha":1},
            "light_on_duration":"1s","light_off_duration":"0.5s"}
            """),
        notification(
            #""bodyLocArgs":["a"],"notificationPriority":"PRIORITY_MIN","lightSettings":{"color":{},"lightOnDuration":"1s","lightOffDuration":"1s"}"#
        ),
        toPhone(
            #""apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"badge":1},"x":[1]},"fcm_options":{"image":"i"},"live_activity_token":"ab"}"#
        ),
        toPhone(
            #""webpush":{"headers":{"TTL":"1"},"data":{"a":"b"},"notification":{"vibrate":[1],"data":{"x":1}},"fcmOptions":{"link":"https://x"}}"#
        ),
    ]

    @Test("may use each of FCM's fields, in either spelling")
    func accepted() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        for message in Self.accepted {
            let answer = try client.send(message, authorization: authorization)
            #expect(answer.status == 200, "\(message.prefix(200)) \(answer.body)")
            let name = try JSONReader.read(Array(answer.body.utf8)).object?["name"]?.string ?? ""
            #expect(name.hasPrefix("projects/carillon-demo/messages/0:"))
        }
        #expect(await standIn.simulator.summary().accepted == Self.accepted.count)
        let kept = await standIn.simulator.received("phone").map { String(decoding: $0.body, as: UTF8.self) }
        #expect(kept == Self.accepted.filter { $0.contains(#""token":"phone""#) }, "the bodies are kept byte for byte")
        #expect(await standIn.simulator.received("/topics/news-1_.~%").count == 1)
        #expect(await standIn.simulator.received("cAbCdEfGhIjKlMnOpQrStU").count == 1)
    }

    @Test(
        "gets checked but not counted as accepted if it is a dry run",
        arguments: ["validate_only", "validateOnly"])
    func dryRun(member: String) async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let answer = try client.send(#"{"\#(member)":true,"message":{"token":"phone"}}"#, authorization: authorization)
        #expect(answer.body == #"{"name":"projects/carillon-demo/messages/fake_message_id"}"#)
        let dead = try client.send(
            #"{"\#(member)":true,"message":{"token":"UNREGISTERED-1"}}"#, authorization: authorization)
        #expect(try FCMError(dead.body).code == "UNREGISTERED")
        #expect(await standIn.simulator.received("phone").map(\.isDryRun) == [true])
        let summary = await standIn.simulator.summary()
        #expect(summary.dryRuns == 1)
        #expect(summary.accepted == 0)
    }

    @Test("needs a valid authorization for its project")
    func caller() async throws {
        let standIn = try await GoogleStandIn { $0.otherProjects = ["somebody-elses"] }
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        let wrongScope = try standIn.authorization(client, scope: "https://www.googleapis.com/auth/firebase")
        let message = #"{"message":{"token":"phone"}}"#
        let number = standIn.account.projectNumber
        let cases: [(authorization: String, project: String, status: Int, rpcStatus: String)] = [
            (authorization, "carillon-demo", 200, ""), (authorization, number, 200, ""),
            (String("bEARER" + authorization.dropFirst(6)), "carillon-demo", 200, ""),
            ("", "carillon-demo", 401, "UNAUTHENTICATED"),
            ("Bearer ya29.other", "carillon-demo", 401, "UNAUTHENTICATED"),
            (String(authorization.dropLast()), "carillon-demo", 401, "UNAUTHENTICATED"),
            ("key=" + authorization, "carillon-demo", 401, "UNAUTHENTICATED"),
            (wrongScope, "carillon-demo", 403, "PERMISSION_DENIED"),
            (authorization, "somebody-elses", 403, "PERMISSION_DENIED"), (authorization, "nobodys", 404, "NOT_FOUND"),
        ]
        for expected in cases {
            let path = "/v1/projects/\(expected.project)/messages:send"
            let answer = try client.send(message, authorization: expected.authorization, path: path)
            #expect(answer.status == expected.status, "\(expected)")
            if expected.status == 200 { continue }
            let error = try FCMError(answer.body)
            #expect(error.status == expected.rpcStatus)
            #expect(error.code == nil, "no FcmError: the token is not to blame")
        }
        await standIn.simulator.revokeAccessTokens()
        #expect(try client.send(message, authorization: authorization).status == 401)
        #expect(try client.send(message, authorization: standIn.authorization(client)).status == 200)
    }

    @Test("gets a page of HTML on another path or method")
    func paths() async throws {
        let standIn = try await GoogleStandIn()
        let client = try standIn.connect()
        let authorization = try standIn.authorization(client)
        for path in [
            "/", "/fcm/send", "/batch", "/v1/projects/x/messages", "/v1/projects//messages:send",
            "/v1/x/a/messages:send",
        ] {
            let answer = try client.send("{}", authorization: authorization, path: path)
            #expect(answer.status == 404, "\(path)")
            #expect(answer.body.hasPrefix("<!DOCTYPE html>"))
        }
        #expect(try client.post(GoogleStandIn.sendPath, method: "GET", body: []).status == 404)
        let encoded = try client.send(
            #"{"message":{"token":"phone"}}"#, authorization: authorization,
            path: "/v1/projects/carillon%2Ddemo/messages%3Asend?alt=json")
        #expect(encoded.status == 200)
    }
}

/// The contents of a `google.rpc.Status`.
struct FCMError {
    let status: String
    /// The code in the FcmError detail. nil: there is none.
    let code: String?
    /// The field in the BadRequest detail. Empty: there is none.
    let field: String
    let quotaSubject: String?

    init(_ body: String) throws {
        let error = try JSONReader.read(Array(body.utf8)).object?["error"]?.object
        status = error?["status"]?.string ?? ""
        var code: String?
        var field = ""
        var quotaSubject: String?
        for detail in error?["details"]?.array ?? [] {
            let type = detail.object?["@type"]?.string
            if type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" {
                code = detail.object?["errorCode"]?.string
            }
            if type == "type.googleapis.com/google.rpc.BadRequest" {
                field = detail.object?["fieldViolations"]?.array?.first?.object?["field"]?.string ?? ""
            }
            if type == "type.googleapis.com/google.rpc.QuotaFailure" {
                quotaSubject = detail.object?["violations"]?.array?.first?.object?["subject"]?.string
            }
        }
        self.code = code
        self.field = field
        self.quotaSubject = quotaSubject
    }
}
