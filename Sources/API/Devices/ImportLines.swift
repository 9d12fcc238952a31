import Model

/// What was read of an import and waits for the registry: whoever reads the body is so far ahead of who commits, and little
/// further: by what it puts at once.
///
/// One task puts, one takes.
actor ImportLines {
    struct Reading: Sendable {
        /// Of the line, from 1.
        let number: Int
        let bytes: Int
        let registration: Result<DeviceRegistration, Problem>
    }

    enum End: Sendable {
        /// The body was read; `lines` counts empty ones too.
        case whole(lines: Int)
        case interrupted(Problem)
        case broken(any Error)
    }

    /// Of what waits, and of what is taken at once: lines, and their bytes together, where it is more than one line.
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
        self.linesMax = linesMax
        self.bytesMax = bytesMax
    }

    /// Suspends while enough waits. False: nobody takes any more.
    func put(_ readings: [Reading]) async -> Bool {
        waiting.append(contentsOf: readings)
        bytes += readings.reduce(0) { $0 + $1.bytes }
        if !readings.isEmpty { wakeTaker() }
        while isFull && !isGivenUp { await withCheckedContinuation { reader = $0 } }
        return !isGivenUp
    }

    /// Nothing is put any more.
    func finish(_ end: End) {
        self.end = end
        wakeTaker()
    }

    /// Suspends until something waits. Empty: all was taken, and `terminalStatus` tells why there is no more.
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

    /// - Precondition: `take` answered with nothing.
    var terminalStatus: End {
        guard let end else { preconditionFailure("an import is asked for its end before there is one") }
        return end
    }

    /// Nothing is taken any more.
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
