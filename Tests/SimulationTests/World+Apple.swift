import DeliveryRules
import PushModel

// What Apple makes of a push, and what is wrong with credentials.
extension SimulatedWorld {
    mutating func arriveAtApple(_ push: WirePush) {
        // Bytes of a process that died on the way may have been in its own buffers still.
        let isSenderGone = processes[push.from.process].life != push.from.life
        if isSenderGone, random.happens(perMille: 300) { return }
        let answer = answer(to: push, environment: environment(of: push.lane))
        if case .gone(let since) = answer {
            apple.tokens[SimulatedApple.number(of: push.token)].goneSaid.append(since)
        }
        apple.note(push, answer, at: now)
        guard !push.isAnswerLost else { return }
        queue.put(
            .streamEnds(push.from, push.lane, stream: push.stream, .answered(answer)),
            at: after(.milliseconds(1) ... .milliseconds(60)))
    }

    private mutating func answer(to push: WirePush, environment: PushEnvironment) -> AppleAnswer {
        let token = apple.tokens[SimulatedApple.number(of: push.token)]
        if weather.refused.contains(where: { $0.credential == push.lane.credential && now < $0.until }) {
            return random.happens(perMille: 200) ? .providerTokenExpired : .credentialRefused
        }
        if now < weather.waveUntil, environment == weather.waveEnvironment { return .badToken }
        if token.isBad || token.environment != environment { return .badToken }
        if let since = token.deadSince { return .gone(since: since) }
        guard isFaulty else { return .accepted }
        if random.happens(perMille: plan.throttled) { return .throttled }
        if random.happens(perMille: plan.busy) {
            return .busy(retryAfter: random.happens(perMille: 300) ? .seconds(random.within(1...120)) : nil)
        }
        if random.happens(perMille: plan.messageRefused) { return .messageRefused }
        if random.happens(perMille: plan.staleGone), let row = store.registration(push.registration) {
            // Apple remembers an earlier life of the app on this device.
            return .gone(since: row.registeredAt + .seconds(-Int64(random.within(1...500))))
        }
        return .accepted
    }

    // One credential an app and environment; rotation gives the slot another.
    func slot(_ app: AppID, _ environment: PushEnvironment) -> Int64 {
        app.value * 10 + Int64(environment.rawValue)
    }

    func environment(of lane: LaneKey) -> PushEnvironment {
        PushEnvironment(rawValue: Int16(lane.credential.value / 1_000 % 10)) ?? .production
    }

    func credential(of route: ReadyRoute) -> CredentialID? {
        let credential = credential(inSlot: slot(route.app, route.environment))
        return weather.missing.contains { $0.credential == credential && now < $0.until } ? nil : credential
    }

    func credential(inSlot slot: Int64) -> CredentialID {
        let rotations = weather.rotations.first { $0.slot == slot }?.count ?? 0
        return CredentialID(slot * 1_000 + rotations)
    }

    /// One slot's credential is refused, is missing for a while, or is rotated.
    mutating func troubleACredential() {
        let app = AppID(Int64(random.within(1...plan.apps)))
        let slot = slot(app, random.pick(PushEnvironment.allCases))
        let until = after(.seconds(1) ... .seconds(40))
        switch random.below(3) {
        case 0: weather.refused.append((credential(inSlot: slot), until))
        case 1:
            weather.missing.append((credential(inSlot: slot), until))
            credentialsChange(at: until)
        default:
            if let place = weather.rotations.firstIndex(where: { $0.slot == slot }) {
                weather.rotations[place].count += 1
            } else {
                weather.rotations.append((slot, 1))
            }
        }
        credentialsChange(at: now)
    }

    mutating func credentialsChange(at time: SimulatedTime) {
        for process in processes where process.isAlive {
            queue.put(.credentialsChanged(process.addressee), at: time + random.within(.zero ... .milliseconds(100)))
        }
    }
}
