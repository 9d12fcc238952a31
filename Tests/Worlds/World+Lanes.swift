import Basis
import Encodings
import LaneRules
import Model
import ProviderInterface
import QueueRules

// The transport: lanes, their streams, and what the wire does to them.
extension SimulatedWorld {
    mutating func submit(
        _ name: LeaseName, _ key: LaneKey, _ positions: [Int32], _ until: MonotonicInstant, _ index: Int
    ) {
        guard let lease = processes[index].leases.firstIndex(where: { $0.name == name }) else {
            return fail("P2", "a parcel is submitted without a lease")
        }
        processes[index].leases[lease].until = until
        checkQuarantine(index)
        let lane = placeOfLane(key, index)
        let parcel = processes[index].leases[lease].parcel
        if place(of: key) == .google, forms[parcel.message]?.isForFCM == false {
            return refuse(name, positions, index)
        }
        guard !processes[index].lanes[lane].isBlocked else {
            for position in positions { report(.deferred(after: nil, .laneBlocked), position, name, index) }
            return
        }
        processes[index].lanes[lane].queue(positions, of: name, parcel.urgency)
    }

    /// Rejects pushes whose message has nothing to show on this provider's devices.
    private mutating func refuse(_ name: LeaseName, _ positions: [Int32], _ index: Int) {
        guard let parcel = processes[index].lease(name)?.parcel else { return }
        for position in positions {
            let member = parcel.members[Int(position)].registration
            ledger.refuseHere(PushPair(message: parcel.message, registration: member))
            report(.rejected(Rejection(fault: .message, reason: "nothing_to_show")), position, name, index)
        }
    }

    mutating func placeOfLane(_ key: LaneKey, _ index: Int) -> Int {
        if let place = processes[index].lanes.firstIndex(where: { $0.key == key }) { return place }
        var lane = SimulatedLane(key: key, provider: place(of: key).provider)
        lane.signedAt = now
        if lane.provider == .fcm {
            let project = processes[index].placeOfProject(project(of: key), perMinute: plan.requestsPerMinute)
            lane.quota = LaneQuota(project: project, share: processes[index].projects[project].pace?.join())
        }
        processes[index].lanes.append(lane)
        return processes[index].lanes.count - 1
    }

    mutating func withdraw(_ name: LeaseName, _ key: LaneKey, _ index: Int) {
        let lane = placeOfLane(key, index)
        for waiting in processes[index].lanes[lane].waiting where waiting.lease == name {
            report(.unsent(.withdrawn), waiting.position, name, index)
        }
        processes[index].lanes[lane].waiting.removeAll { $0.lease == name }
    }

    /// Collects the outcome. The Dispatcher receives it with the next batch of answers.
    mutating func report(_ outcome: Outcome, _ position: Int32, _ name: LeaseName, _ index: Int) {
        if outcome == .unsent(.withdrawn) { incidents.withdrawn += 1 }
        processes[index].collect(outcome, for: position, of: name)
        flushSoon(index)
    }

    private mutating func flushSoon(_ index: Int) {
        guard !processes[index].isFlushScheduled else { return }
        processes[index].isFlushScheduled = true
        queue.put(.flush(processes[index].addressee), at: after(.zero ... .milliseconds(20)))
    }

    mutating func flush(_ index: Int) {
        let batches = processes[index].answers
        processes[index].answers = []
        processes[index].isFlushScheduled = false
        let incarnation = processes[index].incarnation
        for batch in batches {
            guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
            noteSlowness(batch, index)
            let answers = AnsweredLease(
                batch.lease, accepted: batch.accepted, others: batch.others, isSent: batch.isSent)
            send(.answered([answers]), to: index)
        }
    }

    mutating func pumpLanes(_ index: Int) {
        for lane in processes[index].lanes.indices {
            if !processes[index].lanes[lane].waiting.isEmpty { dial(lane, index) }
            handBackLate(lane, index)
            while processes[index].isAlive, canOpen(lane, index) {
                let next = processes[index].lanes[lane].waiting.removeFirst()
                open(next.lease, next.position, lane, index)
            }
            guard processes[index].isAlive else { return }
            reportSent(lane, index)
            idlePace(lane, index)
        }
    }

    /// Reports leases of rated messages when none of their pushes waits for a stream any more.
    private mutating func reportSent(_ lane: Int, _ index: Int) {
        let (key, waiting) = (processes[index].lanes[lane].key, processes[index].lanes[lane].waiting)
        for place in processes[index].leases.indices {
            let lease = processes[index].leases[place]
            guard lease.lane == key, lease.until != nil, !lease.isReportedSent, lease.parcel.ratePerSecond != nil,
                !waiting.contains(where: { $0.lease == lease.name })
            else { continue }
            processes[index].leases[place].isReportedSent = true
            processes[index].collectSent(lease.name)
            flushSoon(index)
        }
    }

    private mutating func canOpen(_ place: Int, _ index: Int) -> Bool {
        let lane = processes[index].lanes[place]
        guard !lane.isBlocked, !lane.waiting.isEmpty else { return false }
        if !isUsable(lane) || lane.provider == .fcm && access(of: lane, index) == nil {
            // Measured while a request waits for a usable connection or an access token.
            if lane.unusableSince == nil {
                processes[index].lanes[place].unusableSince = now
                notifyLater(place, index, at: now + Self.unreachableAfter)
            }
            if let usableAt = usableAt(lane), usableAt > now { notifyLater(place, index, at: usableAt) }
            return false
        }
        processes[index].lanes[place].unusableSince = nil
        guard placeForStream(lane) != nil else { return false }
        guard let next = askPace(place, index) else { return true }
        notifyLater(place, index, at: processes[index].clock.time(of: next))
        return false
    }

    private static let unreachableAfter = SimulatedTime.seconds(4)

    private func access(of lane: SimulatedLane, _ index: Int) -> AccessToken? {
        processes[index].accounts.first { $0.credential == lane.key.credential }?.serving
    }

    /// Hands back pushes that may no longer leave, and pushes that have waited long for a usable connection.
    private mutating func handBackLate(_ place: Int, _ index: Int) {
        let lane = processes[index].lanes[place]
        guard !lane.waiting.isEmpty else {
            processes[index].lanes[place].unusableSince = nil
            return
        }
        let mono = processes[index].clock.read(at: now)
        let isShut = lane.unusableSince.map { now - $0 >= Self.unreachableAfter } ?? false
        // Most pushes wait beside others of their parcel.
        var judged: (lease: LeaseName, isLate: Bool)?
        var isAnyLate = isShut
        for waiting in lane.waiting where judged?.lease != waiting.lease {
            judged = (waiting.lease, processes[index].streamsUntil(waiting.lease).map { $0 <= mono } ?? true)
            isAnyLate = isAnyLate || judged?.isLate == true
        }
        guard isAnyLate else { return }
        var staying: [WaitingPush] = []
        for waiting in lane.waiting {
            let isLate = processes[index].streamsUntil(waiting.lease).map { $0 <= mono } ?? true
            if isLate || isShut {
                if isShut, !isUsable(lane) { incidents.note(.handedBack) }
                report(.unsent(isLate ? .withdrawn : .unreachable), waiting.position, waiting.lease, index)
            } else {
                staying.append(waiting)
            }
        }
        processes[index].lanes[place].waiting = staying
    }

    mutating func notifyLater(_ place: Int, _ index: Int, at time: SimulatedTime) {
        if let set = processes[index].lanes[place].timerAt, set <= time { return }
        processes[index].lanes[place].timerAt = time
        queue.put(.laneTimer(processes[index].addressee, processes[index].lanes[place].key), at: max(time, now))
    }

    mutating func notifyLane(_ key: LaneKey, _ index: Int) {
        let place = placeOfLane(key, index)
        // The timer was set to an earlier time meanwhile, and that one has fired.
        guard let due = processes[index].lanes[place].timerAt, due <= now else { return }
        processes[index].lanes[place].timerAt = nil
        pumpLanes(index)
    }

    private mutating func open(_ name: LeaseName, _ position: Int32, _ lane: Int, _ index: Int) {
        guard let lease = processes[index].lease(name), let until = lease.until else { return }
        guard processes[index].clock.read(at: now) < until else {
            return report(.unsent(.withdrawn), position, name, index)
        }
        let provider = processes[index].lanes[lane].provider
        if weather.isUnreachable(provider, now) {
            report(.unsent(.unreachable), position, name, index)
            return block(lane, index, .unreachable, .unsent(.unreachable), for: .seconds(1) ... .seconds(5))
        }
        let member = lease.parcel.members[Int(position)]
        if poisonous.contains(member.registration) { return kill(index) }
        let start = Int(member.tokenStart)
        guard let on = placeForStream(processes[index].lanes[lane]) else { return }
        let connection = processes[index].lanes[lane].connections[on]
        streams += 1
        let push = WirePush(
            from: processes[index].addressee, lane: processes[index].lanes[lane].key,
            connection: connection.number, stream: streams, lease: name,
            route: lease.parcel.route, position: position, message: lease.parcel.message,
            registration: member.registration,
            token: DeviceToken(bytes: Array(lease.parcel.tokens[start..<start + Int(member.tokenCount)])),
            provider: provider, kind: forms[lease.parcel.message]?.kind ?? .alert,
            access: provider == .fcm ? access(of: processes[index].lanes[lane], index) : nil,
            signedAt: processes[index].lanes[lane].signedAt,
            isElsewhere: lease.parcel.origin != nil, leasedAt: lease.parcel.leasedAt,
            apnsID: PushIdentity.apnsID(message: lease.parcel.message, registration: member.registration),
            badge: member.badge, leaseNumber: lease.number, openedAt: now,
            leavesAt: max(now, connection.shutUntil),
            isAnswerLost: isFaulty
                && (weather.silent == provider || random.happens(perMille: plan.answerLost + plan.silent)))
        checkFence(push)
        checkSlowness(lane, lease.parcel, index)
        processes[index].lanes[lane].open.append(push)
        countAgainstQuota(lane, index)
        checkAccess(push, index)
        carry(push, on: connection)
    }

    /// Carries a push over the wire, if it gets that far.
    private mutating func carry(_ push: WirePush, on connection: SimulatedConnection) {
        func end(_ end: StreamEnd, _ at: SimulatedTime) {
            queue.put(.streamEnds(push.from, push.lane, stream: push.stream, end), at: at)
        }
        let half = SimulatedTime(nanoseconds: plan.settings.requestDeadline.wholeNanoseconds / 2)
        guard push.leavesAt < deadline(of: push) else {
            incidents.note(.neverLeft)
            return endAtDeadline(push)
        }
        if connection.deadUntil != nil {
            lose(push)
            return endAtDeadline(push)
        }
        if push.leavesAt > now || connection.stalledUntil > now {
            endAtDeadline(push)
            return queue.put(.pushArrives(push), at: max(push.leavesAt, after(.milliseconds(1) ... .milliseconds(80))))
        }
        if isFaulty, random.happens(perMille: plan.streamRefused) {
            incidents.note(.refusedStream)
            let fault = random.pick([TransportFault.refusedStream, .goAway, .connectionLost])
            return end(.fault(isSent: false, fault), after(.zero ... .milliseconds(100)))
        }
        if isFaulty, random.happens(perMille: plan.requestLost) {
            return end(.fault(isSent: true, .connectionLost), after(.milliseconds(1)...half))
        }
        let slowest = isFaulty && random.happens(perMille: 20) ? half : .milliseconds(80)
        let arrival = after(.milliseconds(1)...slowest)
        queue.put(.pushArrives(push), at: arrival)
        guard push.isAnswerLost else { return }
        let deadline = now + half + half
        let lost = random.happens(perMille: 500) ? deadline : arrival + random.within(.zero ... .milliseconds(500))
        end(.fault(isSent: true, lost == deadline ? .deadlinePassed : .connectionLost), lost)
    }

    mutating func endStream(_ stream: Int, _ key: LaneKey, _ end: StreamEnd, _ index: Int) {
        let lane = placeOfLane(key, index)
        // A second end of a closed stream.
        guard let place = processes[index].lanes[lane].open.firstIndex(where: { $0.stream == stream }) else {
            if case .answered = end { incidents.note(.lateAnswer) }
            return
        }
        let push = processes[index].lanes[lane].open[place]
        if case .answered = end, let stalledUntil = connection(of: push)?.stalledUntil, stalledUntil > now {
            let later = stalledUntil + random.within(.zero ... .milliseconds(5))
            return queue.put(.streamEnds(push.from, key, stream: stream, end), at: later)
        }
        if case .answered = end,
            processes[index].lanes[lane].open[..<place].contains(where: { $0.connection == push.connection })
        {
            incidents.note(.outOfOrder)
        }
        processes[index].lanes[lane].open.remove(at: place)
        switch end {
        case .fault(let isSent, let fault):
            if isSent { providers.loseAnswer(push) }
            answerLedger.recordFault(push, isSent: isSent)
            report(isSent ? .unknown(fault) : .unsent(fault), push.position, push.lease, index)
        case .answered(let answer):
            record(answer, push, lane, index)
            if isFaulty, random.happens(perMille: plan.answerDoubled) {
                let other = random.pick([
                    Outcome.accepted, .unknown(.connectionLost),
                    ProviderAnswer(.badDeviceToken).verdict(now: wall).outcome,
                ])
                queue.put(
                    .repeated(push.from, push.lease, position: push.position, other),
                    at: after(.milliseconds(25) ... .seconds(5)))
            }
        }
        pumpLanes(index)
    }

    /// Records a contradiction of the transport, where the first outcome is not passed on yet.
    mutating func noteRepeated(_ outcome: Outcome, _ position: Int32, _ name: LeaseName, _ index: Int) {
        guard processes[index].hasUnread(position, of: name), let parcel = processes[index].lease(name)?.parcel else {
            return
        }
        let member = parcel.members[Int(position)].registration
        answerLedger.contradict(name, PushPair(message: parcel.message, registration: member), outcome)
    }

    /// Applies an answer to its push and to its lane.
    private mutating func record(_ answer: ProviderAnswer, _ push: WirePush, _ lane: Int, _ index: Int) {
        let outcome = outcome(of: answer, processes[index].lanes[lane], by: processes[index].wallClock.read(at: now))
        answerLedger.record(answer, push, clockError: processes[index].wallClock.error(at: now))
        if let date = answer.retryAt, date <= processes[index].wallClock.read(at: now) { incidents.note(.passedDate) }
        report(outcome, push.position, push.lease, index)
        if outcome == .accepted { processes[index].lanes[lane].provenAt = now }
        if answer.kind.status == 429 { giveBackToQuota(lane, index) }
        switch outcome {
        case .deferred(_, .providerTokenExpired) where push.provider == .fcm: noteAccessRefused(push, index)
        case .deferred(_, .providerTokenExpired): processes[index].lanes[lane].signedAt = now
        case .deferred(_, .credentialRefused):
            let outcome = Outcome.deferred(after: nil, .credentialRefused)
            block(lane, index, .credentialRefused, outcome, for: .seconds(1) ... .seconds(10))
        default: break
        }
    }

    /// - Parameter clock: the gateway's own.
    private func outcome(of answer: ProviderAnswer, _ lane: SimulatedLane, by clock: WallInstant) -> Outcome {
        if answer.kind.isAccepted { return .accepted }
        let outcome = answer.verdict(now: clock).outcome
        // The project exists, because it accepted a push a while ago: only this push got the 404.
        guard answer.kind == .noSuchProject, case .deferred = outcome,
            let proof = lane.provenAt, now - proof <= .seconds(600)
        else { return outcome }
        return .deferred(after: .seconds(60), .providerBusy)
    }

    /// Blocks the lane: it reports that it can't send, and hands back its unsent pushes.
    private mutating func block(
        _ lane: Int, _ index: Int, _ cause: LaneCause, _ outcome: Outcome, for pause: ClosedRange<SimulatedTime>
    ) {
        guard !processes[index].lanes[lane].isBlocked else { return }
        processes[index].lanes[lane].block = cause
        for waiting in processes[index].lanes[lane].waiting {
            report(outcome, waiting.position, waiting.lease, index)
        }
        processes[index].lanes[lane].waiting = []
        let key = processes[index].lanes[lane].key
        queue.put(.laneCloses(processes[index].addressee, key, cause), at: now)
        queue.put(.laneOpens(processes[index].addressee, key), at: after(pause))
    }

    mutating func openLane(_ key: LaneKey, _ index: Int) {
        let lane = placeOfLane(key, index)
        processes[index].lanes[lane].block = nil
        send(.lane(key, .recovered), to: index)
    }

    /// A refused credential is not used before a pause is over.
    func resolution(of key: LaneKey?, _ index: Int) -> RouteResolution {
        guard let key else { return .uncovered }
        let lane = processes[index].lanes.first { $0.key == key }
        if lane?.block == .credentialRefused { return .waits(key, .credentialRefused) }
        return .leaves(LaneTarget(key, PushTarget(place(of: key).provider, "garden")))
    }
}
