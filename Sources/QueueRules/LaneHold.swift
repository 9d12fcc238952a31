/// The most members that a lane may hold, by the pace at which its pushes leave.
///
/// A push that waits too long for a stream goes back and is leased anew, which costs a settle and a lease. So a slow lane
/// holds about what it sends in half of that time. The bound works like a congestion window. Each push that is answered
/// in time raises it by one. A push that waited too long sets it to the number of pushes that were answered meanwhile.
struct LaneHold: Sendable {
    /// Smaller would make a slow lane wait for the database between two pushes.
    static let membersMin = 8

    private(set) var membersMax: Int
    /// All pushes that were answered so far.
    private(set) var answered = 0
    private let ceiling: Int

    init(ceiling: Int) {
        precondition(ceiling > 0)
        (self.ceiling, membersMax) = (ceiling, ceiling)
    }

    /// - Parameter isInTime: they were leased less than half of the longest wait ago.
    mutating func noteAnswered(_ count: Int, isInTime: Bool) {
        answered += count
        if isInTime { membersMax = min(ceiling, membersMax + count) }
    }

    /// Notes that a push waited as long as it may.
    /// - Parameter before: `answered` at its lease.
    mutating func noteLate(answeredBefore before: Int) {
        membersMax = min(membersMax, max(Self.membersMin, answered - before))
    }
}
