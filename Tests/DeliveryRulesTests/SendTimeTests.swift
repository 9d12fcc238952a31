import DeliveryRules
import PushModel
import Testing

@Suite("The hour of a message")
struct SendTimeTests {
    private static let now = WallInstant(secondsSince1970: 1_793_448_000)

    private func due(after wait: Duration) -> Result<WallInstant?, SendTimeFault> {
        do throws(SendTimeFault) { return .success(try SendTime.due(Self.now + wait, now: Self.now)) } catch {
            return .failure(error)
        }
    }

    @Test("is now where none is asked for, or where it has just passed")
    func now() throws {
        #expect(try SendTime.due(nil, now: Self.now) == nil)
        #expect(due(after: .zero) == .success(nil))
        #expect(due(after: .zero - SendTime.lateMax) == .success(nil))
    }

    @Test("lies ahead by a year at most, and not long ago")
    func bounds() {
        #expect(due(after: .seconds(1)) == .success(Self.now + .seconds(1)))
        #expect(due(after: SendTime.aheadMax) == .success(Self.now + SendTime.aheadMax))
        #expect(due(after: SendTime.aheadMax + .seconds(1)) == .failure(.tooFarAhead))
        #expect(due(after: .zero - SendTime.lateMax - .seconds(1)) == .failure(.longPast))
    }
}
