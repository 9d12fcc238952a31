import Basis
import Content
import JSON
import Model
import Providers
import Store

/// The body of `POST /v1/apps/{app}/audience`: the members of a message that decide on its audience.
package struct AudienceCountRequest: Equatable, Sendable {
    package let audience: Audience
    package let pushType: PushType
    package let sendAt: SendHour?

    package static func read(_ body: [UInt8]) throws(Problem) -> AudienceCountRequest {
        var reader = try EnvelopeReader(body: body)
        let audience = try AudienceRequest.read(&reader)
        let (options, sendAt, _) = try MessageRequest.readOptions(&reader)
        try reader.end()
        try MessageRequest.checkKind(of: audience, options.pushType)
        return AudienceCountRequest(audience: audience, pushType: options.pushType, sendAt: sendAt)
    }
}

extension MessageHandlers {
    /// Counts the audience of a message before it is sent. Nothing is sent or stored.
    func countAudience(_ call: Call) async throws(Problem) -> Answer {
        let request = try AudienceCountRequest.read(call.body)
        try checkScope(of: request.audience, call)
        let app = try await apps.app(of: call)
        let now = clock()
        let dueAt: WallInstant?
        do throws(SendTimeFault) {
            dueAt = try SendTime.due(SendTime.left(of: request.sendAt, now: now), now: now)
        } catch { throw Problem(error) }
        var localHour: LocalHour?
        if case .local(let sending) = request.sendAt { localHour = sending.hour }
        let message = CountedMessage(
            app: app.id, audience: audience(request.audience, in: app),
            kind: request.audience.kind ?? PushProviders.tokenKinds(of: request.pushType).first ?? .alert, dueAt: dueAt,
            localHour: localHour)
        let count = try await reads.read(of: app.id, await store.count(message))
        return Answer(.ok, AudienceCountAnswer.body(count))
    }
}

enum AudienceCountAnswer {
    static func body(_ count: AudienceCount) -> [UInt8] {
        JSONWriter.body(capacity: 2_048) { writer in
            writer.member("count", count.count)
            writer.member("exact", !count.isCutShort)
            writer.member("unknown", count.unknown)
            if let passed = count.passed { writer.member("passed", passed) }
            writer.object("by") {
                write(count.byProvider, as: "provider", to: &$0)
                write(count.byLanguage, as: "language", to: &$0)
                write(count.byTimeZone, as: "time_zone", to: &$0)
            }
        }
    }

    private static func write(_ parts: [AudienceCount.Part], as name: String, to writer: inout JSONWriter) {
        writer.object(name) { for part in parts { $0.member(part.name, part.count) } }
    }
}
