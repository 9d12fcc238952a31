import AsyncHTTPClient
import CommandLine
import Foundation
import JSON
import NIOCore
import NIOSSL
import Reactor

/// Asks the gateway itself whether it works: what a process does is told by no setting and no row.
struct GatewayCheck {
    let settings: Settings
    private static let deadline: Duration = .seconds(5)
    private static let answerBytesMax = 65_536

    func run() async -> Finding {
        let address = settings.listen
        guard address.port != 0 else { return DoctorRules.gateway(.portUnknown, at: "\(address)", isService: false) }
        let isEncrypted = settings.tlsCertificateFile != nil
        let place = Endpoint(host: Self.reachable(address.host), port: address.port)
        let url = "http\(isEncrypted ? "s" : "")://\(place)/readyz"
        let service = PackagedService()
        return DoctorRules.gateway(
            await Self.ask(url), at: "\(place)", isService: service.isHere && settings.dataFolder == service.dataFolder)
    }

    /// A gateway that listens on every address is reached over the loopback.
    private static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: host
        }
    }

    private static func ask(_ url: String) async -> GatewayAnswer {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .nanoseconds(deadline.wholeNanoseconds)
        // Its certificate has a finding of its own, and names no loopback.
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.certificateVerification = .none
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let outcome = await Result(of: { () async throws -> GatewayAnswer in
            let response = try await client.execute(
                HTTPClientRequest(url: url), timeout: .nanoseconds(deadline.wholeNanoseconds))
            let body = try await response.body.collect(upTo: answerBytesMax)
            let answer = try? JSONReader.read(Array(body.readableBytesView))
            return GatewayAnswer(status: Int(response.status.code), answer)
        })
        try? await client.shutdown()
        switch outcome {
        case .success(let answer): return answer
        case .failure(let error): return .unreachable(NetworkTrouble(error))
        }
    }
}

/// The answer to `/readyz`, where a gateway should listen.
package enum GatewayAnswer: Equatable, Sendable {
    case ready
    /// The gateway works, and can't serve: the code and the sentence of its problem.
    case notReady(code: String, detail: String)
    /// No gateway answers so.
    case foreign(status: Int)
    case unreachable(NetworkTrouble)
    /// Port 0: the start chooses a free one.
    case portUnknown

    package init(status: Int, _ body: JSONValue?) {
        let body = body?.object
        if status == 200, body?["status"] == "ready" {
            self = .ready
        } else if let code = body?["code"]?.string, let detail = body?["detail"]?.string {
            self = .notReady(code: code, detail: detail)
        } else {
            self = .foreign(status: status)
        }
    }
}

extension DoctorRules {
    /// - Parameters:
    ///   - place: host and port.
    ///   - isService: whether it is the installed service.
    package static func gateway(_ answer: GatewayAnswer, at place: String, isService: Bool) -> Finding {
        let start =
            isService
            ? "systemctl start carillon; journalctl -u carillon says why it stopped"
            : "start it with carillon serve, or correct CARILLON_LISTEN"
        switch answer {
        case .ready: return .good("gateway", "it is ready at \(place)")
        case .notReady(let code, let detail):
            return .bad(
                "gateway", "it runs at \(place) and is not ready: \(detail) (\(code))",
                "mend what else is found here; the gateway goes on by itself")
        case .foreign(let status):
            return .bad("gateway", "another program answers at \(place) (\(status))", "end that program, or " + start)
        case .unreachable(.connectionRefused):
            return .bad("gateway", "it does not run: nothing listens at \(place)", start)
        case .unreachable(let trouble):
            return .bad("gateway", "it does not answer at \(place): \(trouble.sentence)", start)
        case .portUnknown:
            return .unchecked(
                "gateway", "its port is chosen at its start (\(place)), so it was not asked",
                "run the doctor with the port of its output in CARILLON_LISTEN")
        }
    }

    /// The checks that are left out once the database can't be read.
    package static let databaseUnread = Finding.unchecked(
        "master key, credentials, routes, wake-up", "not checked, because the database can't be read so far",
        "run the doctor again once the database is in order")

    /// The last line: it calms only about what was checked.
    package static func conclusion(_ findings: [Finding]) -> String {
        let bad = findings.count { $0.level == .bad }
        let unchecked = findings.filter { $0.level == .unchecked }.map(\.subject)
        let named = unchecked.isEmpty ? "" : " Not checked: \(unchecked.joined(separator: ", "))."
        if bad > 0 { return "\(bad) to be fixed." + named }
        return unchecked.isEmpty ? "Nothing keeps the gateway from working." : "No fault in what was checked." + named
    }
}
