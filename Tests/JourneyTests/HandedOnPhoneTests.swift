import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A phone that changes its user while messages to the first user wait")
    struct HandedOnPhoneTests {
        private struct Listed: Decodable {
            struct Item: Decodable { let id: String }
            let items: [Item]
        }

        /// Four phones of the user ada, with the tag "vip".
        private static let phones = [Device](.live, 4)

        private static func body(_ phone: Device, user: String, tags: String = "[]", named: Bool = false) -> String {
            let name = named ? #""installation": "\#(phone.installation)", "# : ""
            return
                #"{\#(name)"provider": "apns", "token": "\#(phone.token)", "user": "\#(user)", "tags": \#(tags)}"#
        }

        @Test("gets no message that was meant for the first user, however the user changed")
        func passedOn() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, [], through: gateway)
                let (api, app) = (gateway.api, "/v1/apps/garden")
                let device = Self.phones.map { "\(app)/devices/\($0.installation)" }
                for (place, phone) in Self.phones.enumerated() {
                    try await api.expect(201, "PUT", device[place], Self.body(phone, user: "ada", tags: #"["vip"]"#))
                }
                // Without a credential every message waits.
                let listed = try await api.expect(200, "GET", "\(app)/credentials").decoded(Listed.self)
                let credential = try #require(listed.items.first).id
                try await api.expect(204, "POST", "\(app)/credentials/\(credential)/retire")
                var messages: [String] = []
                for audience in [
                    #"{"users": ["ada"]}"#, #"{"tags": {"any": ["vip"]}}"#, #"{"filter": "user == 'ada'"}"#,
                    #"{"all": true}"#,
                ] {
                    messages.append(try await gateway.send(.garden, audience: audience))
                }
                try await eventually("all messages to wait for a credential") {
                    try await world.database { pool in
                        try await pool.number("SELECT coalesce(sum(pending), 0)::int8 FROM parcels") == 16
                    }
                }
                try await api.expect(200, "PUT", device[0], Self.body(Self.phones[0], user: "eve"))
                try await api.expect(200, "PATCH", device[1], #"{"user": null, "tags_remove": ["vip"]}"#)
                try await api.expect(
                    200, "POST", "\(app)/devices/import", Self.body(Self.phones[2], user: "eve", named: true),
                    contentType: "application/x-ndjson")
                try await api.expect(200, "DELETE", "\(app)/users/ada")
                try await api.expect(201, "PUT", device[3], Self.body(Self.phones[3], user: "eve"))
                try await api.expect(200, "POST", "\(app)/credentials/\(credential)/activate")

                for (message, reason) in zip(messages, ["user_changed", "audience_changed", "audience_changed"]) {
                    let account = try await gateway.finished(message, of: .garden)
                    #expect(account.addsUp && account.terminalCounts == ["unregistered": 4])
                    let reasons = (account.reasons ?? []).map { "\($0.reason) \($0.count)" }
                    #expect(reasons.sorted() == ["\(reason) 3", "device_deleted 1"].sorted())
                }
                // A message to everyone is still sent: it is for any user of the phone.
                let account = try await gateway.finished(messages[3], of: .garden)
                #expect(account.terminalCounts == ["accepted": 3, "unregistered": 1])
                #expect(await world.production.simulator.arrivals(of: Self.phones).count == 3)
                try await gateway.stopGently()
            }
        }
    }
}
