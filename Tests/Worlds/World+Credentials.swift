import Basis
import Model
import ProviderInterface
import QueueRules

// Credentials: one for each app and place, some for calls alone. A rotation gives the slot another. Credentials can be
// refused, missing or outdated.
extension SimulatedWorld {
    package func slot(_ app: AppID, _ place: LanePlace) -> Int64 { app.value * 10 + place.rawValue }

    package func place(of lane: LaneKey) -> LanePlace {
        LanePlace(rawValue: lane.credential.value / 1_000 % 10) ?? .production
    }

    package func credential(inSlot slot: Int64) -> CredentialID {
        let rotations = weather.rotations.first { $0.slot == slot }?.count ?? 0
        return CredentialID(slot * 1_000 + rotations)
    }

    /// The lane of a route's pushes; nil: its credential is missing, or has no access token yet.
    mutating func lane(of route: ReadyRoute, _ index: Int) -> LaneKey? {
        let isCall = plan.hasOwnCalls && route.service == .voip
        var place = LanePlace(route.provider, route.environment, ownCalls: isCall)
        if place.environment == .sandbox && !plan.hasSandbox { return nil }
        // Where a service's own credential is gone, the app's may cover the service too.
        if isCall, isMissing(credential(inSlot: slot(route.app, place))) {
            place = LanePlace(route.provider, route.environment, ownCalls: false)
        }
        let credential = credential(inSlot: slot(route.app, place))
        if isMissing(credential) { return nil }
        if place == .google, !freshen(credential, index) { return nil }
        return LaneKey(credential)
    }

    private func isMissing(_ credential: CredentialID) -> Bool {
        weather.missing.contains { $0.credential == credential && now < $0.until }
    }

    private var sendingPlaces: [LanePlace] {
        let calls: [LanePlace] = plan.hasOwnCalls ? [.calls, .sandboxCalls] : []
        return ([.production, .sandbox] + calls).filter { plan.hasSandbox || $0.environment == .production }
    }

    /// The credentials with which each app may send, as the database knows them.
    var senders: [SenderRow] {
        var senders: [SenderRow] = []
        for app in 1...plan.apps {
            for place in sendingPlaces {
                let credential = credential(inSlot: slot(AppID(Int64(app)), place))
                if isMissing(credential) { continue }
                let refusal = weather.refused.first { $0.credential == credential && now < $0.until }
                senders.append(
                    SenderRow(
                        app: AppID(Int64(app)), environment: place.environment,
                        service: place.isForCalls ? .voip : nil,
                        blockedUntil: refusal.map { databaseWall(at: $0.until) }))
            }
        }
        return senders
    }

    /// Lets one slot's credential be refused, be missing for a while, or be rotated.
    mutating func troubleACredential() {
        let app = AppID(Int64(random.within(1...plan.apps)))
        let slot = slot(app, random.pick(LanePlace.allCases))
        let until = after(.seconds(1) ... .seconds(40))
        // A refused push pauses for fifteen seconds, and its lane for up to ten.
        for provider in [Provider.apns, .fcm] { noteTrouble(provider, until: until + .seconds(26)) }
        switch random.below(3) {
        case 0:
            let isNoSuchProject = random.happens(perMille: 500)
            weather.refused.append((credential(inSlot: slot), isNoSuchProject, until))
            trail.add("\(credential(inSlot: slot).value) is refused until \(until.text)")
        case 1:
            weather.missing.append((credential(inSlot: slot), until))
            trail.add("\(credential(inSlot: slot).value) is missing until \(until.text)")
            credentialsChange(at: until)
        default:
            trail.add("\(credential(inSlot: slot).value) gets a successor")
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

// Google's access tokens. Each process fetches its own, and Google refuses those that are too old or revoked.
extension SimulatedWorld {
    func isTaken(_ access: AccessToken) -> Bool {
        let issued = providers.accessTokens[number(of: access)]
        return !issued.isRevoked && now < issued.until
    }

    private func number(of access: AccessToken) -> Int { access.text.reduce(0) { $0 * 10 + Int($1 - 0x30) } }

    /// Makes sure that there is a young token. False: none may be used.
    private mutating func freshen(_ credential: CredentialID, _ index: Int) -> Bool {
        let place = processes[index].placeOfAccount(credential)
        let mono = processes[index].clock.read(at: now)
        switch processes[index].accounts[place].cache.next(now: mono) {
        case .use: return true
        case .useAndRenew:
            fetch(credential, askedAt: mono, index)
            return true
        case .renew:
            processes[index].accounts[place].serving = nil
            fetch(credential, askedAt: mono, index)
        case .wait: processes[index].accounts[place].serving = nil
        }
        return false
    }

    private mutating func fetch(_ credential: CredentialID, askedAt: MonotonicInstant, _ index: Int) {
        let place = processes[index].placeOfAccount(credential)
        if processes[index].accounts[place].isFetching { fail("P7", "an account asks for two access tokens at once") }
        processes[index].accounts[place].isFetching = true
        let arrival = after(.milliseconds(20) ... .milliseconds(isFaulty ? 1_500 : 100))
        let isFailed =
            isFaulty && (weather.isUnreachable(.fcm, now) || random.happens(perMille: plan.accessFailed))
        var token: AccessToken?
        if !isFailed {
            let lifetime = SimulatedTime.seconds(plan.accessSeconds)
            let number = providers.issueAccess(until: now + lifetime)
            token = AccessToken(
                text: Array("\(number)".utf8), askedAt: askedAt, lifetime: .seconds(plan.accessSeconds))
        }
        queue.put(.accessArrives(processes[index].addressee, credential, token), at: arrival)
    }

    mutating func adopt(_ token: AccessToken?, _ credential: CredentialID, _ index: Int) {
        let place = processes[index].placeOfAccount(credential)
        processes[index].accounts[place].isFetching = false
        guard let token else {
            let mono = processes[index].clock.read(at: now)
            processes[index].accounts[place].cache.renewalFailed(now: mono, entropy: random.next())
            return
        }
        if processes[index].accounts[place].refused.last != nil { incidents.accessRenewed += 1 }
        processes[index].accounts[place].cache.adopt(token, entropy: random.next())
        processes[index].accounts[place].serving = processes[index].accounts[place].cache.serving
        pumpLanes(index)
        if processes[index].isAlive { send(.credentialsChanged, to: index) }
    }

    /// Notes a 401 about our access token. The token is not used again, and the next one is fetched.
    mutating func noteAccessRefused(_ push: WirePush, _ index: Int) {
        guard let access = push.access else { return }
        let place = processes[index].placeOfAccount(push.lane.credential)
        let mono = processes[index].clock.read(at: now)
        let refusal = processes[index].accounts[place].cache.refused(access, now: mono)
        if refusal != .known {
            processes[index].accounts[place].refused.append(access)
            processes[index].accounts[place].serving = nil
        }
        if refusal == .toRenew { _ = freshen(push.lane.credential, index) }
    }
}
