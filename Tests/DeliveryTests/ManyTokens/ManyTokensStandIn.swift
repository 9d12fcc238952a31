import HTTP2
import JSON
import Synchronization
import TestSupport

/// The stand-in of `ManyTokensProvider`: takes requests of up to 1,000 tokens, refuses some in a 200, and keeps account.
final class ManyTokensStandIn: Sendable {
    /// A fault of one request, by the request's number.
    enum Fault: CaseIterable {
        /// 503.
        case throttledByStatus
        case throttledInBody
        case credentialRefused
        case allIllegal
        /// The pushes are accepted, and the stream breaks off after a part of the body.
        case bodyReset
        /// The same, and the stream ends as if the body were whole.
        case bodyCut

        var isAccepted: Bool { self == .bodyReset || self == .bodyCut }
    }

    struct Account {
        var requests = 0
        var mostTokens = 0
        /// How often the pushes to each device were accepted.
        var accepted: [Int: Int] = [:]
        /// Devices whose tokens were named as illegal in an answer that arrived whole.
        var named: Set<Int> = []
        /// Devices of the request that was answered with all tokens illegal.
        var allIllegal: Set<Int> = []
        /// Devices of requests that were accepted, and whose answers were lost.
        var lost: Set<Int> = []
        var languages: [String: Int] = [:]
        var unreadable = 0
    }

    private let state = Mutex(Account())
    private let faults: [Int: Fault]

    /// - Parameter faults: by the number of the request, from 1.
    init(faults: [Int: Fault] = [:]) { self.faults = faults }

    var account: Account { state.withLock { $0 } }

    static func token(of device: Int) -> String {
        let number = String(device)
        return "many-" + String(repeating: "0", count: 8 - number.count) + number + String(repeating: "q", count: 51)
    }

    /// The provider knows these devices no more.
    static func isGone(_ device: Int) -> Bool { device % 991 == 0 }

    var script: PeerScript {
        var script = PeerScript()
        // A thousand tokens.
        script.settings.requestBodyBytesMax = 262_144
        script.onRequest = { self.answer($0) }
        return script
    }

    private func answer(_ request: PeerRequest) -> [PeerAct] {
        let body = try? JSONReader.read(request.body).object
        let tokens = (body?["tokens"]?.array ?? []).compactMap(\.string)
        let devices = tokens.compactMap { Int($0.dropFirst(5).prefix(8)) }
        return state.withLock { account in
            account.requests += 1
            guard !tokens.isEmpty, devices.count == tokens.count else {
                account.unreadable += 1
                return [.respond(status: 400)]
            }
            account.mostTokens = max(account.mostTokens, tokens.count)
            account.languages[body?["text"]?.string ?? "", default: 0] += 1
            let fault = faults[account.requests]
            guard fault?.isAccepted ?? true else { return Self.refuse(devices, fault, &account) }
            for device in devices where !Self.isGone(device) { account.accepted[device, default: 0] += 1 }
            let gone = devices.filter(Self.isGone)
            let answer = ManyTokensCode.body(
                gone.isEmpty ? ManyTokensCode.success : ManyTokensCode.someIllegal, illegal: gone.map(Self.token))
            if fault != nil { account.lost.formUnion(devices) } else { account.named.formUnion(gone) }
            switch fault {
            case .bodyReset: return [.raw(Self.half(answer, on: request.streamID)), .reset(.internalError)]
            case .bodyCut: return [.respond(status: 200, body: Array(answer.prefix(answer.count / 2)))]
            default: return [.respond(status: 200, body: answer)]
            }
        }
    }

    private static func refuse(_ devices: [Int], _ fault: Fault?, _ account: inout Account) -> [PeerAct] {
        switch fault {
        case .throttledByStatus: return [.respond(status: 503)]
        case .throttledInBody: return [.respond(status: 200, body: ManyTokensCode.body(ManyTokensCode.throttled))]
        case .credentialRefused: return [.respond(status: 200, body: ManyTokensCode.body(ManyTokensCode.credential))]
        default:
            account.allIllegal.formUnion(devices)
            return [.respond(status: 200, body: ManyTokensCode.body(ManyTokensCode.allIllegal))]
        }
    }

    /// HEADERS with a status of 200, and DATA with the first half of the body. Neither ends the stream. Source: RFC 9113,
    /// sections 6.1 and 6.2.
    private static func half(_ body: [UInt8], on streamID: Int32) -> [UInt8] {
        let stream = (0..<4).map { UInt8(truncatingIfNeeded: streamID >> (24 - 8 * Int32($0))) }
        let part = Array(body.prefix(body.count / 2).prefix(255))
        return [0, 0, 1, 1, 4] + stream + [0x88] + [0, 0, UInt8(part.count), 0, 0] + stream + part
    }
}
