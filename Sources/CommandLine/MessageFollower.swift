import JSON

/// Follows a message to its end, over as many connections as it takes: by the gateway's events, else by asking.
struct MessageFollower {
    let client: GatewayClient
    /// Of the message.
    let path: String

    /// A gateway that was there may be starting anew.
    private static let timeout: Duration = .seconds(300)
    private static let askingPauses: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    ]
    private static let returnPauses: [Duration] = [
        .milliseconds(250), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
    ]

    /// - Parameters:
    ///   - show: given the account at once, whenever it changed, and now and then while it did not; the last one too.
    ///   - note: given a sentence where the gateway went away.
    /// - Returns: the account of a message that has ended.
    func follow(_ show: (_ account: JSONValue, _ isNew: Bool) -> Void, note: (String) -> Void) async throws
        -> JSONValue
    {
        var state = FollowState()
        var failures = 0
        var receivedAt = ContinuousClock.now
        while true {
            let (before, wasAsking) = (state.count, state.isAsking)
            do {
                let account = try await state.isAsking ? ask(&state, show) : listen(&state, show)
                if let account { return account }
            } catch let fault as CommandFault where state.count > 0 && fault.mayPass {
                // Told below.
            }
            if state.isAsking != wasAsking { continue }
            if state.count > before { (failures, receivedAt) = (0, .now) }
            guard ContinuousClock.now - receivedAt < Self.timeout else {
                throw CommandFault(
                    .unreachable,
                    "the gateway at \(client.base) has been away for five minutes; the message goes on as it was")
            }
            if failures == 1 { note("The gateway is away: asking again until it is back.") }
            try await Task.sleep(for: Self.returnPauses[min(failures, Self.returnPauses.count - 1)])
            failures += 1
        }
    }

    /// What was heard so far.
    private struct FollowState {
        var lastID = ""
        var last: JSONValue?
        var count = 0
        /// No events are served.
        var isAsking = false

        /// - Returns: whether it is news.
        mutating func take(_ account: JSONValue) -> Bool {
            count += 1
            let core = account.withoutQuery
            defer { last = core }
            return last != core
        }
    }

    /// nil: the stream was cut off, or there is none.
    private func listen(
        _ state: inout FollowState, _ show: (_ account: JSONValue, _ isNew: Bool) -> Void
    ) async throws -> JSONValue? {
        var current = state
        defer { state = current }
        var ended: JSONValue?
        var latest: JSONValue?
        let end = try await client.events(
            path + "/events", after: current.lastID, heartbeat: { latest.map { show($0, false) } },
            event: { event in
                guard let account = try Self.account(in: event) else { return true }
                current.lastID = event.id
                // A gateway tells what is new; only what it begins with may be known.
                let isNew = current.take(account) || latest != nil
                show(account, isNew)
                latest = account
                if event.name == "finished" { ended = account }
                return ended == nil
            })
        if end == .notServed { current.isAsking = true }
        return ended
    }

    /// nil: an event of a newer gateway's.
    private static func account(in event: ServerSentEvent) throws(CommandFault) -> JSONValue? {
        guard ["progress", "finished", "problem"].contains(event.name) else { return nil }
        let value: JSONValue
        do throws(JSONError) { value = try JSONReader.read(event.data, limits: .trusted) } catch {
            throw CommandFault(.refused, "the gateway answered with an event that is no JSON")
        }
        guard event.name != "problem" else {
            throw CommandFault(status: Int(value.count("status")), body: event.data)
        }
        return try AnswerForm.message.check(value)
    }

    private func ask(_ state: inout FollowState, _ show: (_ account: JSONValue, _ isNew: Bool) -> Void) async throws
        -> JSONValue?
    {
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
    /// Whether the gateway may say otherwise in a while.
    fileprivate var mayPass: Bool { kind == .unreachable || kind == .tryAgain }
}

extension JSONValue {
    /// What of a message's account does not change by looking at it.
    fileprivate var withoutQuery: JSONValue {
        guard let account = object, let progress = account["progress"]?.object else { return self }
        let waiting = JSONMember("progress", progress["waiting"] ?? .null)
        return .object(JSONObject(account.members.map { $0.name == "progress" ? waiting : $0 }))
    }
}
