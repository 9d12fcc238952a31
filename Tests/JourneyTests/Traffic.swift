import Foundation
import Synchronization
import TestSupport
import Testing

/// Continuous requests to several gateways, each to the next one: registrations with tokens that move and change,
/// messages to single devices, and a reader of the feed. A gateway that is gone or starting is no failure: the request
/// goes to another one.
final class Traffic: Sendable {
    /// The devices of `.forest` that get messages.
    static let correspondents = [Device](.live, 4, family: 2)
    private static let registrantCount = 6
    /// The pause between two requests of one client.
    private static let pause: Duration = .milliseconds(20)
    /// Longer, because each message is a parcel, and parcels must not pile up.
    private static let pauseOfWriters: Duration = .milliseconds(100)

    private let state: Mutex<State>

    private struct State {
        var gateways: [Gateway]
        var isOver = false
        var steps = 0
        /// The installation of each token; nil if none has it.
        var holders: [String: String?] = [:]
        /// The ids of the messages to each correspondent.
        var messages: [Int: [String]] = [:]
        var feed: [Gateway.Feedback] = []
        var cursor: String?
    }

    init(at gateways: [Gateway]) { state = Mutex(State(gateways: gateways)) }

    var gateways: [Gateway] {
        get { state.withLock { $0.gateways } }
        set { state.withLock { $0.gateways = newValue } }
    }

    /// Runs the traffic while the body runs; if either fails, both end.
    func flows(until body: @escaping @Sendable (Traffic) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.runClients() }
            group.addTask {
                try await body(self)
                self.state.withLock { $0.isOver = true }
            }
            for try await _ in group {}
        }
    }

    func hasFlown(steps: Int) async throws {
        try await eventually("\(steps) steps of each client") {
            state.withLock { $0.steps } >= steps * (Self.registrantCount + Self.correspondents.count)
        }
    }

    private func runClients() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<Self.registrantCount { group.addTask { try await self.register(client) } }
            for client in Self.correspondents.indices { group.addTask { try await self.write(client) } }
            group.addTask { try await self.readFeed() }
            for try await _ in group {}
        }
    }

    private func repeats(every pause: Duration = Traffic.pause, _ step: (Int) async throws -> Void) async throws {
        var number = 0
        while !(state.withLock { $0.isOver }) {
            try await step(number)
            number += 1
            state.withLock { $0.steps += 1 }
            try await Task.sleep(for: pause)
        }
    }

    /// - Parameter turn: the number of the gateway to try first; the next ones follow if it does not accept.
    private func call(
        _ number: Int, _ method: String, _ path: String, _ body: String? = nil, idempotencyKey: String? = nil
    ) async throws -> GatewayAPI.Reply {
        var number = number
        return try await foundEventually("\(method) \(path) to be accepted by any gateway") {
            let gateways = gateways
            let gateway = gateways[number % gateways.count]
            number += 1
            let reply = try? await gateway.api.call(method, path, body, idempotencyKey: idempotencyKey)
            guard let reply, reply.status != 503 else { return nil }
            guard (200..<300).contains(reply.status) else {
                throw UnexpectedAnswer(description: "\(method) \(path): \(reply.status): \(reply.text)")
            }
            return reply
        }
    }
}

// Registrations, and their sequential model: each client has its own tokens.
extension Traffic {
    private static func token(_ client: Int, _ number: Int) -> String {
        [Device](.live, 1, family: 10 + client)[0].token.dropLast(4) + String(format: "%04x", number + 1)
    }

    private func register(_ client: Int) async throws {
        try await repeats { step in
            switch step % 3 {
            // One token moves to and fro between two installations.
            case 0: try await register(client + step, "mover-\(client)-\(step % 2)", Self.token(client, 0))
            // One installation gets a new token every time.
            case 1:
                let number = 1 + step / 3 * 2
                try await register(client + step, "changer-\(client)", Self.token(client, number))
                if step > 2 { state.withLock { $0.holders[Self.token(client, number - 2)] = .some(nil) } }
            default: try await register(client + step, "new-\(client)-\(step)", Self.token(client, 2 + step / 3 * 2))
            }
        }
    }

    private func register(_ number: Int, _ installation: String, _ token: String) async throws {
        _ = try await call(
            number, "PUT", "/v1/apps/garden/devices/\(installation)", #"{"provider": "apns", "token": "\#(token)"}"#)
        state.withLock { $0.holders[token] = .some(installation) }
    }

    /// Expects each token where the model has it.
    func expectRegistrations() async throws {
        struct Found: Decodable {
            struct Item: Decodable {
                let index: Int
                let installation: String
            }
            let items: [Item]
        }
        let model = state.withLock { $0.holders }
        try #require(model.count > 100, "the traffic had more than 100 tokens")
        let tokens = model.keys.sorted()
        for start in stride(from: 0, to: tokens.count, by: 500) {
            let asked = tokens[start..<min(start + 500, tokens.count)]
            let list = asked.map { #""\#($0)""# }.joined(separator: ", ")
            let reply = try await call(0, "POST", "/v1/apps/garden/devices/lookup", #"{"tokens": [\#(list)]}"#)
            var holders: [String: String] = [:]
            for item in try reply.decoded(Found.self).items { holders[tokens[start + item.index]] = item.installation }
            let wrong = asked.filter { holders[$0] != model[$0] ?? nil }
            #expect(wrong.count == 0, "some tokens do not belong to their last registration")
        }
    }
}

// Messages: each raises one badge by one.
extension Traffic {
    private func write(_ client: Int) async throws {
        let installation = Self.correspondents[client].installation
        try await repeats(every: Self.pauseOfWriters) { step in
            let reply = try await call(
                client + step, "POST", "/v1/apps/forest/messages",
                """
                {"audience": {"installations": ["\(installation)"]}, "badge": "increment",
                 "notification": {"title": "Carillon", "body": "\(World.text)"}}
                """, idempotencyKey: "\(client)-\(step)")
            struct Accepted: Decodable { let id: String }
            let id = try reply.decoded(Accepted.self).id
            state.withLock { $0.messages[client, default: []].append(id) }
        }
    }

    /// Expects each message once, whichever process accepted or sent it, and none twice for a repeated request.
    func expectMessages(at standIn: StandIn) async throws {
        let gateway = try #require(gateways.first)
        for (client, messages) in state.withLock({ $0.messages }).sorted(by: { $0.key < $1.key }) {
            #expect(Set(messages).count == messages.count)
            for message in messages {
                let account = try await gateway.finished(message, of: .forest)
                #expect(account.addsUp && account.terminalCounts == ["accepted": 1], "\(account)")
            }
            let device = Self.correspondents[client]
            let pushes = await standIn.simulator.received(device.deviceToken).filter { $0.reason == nil }
            #expect(Set(pushes.map(\.apnsID)).count == messages.count, "\(device.installation)")
            struct Badge: Decodable { let badge: Int }
            let reply = try await call(0, "GET", "/v1/apps/forest/devices/\(device.installation)/badge")
            #expect(try reply.decoded(Badge.self).badge == messages.count, "\(device.installation)")
        }
    }
}

// The feed, read continuously, one page from one process and the next from another.
extension Traffic {
    private func readFeed() async throws { try await repeats { try await readPage($0) } }

    private func readPage(_ number: Int) async throws {
        let cursor = state.withLock { $0.cursor }
        let after = cursor.map { "&after=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0) }
        let page = try await call(number, "GET", "/v1/apps/garden/feedback?limit=50\(after ?? "")")
            .decoded(Gateway.FeedbackPage.self)
        state.withLock { state in
            state.feed += page.items
            state.cursor = page.next ?? state.cursor
        }
    }

    /// Expects that a reader of the feed has all of it, in order.
    func expectFeed() async throws {
        let gateway = try #require(gateways.first)
        let whole = try await gateway.feedback(.garden)
        try await eventually("the reader to reach the end") {
            let before = state.withLock { $0.feed.count }
            try await readPage(0)
            return state.withLock { $0.feed.count } == before && before >= whole.count
        }
        let read = state.withLock { $0.feed }
        #expect(read.count == whole.count)
        // There are thousands of entries: the first difference is enough.
        let differs = zip(read, whole).first { $0.asOlderOnesReport != $1.asOlderOnesReport }
        #expect(differs.map { "\($0), \($1)" } == nil)
    }
}

extension Gateway.Feedback {
    /// Some pages come from the previous release, which reports a token found in the other environment as accepted.
    fileprivate var asOlderOnesReport: Gateway.Feedback {
        guard verdict == "environment_changed" else { return self }
        return Gateway.Feedback(
            id: id, installation: installation, verdict: "cleared", reason: reason, from: nil, to: nil)
    }
}
