import CommandLine
import JSON

extension OwnStandIns {
    /// Delays every answer of the APNs stand-ins from now on.
    func answerLate(by milliseconds: Int) async throws {
        let script: JSONValue = ["latency_ms": .integer(milliseconds)]
        for url in [production, sandbox] { _ = try await ask(url + "/simulator/script", posting: script.bytes) }
    }
}
