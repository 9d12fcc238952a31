import Requests

/// The lines of a body that wait to be committed. One task puts lines, and one takes them.
///
/// The reader is at most one full queue ahead of the committer, plus the lines of its last `put`.
actor LineQueue<Content: Sendable> {
    struct Reading: Sendable {
        /// The line's number in the body, from 1.
        let number: Int
        let bytes: Int
        let content: Content
    }

    enum End: Sendable {
        /// The whole body was read. `lines` counts empty ones too.
        case whole(lines: Int)
        case interrupted(Problem)
        case broken(any Error)
    }

    /// The most lines that wait, and that are taken at once. `bytesMax` bounds their bytes, except a single line's.
    private let linesMax: Int
    private let bytesMax: Int
    private var waiting: [Reading] = []
    private var bytes = 0
    private var end: End?
    private var isGivenUp = false
    private var reader: CheckedContinuation<Void, Never>?
    private var taker: CheckedContinuation<Void, Never>?

    init(linesMax: Int, bytesMax: Int) {
        precondition(linesMax > 0 && bytesMax > 0)
        (self.linesMax, self.bytesMax) = (linesMax, bytesMax)
    }

    /// Suspends while enough lines wait. Returns false once no more are taken.
    func put(_ readings: [Reading]) async -> Bool {
        waiting.append(contentsOf: readings)
        bytes += readings.reduce(0) { $0 + $1.bytes }
        if !readings.isEmpty { wakeTaker() }
        while isFull && !isGivenUp { await withCheckedContinuation { reader = $0 } }
        return !isGivenUp
    }

    func finish(_ end: End) {
        self.end = end
        wakeTaker()
    }

    /// Suspends until lines wait. Returns none once all were taken: `terminalStatus` then says why there are no more.
    func take() async -> [Reading] {
        while waiting.isEmpty && end == nil { await withCheckedContinuation { taker = $0 } }
        var (count, taken) = (0, 0)
        while count < min(waiting.count, linesMax), count == 0 || taken + waiting[count].bytes <= bytesMax {
            taken += waiting[count].bytes
            count += 1
        }
        let batch = Array(waiting[..<count])
        waiting.removeFirst(count)
        bytes -= taken
        if !isFull { wakeReader() }
        return batch
    }

    /// - Precondition: `take` returned no lines.
    var terminalStatus: End {
        guard let end else { preconditionFailure("a body has an end once no lines are left") }
        return end
    }

    /// Ends the taking: `put` suspends no longer.
    func giveUp() {
        isGivenUp = true
        wakeReader()
    }

    private var isFull: Bool { waiting.count >= linesMax || bytes >= bytesMax }

    private func wakeReader() {
        reader?.resume()
        reader = nil
    }

    private func wakeTaker() {
        taker?.resume()
        taker = nil
    }
}
