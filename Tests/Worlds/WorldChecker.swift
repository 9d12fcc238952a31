/// The promises that checkers look for, each described in a sentence. The census counts the worlds in which a checker
/// had something to judge. One that never has proves nothing.
package enum WorldChecker: Int, CaseIterable, Sendable {
    // P1.
    case reached, everybody, searchedInSibling
    // P2.
    case acceptedKept, accepted, rejected, unregistered, expired, suppressed, cancelled, gaveUp, notShown
    case account, closed, expiredUnsent, atOnce, silenced, quietHours, dailyCap, kind, audience, quarantine, poison
    // P3.
    case badgeSent, badgeKept
    // P4.
    case fence, name, repeated, seenTwice, calmLease
    // P5.
    case retired, suspected, confirmed, deadRetired, triedInSibling, moved, stayed, remembered
    // P7.
    case latency
    case pauseAsked, slowedDown, minuteQuota, rampUp, givenBack, accessToken, rateLeased, rateOnTheWire
    // P8.
    case inFlight, nothingLeased, carriedOut
    // Rule 9.
    case sendHour
    case localHour, tooLate

    package var text: String {
        switch self {
        case .reached: "P1: who was there all along got it, or has an ending that excuses it"
        case .everybody: "P1: everybody got it, in a world that gives no reason for less"
        case .searchedInSibling: "P1: a token that is unknown at home is looked for elsewhere"
        case .acceptedKept: "P2: an accepted answer that was heard is recorded"
        case .accepted: "P2: who is recorded as accepted was heard to be"
        case .rejected: "P2: who is recorded as rejected was refused"
        case .unregistered: "P2: who is recorded as unregistered is gone, or was called dead"
        case .expired: "P2: what is recorded as expired had no time for another try"
        case .suppressed: "P2: what is recorded as suppressed was kept back by a rule"
        case .cancelled: "P2: what is recorded as cancelled is of a cancelled message"
        case .gaveUp: "P2: what is recorded as given up was lost, was poison or had no try left"
        case .notShown: "P2: what expired, was cancelled or suppressed was not shown"
        case .account: "P2: an account and its history add up"
        case .closed: "P2: a settle closes what it says"
        case .expiredUnsent: "P2: nothing is sent that has expired"
        case .atOnce: "P2: nothing leaves of a message that was stopped, once it could be heard"
        case .silenced: "P2: nothing leaves of a lease whose process knows that its message was stopped"
        case .quietHours: "P2: quiet hours"
        case .dailyCap: "P2: the cap of a day"
        case .audience: "P2: a lease excludes the registrations that its audience no longer includes"
        case .kind: "P2: a push goes to a token of its kind"
        case .quarantine: "P2: what lapsed twice travels alone"
        case .poison: "P2: only a poisonous push is given up as poison"
        case .badgeSent: "P3: the badge of a lease"
        case .badgeKept: "P3: the badge of the registry"
        case .fence: "P4: a stream opens for a lease that stands and a push that is owed"
        case .name: "P4: one name for all attempts of a push"
        case .repeated: "P4: a push goes out again only where nobody knows"
        case .seenTwice: "P4: what must not be repeated is not"
        case .calmLease: "P4: no lease runs out where nothing stops its owner"
        case .retired: "P5: a token is retired by an answer that called it dead"
        case .suspected: "P5: a token is suspected by an answer that doubted it"
        case .confirmed: "P5: a doubt is confirmed by its route's answers"
        case .deadRetired: "P5: a death that was settled has retired its token"
        case .triedInSibling: "P5: a token is tried elsewhere once"
        case .moved: "P5: a registration moves to where its token is known"
        case .stayed: "P5: tokens that are found elsewhere stay where too many are"
        case .remembered: "P5: what was found elsewhere is remembered"
        case .latency: "P7: a transactional push leaves in time where its own route has no trouble"
        case .pauseAsked: "P7: a provider that asked for a pause has it"
        case .slowedDown: "P7: a provider that tells a lane to slow down is sent nothing meanwhile"
        case .minuteQuota: "P7: a minute's quota"
        case .rampUp: "P7: a lane to FCM begins slowly"
        case .givenBack: "P7: what was answered 429 costs nothing of the quota"
        case .accessToken: "P7: a refused access token is not shown again"
        case .rateLeased: "P7: shares are leased as the rate allows"
        case .rateOnTheWire: "P7: pushes leave as the rate allows"
        case .inFlight: "P8: what is counted as in flight is what the shell holds"
        case .nothingLeased: "P8: nothing is held when all is quiet"
        case .carriedOut: "P8: what takes several transactions comes to its end"
        case .sendHour: "rule 9: nothing leaves before its message's hour"
        case .localHour: "rule 9: an hour of each device's clock"
        case .tooLate: "rule 9: only whose hour had passed is suppressed for it"
        }
    }
}

extension SimulatedWorld {
    /// Notes that the checker has something to judge that could be wrong.
    mutating func judge(_ checker: WorldChecker) { incidents.judge(checker) }
}
