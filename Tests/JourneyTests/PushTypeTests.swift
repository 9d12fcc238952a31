import Encodings
import Foundation
import JSON
import Model
import Testing

extension Journeys {
    @Suite("Pushes of every type")
    struct PushTypeTests {
        /// Written by hand from Apple's pages, without the product's own tables.
        private struct Row {
            let type: String
            let kind: String
            let topic: String
            let priority: String
            /// Whether APNs stores it for a device that is off.
            var isKept = true
        }

        private static let app = "com.example.garden"
        private static let management = "com.apple.mgmt.External.0192f3a4-0000-4000-8000-000000000001"

        /// In the order of docs/push-types.md, whose examples are sent.
        private static let rows = [
            Row(type: "alert", kind: "alert", topic: app, priority: "10"),
            Row(type: "alert", kind: "alert", topic: app, priority: "10"),
            Row(type: "background", kind: "alert", topic: app, priority: "5"),
            Row(type: "voip", kind: "voip", topic: app + ".voip", priority: "10", isKept: false),
            Row(type: "complication", kind: "complication", topic: app + ".complication", priority: "10"),
            Row(type: "fileprovider", kind: "file-provider", topic: app + ".pushkit.fileprovider", priority: "10"),
            Row(type: "mdm", kind: "mdm", topic: management, priority: "10"),
            Row(
                type: "liveactivity", kind: "push-to-start", topic: app + ".push-type.liveactivity", priority: "10"),
            Row(type: "liveactivity", kind: "live-activity", topic: app + ".push-type.liveactivity", priority: "5"),
            Row(type: "liveactivity", kind: "live-activity", topic: app + ".push-type.liveactivity", priority: "10"),
            Row(type: "pushtotalk", kind: "push-to-talk", topic: app + ".voip-ptt", priority: "10", isKept: false),
            Row(type: "location", kind: "location", topic: app + ".location-query", priority: "10"),
            Row(type: "widgets", kind: "widget", topic: app + ".push-type.widgets", priority: "10"),
            Row(type: "controls", kind: "control", topic: app + ".push-type.controls", priority: "10"),
        ]

        /// The messages on the page, in its order: the first block of each pair.
        private static func examples() throws -> [JSONObject] {
            let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            let page = try String(contentsOf: root.appending(path: "docs/push-types.md"), encoding: .utf8)
            let blocks = page.split(separator: "```json\n").dropFirst().map { $0.split(separator: "\n```")[0] }
            return try stride(from: 0, to: blocks.count, by: 2).map { place in
                try #require(try JSONReader.read(Array(blocks[place].utf8)).object)
            }
        }

        private static func token(of kind: String) -> String {
            let place = rows.firstIndex { $0.kind == kind } ?? 0
            return "a11e0000" + String(repeating: "0", count: 54) + (place < 16 ? "0" : "") + String(place, radix: 16)
        }

        @Test("use the token of their kind, with the topic, priority and expiration of their type")
        func everyType() async throws {
            let examples = try Self.examples()
            try #require(examples.count == Self.rows.count)
            #expect(Set(Self.rows.map(\.type)).count == PushType.allCases.count)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
                // One key for all topics, as most teams have.
                try await world.activateToken(for: .garden, topics: [], through: gateway)
                for kind in Set(Self.rows.map(\.kind)).sorted() {
                    let topic = kind == "mdm" ? Self.management : Self.app
                    try await gateway.api.expect(
                        201, "PUT", "/v1/apps/garden/devices/phone",
                        #"{"provider": "apns", "kind": "\#(kind)", "token": "\#(Self.token(of: kind))", "#
                            + #""topic": "\#(topic)"}"#)
                }
                var sent: [String: Int] = [:]
                for (row, example) in zip(Self.rows, examples) {
                    let members = [JSONMember("audience", ["installations": ["phone"]])] + example.members
                    let body = String(decoding: JSONValue.object(JSONObject(members)).bytes, as: UTF8.self)
                    let account = try await gateway.finished(try await gateway.send(.garden, body)[0], of: .garden)
                    #expect(account.addsUp && account.terminalCounts == ["accepted": 1], "\(row.type) to \(row.kind)")
                    sent[row.kind, default: 0] += 1
                    let device = DeviceToken(bytes: Hexadecimal.decode(Self.token(of: row.kind).utf8) ?? [])
                    let received = await world.production.simulator.received(device)
                    #expect(received.count == sent[row.kind], "\(row.type): tokens of other kinds get no push")
                    let push = try #require(received.last)
                    #expect(push.header("apns-push-type") == row.type)
                    #expect(push.header("apns-topic") == row.topic)
                    #expect(push.header("apns-priority") == row.priority, "\(row.type)")
                    #expect((push.header("apns-expiration") == "0") == !row.isKept, "\(row.type)")
                }
                #expect(await world.production.simulator.summary().requests == Self.rows.count)
                try await gateway.stopGently()
            }
        }

        @Test("reach no device as a dry run: FCM validates them, and badges stay the same")
        func dryRun() async throws {
            let phones = [Device](.live, 3)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, phones, through: gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                try await gateway.registerFCM(["live-0000000000000000", "UNREGISTERED-0000000000000000"])
                let message = try await gateway.send(
                    .garden,
                    #"{"audience": {"all": true}, "badge": "increment", "options": {"dry_run": true}, "#
                        + #""notification": {"body": "Twelve o'clock"}}"#)[0]
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp)
                #expect(account.terminalCounts == ["suppressed": 3, "accepted": 1, "unregistered": 1])
                #expect(await world.production.simulator.summary().requests == 0)
                let google = await world.google.simulator.summary()
                #expect(google.accepted == 0 && google.dryRuns == 1)
                for name in [phones[0].installation, "android-0"] {
                    let badge = try await gateway.api.expect(200, "GET", "/v1/apps/garden/devices/\(name)/badge")
                    #expect(badge.text.contains(#""badge":0"#), "\(badge.text)")
                }
                try await gateway.stopGently()
            }
        }
    }
}
