import Basis
import Model
import QueueRules

// Tokens registered in the wrong environment. Each is tried in the other one once, and the result is remembered.
extension SimulatedWorld {
    /// Records the results of environment comparisons.
    mutating func recordCompared(_ before: [RegistrationRow]) {
        for row in before {
            guard let after = store.registration(row.id), after.environmentsCompared == after.stored.generation,
                row.environmentsCompared != after.environmentsCompared
            else { continue }
            ledger.compare(TokenName(registration: row.id, generation: after.stored.generation))
            ledger.compare(TokenName(registration: row.id, generation: row.stored.generation))
            if after.stored.route == row.stored.route {
                incidents.refusedInBoth += 1
            } else {
                incidents.found += 1
                checkFound(after)
            }
        }
    }

    /// Records tokens that the other environment accepted. They move, unless too many were found on a route that used
    /// to be right.
    mutating func recordFound(_ verdicts: [GuardedVerdict], _ before: [RegistrationRow], suspectRoutes: [RouteID]) {
        let found = before.filter { row in
            row.isLive
                && verdicts.contains {
                    $0.isFound && $0.registration == row.id && $0.generation == row.stored.generation
                }
        }
        for row in found { ledger.find(on: row.stored.route, at: wall) }
        // Where the database's clock is set, its minutes are not those of the ledger.
        for row in found {
            let isExodus = isExodus(from: row.stored.route)
            if isExodus { judge(.stayed) }
            guard store.registration(row.id)?.stored.route == row.stored.route else {
                if isExodus, plan.clockStepEvery == nil {
                    fail("P5", "too many tokens of a route moved to the other environment")
                }
                continue
            }
            guard suspectRoutes.contains(row.stored.route) else { continue }
            incidents.suspectRoutes += 1
            ledger.deferral(row.id)
            if !isExodus, plan.clockStepEvery == nil {
                fail("P5", "a token that was found in the other environment was not moved")
            }
        }
    }

    /// Whether more tokens of the route were found elsewhere than may move, and the route was right before.
    private func isExodus(from route: RouteID) -> Bool {
        let since = (wall + (.zero - plan.suspicion.window)).minute
        let (all, dawn) = (ledger.sample(on: route, within: since...wall), SimulatedWorld.wall(at: .zero))
        let found = ledger.found(on: route, within: since...wall)
        guard since > dawn else { return false }
        let before = dawn...(since + .microseconds(-1))
        let past = ledger.sample(on: route, within: before)
        guard past.answered - past.suspected > ledger.found(on: route, within: before) else { return false }
        return Double(found) > plan.suspicion.shareMax * Double(max(all.answered, found, plan.suspicion.sampleMin))
    }

    /// Checks that a registration moves only to the environment that accepted its token.
    private mutating func checkFound(_ row: RegistrationRow) {
        let token = providers[.apns, row.stored.token]
        if isInsideOut { return }
        judge(.moved)
        if store.route(row.stored.route)?.environment != token.environment {
            fail("P5", "a registration moved to an environment that does not know its token")
        }
    }

    /// Checks a settle of an origin parcel: members that go on to the sibling route, and those that end without it.
    mutating func recordInSibling(_ settlement: Settlement, _ before: ParcelRow) {
        let name = LeaseName(parcel: settlement.parcel, epoch: settlement.epoch)
        guard before.origin == nil, let offer = ledger.offer(name) else { return }
        for remainder in settlement.remainders where remainder.cause == .otherEnvironment {
            incidents.triedInSibling += remainder.members.count
            for member in remainder.members { checkTry(member, remainder, offer) }
        }
        guard offer.isThere else { return }
        for entry in settlement.history where entry.event == .ended(TerminalStatus(.rejected, "BadDeviceToken")) {
            judge(.searchedInSibling)
            for member in entry.members where isUncompared(member, offer) {
                fail("P1", "a token that is unknown on its origin route was not tried on the sibling route")
            }
        }
    }

    private func isUncompared(_ member: RegistrationID, _ offer: EnvironmentOffer) -> Bool {
        guard store.inlineTarget(member) == nil, let generation = offer.generations[member] else { return false }
        return !offer.compared.contains(TokenName(registration: member, generation: generation))
    }

    private mutating func checkTry(_ member: RegistrationID, _ remainder: Remainder, _ offer: EnvironmentOffer) {
        judge(.triedInSibling)
        guard let origin = remainder.origin else { return fail("P2", "a cross-environment parcel has no origin route") }
        if !isUncompared(member, offer) { fail("P5", "a token is tried on the sibling route a second time") }
        if offer.generations[member] != origin.generation {
            fail("P5", "the sibling route gets another token than the refused one")
        }
    }

    /// Checks that a token accepted on the sibling route has moved there, whatever its app goes on naming.
    mutating func checkFoundAreRemembered() {
        for seen in providers.log where seen.push.isElsewhere && seen.answer.kind.isAccepted {
            // Apple's answers were not true then, and may have moved a few tokens.
            if let from = plan.insideOutFrom, seen.at >= from { continue }
            guard !providers.isAnswerLost(seen.push), !ledger.hasLapsed(seen.push.lease),
                !ledger.disturbed.contains(seen.push.registration), !ledger.held.contains(seen.push.registration),
                let row = store.registration(seen.push.registration), row.isLive, row.stored.provider == .apns,
                row.stored.token == seen.push.token
            else { continue }
            judge(.remembered)
            if store.route(row.stored.route)?.environment != providers[.apns, row.stored.token].environment {
                fail("P5", "a token was found in the other environment, but its registration did not move")
            }
        }
    }
}
