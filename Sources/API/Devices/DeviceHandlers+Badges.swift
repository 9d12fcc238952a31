import HTTPTypes
import JSON
import Model
import Requests
import Store

extension DeviceHandlers {
    func readBadge(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind = try call.query.choice("kind") ?? .alert
        let installation = try installation(of: call)
        let app = try await apps.app(of: call)
        let badge = try await translating(
            .reads, await registry.badge(app: app.id, installation: installation, kind: kind))
        return try badgeAnswer(badge, installation, kind)
    }

    func setBadge(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind = try call.query.choice("kind") ?? .alert
        let installation = try installation(of: call)
        let wanted = try BadgeRequest.readBadge(call.body)
        let app = try await apps.app(of: call)
        try await own.check(call, installation, in: app)
        let badge = try await translating(
            .isIdempotent, await registry.setBadge(wanted, app: app.id, installation: installation, kind: kind))
        return try badgeAnswer(badge, installation, kind)
    }

    func setBadgeOfUser(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind = try call.query.choice("kind") ?? .alert
        let user = try Self.user(of: call)
        let wanted = try BadgeRequest.readBadge(call.body)
        let app = try await apps.app(of: call)
        let count = try await translating(
            .isIdempotent, await registry.setBadge(wanted, app: app.id, user: user, kind: kind))
        return Answer(.ok, JSONWriter.body { $0.member("devices", count) })
    }

    func consumeBadge(_ call: Call) async throws(Problem) -> Answer {
        let kind: TokenKind = try call.query.choice("kind") ?? .alert
        let installation = try installation(of: call)
        let count = try BadgeRequest.readCount(call.body)
        let app = try await apps.app(of: call)
        // An idempotency key belongs to the app and the endpoint: with another installation or kind it is another
        // request. Neither an installation nor JSON has a NUL, so that these bytes can't be read in two ways.
        let ofKind = kind == .alert ? [] : Array(kind.name.utf8) + [0]
        let request = Array(installation.utf8) + [0] + ofKind + call.body
        guard let claim = call.idempotencyClaim(of: request) else {
            let badge = try await translating(
                .mayDouble, await registry.consumeBadge(count, app: app.id, installation: installation, kind: kind))
            return try badgeAnswer(badge, installation, kind)
        }
        let reply = try await translating(
            .isKeyed,
            await registry.consumeBadge(
                count, app: app.id, installation: installation, kind: kind, idempotency: claim
            ) { badge in
                badge.map { DeviceAnswer.badge($0, installation: installation, kind: kind) }
                    ?? Problem.unknownDevice.body
            })
        return try repeatable(reply, .unknownDevice)
    }

    private func badgeAnswer(_ badge: Int32?, _ installation: String, _ kind: TokenKind) throws(Problem) -> Answer {
        guard let badge else { throw .unknownDevice }
        return Answer(.ok, DeviceAnswer.badge(badge, installation: installation, kind: kind))
    }

    /// Only two answers are ever kept under a key: a badge, or the problem that there is none.
    private func repeatable(_ reply: IdempotentReply, _ unknown: Problem) throws(Problem) -> Answer {
        func answer(_ bytes: [UInt8]) -> Answer { bytes == unknown.body ? Answer(unknown) : Answer(.ok, bytes) }
        switch reply {
        case .done(let bytes): return answer(bytes)
        case .replayed(let bytes):
            var again = answer(bytes)
            again.headers.append(Answer.replayedHeader)
            return again
        case .mismatch: throw .idempotencyMismatch
        }
    }

    /// Serves backends that know only tokens.
    func changeBadgeOfToken(_ call: Call) async throws(Problem) -> Answer {
        let request = try TokenBadgeRequest.read(call.body)
        let app = try await apps.app(of: call)
        switch request.change {
        case .set(let wanted):
            let badge = try await translating(
                .isIdempotent, await registry.setBadge(wanted, app: app.id, ofToken: request.readings))
            guard let badge else { throw .unknownToken }
            return Answer(.ok, Self.body(badge))
        case .consume(let count):
            let claim = call.idempotencyClaim
            let reply = try await translating(
                claim == nil ? .mayDouble : .isKeyed,
                await registry.consumeBadge(
                    count, app: app.id, ofToken: request.readings, idempotency: claim
                ) { badge in badge.map(Self.body) ?? Problem.unknownToken.body })
            return try repeatable(reply, .unknownToken)
        }
    }

    private static func body(_ badge: NamedBadge) -> [UInt8] {
        DeviceAnswer.badge(badge.badge, installation: badge.installation, kind: badge.kind)
    }
}

extension Problem {
    fileprivate static let unknownToken = Problem(
        .unknownToken,
        "No live registration of this app has the token. It was never registered, it was replaced or retired, or its "
            + "spelling differs from the provider's.")
}
