import DeliveryRules
import Encodings
import PushModel

// The transport: lanes, their streams, and what the wire does to them.
extension SimulatedWorld {
    mutating func submit(
        _ name: LeaseName, _ key: LaneKey, _ positions: [Int32], _ until: MonotonicInstant, _ index: Int
    ) {
        guard let lease = processes[index].leases.firstIndex(where: { $0.name == name }) else {
            return fail("P2", "a parcel is submitted that is not held")
        }
        processes[index].leases[lease].until = until
        checkCompany(index)
        let lane = processes[index].placeOfLane(key)
        guard !processes[index].lanes[lane].isBlocked else {
            for position in positions { report(.deferred(after: nil, .laneBlocked), position, name, index) }
            return
        }
        for position in positions { processes[index].lanes[lane].waiting.append((name, position)) }
    }

    mutating func withdraw(_ name: LeaseName, _ key: LaneKey, _ index: Int) {
        let lane = processes[index].placeOfLane(key)
        for waiting in processes[index].lanes[lane].waiting where waiting.lease == name {
            report(.unsent(.withdrawn), waiting.position, name, index)
        }
        processes[index].lanes[lane].waiting.removeAll { $0.lease == name }
    }

    /// The Dispatcher hears of it with the next batch of answers.
    mutating func report(_ outcome: Outcome, _ position: Int32, _ name: LeaseName, _ index: Int) {
        processes[index].collect(outcome, for: position, of: name)
        guard !processes[index].isFlushScheduled else { return }
        processes[index].isFlushScheduled = true
        queue.put(.flush(processes[index].addressee), at: after(.zero ... .milliseconds(20)))
    }

    mutating func flush(_ index: Int) {
        let batches = processes[index].answers
        processes[index].answers = []
        processes[index].isFlushScheduled = false
        let life = processes[index].life
        for batch in batches {
            guard processes[index].isAlive, processes[index].life == life else { return }
            tell(.answers(batch.lease, accepted: batch.accepted, others: batch.others), to: index)
        }
    }

    mutating func pumpLanes(_ index: Int) {
        for lane in processes[index].lanes.indices {
            while processes[index].isAlive, canOpen(lane, index) {
                let next = processes[index].lanes[lane].waiting.removeFirst()
                open(next.lease, next.position, lane, index)
            }
            guard processes[index].isAlive else { return }
        }
    }

    private func canOpen(_ lane: Int, _ index: Int) -> Bool {
        let lane = processes[index].lanes[lane]
        return !lane.isBlocked && !lane.waiting.isEmpty && lane.open.count < plan.streamsMax
    }

    private mutating func open(_ name: LeaseName, _ position: Int32, _ lane: Int, _ index: Int) {
        guard let lease = processes[index].lease(name), let until = lease.until else { return }
        guard processes[index].clock.read(at: now) < until else {
            return report(.unsent(.withdrawn), position, name, index)
        }
        if now < weather.appleUnreachableUntil {
            report(.unsent(.unreachable), position, name, index)
            return block(lane, index, .unsent(.unreachable), for: .seconds(1) ... .seconds(5))
        }
        let member = lease.parcel.members[Int(position)]
        if poisonous.contains(member.registration) { return kill(index) }
        let start = Int(member.tokenStart)
        streams += 1
        let push = WirePush(
            from: processes[index].addressee, lane: processes[index].lanes[lane].key, stream: streams, lease: name,
            route: lease.parcel.route, position: position, message: lease.parcel.message,
            registration: member.registration,
            token: DeviceToken(bytes: Array(lease.parcel.tokens[start..<start + Int(member.tokenCount)])),
            apnsID: PushIdentity.apnsID(message: lease.parcel.message, registration: member.registration),
            badge: member.badge, leaseNumber: lease.number, openedAt: now,
            isAnswerLost: isFaulty && random.happens(perMille: plan.answerLost + plan.silent))
        checkFence(push)
        processes[index].lanes[lane].open.append(push)
        carry(push)
    }

    /// Over the wire, if it gets that far.
    private mutating func carry(_ push: WirePush) {
        func end(_ end: StreamEnd, _ at: SimulatedTime) {
            queue.put(.streamEnds(push.from, push.lane, stream: push.stream, end), at: at)
        }
        let half = SimulatedTime(nanoseconds: plan.settings.requestDeadline.wholeNanoseconds / 2)
        if isFaulty, random.happens(perMille: plan.streamRefused) {
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
        let lane = processes[index].placeOfLane(key)
        // A second word about a stream that is closed.
        guard let place = processes[index].lanes[lane].open.firstIndex(where: { $0.stream == stream }) else { return }
        let push = processes[index].lanes[lane].open.remove(at: place)
        switch end {
        case .fault(let isSent, let fault):
            report(isSent ? .unknown(fault) : .unsent(fault), push.position, push.lease, index)
        case .answered(let answer):
            report(answer.outcome, push.position, push.lease, index)
            if isFaulty, random.happens(perMille: plan.answerDoubled) {
                let other = random.pick([Outcome.accepted, .unknown(.connectionLost), AppleAnswer.badToken.outcome])
                queue.put(
                    .saidAgain(push.from, push.lease, position: push.position, other),
                    at: after(.milliseconds(25) ... .seconds(5)))
            }
            if answer == .credentialRefused {
                block(lane, index, .deferred(after: nil, .credentialRefused), for: .seconds(1) ... .seconds(10))
            }
        }
        pumpLanes(index)
    }

    /// The lane says that it can't send, and hands back what it has not sent.
    private mutating func block(
        _ lane: Int, _ index: Int, _ outcome: Outcome, for pause: ClosedRange<SimulatedTime>
    ) {
        guard !processes[index].lanes[lane].isBlocked else { return }
        processes[index].lanes[lane].isBlocked = true
        for waiting in processes[index].lanes[lane].waiting {
            report(outcome, waiting.position, waiting.lease, index)
        }
        processes[index].lanes[lane].waiting = []
        let key = processes[index].lanes[lane].key
        queue.put(.laneCloses(processes[index].addressee, key), at: now)
        queue.put(.laneOpens(processes[index].addressee, key), at: after(pause))
    }

    mutating func openLane(_ key: LaneKey, _ index: Int) {
        let lane = processes[index].placeOfLane(key)
        processes[index].lanes[lane].isBlocked = false
        // The word may be overtaken by an older one: the next look at the route says it again.
        let isOvertaken = isFaulty && random.happens(perMille: plan.notificationLost)
        tell(.lane(key, canSend: !isOvertaken), to: index)
    }
}
