import Basis
import Hummingbird
import Listener
import Model
import NIOCore
import Registry
import Requests
import Store

/// Imports many registrations with one request: NDJSON in, and NDJSON out while the body is read.
///
/// Holds a chunk of the body and two batches, which count as `GatewayLimits.importBytes`.
struct DeviceImport: Sendable {
    let registry: RegistryStore
    let registrations: RegistrationCommitter
    let app: AppRecord
    let clock: @Sendable () -> WallInstant
    let limits: GatewayLimits
    /// Throws if the key no longer opens the app: it was revoked, has expired, or its app is gone.
    let checkKey: @Sendable () async throws(Problem) -> Void

    /// The attempts in all: an import waits about eight seconds for a database that fails over, or for a full queue.
    private static let attemptsMax = 6
    private static let firstPause: Duration = .milliseconds(250)
    /// Lines put at once, before there has to be room. A chunk of tiny lines takes more memory as registrations.
    private static let linesAtOnce = 64

    /// - Parameter write: takes the answer piece by piece, in order; suspends while the client does not read.
    /// - Returns: whether the body was read to its end.
    func run(_ body: RequestBody, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
        let lines = ImportLines(linesMax: limits.batchLinesMax, bytesMax: limits.batchBytesMax)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await lines.finish(read(body, into: lines)) }
            let outcome: Result<Bool, any Error>
            do { outcome = .success(try await commit(lines, write)) } catch { outcome = .failure(error) }
            // The reader may wait for room, although no more lines are taken.
            await lines.giveUp()
            group.cancelAll()
            return try outcome.get()
        }
    }

    /// Reads the next batch while one is committed.
    private func read(_ body: RequestBody, into lines: ImportLines) async -> ImportLines.End {
        var splitter = LineSplitter(lineBytesMax: limits.lineBytesMax)
        var chunks = body.makeAsyncIterator()
        do {
            while let chunk = try await BodyReader.next(&chunks, limits) {
                let ended = splitter.take(Array(chunk.readableBytesView))
                for start in stride(from: 0, to: ended.count, by: Self.linesAtOnce) {
                    let some = ended[start..<min(start + Self.linesAtOnce, ended.count)]
                    guard await lines.put(some.map { read($0) }) else { return .whole(lines: splitter.lines) }
                }
            }
        } catch let problem as Problem {
            return .interrupted(problem)
        } catch {
            return .broken(error)
        }
        if let last = splitter.finish() { _ = await lines.put([read(last)]) }
        return .whole(lines: splitter.lines)
    }

    private func commit(_ lines: ImportLines, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
        var answer = ImportAnswer()
        while true {
            let batch = await lines.take()
            guard !batch.isEmpty else { break }
            guard try await take(batch, &answer, write) else { return false }
        }
        switch await lines.terminalStatus {
        case .whole(let lines):
            try await write(answer.end(lines: lines))
            return true
        case .interrupted(let problem):
            // The response's head is already sent: only a last line can report the problem.
            try await write(answer.interrupt(problem))
            return false
        case .broken(let error): throw error
        }
    }

    /// Commits a batch, as far as the registry can. Returns false if the import can't go on; the answer says why.
    private func take(
        _ batch: [ImportLines.Reading], _ answer: inout ImportAnswer, _ write: ([UInt8]) async throws -> Void
    ) async throws -> Bool {
        guard let first = batch.first, let last = batch.last else { return true }
        // An import may last for hours. A key that is revoked meanwhile permits no further batch.
        if let problem = await refusal() {
            try await write(answer.progress(through: first.number - 1) + answer.interrupt(problem))
            return false
        }
        let results = await register(batch.compactMap { try? $0.registration.get() })
        var output: [UInt8] = []
        var next = results.makeIterator()
        for line in batch {
            switch line.registration {
            case .failure(let problem): output += answer.refuse(line.number, problem)
            case .success:
                switch next.next() {
                case .success(let device)?: answer.count(device.change)
                case .failure(let fault)? where !fault.endsImport:
                    output += answer.refuse(line.number, Problem(fault, .isIdempotent))
                case .failure(let fault)?:
                    output += answer.progress(through: line.number - 1)
                    output += answer.interrupt(Problem(fault, .isIdempotent))
                    try await write(output)
                    return false
                case nil: preconditionFailure("the registry answers every registration")
                }
            }
        }
        output += answer.progress(through: last.number)
        try await write(output)
        return true
    }

    /// The problem with the key; nil if the key still opens the app. A check that fails for the moment is tried again.
    private func refusal() async -> Problem? {
        var pause = Self.firstPause
        for attempt in 1... {
            do { try await checkKey() } catch {
                guard error.retryAfterSeconds != nil, attempt < Self.attemptsMax,
                    (try? await Task.sleep(for: pause)) != nil
                else { return error }
                pause *= 2
                continue
            }
            break
        }
        return nil
    }

    private func read(_ line: LineSplitter.Line) -> ImportLines.Reading {
        guard let bytes = line.bytes else {
            let problem = Problem(
                .lineTooLong, "A line may have at most \(limits.lineBytesMax) bytes. \(ImportForm.advice)")
            return ImportLines.Reading(number: line.number, bytes: 0, registration: .failure(problem))
        }
        let registration: Result<DeviceRegistration, Problem>
        do { registration = .success(try RegistrationRequest.readLine(bytes, now: clock())) } catch {
            registration = .failure(ImportForm.explain(error, of: bytes, number: line.number))
        }
        return ImportLines.Reading(number: line.number, bytes: bytes.count, registration: registration)
    }

    /// Registers in order. One that may pass later is tried again with all after it: a later line must win.
    private func register(_ registrations: [DeviceRegistration]) async -> [Result<RegisteredDevice, StoreFault>] {
        guard !registrations.isEmpty else { return [] }
        // A deleted app takes no registration from the next batch on.
        guard await !isGone() else { return registrations.map { _ in .failure(.unknownApp) } }
        var results = await self.registrations.commit(registrations, app: app.id)
        var pause = Self.firstPause
        for _ in 1..<Self.attemptsMax {
            guard let place = results.firstIndex(where: { $0.mayPassLater }) else { break }
            do { try await Task.sleep(for: pause) } catch { break }
            pause *= 2
            let again = await self.registrations.commit(Array(registrations[place...]), app: app.id)
            for (offset, result) in again.enumerated() where results[place + offset].mayBeReplaced {
                results[place + offset] = result
            }
        }
        return results
    }
}

extension DeviceImport {
    /// Whether the app is gone. If that can't be found out, the registrations fail too, and their faults say why.
    private func isGone() async -> Bool {
        do { return try await registry.app(slug: app.slug)?.id != app.id } catch { return false }
    }
}

extension Result where Failure == StoreFault {
    /// Registering may be repeated, so that a lost answer is no reason to give up.
    fileprivate var mayPassLater: Bool {
        guard case .failure(let fault) = self else { return false }
        return fault.isTransient || fault == .commitUnknown
    }

    /// A success keeps its first answer: the second one would only say that nothing changed.
    fileprivate var mayBeReplaced: Bool {
        if case .success = self { false } else { true }
    }
}

extension StoreFault {
    /// Whether the fault concerns more than the one line.
    fileprivate var endsImport: Bool {
        switch self {
        case .unavailable, .impaired, .contended, .commitUnknown, .unknownApp, .damaged, .unsuited, .cancelled: true
        case .conflict, .invalid: false
        }
    }
}
