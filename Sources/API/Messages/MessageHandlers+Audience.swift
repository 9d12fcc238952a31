import Basis
import Content
import JSON
import Model
import Providers
import Requests
import Store

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
        let message = CountedMessage(
            app: app.id, audience: audience(request.audience, in: app), request.pushType, dueAt: dueAt,
            localSending: request.sendAt?.local)
        let count = try await reads.read(of: app.id, await store.count(message))
        return Answer(.ok, AudienceCountAnswer.body(count))
    }

    /// Reads when a message at a local hour reaches the first device that its audience has now.
    ///
    /// nil: the message has no local hour, or the audience can't be read now. It then starts when the first clock anywhere
    /// shows the hour.
    func firstDevice(
        of content: MessageContent, to audience: Audience, _ sendAt: SendHour?, in app: AppID
    ) async -> WallInstant? {
        guard let sending = sendAt?.local else { return nil }
        let message = CountedMessage(app: app, audience: audience, content.options.pushType, localSending: sending)
        let soon = clock() + SendTime.localLead
        return try? await reads.read(of: app, await store.firstDevice(of: message, soon: soon)) ?? nil
    }
}

extension CountedMessage {
    fileprivate init(
        app: AppID, audience: Audience, _ pushType: PushType, dueAt: WallInstant? = nil, localSending: LocalSending?
    ) {
        let kind = audience.kind ?? PushProviders.tokenKinds(of: pushType).first ?? .alert
        self.init(app: app, audience: audience, kind: kind, dueAt: dueAt, localSending: localSending)
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
