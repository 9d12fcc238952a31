import JSON
import Simulator
import Testing

@Suite("A push to the APNs simulator", .serialized)
struct JudgementTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int
        let reason: String
        let edit: @Sendable (inout Push) -> Void
        var testDescription: String { name }

        init(_ name: String, _ status: Int, _ reason: String, _ edit: @escaping @Sendable (inout Push) -> Void) {
            self.name = name
            self.status = status
            self.reason = reason
            self.edit = edit
        }

        init(_ header: String, _ value: String, _ status: Int, _ reason: String) {
            self.init("\(header): \(value)", status, reason) { $0.set(header, value) }
        }
    }

    static let refused: [Case] = [
        Case("another path", 404, "BadPath") { $0.path = "/4/device/00" },
        Case("a path that only begins alike", 404, "BadPath") { $0.path = "/3/devices/00" },
        Case("a broadcast", 404, "BadPath") { $0.path = "/4/broadcasts/apps/com.example.carillon" },
        Case("a channel's creation", 404, "BadPath") { $0.path = "/1/apps/com.example.carillon/channels" },
        Case("GET", 405, "MethodNotAllowed") { $0.method = "GET" },
        Case("PUT", 405, "MethodNotAllowed") { $0.method = "PUT" },
        Case("no provider token", 403, "MissingProviderToken") { $0.authorization = nil },
        Case("a scheme without a provider token", 403, "MissingProviderToken") { $0.authorization = "bearer" },
        Case("an empty authorization", 403, "MissingProviderToken") { $0.authorization = "" },
        Case("a provider token of another form", 403, "InvalidProviderToken") { $0.authorization = "bearer abc" },
        Case("another scheme", 403, "InvalidProviderToken") { $0.authorization = "basic abc" },
        Case("no device token", 400, "MissingDeviceToken") { $0.path = "/3/device/" },
        Case("no device token, nor a slash", 400, "MissingDeviceToken") { $0.path = "/3/device" },
        Case("a device token with a query", 400, "BadDeviceToken") { $0.path = "/3/device/00?x=1" },
        Case("a device token of odd length", 400, "BadDeviceToken") { $0.path = "/3/device/00f" },
        Case("a device token that is not hex", 400, "BadDeviceToken") { $0.path = "/3/device/00zz" },
        Case("no topic", 400, "MissingTopic") { $0.set("apns-topic", "") },
        Case("a repeated header", 400, "DuplicateHeaders") { push in
            push.fields.append(("apns-priority", "10"))
            push.fields.append(("apns-priority", "10"))
        },
        Case("apns-id", "123", 400, "BadMessageId"),
        Case("apns-id", "123e4567e89b12d3a4564266554400a0", 400, "BadMessageId"),
        Case("apns-expiration", "99999999999999999999", 400, "BadExpirationDate"),
        Case("apns-expiration", "1e9", 400, "BadExpirationDate"),
        Case("apns-expiration", "tomorrow", 400, "BadExpirationDate"),
        Case("apns-expiration", "-1", 400, "BadExpirationDate"),
        Case("apns-priority", "7", 400, "BadPriority"),
        Case("apns-priority", "05", 400, "BadPriority"),
        Case("apns-topic", "com.example.carillön", 400, "BadTopic"),
        Case("apns-topic", "com example", 400, "BadTopic"),
        Case("apns-push-type", "Alert", 400, "InvalidPushType"),
        Case("apns-collapse-id", String(repeating: "é", count: 33), 400, "BadCollapseId"),
        Case("apns-push-type", "alarm", 400, "InvalidPushType"),
        Case("a background push of priority 10", 400, "BadPriority") { push in
            push.set("apns-push-type", "background")
            push.set("apns-priority", "10")
        },
        Case("a background push of priority 1", 400, "BadPriority") { push in
            push.set("apns-push-type", "background")
            push.set("apns-priority", "1")
        },
        Case("a background push of no priority, which means 10", 400, "BadPriority") { push in
            push.set("apns-push-type", "background")
        },
        Case("a Live Activity's push of priority 1", 400, "BadPriority") { push in
            push.set("apns-push-type", "liveactivity")
            push.set("apns-topic", "com.example.carillon.push-type.liveactivity")
            push.set("apns-priority", "1")
        },
        Case("4,097 bytes for a Live Activity", 413, "PayloadTooLarge") { push in
            push.body = JudgementTests.payload(bytes: 4_097)
            push.set("apns-push-type", "liveactivity")
            push.set("apns-topic", "com.example.carillon.push-type.liveactivity")
        },
        Case("5,121 bytes over voip", 413, "PayloadTooLarge") { push in
            push.body = JudgementTests.payload(bytes: 5_121)
            push.set("apns-push-type", "voip")
            push.set("apns-topic", "com.example.carillon.voip")
        },
        Case("a voip push to the app's own topic", 400, "BadTopic") { $0.set("apns-push-type", "voip") },
        Case("an alert to the voip topic", 400, "BadTopic") { push in
            push.set("apns-push-type", "alert")
            push.set("apns-topic", "com.example.carillon.voip")
        },
        Case("no payload", 400, "PayloadEmpty") { $0.body = [] },
        Case("4,097 bytes", 413, "PayloadTooLarge") { $0.body = JudgementTests.payload(bytes: 4_097) },
        Case("1,000,000 bytes", 413, "PayloadTooLarge") { $0.body = JudgementTests.payload(bytes: 1_000_000) },
        Case("a payload that is no object", 400, "BadRequestPayload") { $0.body = Array("[1]".utf8) },
        Case("a compressed payload", 400, "BadRequestPayload") { $0.body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0] },
    ]

    static let accepted: [Case] = [
        Case("as it should be", 200, "") { _ in },
        Case("a device token of 54 bytes", 200, "") { $0.path = "/3/device/" + String(repeating: "ab", count: 54) },
        Case("a device token in capitals", 200, "") { $0.path = "/3/device/" + String(repeating: "AB", count: 32) },
        Case("4,096 bytes", 200, "") { $0.body = JudgementTests.payload(bytes: 4_096) },
        Case("5,120 bytes over voip", 200, "") { push in
            push.body = JudgementTests.payload(bytes: 5_120)
            push.set("apns-push-type", "voip")
            push.set("apns-topic", "com.example.carillon.voip")
        },
        Case("a background push of priority 5", 200, "") { push in
            push.set("apns-push-type", "background")
            push.set("apns-priority", "5")
        },
        Case("apns-collapse-id", String(repeating: "é", count: 32), 200, ""),
        Case("apns-id", "123E4567-E89B-12D3-A456-4266554400A0", 200, ""),
        Case("apns-priority", "1", 200, ""),
        Case("apns-expiration", "1735689600", 200, ""),
        Case("an escaped NUL in the payload", 200, "") { $0.body = Array(#"{"aps":{"alert":"a\u0000b"}}"#.utf8) },
        Case("a payload of many levels", 200, "") { push in
            let levels = 100
            let open = String(repeating: "[", count: levels)
            let close = String(repeating: "]", count: levels)
            push.body = Array(#"{"aps":{},"deep":\#(open)\#(close)}"#.utf8)
        },
        Case("apns-expiration", "0", 200, ""),
        Case("host instead of authority", 200, "") { $0.fields.append(("host", "api.push.apple.com")) },
    ]

    static func payload(bytes: Int) -> [UInt8] {
        let frame = #"{"aps":{"alert":""}}"#
        return Array(#"{"aps":{"alert":""#.utf8) + [UInt8](repeating: 0x61, count: bytes - frame.utf8.count)
            + Array(#""}}"#.utf8)
    }

    @Test("gets the status and reason that Apple would give", arguments: refused + accepted)
    func judged(_ found: Case) async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        var push = Push(authorization: try standIn.authorization())
        push.set("apns-id", "123e4567-e89b-12d3-a456-4266554400a0")
        found.edit(&push)
        let answer = try provider.ask(push)
        #expect(answer.conclusion == .complete)
        #expect(answer.status == found.status)
        #expect(answer.body == (found.reason.isEmpty ? "" : #"{"reason":"\#(found.reason)"}"#))
        let ownID = push.fields.first { $0.name == "apns-id" }?.value
        #expect(answer.apnsID == ownID, "the id comes back on successes and errors alike")
    }

    @Test(
        "must use the topic suffix of its push type",
        arguments: [
            ("alert", ""), ("background", ""), ("mdm", ""), ("voip", ".voip"), ("complication", ".complication"),
            ("fileprovider", ".pushkit.fileprovider"), ("liveactivity", ".push-type.liveactivity"),
            ("pushtotalk", ".voip-ptt"), ("location", ".location-query"), ("widgets", ".push-type.widgets"),
            ("controls", ".push-type.controls"),
        ])
    func topicOfType(type: String, suffix: String) async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        var push = Push(authorization: authorization, [("apns-push-type", type), ("apns-priority", "5")])
        push.set("apns-topic", "com.example.carillon" + suffix)
        #expect(try provider.ask(push).status == 200)
        push.set("apns-topic", "com.example.carillon" + (suffix == ".voip" ? ".complication" : ".voip"))
        #expect(try provider.ask(push).body == #"{"reason":"BadTopic"}"#)
    }

    @Test("gets an id from the simulator if it has none")
    func madeID() async throws {
        let standIn = try await StandIn()
        let answer = try standIn.connect().ask(Push(token: "0a", authorization: try standIn.authorization()))
        #expect(answer.apnsID.utf8.count == 36)
        #expect(await standIn.simulator.received(StandIn.token("0a")).map(\.apnsID) == [answer.apnsID])
    }

    @Test("fails with TopicDisallowed for a topic outside the configured ones")
    func topics() async throws {
        let standIn = try await StandIn { settings, _ in settings.topics = ["com.example.carillon"] }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        let voip = Push(authorization: authorization, [("apns-topic", "com.example.carillon.voip")])
        #expect(try provider.ask(voip).status == 200)
        let other = Push(authorization: authorization, [("apns-topic", "com.example.other")])
        #expect(try provider.ask(other).body == #"{"reason":"TopicDisallowed"}"#)
    }

    @Test("leaves its headers, payload and answer in the record")
    func remembered() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        let id = "123e4567-e89b-12d3-a456-4266554400a0"
        _ = try provider.ask(
            Push(token: "0a0b", authorization: authorization, [("apns-id", id), ("apns-priority", "5")]))
        _ = try provider.ask(Push(token: "0a0b", authorization: authorization, [("apns-id", id)]))
        let received = await standIn.simulator.received(StandIn.token("0a0b"))
        #expect(received.map(\.apnsID) == [id, id])
        #expect(received.first?.header("apns-priority") == "5")
        #expect(received.first?.header("authorization") == nil)
        #expect(received.first?.body == Push().body)
        let summary = await standIn.simulator.summary()
        #expect(summary.accepted == 2)
        #expect(summary.repeated == 1)
        #expect(summary.tokens == 1)

        let answer = try provider.get("/simulator/received/0A0B")
        let shown = try JSONReader.read(Array(answer.body.utf8))
        #expect(shown.object?["pushes"]?.array?.count == 2)
        #expect(try provider.get("/simulator/received/0c").body == #"{"token":"0c","pushes":[]}"#)
        let counted = try JSONReader.read(Array(try provider.get("/simulator/summary").body.utf8))
        #expect(counted.object?["accepted"]?.integer == 2)
        #expect(try provider.ask(Push(method: "POST", path: "/simulator/reset")).status == 200)
        #expect(await standIn.simulator.summary().requests == 0)
        #expect(try provider.get("/simulator/else").status == 404)
    }

    @Test("leaves the record oldest first beyond the limit, while the counts stay")
    func bounded() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.keptBytesMax = 20_000 }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        for number in 10..<60 {
            var push = Push(token: "00\(number)", authorization: authorization)
            push.body = JudgementTests.payload(bytes: 1_000)
            #expect(try provider.ask(push).status == 200)
        }
        let summary = await standIn.simulator.summary()
        #expect(summary.accepted == 50)
        #expect(summary.kept + summary.forgotten == 50)
        #expect(summary.kept < 20)
        #expect(await standIn.simulator.received(StandIn.token("0010")).isEmpty)
        #expect(await standIn.simulator.received(StandIn.token("0059")).count == 1)
    }

    @Test("adds one line of JSON to the simulator's record")
    func recorded() async throws {
        let lines = Lines()
        let standIn = try await StandIn { settings, _ in settings.common.record = { lines.append($0) } }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        _ = try provider.ask(Push(token: "0a0b", authorization: authorization))
        _ = try provider.ask(Push(token: "dead0200aa", authorization: authorization))
        await standIn.simulator.stop()
        let read = try lines.bytes.split(separator: 0x0a).map { try JSONReader.read(Array($0)).object }
        #expect(read.count == 2)
        #expect(read.first??["token"]?.string == "0a0b")
        #expect(read.first??["payload"]?.object?["aps"] != nil)
        #expect(read.last??["status"]?.integer == 410)
        #expect(read.last??["reason"]?.string == "Unregistered")
    }
}

extension Push {
    mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        fields.append((name: name, value: value))
    }
}
