/// The promises that checkers look for, each described in a sentence. The census counts the worlds in which a checker
/// had something to judge. One that never has proves nothing.
package enum WorldChecker: Int, CaseIterable, Sendable {
    // P1.
    case reached, everybody, searchedInSibling, toldOfAll, sameView, firesAtLevel, heldKept, newestSent
    // P2.
    case acceptedKept, accepted, rejected, unregistered, expired, suppressed, cancelled, gaveUp, notShown
    case account, closed, expiredUnsent, atOnce, silenced, quietHours, dailyCap, kind, audience, withdrawn, quarantine,
        poison
    // P3.
    case badgeSent, badgeKept
    // P4.
    case fence, name, repeated, seenTwice, calmLease, toldOnce, oneUnderWay, inOrder, firesOnce
    // P5.
    case retired, suspected, confirmed, deadRetired, triedInSibling, moved, stayed, remembered
    // P7.
    case latency, itemTurns
    case pauseAsked, slowedDown, minuteQuota, rampUp, givenBack, accessToken, rateLeased, rateOnTheWire
    // P8.
    case inFlight, nothingLeased, carriedOut, waitsForPushes, onePushAWindow, releasesMove
    // Rule 9.
    case sendHour
    case localHour, tooLate

    package var text: String {
        switch self {
        case .reached: "P1: every device that was registered throughout got the push, or has an allowed terminal state"
        case .everybody: "P1: every device got the push, in a world without a cause to miss it"
        case .searchedInSibling: "P1: a token that is unknown on its origin route is tried on the sibling route"
        case .toldOfAll: "P1: a subscription is told of all changes"
        case .sameView: "P1: a phone that applies what it is told has the same data as a reader"
        case .firesAtLevel: "P1: an armed trigger fires at each update whose level it holds for, and at no other"
        case .heldKept: "P1: a held push goes, unless it may be dropped"
        case .newestSent: "P1: a follower's push shows the newest texts, and none is missed"
        case .acceptedKept: "P2: an accepted answer that was received is recorded"
        case .accepted: "P2: a push recorded as accepted had an accepted answer"
        case .rejected: "P2: a push recorded as rejected was refused"
        case .unregistered: "P2: a push recorded as unregistered has no device, or its token was called dead"
        case .expired: "P2: a push recorded as expired had no time for another attempt"
        case .suppressed: "P2: a push recorded as suppressed was suppressed by a rule"
        case .cancelled: "P2: a push recorded as cancelled belongs to a cancelled message"
        case .gaveUp: "P2: a push recorded as given up was lost, was poison or had no retry time left"
        case .notShown: "P2: a push that expired, was cancelled or was suppressed was not shown"
        case .account: "P2: an account and its history add up"
        case .closed: "P2: a settle ends the members that it names"
        case .expiredUnsent: "P2: no expired push is sent"
        case .atOnce: "P2: no push of a stopped message leaves once its process could know"
        case .silenced: "P2: no push leaves if its process knows that its message was stopped"
        case .quietHours: "P2: no push is sent in its device's quiet hours"
        case .dailyCap: "P2: no user gets more messages a day than the cap"
        case .audience: "P2: a lease excludes the registrations that its audience no longer includes"
        case .withdrawn: "P2: no push leaves more than ten seconds after its audience lost its device"
        case .kind: "P2: a push goes to a token of its kind"
        case .quarantine: "P2: a parcel whose lease expired twice is leased alone"
        case .poison: "P2: only a poisonous push is given up as poison"
        case .badgeSent: "P3: a lease reads the badge that is due"
        case .badgeKept: "P3: the registry ends with the badge that is due"
        case .fence: "P4: a stream opens only for a valid lease and a pending push"
        case .name: "P4: all attempts of a push have one apns-id"
        case .repeated: "P4: a push is repeated only if its answer is unknown"
        case .seenTwice: "P4: a push that must not be repeated is not"
        case .calmLease: "P4: no lease expires unless its owner is stopped"
        case .toldOnce: "P4: a subscription is told of a change once"
        case .oneUnderWay: "P4: a subscription has one push under way"
        case .inOrder: "P4: changes arrive in their order"
        case .firesOnce: "P4: a trigger that fired makes no other push until it is armed again"
        case .retired: "P5: a token is retired by an answer that called it dead"
        case .suspected: "P5: a token is suspected only after an answer that casts suspicion on it"
        case .confirmed: "P5: a suspicion is confirmed by its route's answers"
        case .deadRetired: "P5: a settled verdict that a token is dead has retired it"
        case .triedInSibling: "P5: a token is tried on the sibling route once"
        case .moved: "P5: a registration moves to the environment that knows its token"
        case .stayed: "P5: tokens found in the other environment stay if they are too many"
        case .remembered: "P5: a token found in the other environment moves its registration"
        case .latency: "P7: a transactional push leaves in time if its own route has no trouble"
        case .itemTurns: "P7: apps take turns at releases of held pushes"
        case .pauseAsked: "P7: a pause that a provider requests is kept"
        case .slowedDown: "P7: a lane sends nothing while its circuit breaker is open"
        case .minuteQuota: "P7: a minute's quota is kept"
        case .rampUp: "P7: a lane to FCM begins slowly"
        case .givenBack: "P7: a push that was answered 429 does not count toward the quota"
        case .accessToken: "P7: a refused access token is not sent again"
        case .rateLeased: "P7: quanta are leased as the rate allows"
        case .rateOnTheWire: "P7: pushes leave as the rate allows"
        case .inFlight: "P8: the count of members in flight equals the leases of the shell"
        case .nothingLeased: "P8: an idle process has no leases"
        case .carriedOut: "P8: work that takes several transactions ends"
        case .waitsForPushes: "P8: a watch whose pushes have not ended waits for its next turn"
        case .onePushAWindow: "P8: a device gets one push of items in a window"
        case .releasesMove: "P8: a release moves held pushes, a bounded number of them"
        case .sendHour: "rule 9: no push leaves before its message is due"
        case .localHour: "rule 9: a push is due at its device's local time"
        case .tooLate: "rule 9: a push is suppressed only if its local time had passed"
        }
    }
}

extension SimulatedWorld {
    /// Notes that the checker has something to judge that could be wrong.
    mutating func judge(_ checker: WorldChecker) { incidents.judge(checker) }
}
