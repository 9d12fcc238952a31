import Basis
import Model
import QueueRules
import Testing

@Suite("A leased parcel")
struct ParcelRunTests {
    @Test("hands every present member to the lane once")
    func handsOverOnce() {
        var run = ParcelRunSamples.run()
        #expect(run.takeMembersToSend() == [0, 1, 2])
        #expect(run.takeMembersToSend().isEmpty)
    }

    @Test("settles nothing before the first answer")
    func nothingYet() {
        var run = ParcelRunSamples.run()
        #expect(run.takeSettlement() == nil)
    }

    @Test("counts accepted pushes, and finishes when the last member has ended")
    func accepted() {
        var run = ParcelRunSamples.run()
        for position in 0..<3 { run.recordAccepted(position) }
        let settlement = run.settlement()
        #expect(settlement?.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 3)])
        #expect(settlement?.pendingAfter == 0)
        #expect(settlement?.settledBits == [0b111])
        #expect(run.concludeSettle(.settled) == .finished)
    }

    @Test("keeps the first outcome of a member and ignores later ones")
    func firstWordCounts() {
        var run = ParcelRunSamples.run()
        run.recordAccepted(1)
        run.record(.unknown(.connectionLost), for: 1)
        run.recordAccepted(1)
        #expect(run.openCount == 2)
        #expect(
            run.settlement()?.terminalCounts == [TerminalCount(terminalStatus: TerminalStatus(.accepted), count: 1)])
    }

    @Test("ignores an answer for a position that it does not have")
    func strangePosition() {
        var run = ParcelRunSamples.run()
        run.recordAccepted(99)
        run.record(.accepted, for: -1)
        #expect(run.openCount == 3)
        #expect(!run.hasChanges)
    }

    @Test("marks members by their place in the frozen list, beside those settled earlier")
    func frozenPlaces() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present], settledBefore: 9))
        run.recordAccepted(1)
        #expect(run.settlement()?.settledBits == [0xFF, 0b101])
    }

    @Test("orders its terminal counts by state and reason, the order in which rows are locked")
    func orderedEndings() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel([.present, .present, .deleted]))
        run.record(ParcelRunSamples.rejection(.message, "PayloadTooLarge"), for: 0)
        run.record(ParcelRunSamples.rejection(.message, "BadTopic"), for: 1)
        let reasons = run.settlement()?.terminalCounts.map(\.terminalStatus.reason)
        #expect(reasons == ["BadTopic", "PayloadTooLarge", TerminalReason.deviceDeleted])
    }
}

@Suite("The verdict in a provider's answer")
struct ParcelRunVerdictTests {
    @Test("ends the push after a 410, and dates the verdict at the time that the 410 names")
    func gone() {
        let since = ParcelRunSamples.leasedAt + .seconds(-3_600)
        var run = ParcelRunSamples.run()
        run.record(ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered", since: since), for: 0)
        let pending = run.takeSettlement()
        #expect(
            pending?.settlement.terminalCounts.first?.terminalStatus == TerminalStatus(.unregistered, "Unregistered"))
        #expect(pending?.verdicts.first?.asOf == since)
        #expect(pending?.verdicts.first?.generation == TokenGeneration(3))
        #expect(pending?.verdicts.first?.registration == RegistrationID(101))
    }

    @Test("dates a 410 from the future at most a minute ahead")
    func goneInTheFuture() {
        var run = ParcelRunSamples.run()
        let since = ParcelRunSamples.leasedAt + .seconds(1_000_000_000)
        let answered = ParcelRunSamples.start + .seconds(5)
        run.record(
            ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered", since: since), for: 0, now: answered)
        #expect(run.takeSettlement()?.verdicts.first?.asOf == ParcelRunSamples.leasedAt + .seconds(65))
    }

    @Test("dates a 410 without a time at the lease")
    func goneWithoutTime() {
        var run = ParcelRunSamples.run()
        run.record(ParcelRunSamples.rejection(.tokenUnregistered, "Unregistered"), for: 0)
        #expect(run.takeSettlement()?.verdicts.first?.asOf == ParcelRunSamples.leasedAt)
    }

    @Test("marks a bad token as suspected, and counts it in its route's sample")
    func suspected() {
        var run = ParcelRunSamples.run()
        run.record(ParcelRunSamples.rejection(.tokenElsewhere, "DeviceTokenNotForTopic"), for: 0)
        run.recordAccepted(1)
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.suspected(reason: "DeviceTokenNotForTopic")])
        #expect(pending?.settlement.sample == AnswerSample(answered: 2, suspected: 1))
    }

    @Test("judges tokens that anybody may have named, and keeps them out of the sample")
    func unsampled() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel(suspected: [1], unsampled: [0, 1]))
        run.record(ParcelRunSamples.rejection(.tokenSuspect, "INVALID_ARGUMENT"), for: 0)
        run.recordAccepted(1)
        run.recordAccepted(2)
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.suspected(reason: "INVALID_ARGUMENT"), .cleared])
        #expect(pending?.settlement.sample == AnswerSample(answered: 1))
    }

    @Test("blames a token that is wrong in itself, and none that may belong elsewhere")
    func blames() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.present, .present, .present, .present], compared: [2]))
        run.record(ParcelRunSamples.rejection(.tokenSuspect, "INVALID_ARGUMENT"), for: 0)
        run.record(ParcelRunSamples.rejection(.tokenElsewhere, "SENDER_ID_MISMATCH"), for: 1)
        run.record(ParcelRunSamples.rejection(.tokenUnknownHere, "BadDeviceToken"), for: 2)
        run.record(ParcelRunSamples.rejection(.tokenUnknownHere, "BadDeviceToken"), for: 3)
        #expect(run.takeSettlement()?.verdicts.map(\.isBlame) == [true, false, true, false])
    }

    @Test("proves an unproven token by a 200")
    func proves() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel(unsampled: [0, 1], unproven: [1]))
        for position in 0..<3 { run.recordAccepted(position) }
        let pending = run.takeSettlement()
        #expect(pending?.verdicts.map(\.verdict) == [.cleared])
        #expect(pending?.verdicts.map(\.registration) == [RegistrationID(102)])
    }

    @Test("clears a suspicion after a 200")
    func cleared() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel(suspected: [1]))
        run.recordAccepted(0)
        run.recordAccepted(1)
        let verdicts = run.takeSettlement()?.verdicts
        #expect(verdicts?.map(\.verdict) == [.cleared])
        #expect(verdicts?.map(\.registration) == [RegistrationID(102)])
    }

    @Test(
        "leaves the token alone after a fault of the message, the server or the credential",
        arguments: [
            RejectionFault.message, .ours, .credential,
        ])
    func notTheToken(fault: RejectionFault) {
        var run = ParcelRunSamples.run()
        run.record(ParcelRunSamples.rejection(fault, "Some"), for: 0)
        #expect(run.takeSettlement()?.verdicts == [])
    }

    @Test("raises one alarm per reason for our own fault, however many pushes it hits")
    func ourFaultAlarms() {
        var run = ParcelRunSamples.run()
        for position in 0..<3 { run.record(ParcelRunSamples.rejection(.ours, "BadPath"), for: position) }
        #expect(run.takeAlarms() == [.ourFault(reason: "BadPath")])
        #expect(run.takeAlarms().isEmpty)
    }
}

@Suite("Members whose registration changed since they were frozen")
struct ParcelRunStatusTests {
    @Test("end unsent if they are deleted, retired or excluded")
    func gone() {
        var run = ParcelRunSamples.run(
            ParcelRunSamples.parcel([.deleted, .retired, .excluded(.user), .excluded(.condition)]))
        #expect(run.takeMembersToSend().isEmpty)
        #expect(
            run.settlement()?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.unregistered, TerminalReason.audienceChanged), count: 1),
                TerminalCount(terminalStatus: TerminalStatus(.unregistered, TerminalReason.deviceDeleted), count: 1),
                TerminalCount(terminalStatus: TerminalStatus(.unregistered, TerminalReason.retired), count: 1),
                TerminalCount(terminalStatus: TerminalStatus(.unregistered, TerminalReason.userChanged), count: 1),
            ])
    }

    @Test("move to their new route at once, and keep their attempts and retry budget")
    func moved() {
        let parcel = ParcelRunSamples.parcel(
            [.moved(to: ParcelRunSamples.otherRoute), .present], attempt: 2, retrySpent: .seconds(40), answerLost: true)
        var run = ParcelRunSamples.run(parcel)
        #expect(run.takeMembersToSend() == [1])
        #expect(
            run.settlement()?.remainders == [
                Remainder(
                    route: ParcelRunSamples.otherRoute, dueAfter: .zero, attempt: 2, lapses: 0,
                    retrySpent: .seconds(40), answerLost: true, cause: .moved, members: [RegistrationID(101)])
            ])
    }

    @Test("stay unsent after the push expires")
    func expired() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel(expiresAfter: .zero))
        #expect(run.takeMembersToSend().isEmpty)
        #expect(
            run.settlement()?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.expired, TerminalReason.expired), count: 3)
            ])
    }

    @Test("end as given up, not as expired, if they may have been shown")
    func expiredButShown() {
        var run = ParcelRunSamples.run(ParcelRunSamples.parcel(lapses: 1, expiresAfter: .seconds(-1)))
        #expect(
            run.settlement()?.terminalCounts == [
                TerminalCount(terminalStatus: TerminalStatus(.gaveUp, TerminalReason.answerLost), count: 3)
            ])
    }
}
