import Foundation
import Postgres
import TestSupport
import Testing

/// A message that is controlled while most of it still waits, and gateways that die while they carry the control out.
struct ControlKillWorld {
    let world: World
    private(set) var client: Client

    /// A rate so low that most of the message still waits when the control arrives.
    private static let perSecond = 4
    /// The most pushes that may lack a settled answer when a gateway dies: those that leave within one lease (`World`).
    static let unsettledMax = 3 * perSecond
    private static let body = """
        {"audience": {"all": true}, "notification": {"title": "Carillon", "body": "\(World.text)"},
         "badge": "increment", "options": {"rate_per_second": \(perSecond)}}
        """

    enum Control: String {
        case pause, resume, cancel
        case fullSpeed
    }

    init(world: World) {
        self.world = world
        client = Client(body: Self.body, key: "the-only-message-of-this-test")
    }

    /// Sends the message; returns once a device has received it.
    mutating func begin(through gateway: Gateway) async throws {
        try await world.fill(through: gateway)
        try await client.sendUntilAnswered(through: gateway)
        let message = try message
        try await eventually("the first push to be settled") {
            try await gateway.account(message)?.outcomes["accepted"] ?? 0 > 0
        }
    }

    /// The control is stored in the message's row before it is carried out, even if the gateway died before it
    /// answered.
    func write(_ control: Control, to gateway: Gateway) async throws {
        let path = "/v1/apps/\(World.app)/messages/\(try message)"
        let reply: HTTPReply?
        switch control {
        case .pause, .resume, .cancel: reply = try? await gateway.caller.call("POST", "\(path)/\(control.rawValue)")
        case .fullSpeed: reply = try? await gateway.caller.call("PATCH", path, #"{"rate_per_second": null}"#)
        }
        if let reply, reply.status != 200 {
            throw UnexpectedStatus(description: "\(control) was answered \(reply.status): \(reply.text)")
        }
    }

    func diesOfIt(_ gateway: Gateway) async throws {
        #expect(try await gateway.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")
    }

    /// Waits until all parcels are on hold: none is leased or can be leased.
    func held() async throws {
        try await eventually("all parcels to be put on hold") {
            try await rows("SELECT count(*) FROM parcels WHERE state <> 3") == 0
        }
    }

    /// Waits until the message has ended and returns the evidence.
    func finished(through gateway: Gateway) async throws -> Evidence {
        let account = try await client.finished(through: gateway)
        try await forgotten()
        try await gateway.stopGently()
        var evidence = try await world.evidence(answered: client.answered, account: account, repeatsAllowed: 1)
        evidence.repeatsAllowedInAll = Self.unsettledMax
        return evidence
    }

    /// Waits until the cancelled message has ended; returns the state of each push that failed, by installation.
    func cancelled(through gateway: Gateway) async throws -> (Evidence, failures: [String: String]) {
        let message = try message
        var last: Account?
        try await eventually("the cancelled message to be counted") {
            last = try await gateway.account(message)
            return last?.pending == 0 && last?.audience != nil
        }
        let account = try #require(last)
        try await forgotten()
        let path = "/v1/apps/\(World.app)/messages/\(message)/failures?limit=1000"
        let page = try await gateway.caller.expect(200, "GET", path).decoded(FailurePage.self)
        try await gateway.stopGently()
        let evidence = try await world.evidence(answered: client.answered, account: account, repeatsAllowed: 0)
        return (evidence, Dictionary(page.items.map { ($0.installation, $0.state) }) { first, _ in first })
    }

    private var message: String { get throws { try #require(client.answered.last, "a 202 was received") } }

    /// Waits until the rows of the message's controls are gone.
    private func forgotten() async throws {
        try await eventually("the records of its controls to be deleted") {
            try await rows("SELECT (SELECT count(*) FROM stops) + (SELECT count(*) FROM message_rates)") == 0
        }
    }

    private func rows(_ sql: String) async throws -> Int { try await world.pool.number(sql) }

    private struct FailurePage: Decodable {
        struct Failure: Decodable {
            let installation: String
            let state: String
        }

        let items: [Failure]
    }
}
