import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A push that waits for its provider's quota while its device changes hands")
    struct SlowLaneTests {
        private struct Badge: Decodable { let badge: Int }

        private static let app = "/v1/apps/garden"
        /// Their pushes leave first. At one push a second, growing for a minute, they take twelve seconds.
        private static let neighbours = (0..<24).map { "live-neighbour-\($0)-00000000" }
        /// Phones of ada whose push waits behind them.
        private enum Phone: String, CaseIterable {
            case registered, signedOut, erased, deleted, tokenMoved, tokenReplaced, kept

            var token: String { "live-\(rawValue)-0000000000" }
            var path: String { "\(SlowLaneTests.app)/devices/\(rawValue)" }
        }

        private static func body(_ token: String, user: String) -> String {
            #"{"provider": "fcm", "token": "\#(token)", "user": "\#(user)"}"#
        }

        @Test("ends uncounted by the badge, and goes on if only the token changed")
        func withdrawn() async throws {
            try await World.within(settings: ["FCM_MESSAGES_PER_MINUTE": "600"]) { world in
                let gateway = try await world.gateway()
                let api = gateway.api
                try await world.fill(.garden, [], through: gateway)
                try await api.expect(201, "POST", "\(Self.app)/credentials", world.google.credential)
                for (place, token) in Self.neighbours.enumerated() {
                    let path = "\(Self.app)/devices/neighbour-\(place)"
                    try await api.expect(201, "PUT", path, Self.body(token, user: "pat"))
                }
                for phone in Phone.allCases {
                    // The erasure of a user removes all of that user's devices.
                    let user = phone == .erased ? "ann" : "ada"
                    try await api.expect(201, "PUT", phone.path, Self.body(phone.token, user: user))
                }
                let message = try await gateway.send(.garden, audience: #"{"users": ["pat", "ada", "ann"]}"#)
                try await eventually("the first push to leave") {
                    try await !world.google.messages(to: Self.neighbours[0]).isEmpty
                }
                try await api.expect(200, "PUT", Phone.registered.path, Self.body(Phone.registered.token, user: "eve"))
                try await api.expect(200, "PATCH", Phone.signedOut.path, #"{"user": null}"#)
                try await api.expect(200, "DELETE", "\(Self.app)/users/ann")
                try await api.expect(204, "DELETE", Phone.deleted.path)
                try await api.expect(
                    201, "PUT", "\(Self.app)/devices/next", Self.body(Phone.tokenMoved.token, user: "eve"))
                let renewed = "live-renewed-0000000000"
                try await api.expect(200, "PUT", Phone.tokenReplaced.path, Self.body(renewed, user: "ada"))

                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp)
                #expect(account.terminalCounts == ["accepted": Self.neighbours.count + 2, "unregistered": 5])
                let reasons = (account.reasons ?? []).map { "\($0.reason) \($0.count)" }
                #expect(reasons.sorted() == ["device_deleted 2", "retired 1", "user_changed 2"])
                for phone in Phone.allCases {
                    let arrived = try await world.google.messages(to: phone.token).count
                    #expect(arrived == (phone == .kept ? 1 : 0), "\(phone)")
                }
                #expect(try await world.google.messages(to: renewed).count == 1)
                for phone in [Phone.registered, .signedOut] {
                    let badge = try await api.expect(200, "GET", "\(phone.path)/badge").decoded(Badge.self)
                    #expect(badge.badge == 0, "\(phone)")
                }
                try await gateway.stopGently()
            }
        }
    }
}
