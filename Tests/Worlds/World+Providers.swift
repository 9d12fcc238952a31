import Basis

// The providers' answers to pushes.
extension SimulatedWorld {
    mutating func arriveAtProvider(_ push: WirePush) {
        // The bytes of a process that died may still have been in its own buffers.
        let isSenderGone = processes[push.from.process].incarnation != push.from.incarnation
        if isSenderGone, random.happens(perMille: 300) { return }
        if providers.hasVanished(push) { return }
        if let stalledUntil = connection(of: push)?.stalledUntil, stalledUntil > now {
            return queue.put(.pushArrives(push), at: stalledUntil + random.within(.zero ... .milliseconds(5)))
        }
        checkTarget(push)
        var answer = answer(to: push)
        // Google only: Apple sends no dates.
        if let pause = answer.retryAfter, push.provider == .fcm, plan.datedPauses > 0,
            random.happens(perMille: plan.datedPauses)
        {
            answer.retryAt = Self.wall(at: now) + .seconds(pause)
            incidents.note(.datedPause)
        }
        if answer.kind.reportsUnregistered, !push.isElsewhere {
            providers[push.provider, push.token].unregisteredReported.append(answer.since ?? push.leasedAt)
        }
        if answer.kind.suspectsToken || answer.kind.reportsUnregistered && push.isElsewhere {
            providers[push.provider, push.token].suspicionReported.append(push.leasedAt)
        }
        if answer.kind.isAccepted { noteDelivered(push) }
        providers.note(push, answer, at: now)
        if answer.retryAfter != nil { incidents.note(.retryAfter) }
        guard !push.isAnswerLost else { return }
        queue.put(
            .streamEnds(push.from, push.lane, stream: push.stream, .answered(answer)),
            at: after(.milliseconds(1) ... .milliseconds(60)))
    }

    private mutating func answer(to push: WirePush) -> ProviderAnswer {
        if let kind = weather.onlyAnswer, kind.provider == push.provider { return ProviderAnswer(kind) }
        if let storm = weather.storm, storm.kind.provider == push.provider, now < storm.until {
            incidents.note(storm: storm.kind)
            return ProviderAnswer(storm.kind, retryAfter: random.happens(perMille: 800) ? random.within(1...120) : nil)
        }
        return push.provider == .fcm ? googleAnswer(to: push) : appleAnswer(to: push)
    }

    private mutating func appleAnswer(to push: WirePush) -> ProviderAnswer {
        let token = providers[.apns, push.token]
        let place = place(of: push.lane)
        if weather.refused.contains(where: { $0.credential == push.lane.credential && now < $0.until }) {
            return ProviderAnswer(random.happens(perMille: 200) ? .expiredProviderToken : .invalidProviderToken)
        }
        if weather.signedSince.contains(where: { $0.credential == push.lane.credential && push.signedAt < $0.since }) {
            incidents.note(.tokenExpired)
            return ProviderAnswer(.expiredProviderToken)
        }
        if now < weather.waveUntil, place == weather.wavePlace { return ProviderAnswer(.badDeviceToken) }
        if isInsideOut { return ProviderAnswer(place.environment == .production ? .badDeviceToken : .delivered) }
        if token.flaw != nil || token.environment != place.environment { return ProviderAnswer(.badDeviceToken) }
        if token.kind != push.kind { return ProviderAnswer(.notForTopic) }
        if let since = token.deadSince {
            return ProviderAnswer(random.happens(perMille: 200) ? .expiredToken : .unregistered, since: since)
        }
        guard isFaulty else { return ProviderAnswer(.delivered) }
        if random.happens(perMille: plan.throttled) { return ProviderAnswer(.tooManyRequests) }
        if random.happens(perMille: plan.busy) {
            return ProviderAnswer(
                random.pick([.serviceUnavailable, .internalServerError]), retryAfter: drawRetryAfter())
        }
        if random.happens(perMille: plan.messageRefused) { return ProviderAnswer(.payloadTooLarge) }
        if random.happens(perMille: plan.staleGone), let row = store.registration(push.registration) {
            // Apple remembers an earlier installation of the app on this device.
            let since = row.registeredAt + .seconds(-Int64(random.within(1...500)))
            return ProviderAnswer(.unregistered, since: since)
        }
        return ProviderAnswer(.delivered)
    }

    var isInsideOut: Bool {
        guard isFaulty, let from = plan.insideOutFrom else { return false }
        return now >= from
    }

    private mutating func googleAnswer(to push: WirePush) -> ProviderAnswer {
        if let refusal = weather.refused.first(where: { $0.credential == push.lane.credential && now < $0.until }) {
            return ProviderAnswer(refusal.isNoSuchProject ? .noSuchProject : .permissionDenied)
        }
        guard let access = push.access, isTaken(access) else {
            incidents.note(.accessExpired)
            return ProviderAnswer(.accessRefused)
        }
        if now < weather.waveUntil, weather.wavePlace == .google { return ProviderAnswer(.senderMismatch) }
        let token = providers[.fcm, push.token]
        switch token.flaw {
        case .garbage: return ProviderAnswer(random.pick([.tokenIsNone, .tokenFieldIsBad]))
        case .foreign: return ProviderAnswer(.senderMismatch)
        case nil: break
        }
        if token.deadSince != nil { return ProviderAnswer(.appGone) }
        guard isFaulty else { return ProviderAnswer(.sent) }
        if random.happens(perMille: plan.throttled) {
            return ProviderAnswer(random.pick([.projectQuota, .deviceQuota]), retryAfter: drawRetryAfter())
        }
        if random.happens(perMille: plan.busy) {
            return ProviderAnswer(
                random.pick([.unavailable, .internalError, .badGateway]), retryAfter: drawRetryAfter())
        }
        if random.happens(perMille: plan.messageRefused) {
            return ProviderAnswer(random.pick([.messageTooBig, .messageFieldIsBad, .thirdPartyAuth]))
        }
        return ProviderAnswer(.sent)
    }

    private mutating func drawRetryAfter() -> Int? {
        random.happens(perMille: 300) ? random.within(0...120) : nil
    }

    /// Checks that a push goes to the message's own kind of token, unless the sender named tokens.
    private mutating func checkTarget(_ push: WirePush) {
        if place(of: push.lane).isForCalls, forms[push.message]?.content != .voip {
            fail("P7", "a push is sent with another service's certificate")
        }
        if case .tokens = store.message(push.message)?.audienceWanted.selection { return }
        if plan.manyKinds > 0 || plan.fcmDevices > 0 { judge(.kind) }
        if providers[push.provider, push.token].kind != push.kind {
            fail("P2", "a push of kind \(push.kind) went to an installation's token of another kind")
        }
        if push.provider == .fcm, forms[push.message]?.content.isForFCM == false {
            fail("P2", "FCM got a push that it has no form of")
        }
    }
}
