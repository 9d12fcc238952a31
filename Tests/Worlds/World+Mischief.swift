import Basis
import Model

// Faults of processes, the database and the network.
extension SimulatedWorld {
    mutating func scheduleNext(_ mischief: Mischief) {
        guard let every = plan.pause(of: mischief) else { return }
        let next = after(.milliseconds(10)...every + every)
        if next < plan.faultsEnd { queue.put(.mischief(mischief), at: next) }
    }

    mutating func happen(_ mischief: Mischief) {
        scheduleNext(mischief)
        let process = random.below(processes.count)
        switch mischief {
        case .kill, .freeze, .drain:
            trail.add("process \(process)\(processes[process].isAlive ? "" : ", which does not run")")
            switch mischief {
            case .kill: kill(process)
            case .freeze: freeze(process)
            default: drain(process)
            }
        case .outage:
            weather.storeDownUntil = after(.seconds(1) ... .seconds(plan.leaseSeconds * 2))
            trail.add("until \(weather.storeDownUntil.text)")
        case .slowness:
            weather.storeSlowUntil = after(.seconds(1) ... .seconds(plan.leaseSeconds))
            trail.add("until \(weather.storeSlowUntil.text)")
        case .connectionTrouble: troubleAConnection()
        case .storm:
            let text = [AnswerKind.tooManyRequests, .serviceUnavailable, .projectQuota, .unavailable]
            let kind = random.pick(text)
            let until = after(.seconds(2) ... .seconds(60))
            weather.storm = (kind, until)
            trail.add("\(kind.provider), \(kind.rawValue), until \(until.text)")
            noteTrouble(kind.provider, until: until + .seconds(1))
        case .tokenExpiry: expireProviderTokens()
        case .clockStep: stepTheClock()
        case .wallStep: stepTheWallClock(process)
        case .unreachable:
            let provider = random.pick([Provider.apns, .fcm])
            let until = after(.seconds(1) ... .seconds(20))
            weather.unreachable.append((provider, until))
            trail.add("\(provider), until \(until.text)")
            // The provider's lanes are shut for up to five seconds after that.
            noteTrouble(provider, until: until + .seconds(6))
        case .credentialTrouble: troubleACredential()
        case .revocation:
            providers.revokeAccess()
            noteTrouble(.fcm, until: now + .seconds(10))
        case .wave:
            weather.waveUntil = after(.seconds(1) ... .seconds(30))
            weather.wavePlace = random.pick([.production, .production, .sandbox, .google])
            trail.add("\(weather.wavePlace), until \(weather.waveUntil.text)")
            noteTrouble(weather.wavePlace.provider, until: weather.waveUntil)
        }
    }

    /// Expires all provider tokens at once. Those signed until now are too old, also on their way.
    private mutating func expireProviderTokens() {
        for app in 1...plan.apps {
            for place in LanePlace.allCases where place.provider == .apns {
                weather.signedSince.append((credential(inSlot: slot(AppID(Int64(app)), place)), now))
            }
        }
    }

    /// Sets the database's clock, within what its neighbours may be wrong by.
    private mutating func stepTheClock() {
        let offset = Duration.seconds(random.within(-20...20))
        incidents.note(offset > weather.clockOffset ? .clockForward : .clockBack)
        weather.clockOffset = offset
        trail.add("\(offset.components.seconds) s from the true time")
    }

    /// Sets one gateway's clock back to true time, or away from it.
    private mutating func stepTheWallClock(_ index: Int) {
        let offset = random.happens(perMille: 300) ? 0 : random.within(-plan.wallClockOffMax...plan.wallClockOffMax)
        incidents.note(.seconds(offset) > processes[index].wallClock.offset ? .wallClockForward : .wallClockBack)
        processes[index].wallClock.offset = .seconds(offset)
        trail.add("process \(index)'s, \(offset) s from the true time")
    }

    mutating func kill(_ index: Int) {
        guard processes[index].isAlive else { return }
        processes[index].isAlive = false
        processes[index].isFrozen = false
        processes[index].incarnation += 1
        processes[index].delayed = []
        queue.put(.restart(process: index), at: after(.milliseconds(100) ... .seconds(20)))
    }

    private mutating func freeze(_ index: Int) {
        guard processes[index].isAlive, !processes[index].isFrozen else { return }
        processes[index].isFrozen = true
        let longest = SimulatedTime.seconds(random.happens(perMille: 500) ? plan.leaseSeconds * 2 : 5)
        queue.put(.thaw(process: index), at: after(.milliseconds(100)...longest))
    }

    /// Delivers all delayed events at once, in hardly any order.
    mutating func thaw(_ index: Int) {
        guard processes[index].isFrozen else { return }
        processes[index].isFrozen = false
        processes[index].receivesSince = now
        for event in processes[index].delayed { queue.put(event, at: after(.zero ... .milliseconds(5))) }
        processes[index].delayed = []
    }

    private mutating func drain(_ index: Int) {
        guard processes[index].isAlive, !processes[index].isFrozen, !processes[index].isDraining else { return }
        processes[index].isDraining = true
        // Another process starts within twenty seconds of its end.
        troubledUntilByProcesses = max(
            troubledUntilByProcesses, now + SimulatedTime(plan.settings.requestDeadline) + .seconds(30))
        send(.drain, to: index)
    }

    mutating func endFaults() {
        weather = Weather(clockOffset: weather.clockOffset, rotations: weather.rotations)
        for index in processes.indices { thaw(index) }
        credentialsChange(at: now)
    }
}

extension WorldPlan {
    func pause(of mischief: Mischief) -> SimulatedTime? {
        switch mischief {
        case .kill: killEvery
        case .freeze: freezeEvery
        case .drain: drainEvery
        case .outage: outageEvery
        case .slowness: slownessEvery
        case .connectionTrouble: connectionTroubleEvery
        case .storm: stormEvery
        case .tokenExpiry: tokenExpiryEvery
        case .clockStep: clockStepEvery
        case .wallStep: wallStepEvery
        case .unreachable: unreachableEvery
        case .credentialTrouble: credentialTroubleEvery
        case .revocation: revocationEvery
        case .wave: waveEvery
        }
    }

    var leaseSeconds: Int64 { settings.leaseLength.wholeNanoseconds / 1_000_000_000 }

    /// Whether only a poisonous push ends a process or keeps it from its database.
    var onlyPoisonLapses: Bool {
        var plan = self
        plan.poisonous = 0
        return !plan.mayLapse
    }

    /// Whether something may keep an owner from settling or renewing in time.
    var mayLapse: Bool {
        killEvery != nil || freezeEvery != nil || outageEvery != nil || slownessEvery != nil || clockStepEvery != nil
            || poisonous > 0
            || storeCallLost + storeReplyLost + storeCallLate > 0
    }
}
