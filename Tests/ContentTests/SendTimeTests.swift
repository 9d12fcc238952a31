import Basis
import Content
import Model
import Testing

@Suite("The send time of a message")
struct SendTimeTests {
    private static let now = WallInstant(secondsSince1970: 1_793_448_000)

    private func due(after wait: Duration) -> Result<WallInstant?, SendTimeFault> {
        do throws(SendTimeFault) { return .success(try SendTime.due(.instant(Self.now + wait), now: Self.now)) } catch {
            return .failure(error)
        }
    }

    @Test("counts as now if none is given or if it has just passed")
    func now() throws {
        #expect(try SendTime.due(nil, now: Self.now) == nil)
        #expect(due(after: .zero) == .success(nil))
        #expect(due(after: .zero - SendTime.lateMax) == .success(nil))
    }

    @Test("fails validation if it is over a year ahead or long past")
    func bounds() {
        #expect(due(after: .seconds(1)) == .success(Self.now + .seconds(1)))
        #expect(due(after: SendTime.aheadMax) == .success(Self.now + SendTime.aheadMax))
        #expect(due(after: SendTime.aheadMax + .seconds(1)) == .failure(.tooFarAhead))
        #expect(due(after: .zero - SendTime.lateMax - .seconds(1)) == .failure(.longPast))
    }

    private func localDue(after wait: Duration) -> Result<WallInstant?, SendTimeFault> {
        let sending = LocalSending(hour: LocalHour(inUTC: Self.now + wait))
        do throws(SendTimeFault) { return .success(try SendTime.due(.local(sending), now: Self.now)) } catch {
            return .failure(error)
        }
    }

    @Test("becomes due when the first time zone reaches a local hour, and fails if all have passed")
    func local() {
        func hours(_ count: Int64) -> Duration { .seconds(3_600 * count) }
        #expect(localDue(after: hours(20)) == .success(Self.now + hours(6)))
        #expect(localDue(after: hours(14)) == .success(nil))
        #expect(localDue(after: hours(-12)) == .success(nil))
        #expect(localDue(after: hours(-12) - .seconds(1)) == .failure(.pastEverywhere))
        #expect(localDue(after: SendTime.aheadMax + .seconds(1)) == .failure(.tooFarAhead))
    }

    @Test("becomes due ten minutes before the first device of a local hour, if that is known")
    func firstDevice() throws {
        let sending = SendHour.local(LocalSending(hour: LocalHour(inUTC: Self.now + .seconds(7_200))))
        func due(firstIn seconds: Int64) throws -> WallInstant? {
            try SendTime.due(sending, now: Self.now, firstDevice: Self.now + .seconds(seconds))
        }
        #expect(try due(firstIn: 601) == Self.now + .seconds(1))
        #expect(try due(firstIn: 600) == nil)
        #expect(try SendTime.due(sending, now: Self.now) == nil)
    }

    @Test("drops a local hour that has passed everywhere, if late devices are sent to at once")
    func noneLeft() {
        let past = LocalHour(inUTC: Self.now + .seconds(-12 * 3_600 - 1))
        let (late, never) = (LocalSending(hour: past, sendsPassed: true), LocalSending(hour: past))
        #expect(SendTime.left(of: .local(late), now: Self.now) == nil)
        #expect(SendTime.left(of: .local(never), now: Self.now) == .local(never))
        let last = LocalSending(hour: LocalHour(inUTC: Self.now + .seconds(-12 * 3_600)), sendsPassed: true)
        #expect(SendTime.left(of: .local(last), now: Self.now) == .local(last))
        #expect(SendTime.left(of: .instant(Self.now), now: Self.now) == .instant(Self.now))
    }

    @Test("skips a device whose local hour has passed, or sends to it at once if asked to")
    func passed() {
        let hour = LocalHour(inUTC: Self.now)
        for sendsPassed in [false, true] {
            let sending = LocalSending(hour: hour, sendsPassed: sendsPassed)
            #expect(sending.sends(at: Self.now, acceptedAt: Self.now) == Self.now)
            let late = sending.sends(at: Self.now + .microseconds(-1), acceptedAt: Self.now)
            #expect(late == (sendsPassed ? Self.now : nil))
        }
    }
}
