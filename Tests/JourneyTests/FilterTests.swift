import Foundation
import JSON
import Testing

extension Journeys {
    @Suite("A message to a filter")
    struct FilterTests {
        private static let phones = [Device](.live, 5)
        /// The registered values of each phone.
        private static let input = [
            #""app_version": "4.9", "tags": ["news"], "attributes": {"plan": "pro", "visits": 12}"#,
            #""app_version": "4.10", "tags": ["news"], "attributes": {"plan": "pro", "visits": 3}"#,
            #""app_version": "4.10", "tags": ["news", "beta"], "attributes": {"plan": "team"}"#,
            #""app_version": "4.10", "locale": "de-AT", "attributes": {"plan": "free", "visits": 40.5}"#,
            #""user": "it's \"quoted\"""#,
        ]

        private static func fill(_ world: World, _ gateway: Gateway) async throws {
            try await world.fill(.garden, [], through: gateway)
            for (phone, input) in zip(phones, input) {
                let body = phone.registration(named: false).dropLast() + ", \(input)}"
                try await gateway.api.expect(
                    201, "PUT", "/v1/apps/garden/devices/\(phone.installation)", String(body))
            }
        }

        /// The number of pushes that each phone received, by place.
        private static func received(_ world: World) async -> [Int] {
            var counts: [Int] = []
            for phone in phones { counts.append(await world.production.simulator.received(phone.deviceToken).count) }
            return counts
        }

        @Test("reaches exactly the devices that match the filter")
        func reaches() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await Self.fill(world, gateway)
                let filters = [
                    "app_version >= '4.10' and attributes.plan in ['pro', 'team'] and not tags has 'beta'": [1],
                    "attributes.visits > 10 or user == 'it\\\\'s \\\"quoted\\\"'": [0, 3, 4],
                    "registered_at > now - 1h and attributes.plan missing": [4],
                    "locale starts_with 'de-' and provider == 'apns' and environment == 'production'": [3],
                    "user == '' or 1": nil,
                ].sorted { $0.key < $1.key }
                var expected = Array(repeating: 0, count: Self.phones.count)
                for (filter, places) in filters {
                    let body = #"{"audience": {"filter": "\#(filter)"}, "notification": {"body": "\#(World.text)"}}"#
                    guard let places else {
                        let refusal = try await gateway.api.expect(422, "POST", "/v1/apps/garden/messages", body)
                        let problem = try #require(try JSONReader.read(Array(refusal.body)).object)
                        #expect(problem["code"] == "invalid_filter" && problem["pointer"] == "/audience/filter")
                        #expect(problem["position"] == 15)
                        continue
                    }
                    let account = try await gateway.finished(try await gateway.send(.garden, body)[0], of: .garden)
                    #expect(account.audience == places.count && account.addsUp, "\(filter)")
                    for place in places { expected[place] += 1 }
                    #expect(await Self.received(world) == expected, "\(filter)")
                }
                try await gateway.stopGently()
            }
        }

        @Test("lists and reaches the same devices from the command line")
        func byHand() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await Self.fill(world, gateway)
                let filter = "attributes.plan == 'pro' and attributes.visits >= 3"
                let listed = try await world.command(["devices", "list", "--filter", filter, "--json"], gateway)
                let items = try JSONReader.read(Array(listed.printed.utf8)).object?["items"]?.array ?? []
                #expect(
                    Set(items.compactMap { $0.object?["installation"]?.string })
                        == Set(Self.phones[...1].map(\.installation)))
                let sent = try await world.command(
                    ["send", "--filter", filter, "--body", World.text, "--yes"], gateway)
                #expect(sent.code == 0, "\(sent.input)")
                #expect(await Self.received(world) == [1, 1, 0, 0, 0])
                let refused = try await world.command(
                    ["send", "--filter", "plan == 'pro'", "--body", World.text, "--yes"], gateway)
                #expect(refused.code != 0)
                #expect(refused.input.contains("At character 1 of the filter: plan is not a field"))
                try await gateway.stopGently()
            }
        }
    }
}
