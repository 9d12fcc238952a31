import Basis
import Model
import QueueRules
import Testing

@Suite("Many small parcels that a dispatcher holds")
struct DispatcherManyTests {
    private func group(_ ids: ClosedRange<Int64>) -> [ReadParcel] {
        ids.map { ReadParcel(ParcelRunSamples.parcel([.present], id: $0), .repeatable) }
    }

    @Test("return to the queue for a second if their content cannot be read")
    func unreadWait() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        let parcel = ReadParcel(ParcelRunSamples.parcel([.present]), .unread)
        let settles = bench.report(.leased([parcel], asked: request)).settles
        #expect(settles[0].pending.settlement.remainders.map(\.dueAfter) == [.seconds(1)])
    }

    @Test("retry a refused settle alone, and the other settles in a group")
    func refused() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        bench.report(.leased(group(1...2), asked: request))
        let names = [1, 2].map { LeaseName(parcel: ParcelID($0), epoch: 1) }
        let answers = names.map { AnsweredLease($0, accepted: [0], others: []) }
        let settles = bench.report(.answered(answers)).settles
        #expect(settles.map(\.name) == names && settles.allSatisfy(\.pending.isGroupable))
        let failed = [UnsettledLease(names[0], isRefused: true), UnsettledLease(names[1], isRefused: false)]
        #expect(bench.report(.settled([], failed: failed)).settles.isEmpty)
        let again = bench.pass(.milliseconds(500)).settles
        #expect(again.map(\.name) == names && again.map(\.pending.isGroupable) == [false, true])
        #expect(again.map(\.pending.settlement) == settles.map(\.pending.settlement))
    }

    @Test("renew in one list: a lost lease ends, and a failed renewal is repeated")
    func renewed() throws {
        var bench = DispatcherBench()
        let request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        bench.report(.leased(group(1...3), asked: request))
        let names = [1, 2, 3].map { LeaseName(parcel: ParcelID($0), epoch: 1) }
        func renewals(_ actions: [DispatchAction]) -> [LeaseName] {
            actions.compactMap { if case .renew(let name) = $0 { name } else { nil } }
        }
        #expect(renewals(bench.pass(.seconds(20))) == names)
        let replies = [RenewedLease(names[0], isHeld: true), RenewedLease(names[1], isHeld: false)]
        bench.report(.renewed(replies, failed: [names[2]]))
        #expect(bench.dispatcher.runningLeases == [names[0], names[2]])
        #expect(renewals(bench.pass(.milliseconds(500))) == [names[2]])
    }

    @Test("wake the dispatcher at their own times, however many others came and went")
    func wakes() throws {
        var settings = DispatcherBench.usual
        (settings.laneParcelsMax, settings.parcelsMax, settings.pollEvery) = (10_000, 10_000, .seconds(10_000))
        var bench = DispatcherBench(settings: settings)
        var request = try #require(bench.find([DispatcherBench.route(7)]).leaseRequests.last)
        /// When the lease request for each parcel was made.
        var asked: [MonotonicInstant] = []
        for id in Int64(1)...300 {
            asked.append(bench.now)
            bench.now = bench.now + .milliseconds(10)
            request = try #require(bench.report(.leased(group(id...id), asked: request)).leaseRequests.last)
        }
        #expect(bench.dispatcher.nextWake() == asked[0] + .seconds(20))
        let scattered = (Int64(1)...300).sorted { $0 * 137 % 307 < $1 * 137 % 307 }
        for id in scattered where id != 17 && id != 250 {
            let name = LeaseName(parcel: ParcelID(id), epoch: 1)
            #expect(bench.accept([0], of: name).settles.map(\.name) == [name])
            bench.report(.settled([SettledLease(name, .settled)]))
        }
        #expect(bench.dispatcher.runningLeases.map(\.parcel.value).sorted() == [17, 250])
        #expect(bench.dispatcher.membersInFlight == 2)
        for (id, wake) in [(17, asked[16]), (250, asked[249])] {
            #expect(bench.dispatcher.nextWake() == wake + .seconds(20))
            bench.now = wake + .seconds(20)
            #expect(bench.report(.timer) == [.renew(LeaseName(parcel: ParcelID(Int64(id)), epoch: 1))])
        }
        // No provider answer arrives, so each parcel ends with its lease.
        #expect(bench.dispatcher.nextWake() == asked[16] + .seconds(60))
        bench.now = asked[16] + .seconds(60)
        bench.report(.timer)
        #expect(bench.dispatcher.runningLeases.map(\.parcel.value) == [250])
        #expect(bench.dispatcher.nextWake() == asked[249] + .seconds(60))
    }
}
