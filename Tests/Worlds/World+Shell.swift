import Basis
import Encodings
import Model
import QueueRules

// Delivery's shell around the real Dispatcher.
extension SimulatedWorld {
    func makeProcess(_ index: Int) -> SimulatedProcess {
        var random = SeededRandom(seed: plan.seed &+ UInt64(index) &* 7_919)
        let drift = plan.driftMax == 0 ? 0 : Int64(random.within(-plan.driftMax...plan.driftMax))
        let clock = ProcessClock(origin: Int64(random.below(1_000_000_000_000)), partsPerMillion: drift)
        // These draws have a generator of their own, so that worlds without such clocks stay the same.
        var apart = SeededRandom(seed: plan.seed &* 41 &+ UInt64(index))
        let wallClock = ProcessWallClock(
            offset: .seconds(apart.within(-plan.wallClockOffMax...plan.wallClockOffMax)),
            partsPerMillion: Int64(apart.within(-plan.wallDriftMax...plan.wallDriftMax)))
        return SimulatedProcess(
            index: index, id: ProcessID(UniversalID(high: UInt64(index), low: 0)),
            dispatcher: Dispatcher(settings: plan.settings, now: clock.read(at: now)), clock: clock,
            wallClock: wallClock, isAlive: false)
    }

    /// Starts a new process in place of the old one, which leaves nothing but its clocks.
    mutating func start(_ index: Int) {
        guard !processes[index].isAlive else { return }
        let old = processes[index]
        var fresh = SimulatedProcess(
            index: index, incarnation: old.incarnation + 1,
            id: ProcessID(UniversalID(high: UInt64(index), low: UInt64(old.incarnation + 1))),
            dispatcher: Dispatcher(settings: plan.settings, now: old.clock.read(at: now)), clock: old.clock,
            wallClock: old.wallClock)
        fresh.isAlive = true
        fresh.receivesSince = now
        processes[index] = fresh
        queue.put(.housekeeping(fresh.addressee), at: after(.zero ... .seconds(1)))
        scheduleWake(index)
    }

    /// Notes an event that reached no process, because its process had ended.
    mutating func noteMissed(_ event: WorldEvent) {
        switch event {
        case .callAnswered(let call, let reply): noteKilled(behind: call, reply)
        case .streamEnds: incidents.note(.killedOnTheWire)
        case .flush: incidents.note(.killedUnread)
        default: break
        }
    }

    mutating func send(_ event: DispatchEvent, to index: Int) {
        let incarnation = processes[index].incarnation
        let mono = processes[index].clock.read(at: now)
        let actions = processes[index].dispatcher.handle(event, now: mono)
        for action in actions { perform(action, index) }
        forgetEnded(index)
        guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        send(actions, index)
        checkBounds(index)
        pumpLanes(index)
        guard processes[index].isAlive, processes[index].incarnation == incarnation else { return }
        scheduleWake(index)
    }

    mutating func wake(_ index: Int) {
        // The timer was set to an earlier time meanwhile, and that one has fired.
        guard let due = processes[index].wakesAt, due <= now else { return }
        processes[index].wakesAt = nil
        processes[index].ticksWithoutTime += 1
        send(.timer, to: index)
    }

    /// Sets the process's one alarm clock to the earliest time.
    mutating func scheduleWake(_ index: Int) {
        let due = processes[index].clock.time(of: processes[index].dispatcher.nextWake())
        guard due < .never else { return }
        let wakesAt = max(due, now)
        if let set = processes[index].wakesAt, set <= wakesAt { return }
        if wakesAt > now { processes[index].ticksWithoutTime = 0 }
        processes[index].wakesAt = wakesAt
        queue.put(.wake(processes[index].addressee), at: wakesAt)
    }

    private mutating func perform(_ action: DispatchAction, _ index: Int) {
        switch action {
        case .poll:
            call(.poll(processes[index].dispatcher.runningMessages), index)
        case .resolve(let ready):
            let lane = lane(of: ready, index)
            queue.put(
                .resolved(processes[index].addressee, ready.serviceRoute, lane), at: after(.zero ... .milliseconds(20)))
        case .lease(let request):
            processes[index].leaseCalls += 1
            call(.lease(request), index)
        case .submit(let name, let exit, let positions, let until):
            submit(name, exit.lane, positions, until, index)
        case .settle, .renew: break  // `send` sends all of one event's together.
        case .withdraw(let name, let key):
            withdraw(name, key, index)
        case .lane(let key, .report(let wait?, before: _)) where wait.cause == .throttled:
            if let until = wait.until { noteOpenBreaker(key, until: until, index) }
        case .lane: break
        case .alarm:
            break
        case .drained:
            leave(index)
        }
    }

    /// Drops what the shell keeps for leases that have ended.
    private mutating func forgetEnded(_ index: Int) {
        let running = processes[index].dispatcher.runningLeases
        guard running.count < processes[index].leases.count else { return }
        processes[index].leases.removeAll { !running.contains($0.name) }
    }

    /// Ends a drained process, which must hold nothing.
    private mutating func leave(_ index: Int) {
        let process = processes[index]
        if !process.dispatcher.runningLeases.isEmpty || process.dispatcher.membersInFlight != 0 {
            fail("P8", "a process reported that it was drained while it had leases")
        }
        incidents.drains += 1
        processes[index].isAlive = false
        queue.put(.restart(process: index), at: after(.seconds(1) ... .seconds(20)))
    }

    /// Passes a reply to the Dispatcher.
    mutating func receive(_ reply: StoreReply, to call: StoreCall, _ index: Int) {
        switch (call.request, reply) {
        case (.poll, .routes(let routes, let stopped, let rated)):
            notePollReceived(index)
            if !stopped.isEmpty {
                noteStopped(stopped, index)
                send(.stopped(stopped), to: index)
            }
            if !rated.isEmpty { send(.rated(rated), to: index) }
            send(.polled(routes), to: index)
        case (.poll, _):
            notePollReceived(index)
            send(.pollFailed, to: index)
        case (.lease(let request), let reply): receiveLease(reply, request, index)
        case (.renew(let names), let reply): receiveRenewals(reply, names, index)
        case (.verdicts(let entry), .verdictsWritten): self.call(.settle([entry]), index)
        case (.verdicts(let entry), _):
            end([entry], .settled([], failed: [UnsettledLease(entry.name)]), index)
        case (.settle(let entries), let reply): receiveSettles(reply, entries, index)
        case (.plan, .planned(let slice)):
            guard let slice else { return }
            self.call(.plan, index)
            if !slice.ready.isEmpty { send(.planned(slice.ready), to: index) }
            if slice.waitsForRate { send(.hint, to: index) }
            notifyOthers(index)
        case (.heartbeat(let project), .senders(let count)): hear(count, project, index)
        case (.heartbeat(let project), _): hear(nil, project, index)
        case (.find(let cut), let reply): receiveDemand(reply, cut, index)
        case (.cut(let cut), let reply): receiveCut(reply, cut, index)
        case (.maintain(let round), let reply): receive(reply, of: round, index)
        case (.writeNode(let number), .nodeWritten(let raisedAny)): noteWritten(number, raisedAny: raisedAny, index)
        case (.fanOut, let reply): receiveFanOut(reply, index)
        case (.endExpired, .fannedOut(let ready?)): passOn(ready, index)
        case (.updateItems(let lines), .nodeWritten(let raisedAny)): noteUpdated(lines, raisedAny: raisedAny, index)
        case (.pushItems(let work), let reply): receiveItemPushes(reply, work, index)
        case (.writeNode, _), (.endExpired, _), (.updateItems, _): break
        case (.plan, _): break
        }
    }

    private mutating func receiveLease(_ reply: StoreReply, _ request: LeaseRequest, _ index: Int) {
        processes[index].leaseCalls -= 1
        switch reply {
        case .leased(let parcels, let number, let again):
            for (place, parcel) in parcels.enumerated() {
                hold(parcel, number + place, request.lane, request.startedAt, index)
            }
            if !parcels.isEmpty { checkQuarantine(index) }
            let read = parcels.map { ReadParcel($0, reading(of: $0.message)) }
            send(.leased(read, asked: request, again: again), to: index)
        default: send(.leaseFailed(request), to: index)
        }
    }

    mutating func hold(
        _ parcel: LeasedParcel, _ number: Int, _ lane: LaneKey?, _ askedAt: MonotonicInstant, _ index: Int
    ) {
        processes[index].leases.append(
            ActiveLease(name: parcel.leaseName, parcel: parcel, number: number, lane: lane, askedAt: askedAt))
    }

    mutating func reading(of message: MessageID) -> MessageReading {
        if isFaulty, random.happens(perMille: plan.storeCallLost) { return .unread }
        return forms[message]?.mayRepeat == false ? .unrepeatable : .repeatable
    }

    mutating func notifyOthers(_ index: Int) {
        for other in processes where other.index != index && other.isAlive {
            guard !(isFaulty && random.happens(perMille: plan.notificationLost)) else { continue }
            queue.put(.notified(other.addressee), at: after(.zero ... .milliseconds(50)))
        }
    }
}
