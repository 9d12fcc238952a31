import DeliveryRules
import PushModel

// Tokens that were registered in the wrong environment: tried in the other one, once, and remembered.
extension SimulatedWorld {
    /// Verdicts that say what became of a comparison.
    mutating func bookCompared(_ before: [RegistrationRow]) {
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

    /// A registration moves only to where Apple took its token.
    private mutating func checkFound(_ row: RegistrationRow) {
        let token = providers[.apns, row.stored.token]
        if store.route(row.stored.route)?.environment != token.environment {
            fail("P5", "a registration moved to an environment that does not know its token")
        }
    }

    /// A settle of a parcel that is at home: who goes on elsewhere, and who ends without having been there.
    mutating func bookElsewhere(_ settlement: Settlement, _ before: ParcelRow) {
        let name = LeaseName(parcel: settlement.parcel, epoch: settlement.epoch)
        guard before.home == nil, let offer = ledger.offer(name) else { return }
        for remainder in settlement.remainders where remainder.cause == .otherEnvironment {
            incidents.triedElsewhere += remainder.members.count
            for member in remainder.members { checkTry(member, remainder, offer) }
        }
        guard offer.isThere else { return }
        for entry in settlement.history where entry.event == .ended(Ending(.rejected, "BadDeviceToken")) {
            for member in entry.members where isUncompared(member, offer) {
                fail("P1", "a token that is unknown at home was not looked for elsewhere")
            }
        }
    }

    private func isUncompared(_ member: RegistrationID, _ offer: EnvironmentOffer) -> Bool {
        guard store.inlineTarget(member) == nil, let generation = offer.generations[member] else { return false }
        return !offer.compared.contains(TokenName(registration: member, generation: generation))
    }

    private mutating func checkTry(_ member: RegistrationID, _ remainder: Remainder, _ offer: EnvironmentOffer) {
        guard let home = remainder.home else { return fail("P2", "a push goes elsewhere and knows no home") }
        if !isUncompared(member, offer) { fail("P5", "a token is tried elsewhere that was tried before") }
        if offer.generations[member] != home.generation { fail("P5", "another token than the refused one is tried") }
    }

    /// Accepted elsewhere, and settled: it lives there now, whatever its app goes on saying.
    mutating func checkFoundAreRemembered() {
        for seen in providers.log where seen.push.isElsewhere && seen.answer.word.isAccepted {
            guard !seen.push.isAnswerLost, !ledger.hasLapsed(seen.push.lease),
                !ledger.disturbed.contains(seen.push.registration),
                let row = store.registration(seen.push.registration), row.isLive, row.stored.provider == .apns,
                row.stored.token == seen.push.token
            else { continue }
            if store.route(row.stored.route)?.environment != providers[.apns, row.stored.token].environment {
                fail("P5", "a token was found elsewhere, and its registration is where it was")
            }
        }
    }
}
