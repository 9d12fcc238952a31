import Encodings
import HTTP2
import Model
import Reactor

/// Handles one connection's requests as Google does: the script first, then the validators, then the token's own fate.
final class FCMSession: ProviderSession {
    private unowned let connection: SimulatorConnection
    private let service: FCMService

    private var world: SimulatorWorld { connection.world }
    private static let connectionWindowBytes: Int32 = 16 << 20

    init(_ connection: SimulatorConnection, _ service: FCMService) {
        (self.connection, self.service) = (connection, service)
    }

    var http2Settings: HTTP2ServerSettings {
        var http2 = HTTP2ServerSettings()
        http2.streamLimit = service.settings.streamLimit
        http2.requestBodyBytesMax = FCMSimulatorSettings.bodyBytesMax
        http2.requestHeaderBytesMax = HTTP1Session.headBytesMax
        http2.connectionWindowBytes = FCMSession.connectionWindowBytes
        return http2
    }

    var refusal: String? { nil }

    func answerAtOnce(_ request: HTTP2Request, of session: HTTP2ServerSession) -> Bool { false }

    func take(_ push: PushRequest, streamID: Int32) {
        let request = FCMRequest(push, streamID)
        guard let endpoint = request.endpoint else { return write(.page(404), request) }
        if endpoint == .push { world.summary.requests += 1 }
        if endpoint == .accessToken { world.summary.accessTokensAsked += 1 }
        connection.follow(
            connection.nextFault(at: endpoint), streamID, judge: { judge(request, endpoint, isAnswered: $0) },
            answer: { answer($0, request, endpoint) })
    }

    private func judge(_ request: FCMRequest, _ endpoint: ScriptedEndpoint, isAnswered: Bool) {
        switch endpoint {
        case .push: if service.settings.common.isSink { sink(request) } else { send(request, isAnswered: isAnswered) }
        case .accessToken: giveAccessToken(request, isAnswered: isAnswered)
        case .topics where request.isSubscription: changeSubscription(request, isAnswered: isAnswered)
        case .topics: callTopics(request, isAnswered: isAnswered)
        }
    }

    private func sink(_ request: FCMRequest) {
        world.summary.accepted += 1
        write(.success(request.madeName), request)
    }

    private func send(_ request: FCMRequest, isAnswered: Bool) {
        let message: MessageValidator
        do throws(FCMRefusal) {
            try service.authorize(request, now: world.now)
            message = try MessageValidator(request.push.body)
        } catch { return refuse(request, error, target: .nobody) }
        let target = DeviceToken(bytes: Array(message.target.key.utf8))
        if let text = message.target.fateText, let (entry, count) = FCMTokenFate.of(text),
            world.meetsFate(target, count: count)
        {
            return meet(entry.fate, message, request, target, isAnswered: isAnswered)
        }
        accept(message, request, target, isAnswered: isAnswered)
    }

    private func giveAccessToken(_ request: FCMRequest, isAnswered: Bool) {
        let url = "https://" + request.push.authority + request.path
        let answer: FCMAnswer
        do throws(AccessTokens.Refusal) {
            answer = .json(200, try service.accessTokens.answer(request.push.body, url: url, now: world.now))
            world.summary.accessTokensIssued += 1
        } catch { answer = .json(error.status, error.body) }
        if isAnswered { write(answer, request) } else { world.summary.unanswered += 1 }
    }

    private func callTopics(_ request: FCMRequest, isAnswered: Bool) {
        world.summary.topicCalls += 1
        let answer: FCMAnswer
        var target = DeviceToken.nobody
        do throws(TopicCalls.Refusal) {
            guard request.push.value("access_token_auth") == "true",
                (try? service.accessTokens.grant(request.push.value("authorization"), now: world.now)) != nil
            else { throw TopicCalls.Refusal(status: 401, error: "InvalidToken") }
            let (topic, body) = try TopicCalls.answer(request.push.body) { text, count in
                world.meetsFate(DeviceToken(bytes: Array(text.utf8)), count: count)
            }
            target = DeviceToken(bytes: Array(topic.utf8))
            answer = .json(200, body)
        } catch { answer = .json(error.status, error.body) }
        record(request, target, answer.status, reason: answer.status == 200 ? nil : "InvalidTopicCall")
        if isAnswered { write(answer, request) } else { world.summary.unanswered += 1 }
    }
}

extension FCMSession {
    /// Joins a topic or leaves it. Errors are v1 objects by their status, as for a message to that registration.
    private func changeSubscription(_ request: FCMRequest, isAnswered: Bool) {
        world.summary.topicCalls += 1
        var topic = DeviceToken.nobody
        let answer: FCMAnswer
        var reason: String?
        do throws(FCMRefusal) {
            try service.authorize(request, now: world.now)
            let subscription = try TopicSubscription(parts: request.parts, query: request.query)
            topic = DeviceToken(bytes: Array("/topics/\(subscription.topic)".utf8))
            if let (entry, count) = FCMTokenFate.of(subscription.registration),
                world.meetsFate(DeviceToken(bytes: Array(subscription.registration.utf8)), count: count)
            {
                if case .refuse(let refusal) = entry.fate { throw refusal }
                if case .topicError(let error) = entry.fate { throw TopicSubscription.refusal(named: error) }
            }
            answer = .json(200, subscription.body)
        } catch {
            answer = .json(error.status, error.body, error.headers(now: world.now))
            reason = error.reason
        }
        record(request, topic, answer.status, reason: reason)
        if isAnswered { write(answer, request) } else { world.summary.unanswered += 1 }
    }

    private func meet(
        _ fate: FCMTokenFate, _ message: MessageValidator, _ request: FCMRequest, _ target: DeviceToken,
        isAnswered: Bool
    ) {
        switch fate {
        case .refuse(let refusal): refuse(request, refusal, target: target, isDryRun: message.isDryRun)
        case .page(let status, let html):
            world.summary.countRefusal(status, "")
            record(request, target, status, reason: "", isDryRun: message.isDryRun)
            write(html ? .page(status) : .empty(status), request)
        case .common(let fate):
            connection.meet(fate, request.streamID) {
                accept(message, request, target, isAnswered: $0 && isAnswered, after: $1)
            }
        case .garbledSuccess:
            accept(message, request, target, isAnswered: false)
            world.summary.unanswered -= 1
            write(.json(200, Array(#"{"name":"#.utf8)), request)
        case .topicError: accept(message, request, target, isAnswered: isAnswered)
        }
    }

    private func accept(
        _ message: MessageValidator, _ request: FCMRequest, _ target: DeviceToken, isAnswered: Bool,
        after delay: Duration = .zero
    ) {
        let name = message.isDryRun ? request.dryRunName : request.madeName
        if message.isDryRun { world.summary.dryRuns += 1 } else { world.summary.accepted += 1 }
        record(request, target, 200, reason: nil, name: name, isDryRun: message.isDryRun)
        if isAnswered { write(.success(name), request, after: delay) } else { world.summary.unanswered += 1 }
    }

    private func refuse(_ request: FCMRequest, _ refusal: FCMRefusal, target: DeviceToken, isDryRun: Bool = false) {
        world.summary.countRefusal(refusal.status, refusal.reason)
        record(request, target, refusal.status, reason: refusal.reason, isDryRun: isDryRun)
        write(.json(refusal.status, refusal.body, refusal.headers(now: world.now)), request)
    }

    private func answer(_ scripted: ScriptedAnswer, _ request: FCMRequest, _ endpoint: ScriptedEndpoint) {
        if endpoint == .push { world.summary.countRefusal(scripted.status, scripted.reason) }
        if endpoint != .accessToken { record(request, .nobody, scripted.status, reason: scripted.reason) }
        let body =
            scripted.body
            ?? service.body(
                ofRefusal: scripted.reason, status: scripted.status, at: request.isSubscription ? .push : endpoint,
                now: world.now)
        write(.json(scripted.status, body, scripted.headers), request)
    }

    private func write(_ answer: FCMAnswer, _ request: FCMRequest, after delay: Duration = .zero) {
        connection.answer(
            answer.headers, body: answer.body, streamID: request.streamID, after: delay + connection.answerDelay)
    }

    private func record(
        _ request: FCMRequest, _ target: DeviceToken, _ status: Int, reason: String?, name: String = "",
        isDryRun: Bool = false
    ) {
        let received = ReceivedPush(
            apnsID: name, path: request.path, headers: request.push.headers.filter { $0.name != "authorization" },
            body: request.push.body, arrivedAt: world.now, status: status, reason: reason,
            connection: connection.number, isDryRun: isDryRun)
        world.record(received, token: target)
    }
}

struct FCMRequest {
    let push: PushRequest
    let streamID: Int32
    /// Without the query.
    let path: String
    let parts: [String]
    /// The path's project; "" if it names none.
    let project: String
    let endpoint: ScriptedEndpoint?
    /// Whether it concerns one registration in one topic (`TopicSubscription`), and not a list of them.
    let isSubscription: Bool

    init(_ push: PushRequest, _ streamID: Int32) {
        (self.push, self.streamID) = (push, streamID)
        path = String(push.path.prefix { $0 != "?" })
        parts = path.split(separator: "/", omittingEmptySubsequences: false).map { PercentDecoding.decode($0) ?? "" }
        project = parts.count > 3 ? parts[3] : ""
        isSubscription = TopicSubscription.isMeant(by: parts, method: push.method)
        endpoint = isSubscription ? .topics : push.method == "POST" ? FCMRequest.endpoint(parts) : nil
    }

    /// Without its question mark; "" if there is none.
    var query: String { String(push.path.dropFirst(path.count + 1)) }

    private static func endpoint(_ parts: [String]) -> ScriptedEndpoint? {
        if parts == ["", "token"] { return .accessToken }
        if parts == ["", "iid", "v1:batchAdd"] || parts == ["", "iid", "v1:batchRemove"] { return .topics }
        guard parts.count == 5, parts[1] == "v1", parts[2] == "projects", !parts[3].isEmpty, parts[4] == "messages:send"
        else { return nil }
        return .push
    }

    var madeName: String {
        let digits = Hexadecimal.text(Entropy.bytes(8))
        return "projects/\(project)/messages/0:\(Clocks.wallNow().microseconds)%\(digits)"
    }

    var dryRunName: String { "projects/\(project)/messages/fake_message_id" }
}

struct FCMAnswer {
    let status: Int
    let contentType: String?
    let lines: [HeaderLine]
    let body: [UInt8]

    static func json(_ status: Int, _ body: [UInt8], _ lines: [HeaderLine] = []) -> FCMAnswer {
        FCMAnswer(status: status, contentType: "application/json; charset=UTF-8", lines: lines, body: body)
    }

    static func success(_ name: String) -> FCMAnswer { json(200, Array(#"{"name":"\#(name)"}"#.utf8)) }
    static func empty(_ status: Int) -> FCMAnswer { FCMAnswer(status: status, contentType: nil, lines: [], body: []) }

    static func page(_ status: Int) -> FCMAnswer {
        let html =
            "<!DOCTYPE html>\n<html lang=en><title>Error \(status)</title><p><b>\(status).</b> That’s an error.</html>\n"
        return FCMAnswer(status: status, contentType: "text/html; charset=UTF-8", lines: [], body: Array(html.utf8))
    }

    var headers: HeaderList {
        var list = HeaderList()
        list.append(":status", String(status))
        if let contentType { list.append("content-type", contentType) }
        for line in lines { list.append(line.name, Array(line.value.utf8), isIndexed: false) }
        return list
    }
}
