import Basis
import QueueRules

/// One connection of a lane, as the wire treats it. The streams opened on it share its fate.
struct SimulatedConnection: Sendable {
    let number: Int
    /// The time at which dialling is complete; no request leaves before.
    var readyAt: SimulatedTime
    /// The peer's SETTINGS limit streams until then; afterwards the world's own bound applies again.
    var limit: (streams: Int, until: SimulatedTime)?
    /// The peer is gone, which is found out only then: requests vanish and no answers come.
    var deadUntil: SimulatedTime?
    /// No bytes move in either direction before this time.
    var stalledUntil = SimulatedTime.zero
    /// The peer's windows are full until then: streams open, and their bytes stay here.
    var shutUntil = SimulatedTime.zero
    /// The peer sent GOAWAY: it only answers open streams.
    var isDraining = false
}

/// Faults of a whole connection.
enum ConnectionTrouble: CaseIterable, Sendable {
    case cut, halfOpen, stall, goAway, oneStream, noStream, fullWindow

    var fault: WorldFault {
        switch self {
        case .cut: .cut
        case .halfOpen: .halfOpen
        case .stall: .stall
        case .goAway: .goAway
        case .oneStream: .oneStream
        case .noStream: .noStream
        case .fullWindow: .fullWindow
        }
    }
}

// The connections of a lane, and what the network and the peer do to them.
extension SimulatedWorld {
    /// The connection with the most room; nil: no stream may open now.
    func placeForStream(_ lane: SimulatedLane) -> Int? {
        var best: (place: Int, room: Int)?
        for place in lane.connections.indices {
            let room = room(lane, place)
            if room > best?.room ?? 0 { best = (place, room) }
        }
        return best?.place
    }

    /// Whether some connection would take a request if it had room.
    func isUsable(_ lane: SimulatedLane) -> Bool {
        lane.connections.contains { connection in
            let isShut = connection.limit.map { $0.streams == 0 && now < $0.until } ?? false
            return now >= connection.readyAt && !connection.isDraining && !isShut
        }
    }

    /// The time at which the first connection becomes usable; nil: there is none.
    func usableAt(_ lane: SimulatedLane) -> SimulatedTime? {
        lane.connections.filter { !$0.isDraining }
            .map { max($0.readyAt, $0.limit.map { $0.streams == 0 ? $0.until : .zero } ?? .zero) }.min()
    }

    /// nil: the connection is gone, or its process or lane.
    func connection(of push: WirePush) -> SimulatedConnection? {
        let process = processes[push.from.process]
        guard process.incarnation == push.from.incarnation,
            let lane = process.lanes.first(where: { $0.key == push.lane })
        else {
            return nil
        }
        return lane.connections.first { $0.number == push.connection }
    }

    private func room(_ lane: SimulatedLane, _ place: Int) -> Int {
        let connection = lane.connections[place]
        guard now >= connection.readyAt, !connection.isDraining else { return 0 }
        var bound = (plan.streamsMax + plan.connectionsMax - 1) / plan.connectionsMax
        if let limit = connection.limit, now < limit.until { bound = min(bound, limit.streams) }
        return bound - lane.open.count { $0.connection == connection.number }
    }

    /// Dials until the lane has the world's number of connections, replacing those that are gone.
    mutating func dial(_ place: Int, _ index: Int) {
        let open = processes[index].lanes[place].open
        processes[index].lanes[place].connections.removeAll { connection in
            connection.isDraining && !open.contains { $0.connection == connection.number }
        }
        while processes[index].lanes[place].connections.count(where: { !$0.isDraining }) < plan.connectionsMax {
            connections += 1
            let readyAt = after(.zero ... .milliseconds(100))
            processes[index].lanes[place].connections.append(
                SimulatedConnection(number: connections, readyAt: readyAt))
            notifyLater(place, index, at: readyAt)
        }
    }

    /// Troubles a random connection that has a push in flight.
    mutating func troubleAConnection() {
        let index = random.below(processes.count)
        let busy = processes[index].lanes.indices.filter { !processes[index].lanes[$0].open.isEmpty }
        guard processes[index].isAlive, !busy.isEmpty else { return }
        let lane = random.pick(busy)
        let push = random.pick(processes[index].lanes[lane].open)
        guard let place = processes[index].lanes[lane].connections.firstIndex(where: { $0.number == push.connection })
        else { return }
        let trouble = random.pick(ConnectionTrouble.allCases)
        incidents.note(trouble.fault)
        let troubled = processes[index].lanes[lane]
        trail.add(
            "\(trouble), connection \(push.connection) of \(troubled.provider), lane \(troubled.key.credential.value), "
                + "\(processes[index].addressee)")
        if processes[index].lanes[lane].provider == .fcm { incidents.note(.troubleWithFCM) }
        let deadline = SimulatedTime(plan.settings.requestDeadline)
        switch trouble {
        case .cut: cut(lane, place, index)
        case .halfOpen:
            let found = after(.milliseconds(100)...deadline)
            processes[index].lanes[lane].connections[place].deadUntil = found
            for push in open(lane, place, index) {
                lose(push)
                endAtDeadline(push)
            }
            let connection = processes[index].lanes[lane].connections[place].number
            queue.put(
                .connectionDies(processes[index].addressee, processes[index].lanes[lane].key, connection), at: found)
        case .stall:
            let until = after(.milliseconds(100)...deadline + deadline)
            processes[index].lanes[lane].connections[place].stalledUntil = until
            for push in open(lane, place, index) { endAtDeadline(push) }
        case .goAway: sendGoAway(lane, place, index)
        case .oneStream, .noStream:
            let until = after(.milliseconds(500) ... .seconds(25))
            processes[index].lanes[lane].connections[place].limit = (trouble == .oneStream ? 1 : 0, until)
            notifyLater(lane, index, at: until)
        case .fullWindow:
            processes[index].lanes[lane].connections[place].shutUntil = after(.milliseconds(100)...deadline + deadline)
        }
    }

    private func open(_ lane: Int, _ place: Int, _ index: Int) -> [WirePush] {
        let connection = processes[index].lanes[lane].connections[place].number
        return processes[index].lanes[lane].open.filter { $0.connection == connection }
    }

    /// Lets neither the request nor its answer get through any more.
    mutating func lose(_ push: WirePush) {
        if !providers.hasArrived(push) { providers.vanish(push) }
        providers.loseAnswer(push)
    }

    /// The time at which an unanswered stream is given up; a later answer is late.
    func deadline(of push: WirePush) -> SimulatedTime {
        push.openedAt + SimulatedTime(plan.settings.requestDeadline)
    }

    mutating func endAtDeadline(_ push: WirePush) {
        queue.put(
            .streamEnds(
                push.from, push.lane, stream: push.stream,
                .fault(isSent: push.leavesAt < deadline(of: push), .deadlinePassed)),
            at: max(now, deadline(of: push)))
    }

    /// Resets the connection: what became of the pushes in flight is unknown. Another connection is dialled.
    private mutating func cut(_ lane: Int, _ place: Int, _ index: Int) {
        for push in open(lane, place, index) {
            lose(push)
            let isSent = now >= push.leavesAt
            queue.put(
                .streamEnds(push.from, push.lane, stream: push.stream, .fault(isSent: isSent, .connectionLost)), at: now
            )
        }
        processes[index].lanes[lane].connections.remove(at: place)
    }

    /// Sends a single GOAWAY, or a pair as in an orderly shutdown. The first of the pair names the highest stream
    /// number possible and only asks for no new streams. The second names the last stream that the server will answer
    /// (RFC 9113, 6.8).
    private mutating func sendGoAway(_ lane: Int, _ place: Int, _ index: Int) {
        guard plan.goAwayPairs > 0, random.happens(perMille: plan.goAwayPairs) else {
            return goAway(lane, place, index)
        }
        incidents.note(.goAwayPair)
        processes[index].lanes[lane].connections[place].isDraining = true
        let connection = processes[index].lanes[lane].connections[place].number
        queue.put(
            .lastStreamSent(processes[index].addressee, processes[index].lanes[lane].key, connection),
            at: after(.milliseconds(1) ... .seconds(1)))
    }

    /// Sends the second GOAWAY of a pair.
    mutating func endGoAway(_ number: Int, _ key: LaneKey, _ index: Int) {
        let lane = placeOfLane(key, index)
        guard let place = processes[index].lanes[lane].connections.firstIndex(where: { $0.number == number }) else {
            return
        }
        if !open(lane, place, index).isEmpty { incidents.note(.secondGoAway) }
        goAway(lane, place, index)
    }

    /// Sends a GOAWAY whose last stream is at or above the highest one read. Streams above it were not processed; the
    /// others are answered, or lost with the connection.
    private mutating func goAway(_ lane: Int, _ place: Int, _ index: Int) {
        let streams = open(lane, place, index)
        let read = streams.last { providers.hasArrived($0) }?.stream ?? 0
        let last = max(read, random.pick([0, read] + streams.map(\.stream)))
        processes[index].lanes[lane].connections[place].isDraining = true
        let isCut = random.happens(perMille: 300)
        for push in streams {
            if push.stream > last {
                providers.vanish(push)
                incidents.note(.aboveTheLast)
                queue.put(
                    .streamEnds(push.from, push.lane, stream: push.stream, .fault(isSent: false, .goAway)), at: now)
            } else if isCut {
                lose(push)
                queue.put(
                    .streamEnds(push.from, push.lane, stream: push.stream, .fault(isSent: true, .connectionLost)),
                    at: now)
            }
        }
    }

    /// Removes a half-open connection whose PING was not answered.
    mutating func removeConnection(_ number: Int, _ key: LaneKey, _ index: Int) {
        let lane = placeOfLane(key, index)
        guard let place = processes[index].lanes[lane].connections.firstIndex(where: { $0.number == number }) else {
            return
        }
        cut(lane, place, index)
        pumpLanes(index)
    }
}
