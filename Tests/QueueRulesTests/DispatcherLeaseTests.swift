import Basis
import Model
import QueueRules
import Testing

@Suite("A lease that a dispatcher holds")
struct DispatcherLeaseTests {
    @Test("starts sending at once, and opens no stream later than its end minus the deadline")
    func submits() {
        var settings = DispatcherBench.settings
        settings.leaseLength = .seconds(23)
        var bench = DispatcherBench(settings: settings)
        let asked = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        bench.now = bench.now + .seconds(2)
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: asked))
        let until = asked.startedAt + .seconds(3)
        #expect(
            actions.first
                == .submit(DispatcherBench.name, DispatcherBench.exit, positions: [0, 1, 2], until: until))
    }

    @Test("opens no stream after the parcel expires, however long the lease is")
    func expires() {
        var bench = DispatcherBench()
        let asked = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        let parcel = ParcelRunSamples.parcel(expiresAfter: .seconds(3))
        let actions = bench.report(.leased([ReadParcel(parcel, .repeatable)], asked: asked))
        let until = asked.startedAt + .seconds(3)
        #expect(
            actions.first
                == .submit(DispatcherBench.name, DispatcherBench.exit, positions: [0, 1, 2], until: until))
    }

    @Test("settles as soon as its last answer arrives, and is forgotten once that is stored")
    func completes() {
        var bench = DispatcherBench()
        bench.lease()
        let settles = bench.accept([0, 1, 2]).settles
        #expect(settles.map(\.pending.settlement.pendingAfter) == [0])
        #expect(settles.map(\.withVerdicts) == [true])
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(bench.dispatcher.runningLeases.isEmpty)
        #expect(bench.dispatcher.membersInFlight == 0)
    }

    @Test("settles the answers so far once a second while others are missing")
    func partly() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.accept([0]).settles.isEmpty)
        #expect(bench.dispatcher.nextWake() == bench.now + .seconds(1))
        #expect(bench.pass(.seconds(1)).settles.map(\.pending.settlement.pendingAfter) == [2])
        #expect(bench.accept([1]).settles.isEmpty, "a lease has one settle in progress at a time")
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(bench.pass(.seconds(1)).settles.map(\.pending.settlement.settles) == [1])
    }

    @Test("settles nothing while there is no answer")
    func noNews() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.pass(.seconds(10)).settles.isEmpty)
    }

    @Test("repeats the same settle after a lost reply, until a reply arrives")
    func settleFails() {
        var bench = DispatcherBench()
        bench.lease()
        let first = bench.accept([0, 1, 2]).settles
        #expect(
            bench.report(.settled([], failed: [UnsettledLease(DispatcherBench.name, verdictsDone: false)])).settles
                .isEmpty)
        let second = bench.pass(.milliseconds(500)).settles
        #expect(second.map(\.pending) == first.map(\.pending))
        #expect(second.map(\.withVerdicts) == [true])
        bench.report(.settled([], failed: [UnsettledLease(DispatcherBench.name, verdictsDone: true)]))
        let third = bench.pass(.milliseconds(500)).settles
        #expect(third.map(\.withVerdicts) == [false], "verdicts that are known to be written are not written again")
    }

    @Test("includes verdicts again in the settle that follows a retried one")
    func verdictsAgain() {
        var bench = DispatcherBench()
        bench.lease()
        bench.accept([0])
        bench.pass(.seconds(1))
        bench.report(.settled([], failed: [UnsettledLease(DispatcherBench.name, verdictsDone: true)]))
        bench.pass(.milliseconds(500))
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(bench.accept([1, 2]).settles.map(\.withVerdicts) == [true])
    }

    @Test("withdraws its pushes and ends if a settle finds that another owner has the parcel")
    func fenced() {
        var bench = DispatcherBench()
        bench.lease()
        bench.accept([0])
        bench.pass(.seconds(1))
        let status = ParcelStatus(epoch: 2, settles: 0, isLeased: true)
        let actions = bench.report(.settled([SettledLease(DispatcherBench.name, .fenced(status: status))]))
        #expect(actions.withdrawn == [DispatcherBench.name])
        #expect(bench.dispatcher.runningLeases.isEmpty)
        #expect(bench.dispatcher.membersInFlight == 0)
    }

    @Test("ends when its time is up if the database has not replied by then")
    func ends() {
        var bench = DispatcherBench()
        bench.lease()
        let actions = bench.pass(.seconds(60))
        #expect(actions.withdrawn == [DispatcherBench.name])
        #expect(bench.dispatcher.runningLeases.isEmpty)
        #expect(bench.accept([0, 1, 2]).settles.isEmpty, "answers after the lease's end are ignored")
    }

    @Test("raises the alarms that its answers call for")
    func alarms() {
        var bench = DispatcherBench()
        bench.lease(ParcelRunSamples.parcel([.present]))
        let ours = PositionedOutcome(position: 0, outcome: ParcelRunSamples.rejection(.ours, "BadPath"))
        let actions = bench.report(.answered([AnsweredLease(DispatcherBench.name, accepted: [], others: [ours])]))
        let alarm = DispatchAction.alarm(
            ParcelRunSamples.parcel().message, DispatcherBench.lane, .ourFault(reason: "BadPath"))
        #expect(actions.contains(alarm))
    }
}

@Suite("The renewal of a lease")
struct DispatcherRenewalTests {
    @Test("starts after a third of the lease, and moves the lease's end from the time of the request")
    func renews() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.pass(.seconds(19)).isEmptyOfRenewals)
        #expect(bench.pass(.seconds(1)).contains(.renew(DispatcherBench.name)))
        let asked = bench.now
        bench.now = bench.now + .seconds(3)
        bench.report(.renewed([RenewedLease(DispatcherBench.name, isHeld: true)]))
        bench.now = asked + .seconds(59)
        bench.report(.timer)
        #expect(bench.dispatcher.runningLeases == [DispatcherBench.name])
        bench.pass(.seconds(1))
        #expect(bench.dispatcher.runningLeases.isEmpty)
    }

    @Test("runs once at a time, and again after a pause if it failed")
    func renewalFails() {
        var bench = DispatcherBench()
        bench.lease()
        bench.pass(.seconds(20))
        #expect(bench.pass(.seconds(1)).isEmptyOfRenewals)
        #expect(bench.report(.renewed([], failed: [DispatcherBench.name])).isEmptyOfRenewals)
        #expect(bench.pass(.milliseconds(500)).contains(.renew(DispatcherBench.name)))
    }

    @Test("ends the lease if the database refuses it")
    func refused() {
        var bench = DispatcherBench()
        bench.lease()
        bench.pass(.seconds(20))
        let actions = bench.report(.renewed([RenewedLease(DispatcherBench.name, isHeld: false)]))
        #expect(actions.withdrawn == [DispatcherBench.name])
        #expect(bench.dispatcher.runningLeases.isEmpty)
    }

    @Test("leaves the decision to a settle in progress if the database refuses it")
    func refusedWhileSettling() {
        var bench = DispatcherBench()
        bench.lease()
        bench.pass(.seconds(20))
        bench.accept([0, 1, 2])
        let actions = bench.report(.renewed([RenewedLease(DispatcherBench.name, isHeld: false)]))
        #expect(bench.dispatcher.runningLeases == [DispatcherBench.name] && actions.isEmptyOfRenewals)
        bench.report(.settled([SettledLease(DispatcherBench.name, .settled)]))
        #expect(bench.dispatcher.runningLeases.isEmpty)
    }
}

@Suite("A dispatcher that drains")
struct DispatcherDrainTests {
    @Test("finishes at once if it holds nothing, reports that once, and stops polling")
    func idle() {
        var bench = DispatcherBench()
        bench.find([])
        #expect(bench.report(.drain) == [.drained])
        #expect(bench.pass(.seconds(60)) == [])
        #expect(bench.dispatcher.nextWake() == MonotonicInstant(nanoseconds: .max))
    }

    @Test("withdraws pushes without a stream, and finishes when the other pushes are settled")
    func withdraws() {
        var bench = DispatcherBench()
        let asked = bench.lease().leaseRequests[0]
        #expect(bench.report(.drain).withdrawn == [DispatcherBench.name])
        let others = [1, 2].map { PositionedOutcome(position: $0, outcome: .unsent(.withdrawn)) }
        let settles = bench.report(.answered([AnsweredLease(DispatcherBench.name, accepted: [0], others: others)]))
            .settles
        #expect(settles.first?.pending.settlement.remainders.first?.dueAfter == .zero)
        #expect(
            !bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).contains(.drained),
            "a lease request is still in progress")
        #expect(bench.report(.leased([], asked: asked)) == [.drained])
    }

    @Test("returns a parcel that is leased after the drain began")
    func lateLease() {
        var bench = DispatcherBench()
        let asked = bench.find([DispatcherBench.route(7)]).leaseRequests[0]
        #expect(bench.report(.drain).isEmpty)
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: asked))
        #expect(actions.submitted.isEmpty)
        #expect(actions.settles.first?.pending.settlement.remainders.first?.members.count == 3)
        #expect(bench.report(.settled([SettledLease(DispatcherBench.name, .settled)])).last == .drained)
    }
}

extension [DispatchAction] {
    fileprivate var isEmptyOfRenewals: Bool { !contains(.renew(DispatcherBench.name)) }
}

@Suite("A parcel that the same process leases again")
struct DispatcherSecondLeaseTests {
    @Test("ignores answers to its earlier lease")
    func stranger() {
        var bench = DispatcherBench()
        for request in bench.lease().leaseRequests { bench.report(.leased([], asked: request)) }
        bench.pass(.seconds(60))
        bench.lease(ParcelRunSamples.parcel(epoch: 2))
        #expect(bench.dispatcher.runningLeases == [LeaseName(parcel: ParcelID(1), epoch: 2)])
        #expect(bench.accept([0, 1, 2], of: DispatcherBench.name).settles.isEmpty)
        let own = bench.accept([0, 1, 2], of: LeaseName(parcel: ParcelID(1), epoch: 2)).settles
        #expect(own.map(\.name.epoch) == [2])
    }

    @Test("goes back if a restored database leased it under the same name")
    func restored() throws {
        var bench = DispatcherBench()
        let asked = try #require(bench.lease().leaseRequests.first)
        let actions = bench.report(.leased([ReadParcel(ParcelRunSamples.parcel(), .repeatable)], asked: asked))
        #expect(actions.withdrawn == [DispatcherBench.name] && actions.submitted.isEmpty)
        #expect(actions.settles.first?.pending.settlement.remainders.first?.members.count == 3)
        #expect(bench.dispatcher.pushesInFlight == 0 && !bench.dispatcher.maySubmit(DispatcherBench.name))
        #expect(bench.dispatcher.noteArrived(3, of: DispatcherBench.name) == nil)
    }
}

@Suite("Pushes that a dispatcher submitted")
struct DispatcherSubmittedTests {
    @Test("count as in flight until they have an outcome, from the lane or from the gateway")
    func inFlight() {
        var bench = DispatcherBench()
        bench.lease()
        #expect(bench.dispatcher.pushesInFlight == 3)
        let ended = [PositionedOutcome(position: 0, outcome: .withheld(reason: TerminalReason.dryRun))]
        bench.report(
            .answered([AnsweredLease(DispatcherBench.name, accepted: [], others: ended, isFromProvider: false)]))
        #expect(bench.dispatcher.pushesInFlight == 2)
        // Both deliveries arrive before the event that reports them.
        #expect(bench.dispatcher.noteArrived(1, of: DispatcherBench.name) == 1)
        #expect(bench.dispatcher.noteArrived(1, of: DispatcherBench.name) == 2)
        bench.accept([1, 2])
        #expect(bench.dispatcher.pushesInFlight == 0)
    }

    @Test("may go to their lane until they are taken back or the lease ends")
    func mayGo() {
        var (drained, ended) = (DispatcherBench(), DispatcherBench())
        drained.lease()
        ended.lease()
        #expect(drained.dispatcher.maySubmit(DispatcherBench.name))
        drained.report(.drain)
        #expect(!drained.dispatcher.maySubmit(DispatcherBench.name))
        ended.pass(.seconds(60))
        #expect(!ended.dispatcher.maySubmit(DispatcherBench.name))
    }
}
