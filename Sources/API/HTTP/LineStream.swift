import Hummingbird
import Listener
import NIOCore
import Requests

/// A body of lines that is carried out while it is read: an import, or a stream of updates.
struct LineStream<Content: Sendable>: Sendable {
    private let limits: GatewayLimits
    private let linesMax: Int
    private let content: @Sendable (LineSplitter.Line) -> Content

    /// Lines put at once, before there has to be room. A chunk of tiny lines takes more memory as values.
    private static var linesAtOnce: Int { 64 }

    /// - Parameters:
    ///   - linesMax: the most lines that are taken at once. `GatewayLimits.batchBytesMax` bounds their bytes.
    ///   - read: makes a value of a line.
    init(limits: GatewayLimits, linesMax: Int, read: @escaping @Sendable (LineSplitter.Line) -> Content) {
        (self.limits, self.linesMax, content) = (limits, linesMax, read)
    }

    /// Reads the next batch while one is carried out.
    ///
    /// - Parameter carryOut: takes the lines until none are left, and returns whether the body was read to its end.
    func run(
        _ body: RequestBody, _ carryOut: (LineQueue<Content>) async throws -> Bool
    ) async throws -> Bool {
        let lines = LineQueue<Content>(linesMax: linesMax, bytesMax: limits.batchBytesMax)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await lines.finish(read(body, into: lines)) }
            let outcome: Result<Bool, any Error>
            do { outcome = .success(try await carryOut(lines)) } catch { outcome = .failure(error) }
            // The reader may wait for room, although no more lines are taken.
            await lines.giveUp()
            group.cancelAll()
            return try outcome.get()
        }
    }

    private func read(_ body: RequestBody, into lines: LineQueue<Content>) async -> LineQueue<Content>.End {
        var splitter = LineSplitter(lineBytesMax: limits.lineBytesMax)
        var chunks = body.makeAsyncIterator()
        do {
            while let chunk = try await BodyReader.next(&chunks, limits) {
                let ended = splitter.take(Array(chunk.readableBytesView))
                for start in stride(from: 0, to: ended.count, by: Self.linesAtOnce) {
                    let some = ended[start..<min(start + Self.linesAtOnce, ended.count)]
                    guard await lines.put(some.map(reading)) else { return .whole(lines: splitter.lines) }
                }
            }
        } catch let problem as Problem {
            return .interrupted(problem)
        } catch {
            return .broken(error)
        }
        if let last = splitter.finish() { _ = await lines.put([reading(last)]) }
        return .whole(lines: splitter.lines)
    }

    private func reading(_ line: LineSplitter.Line) -> LineQueue<Content>.Reading {
        LineQueue<Content>.Reading(number: line.number, bytes: line.bytes?.count ?? 0, content: content(line))
    }
}

/// How long a stream of lines waits for what may pass later: about eight seconds, for a database that fails over or for
/// a full queue.
enum StreamPatience {
    /// The attempts in all.
    static let attemptsMax = 6
    /// The pause after the first attempt. Each further one is twice as long.
    static let firstPause: Duration = .milliseconds(250)

    /// The problem that a check finds; nil: the stream may go on. A check that fails for the moment is tried again.
    static func refusal(by check: () async throws(Problem) -> Void) async -> Problem? {
        var pause = firstPause
        for attempt in 1... {
            do { try await check() } catch {
                guard error.retryAfterSeconds != nil, attempt < attemptsMax,
                    (try? await Task.sleep(for: pause)) != nil
                else { return error }
                pause *= 2
                continue
            }
            break
        }
        return nil
    }
}

extension Problem {
    /// The problem of a stream of lines that may go on unchanged: why it ended, what is kept, and where to go on.
    ///
    /// It replaces the problem's own detail, which is about a request of which nothing was carried out.
    func ofStream(keeping kept: String) -> Problem {
        let cause: String
        switch code {
        case .requestTimeout: cause = "No more lines arrived in time."
        case .databaseUnavailable: cause = "The database can't be reached."
        case .databaseBusy: cause = "The database did not answer in time, or another request held a lock for too long."
        case .outcomeUnknown:
            cause = "The connection to the database broke before it confirmed; sending a line twice is harmless."
        case .malformedRequest: cause = detail
        default: return self
        }
        return Problem(code, cause + " " + kept)
    }
}
