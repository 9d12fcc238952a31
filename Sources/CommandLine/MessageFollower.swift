import JSON

/// Follows a message to its end over any number of connections, by the gateway's events or by polling.
struct MessageFollower {
    typealias Show = (_ account: JSONValue, _ isNew: Bool) -> Void

    let client: GatewayClient
    let path: String

    /// Long enough for a gateway to restart.
    private static let timeout: Duration = .seconds(300)
    private static let askingPauses: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    ]
    private static let returnPauses: [Duration] = [
        .milliseconds(250), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ]

    /// - Parameters:
    ///   - show: called with the account at once, after each change, now and then between, and with the last one.
    ///   - note: called with a sentence when the gateway has gone away.
    /// - Returns: the account of the message after its end.
    func follow(_ show: Show, note: (String) -> Void) async throws -> JSONValue {
        var state = FollowState()
        var failures = 0
        var receivedAt = ContinuousClock.now
        while true {
            let (before, wasAsking) = (state.count, state.isAsking)
            do {
                let account = try await state.isAsking ? ask(&state, show) : listen(&state, show)
                if let account { return account }
            } catch let fault as CommandFault where state.count > 0 && fault.mayPass {
                // Reported below.
            }
            if state.isAsking != wasAsking { continue }
            if state.count > before { (failures, receivedAt) = (0, .now) }
            guard ContinuousClock.now - receivedAt < Self.timeout else {
                throw CommandFault(
                    .unreachable,
                    "the gateway at \(client.base) has been unreachable for five minutes; the message is not affected")
            }
            if failures == 1 { note("The gateway is unreachable: retrying for five minutes.") }
            try await Task.sleep(for: Self.returnPauses[min(failures, Self.returnPauses.count - 1)])
            failures += 1
        }
    }

    private struct FollowState {
        var lastID = ""
        var last: JSONValue?
        var count = 0
        /// The gateway serves no events, so the account is polled.
        var isAsking = false

        /// - Returns: whether the account has changed.
        mutating func take(_ account: JSONValue) -> Bool {
            count += 1
            let core = account.withoutQuery
            defer { last = core }
            return last != core
        }
    }

    /// nil: the stream was cut off, or none is served.
    private func listen(_ state: inout FollowState, _ show: Show) async throws -> JSONValue? {
        var current = state
        defer { state = current }
        var ended: JSONValue?
        var latest: JSONValue?
        let end = try await client.events(
            path + "/events", after: current.lastID, heartbeat: { latest.map { show($0, false) } },
            event: { event in
                guard let account = try Self.account(in: event) else { return true }
                current.lastID = event.id
                // The gateway sends only changes, except for the first account of a stream, which may be known already.
                let isNew = current.take(account) || latest != nil
                show(account, isNew)
                latest = account
                if event.name == "finished" { ended = account }
                return ended == nil
            })
        if end == .notServed { current.isAsking = true }
        return ended
    }

    /// nil: the event's name is unknown, from a newer gateway.
    private static func account(in event: ServerSentEvent) throws(CommandFault) -> JSONValue? {
        guard ["progress", "finished", "problem"].contains(event.name) else { return nil }
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(event.data, limits: .trusted) } catch {
            throw CommandFault(.refused, "the gateway answered with an event that is not JSON")
        }
        guard event.name != "problem" else { throw CommandFault(status: Int(value.count("status")), body: event.data) }
        return try AnswerForm.message.check(value)
    }

    private func ask(_ state: inout FollowState, _ show: Show) async throws -> JSONValue? {
        for attempt in 0... {
            let account = try await client.get(path, as: .message)
            show(account, state.take(account))
            if account.isOver { return account }
            try await Task.sleep(for: Self.askingPauses[min(attempt, Self.askingPauses.count - 1)])
        }
        return nil
    }
}

extension CommandFault {
    fileprivate var mayPass: Bool { kind == .unreachable || kind == .tryAgain }
}

extension JSONValue {
    /// The account without the members that change from query to query.
    fileprivate var withoutQuery: JSONValue {
        guard let account = object, let progress = account["progress"]?.object else { return self }
        let waiting = JSONMember("progress", progress["waiting"] ?? .null)
        return .object(JSONObject(account.members.map { $0.name == "progress" ? waiting : $0 }))
    }
}
