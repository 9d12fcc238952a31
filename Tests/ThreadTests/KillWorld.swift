import Basis
import Foundation
import Model
import TestSupport
import Testing

/// One message through gateways that die on the way, until one lives to the end.
struct KillWorld {
    let world: World
    let kills: [Fault]
    /// Evaluated once, when the first gateway is ready for it.
    var body: @Sendable () -> String = { Self.atOnce }
    /// Sends the body once before, under another key, to the end. From then on the first gateway knows the lane, and
    /// leases direct messages when it accepts them.
    var warmsUp = false

    /// The idempotency key of every attempt, so that all attempts are one request.
    private static let key = "the-only-message-of-this-test"
    private static let atOnce = """
        {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "\(World.text)"},
         "badge": "increment", "options": {"ttl_seconds": 3600}}
        """

    struct Outcome {
        let evidence: Evidence
        /// The kills that took place. The work may have ended before the place of a later one.
        let fired: [Fault]
    }

    func run() async throws -> Outcome {
        var known: Client?
        var fired: [Fault] = []
        for (life, kill) in kills.enumerated() {
            guard let gateway = try await world.gatewayOrItsEnd(kill) else {
                fired.append(kill)
                continue
            }
            if life == 0 {
                try await world.fill(through: gateway)
                if warmsUp {
                    var first = Client(body: body(), key: "warm-up")
                    try await first.sendUntilAnswered(through: gateway)
                    _ = try await first.finished(through: gateway)
                }
            }
            var client = known ?? Client(body: body(), key: Self.key)
            try await client.send(through: gateway)
            known = client
            if try await endsByItsFault(gateway, client, isFirst: life == 0) { fired.append(kill) }
        }
        var client = try #require(known, "the first gateway became ready")
        let gateway = try await world.gateway()
        try await client.sendUntilAnswered(through: gateway)
        let account = try await client.finished(through: gateway)
        try await gateway.stopGently()
        let repeats = fired.indices.count { Self.mayRepeat(after: fired[$0].step, fired[..<$0]) }
        let evidence = try await world.evidence(
            answered: client.answered, account: account, repeatsAllowed: repeats, messagesSent: warmsUp ? 2 : 1)
        return Outcome(evidence: evidence, fired: fired)
    }

    /// Pushes may be repeated if their answers could have arrived but were not settled. With one parcel, no push is out
    /// before the parcel is submitted, nor after it is settled. A message that an earlier gateway committed is in
    /// flight from the next one's start, and the repeated request may arrive at any moment of that.
    private static func mayRepeat(after step: Step, _ earlier: ArraySlice<Fault>) -> Bool {
        switch step {
        case .messageRead, .messageWritten, .messageCommitted, .cutWritten, .cutCommitted, .messageAnswered:
            earlier.contains { ![.messageRead, .messageWritten, .cutWritten].contains($0.step) }
        case .batchSubmitted, .firstAnswer, .lastAnswer, .verdictsCommitted, .settleWritten: true
        case .sliceWritten, .sliceCommitted, .leaseWritten, .leaseCommitted, .settleCommitted, .scheduleWritten,
            .scheduleCommitted, .stopWritten, .stopCommitted, .nodeWritten, .nodeCommitted, .fanOutWritten,
            .fanOutCommitted, .removalWritten, .removalCommitted, .portionCommitted, .updateWritten, .updateCommitted,
            .pushesWritten, .pushesCommitted:
            false
        }
    }

    /// Waits until the gateway has died at its fault; returns false if the message ended before. The first gateway must
    /// die, even if its fault comes after the commit that reports that end.
    private func endsByItsFault(_ gateway: Gateway, _ client: Client, isFirst: Bool) async throws -> Bool {
        try await eventually("the fault to fire, or the message to end") {
            guard gateway.child.isAlive else { return true }
            guard !isFirst, let id = client.answered.last else { return false }
            return try await gateway.account(id)?.state == "finished"
        }
        guard gateway.child.isAlive else { return gateway.child.terminalStatus == .killed(signal: SIGKILL) }
        gateway.child.kill(SIGKILL)
        _ = try await gateway.child.end()
        return false
    }
}

/// A mobile backend: it repeats its request with the same key until it gets an answer.
struct Client {
    let body: String
    let key: String
    private(set) var answered: [String] = []

    init(body: String, key: String) {
        self.body = body
        self.key = key
    }

    /// Sends once through this gateway. No answer is not an error, since the gateway may die meanwhile; nor is "try
    /// again".
    mutating func send(through gateway: Gateway) async throws {
        let path = "/v1/apps/\(World.app)/messages"
        guard let reply = try? await gateway.caller.call("POST", path, body, idempotencyKey: key), reply.status < 500
        else { return }
        guard reply.status == 202 else {
            throw UnexpectedStatus(description: "the message was answered \(reply.status): \(reply.text)")
        }
        answered.append(try reply.decoded(Accepted.self).id)
    }

    /// Repeats the request until it is answered, as a backend does.
    mutating func sendUntilAnswered(through gateway: Gateway) async throws {
        let before = answered.count
        let end = ContinuousClock.now + .seconds(120)
        while answered.count == before {
            guard gateway.child.isAlive, ContinuousClock.now < end else {
                throw TookTooLong(description: "no 202 was received")
            }
            try await send(through: gateway)
        }
    }

    func finished(through gateway: Gateway) async throws -> Account {
        let id = try #require(answered.last, "a 202 was received")
        var last: Account?
        try await eventually("the message to finish", within: .seconds(120)) {
            last = try await gateway.account(id) ?? last
            if !gateway.child.isAlive {
                throw TookTooLong(description: "the gateway ended: \(String(describing: gateway.child.terminalStatus))")
            }
            return last?.state == "finished"
        }
        return try #require(last)
    }

    private struct Accepted: Decodable { let id: String }
}
