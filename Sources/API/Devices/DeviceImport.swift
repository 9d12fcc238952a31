import Basis
import Hummingbird
import Listener
import Model
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

    private typealias Lines = LineQueue<Result<DeviceRegistration, Problem>>

    /// - Parameter write: takes the answer piece by piece, in order; suspends while the client does not read.
    /// - Returns: whether the body was read to its end.
    func run(_ body: RequestBody, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
        let stream = LineStream(limits: limits, linesMax: limits.batchLinesMax) { read($0) }
        return try await stream.run(body) { lines in try await commit(lines, write) }
    }

    private func commit(_ lines: Lines, _ write: ([UInt8]) async throws -> Void) async throws -> Bool {
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
        _ batch: [Lines.Reading], _ answer: inout ImportAnswer, _ write: ([UInt8]) async throws -> Void
    ) async throws -> Bool {
        guard let first = batch.first, let last = batch.last else { return true }
        // An import may last for hours. A key that is revoked meanwhile permits no further batch.
        if let problem = await StreamPatience.refusal(by: checkKey) {
            try await write(answer.progress(through: first.number - 1) + answer.interrupt(problem))
            return false
        }
        let results = await register(batch.compactMap { try? $0.content.get() })
        var output: [UInt8] = []
        var next = results.makeIterator()
        for line in batch {
            switch line.content {
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

    private func read(_ line: LineSplitter.Line) -> Result<DeviceRegistration, Problem> {
        guard let bytes = line.bytes else {
            return .failure(
                Problem(.lineTooLong, "A line may have at most \(limits.lineBytesMax) bytes. \(ImportForm.advice)"))
        }
        do throws(Problem) { return .success(try RegistrationRequest.readLine(bytes, now: clock())) } catch {
            return .failure(ImportForm.explain(error, of: bytes, number: line.number))
        }
    }

    /// Registers in order. One that may pass later is tried again with all after it: a later line must win.
    private func register(_ registrations: [DeviceRegistration]) async -> [Result<RegisteredDevice, StoreFault>] {
        guard !registrations.isEmpty else { return [] }
        // A deleted app takes no registration from the next batch on.
        guard await !isGone() else { return registrations.map { _ in .failure(.unknownApp) } }
        var results = await self.registrations.commit(registrations, app: app.id)
        var pause = StreamPatience.firstPause
        for _ in 1..<StreamPatience.attemptsMax {
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
