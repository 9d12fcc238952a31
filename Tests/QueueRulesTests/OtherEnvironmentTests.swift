import Basis
import Model
import QueueRules
import Testing

private let origin = ParcelRunSamples.route
private let other = ParcelRunSamples.otherRoute
private let unknownHere = ParcelRunSamples.rejection(.tokenUnknownHere, "BadDeviceToken")
/// The end of the minute, and the patience.
private let deadline = ParcelRunSamples.leasedAt + .seconds(360)

extension OriginRejection {
    fileprivate static let sample = OriginRejection(
        route: origin, generation: TokenGeneration(3), reason: "BadDeviceToken", asOf: ParcelRunSamples.leasedAt,
        until: deadline)
}

/// A parcel of tokens that home did not know.
private func crossEnvironment(
    _ statuses: [MemberStatus] = [.present], lapses: Int16 = 0, retrySpent: Duration = .zero,
    answerLost: Bool = false, suspected: [Int] = [], origin refusal: OriginRejection = .sample
) -> LeasedParcel {
    ParcelRunSamples.parcel(
        statuses, attempt: 1, lapses: lapses, retrySpent: retrySpent, answerLost: answerLost, suspected: suspected,
        route: other, origin: refusal)
}

@Suite("A token that its environment doesn't know")
struct UnknownTokenTests {
    @Test("is tried in the other one at once: an attempt, and nothing of the budget; no verdict, no sample")
    func triedInSibling() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel(
                [.present, .present], attempt: 2, retrySpent: .seconds(40), otherEnvironment: other))
        run.record(unknownHere, for: 0)
        run.recordAccepted(1)
        let pending = run.takeSettlement()
        #expect(
            pending?.settlement.remainders == [
                Remainder(
                    route: other, dueAfter: .zero, attempt: 3, lapses: 0, retrySpent: .seconds(40), answerLost: false,
                    cause: .otherEnvironment, origin: .sample, members: [RegistrationID(101)])
            ])
        #expect(pending?.verdicts == [])
        #expect(pending?.settlement.sample == AnswerSample(answered: 1))
        #expect(
            pending?.settlement.history.last
                == HistoryEntry(.goesOn(.otherEnvironment), attempts: 3, members: [RegistrationID(101)]))
    }

    @Test("gathers with its like, all of a minute and of a generation")
    func gathered() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present], otherEnvironment: other))
        for position in 0..<3 {
            run.record(unknownHere, for: position, now: ParcelRunSamples.start + .seconds(Int64(position * 19)))
        }
        #expect(run.settlement()?.remainders.map(\.members.count) == [3])
    }

    @Test("is doubted as ever where there is no other environment, or both were asked about it before")
    func triedNowhere() {
        for parcel in [
            ParcelRunSamples.parcel([.present]),
            ParcelRunSamples.parcel([.present], otherEnvironment: other, compared: [0]),
        ] {
            var run = ParcelRunSamples.run(parcel)
            run.record(unknownHere, for: 0)
            let pending = run.takeSettlement()
            #expect(pending?.settlement.remainders == [])
            #expect(
                pending?.settlement.terminalCounts == [
                    TerminalCount(terminalStatus: TerminalStatus(.rejected, "BadDeviceToken"), count: 1)
                ])
            #expect(pending?.settlement.sample == AnswerSample(answered: 1, suspected: 1))
            #expect(pending?.verdicts.map(\.verdict) == [.suspected(reason: "BadDeviceToken")])
        }
    }

    @Test(
        "is the only one that is tried there: no other refusal, and no wait, changes the environment",
        arguments: [
            ParcelRunSamples.rejection(.tokenSuspect, "DeviceTokenNotForTopic"),
            ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered"),
            ParcelRunSamples.rejection(.message, "PayloadTooLarge"), ParcelRunSamples.rejection(.ours, "BadPath"),
            ParcelRunSamples.rejection(.credential, "Forbidden"), .deferred(after: nil, .providerBusy),
            .unknown(.connectionLost), .unsent(.withdrawn),
        ])
    func othersStay(outcome: Outcome) {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present], otherEnvironment: other))
        run.record(outcome, for: 0)
        let remainders = run.settlement()?.remainders ?? []
        #expect(remainders.allSatisfy { $0.route == origin && $0.origin == nil })
    }
}

@Suite("A parcel away from home")
struct CrossEnvironmentParcelTests {
    @Test("finds the tokens that are accepted, doubted or not, and counts for home")
    func found() {
        var run = ParcelRunSamples.run(crossEnvironment([.present, .present], suspected: [1]))
        run.recordAccepted(0)
        run.recordAccepted(1)
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.found(on: other), .found(on: other)])
        #expect(pending?.verdicts.map(\.route) == [origin, origin])
        #expect(
            pending?.settlement.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 2)])
        #expect(pending?.settlement.sample == AnswerSample(answered: 2))
    }

    @Test(
        "is not heard about tokens that it doesn't take: they end as home said, and are doubted there",
        arguments: [
            unknownHere, ParcelRunSamples.rejection(.tokenSuspect, "DeviceTokenNotForTopic"),
            ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered", since: ParcelRunSamples.leasedAt),
        ])
    func refusedInBoth(outcome: Outcome) {
        var run = ParcelRunSamples.run(crossEnvironment())
        run.record(outcome, for: 0)
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.suspectedInBoth(reason: "BadDeviceToken")])
        #expect(pending?.verdicts.map(\.route) == [origin])
        #expect(
            pending?.settlement.history == [
                HistoryEntry(
                    .ended(TerminalStatus(.rejected, "BadDeviceToken")), attempts: 2, members: [RegistrationID(101)])
            ])
        #expect(pending?.settlement.sample == AnswerSample(answered: 1, suspected: 1))
        #expect(pending?.settlement.remainders == [])
    }

    @Test(
        "keeps what it carries wherever its members have to wait, be it for us or for the provider",
        arguments: [
            Outcome.deferred(after: nil, .providerBusy), .deferred(after: nil, .laneBlocked),
            ParcelRunSamples.rejection(.credential, "Forbidden"), .unknown(.connectionLost), .unsent(.withdrawn),
            .unsent(.goAway),
        ])
    func waits(outcome: Outcome) {
        var run = ParcelRunSamples.run(crossEnvironment())
        run.record(outcome, for: 0)
        let pending = run.takeSettlement()
        #expect(pending?.settlement.remainders.map(\.origin) == [.sample])
        #expect(pending?.settlement.remainders.map(\.route) == [other])
        #expect(pending?.verdicts == [])
    }

    @Test("keeps it where it is cut in two, and leaves it behind with who has moved")
    func cutAndMoved() {
        var run = ParcelRunSamples.run(crossEnvironment([.present, .present], lapses: PoisonRule.lapsesMax))
        #expect(run.settlement()?.remainders.map(\.origin) == [.sample, .sample])
        run = ParcelRunSamples.run(crossEnvironment([.moved(to: origin), .moved(to: other)]))
        #expect(run.settlement()?.remainders.map(\.origin) == [nil, nil])
    }

    @Test("waits for its lane no longer than its patience; then home's word stands, and may be tried again later")
    func impatient() {
        let late = ParcelRunSamples.start + .seconds(360)
        for outcome in [Outcome.unsent(.withdrawn), .unsent(.unreachable), .deferred(after: nil, .laneBlocked)] {
            var run = ParcelRunSamples.run(crossEnvironment())
            run.record(outcome, for: 0, now: late)
            let pending = run.takeSettlement()
            #expect(
                pending?.settlement.terminalCounts == [
                    TerminalCount(terminalStatus: TerminalStatus(.rejected, "BadDeviceToken"), count: 1)
                ])
            #expect(pending?.verdicts.map(\.verdict) == [.suspected(reason: "BadDeviceToken")])
            #expect(pending?.settlement.sample == AnswerSample(answered: 1, suspected: 1))
        }
    }

    @Test(
        "says home's word as of home's lease, minutes ago: who has registered since was never refused",
        arguments: [unknownHere, Outcome.unsent(.withdrawn), .deferred(after: nil, .laneBlocked)])
    func asOfHome(outcome: Outcome) {
        let then = ParcelRunSamples.leasedAt + .seconds(-290)
        let refusal = OriginRejection(
            route: origin, generation: TokenGeneration(3), reason: "BadDeviceToken", asOf: then, until: deadline)
        var run = ParcelRunSamples.run(crossEnvironment(origin: refusal))
        run.record(outcome, for: 0, now: ParcelRunSamples.start + .seconds(360))
        #expect(run.takeSettlement()?.verdicts.map(\.asOf) == [then])
    }

    @Test("is sent for all that, once its lane can: patience is for waiting")
    func late() {
        var run = ParcelRunSamples.run(crossEnvironment())
        #expect(run.takeMembersToSend() == [0])
        run.record(.accepted, for: 0, now: ParcelRunSamples.start + .seconds(9_999))
        #expect(run.takeSettlement()?.verdicts.map(\.verdict) == [.found(on: other)])
    }

    @Test("that may have been shown there is not called rejected")
    func lost() {
        var run = ParcelRunSamples.run(crossEnvironment())
        run.record(.unknown(.deadlinePassed), for: 0, now: ParcelRunSamples.start + .seconds(360))
        let pending = run.takeSettlement()
        #expect(
            pending?.settlement.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.gaveUp, TerminalReason.answerLost), count: 1)
            ])
        #expect(pending?.verdicts == [])
    }

    @Test("ends as any other by a fault of the message, and by its expiry, and says nothing of the token")
    func ordinaryEndings() {
        var run = ParcelRunSamples.run(crossEnvironment())
        run.record(ParcelRunSamples.rejection(.message, "PayloadTooLarge"), for: 0)
        #expect(run.takeSettlement()?.verdicts == [])
        run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present], expiresAfter: .zero, route: other, origin: .sample))
        let pending = run.takeSettlement()
        #expect(
            pending?.settlement.terminalCounts.map(\.terminalStatus) == [
                TerminalStatus(.expired, TerminalReason.expired)
            ])
        #expect(pending?.verdicts == [])
    }
}
