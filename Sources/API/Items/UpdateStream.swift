import Hummingbird
import JSON
import Listener
import Model
import Requests
import Store
import TriggerRules
import TriggerStore
import Triggers

/// Takes a producer's updates with one request: NDJSON in, and NDJSON out while the body is read.
///
/// A line counts for its producer once it is taken or refused. So a stream may be repeated, from any line on.
struct UpdateStream: Sendable {
    /// The most lines of one transaction.
    static let batchLinesMax = 1_000

    private let writer: UpdateWriter
    private let producer: String
    private let app: AppID
    private let taken: Int64
    private let limits: GatewayLimits
    private let check: @Sendable () async throws(Problem) -> Void

    /// - Parameters:
    ///   - taken: the last line of the producer that was taken before the request.
    ///   - check: throws if no further batch may be taken: the key was revoked, the app is gone or its items are off.
    init(
        writer: UpdateWriter, producer: String, app: AppID, taken: Int64, limits: GatewayLimits,
        check: @escaping @Sendable () async throws(Problem) -> Void
    ) {
        (self.writer, self.producer, self.app, self.taken) = (writer, producer, app, taken)
        (self.limits, self.check) = (limits, check)
    }

    /// A line of the body; a failure if its number can't be read.
    private typealias Line = Result<ItemUpdateRequest.Line, Problem>

    /// - Parameter write: takes the answer piece by piece, in order; suspends while the client does not read.
    /// - Returns: whether the body was read to its end.
    func run(_ body: RequestBody, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
        let stream = LineStream(limits: limits, linesMax: Self.batchLinesMax) { read($0) }
        return try await stream.run(body) { lines in try await commit(lines, write) }
    }

    private func read(_ line: LineSplitter.Line) -> Line {
        guard let bytes = line.bytes else {
            let detail = "Line \(line.number) of the body has more than \(limits.lineBytesMax) bytes. Split its update."
            return .failure(Problem(.lineTooLong, detail))
        }
        do throws(Problem) { return .success(try ItemUpdateRequest.readLine(bytes)) } catch {
            let detail = "Line \(line.number) of the body has no number that can be read. \(error.detail)"
            return .failure(Problem(error.code, detail, at: error.pointer))
        }
    }

    private func commit(_ lines: LineQueue<Line>, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
        var answer = UpdateStreamAnswer(through: taken)
        while true {
            let batch = await lines.take()
            guard !batch.isEmpty else { break }
            if let problem = await take(batch.map(\.content), &answer) {
                try await write(answer.interrupt(problem))
                return false
            }
            try await write(answer.written())
        }
        switch await lines.terminalStatus {
        case .whole:
            if !answer.isBegun { try await write(answer.written()) }
            return true
        case .interrupted(let problem):
            // The response's head is already sent: only a last line can report the problem.
            try await write(answer.interrupt(problem))
            return false
        case .broken(let error): throw error
        }
    }

    /// Commits a batch. Returns the reason why the stream can't go on; nil: it can.
    private func take(_ batch: [Line], _ answer: inout UpdateStreamAnswer) async -> Problem? {
        if let problem = await StreamPatience.refusal(by: check) { return problem }
        var produced: [ProducedLine] = []
        var refused: [(line: Int64, problem: Problem)] = []
        for line in batch {
            let (number, update): (Int64, Result<ItemUpdate, Problem>)
            switch line {
            case .failure(let problem):
                answer.refuse(nil, problem)
                continue
            case .success(let line): (number, update) = (line.number, line.update)
            }
            guard answer.rises(to: number) else {
                answer.refuse(number, .lineNotRising)
                continue
            }
            guard number > answer.through else { continue }
            if case .failure(let problem) = update { refused.append((number, problem)) }
            produced.append(ProducedLine(line: number, update: try? update.get()))
        }
        guard !produced.isEmpty else { return nil }
        switch await write(produced) {
        case .failure(let fault): return Problem(fault, .isIdempotent)
        case .success(let result):
            refused += result.refusals.map { ($0.line, Problem($0.refusal, at: .root / "fields")) }
            for (line, problem) in refused.sorted(by: { $0.line < $1.line }) { answer.refuse(line, problem) }
            answer.through = result.through
            return nil
        }
    }

    /// Writes the lines, again if that may pass later: lines that were taken meanwhile are skipped then.
    private func write(_ lines: [ProducedLine]) async -> Result<ProducedResult, StoreFault> {
        var pause = StreamPatience.firstPause
        var attempts = 1
        while true {
            do throws(StoreFault) {
                return .success(try await writer.write(lines, producer: producer, app: app))
            } catch {
                guard error.isTransient || error == .commitUnknown, attempts < StreamPatience.attemptsMax,
                    (try? await Task.sleep(for: pause)) != nil
                else { return .failure(error) }
            }
            attempts += 1
            pause *= 2
        }
    }
}

/// The answer to a stream of updates: one line for each refused line, and one for each commit.
struct UpdateStreamAnswer {
    /// Every line of the producer up to this one was taken.
    var through: Int64
    private(set) var isBegun = false
    private var highest: Int64 = 0
    private var refusals: [UInt8] = []

    init(through: Int64) { self.through = through }

    /// Whether the line is above all before it in the request. It is the highest then.
    mutating func rises(to line: Int64) -> Bool {
        guard line > highest else { return false }
        highest = line
        return true
    }

    /// - Parameter line: nil: its number can't be read.
    mutating func refuse(_ line: Int64?, _ problem: Problem) {
        refusals += Self.line {
            $0.optionalInteger("line", line)
            problem.writeMembers(to: &$0)
        }
    }

    /// Takes what is to be written after a commit.
    mutating func written() -> [UInt8] {
        defer { refusals = [] }
        isBegun = true
        return refusals + Self.line { $0.member("through", through) }
    }

    /// The answer's last line: the stream can't go on. Nothing of the batch was taken, so its refusals are not reported.
    func interrupt(_ problem: Problem) -> [UInt8] {
        Self.line {
            $0.member("through", through)
            problem.ofStream(keeping: Self.kept).writeMembers(to: &$0)
        }
    }

    private static let kept = "The lines up to `through` are taken; continue after that line."

    private static func line(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.body(write) + [UInt8(ascii: "\n")]
    }
}

extension Problem {
    fileprivate static let lineNotRising = Problem(
        .lineNotRising,
        "The line's number is not above all before it in this request. Its update was not taken. Number the lines "
            + "upwards.")
}
