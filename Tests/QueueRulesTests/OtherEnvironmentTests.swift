import Basis
import Model
import QueueRules
import Testing

private let origin = ParcelRunSamples.route
private let other = ParcelRunSamples.otherRoute
private let unknownHere = ParcelRunSamples.rejection(.tokenUnknownHere, "BadDeviceToken")
/// The end of the gathering minute plus the time that a cross-environment parcel may wait.
private let deadline = ParcelRunSamples.leasedAt + .seconds(360)

extension OriginRejection {
    fileprivate static let sample = OriginRejection(
        route: origin, generation: TokenGeneration(3), reason: "BadDeviceToken", asOf: ParcelRunSamples.leasedAt,
        until: deadline)
}

/// A parcel of tokens that the origin environment did not know.
private func crossEnvironment(
    _ statuses: [MemberStatus] = [.present], lapses: Int16 = 0, retrySpent: Duration = .zero,
    answerLost: Bool = false, suspected: [Int] = [], origin refusal: OriginRejection = .sample
) -> LeasedParcel {
    ParcelRunSamples.parcel(
        statuses, attempt: 1, lapses: lapses, retrySpent: retrySpent, answerLost: answerLost, suspected: suspected,
        route: other, origin: refusal)
}

@Suite("A token that its environment does not know")
struct UnknownTokenTests {
    @Test("moves to the sibling environment at once, as an attempt that costs no retry budget")
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

    @Test("gathers with unknown tokens of the same minute and generation in one parcel")
    func gathered() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present], otherEnvironment: other))
        for position in 0..<3 {
            run.record(unknownHere, for: position, now: ParcelRunSamples.start + .seconds(Int64(position * 19)))
        }
        #expect(run.settlement()?.remainders.map(\.members.count) == [3])
    }

    @Test("becomes suspected if there is no sibling environment or both were tried before")
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
        "changes environment for no other rejection, deferral or failure",
        arguments: [
            ParcelRunSamples.rejection(.tokenElsewhere, "DeviceTokenNotForTopic"),
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

@Suite("A cross-environment parcel")
struct CrossEnvironmentParcelTests {
    @Test("finds tokens that are accepted, suspected or not, and reports them to the origin route")
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
        "ends rejected tokens with the origin's reason, and marks them as suspected in both",
        arguments: [
            unknownHere, ParcelRunSamples.rejection(.tokenElsewhere, "DeviceTokenNotForTopic"),
            ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered", since: ParcelRunSamples.leasedAt),
        ])
    func refusedInBoth(outcome: Outcome) {
        var run = ParcelRunSamples.run(crossEnvironment())
        run.record(outcome, for: 0)
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.suspectedInBoth(reason: "BadDeviceToken")])
        #expect(pending?.verdicts.map(\.isBlame) == [true], "both answers are one blame")
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
        "keeps its origin rejection while its members wait",
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

    @Test("keeps its origin rejection when it is split, and drops it for members that moved")
    func cutAndMoved() {
        var run = ParcelRunSamples.run(crossEnvironment([.present, .present], lapses: PoisonRule.bisectedFrom))
        #expect(run.settlement()?.remainders.map(\.origin) == [.sample, .sample])
        run = ParcelRunSamples.run(crossEnvironment([.moved(to: origin), .moved(to: other)]))
        #expect(run.settlement()?.remainders.map(\.origin) == [nil, nil])
    }

    @Test("waits for its lane only until its deadline, then ends with the origin's rejection")
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
        "dates its verdict at the origin's lease, so that later registrations are unaffected",
        arguments: [unknownHere, Outcome.unsent(.withdrawn), .deferred(after: nil, .laneBlocked)])
    func asOfHome(outcome: Outcome) {
        let then = ParcelRunSamples.leasedAt + .seconds(-290)
        let refusal = OriginRejection(
            route: origin, generation: TokenGeneration(3), reason: "BadDeviceToken", asOf: then, until: deadline)
        var run = ParcelRunSamples.run(crossEnvironment(origin: refusal))
        run.record(outcome, for: 0, now: ParcelRunSamples.start + .seconds(360))
        #expect(run.takeSettlement()?.verdicts.map(\.asOf) == [then])
    }

    @Test("sends after its deadline once its lane can: the deadline limits only the wait")
    func late() {
        var run = ParcelRunSamples.run(crossEnvironment())
        #expect(run.takeMembersToSend() == [0])
        run.record(.accepted, for: 0, now: ParcelRunSamples.start + .seconds(9_999))
        #expect(run.takeSettlement()?.verdicts.map(\.verdict) == [.found(on: other)])
    }

    @Test("ends as given up, not as rejected, if the push may have been shown")
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

    @Test("ends without a verdict if the message is faulty or expired")
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
