import ArgumentParser
import JSON

/// Why a command could not do what it was asked, with the exit code that a script can go by (those of sysexits.h).
package struct CommandFault: Error, CustomStringConvertible {
    package enum Kind: Int32, Sendable {
        /// What was asked for does not hold: a message ended with failures, a check failed.
        case failed = 1
        /// A file or value that was given can't be used.
        case usage = 64
        /// The gateway refused the request, for a reason that only another request changes.
        case refused = 65
        /// The gateway can't be reached.
        case unreachable = 69
        /// Later may be better.
        case tryAgain = 75
        /// The key is missing, not valid, or lacks a scope.
        case noPermission = 77

        /// Stable words: published in docs/operations/command-line.md, never reused.
        var code: String {
            switch self {
            case .failed: "failed"
            case .usage: "unusable_input"
            case .refused: "refused"
            case .unreachable: "unreachable"
            case .tryAgain: "try_again"
            case .noPermission: "no_permission"
            }
        }
    }

    package let kind: Kind
    package let description: String
    /// What the gateway said, where it was the gateway.
    private let problem: JSONObject?

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
        problem = nil
    }

    /// From a problem of the gateway's.
    package init(status: Int, body: [UInt8]) {
        kind =
            switch status {
            case 401, 403: .noPermission
            case 429, 500...: .tryAgain
            default: .refused
            }
        guard !(300..<400).contains(status) else {
            description =
                "what answers there sends on to another address (\(status)), which is not followed, since the request holds "
                + "a key: name the gateway's own address with --url"
            problem = nil
            return
        }
        let problem = (try? JSONReader.read(body))?.object
        guard let problem, let code = problem["code"]?.string, let detail = ProblemText.sentence(of: problem) else {
            description = "the gateway answered \(status), and nothing that explains it"
            self.problem = nil
            return
        }
        // An empty one is the whole body.
        let place = problem["pointer"]?.string.map { $0.isEmpty ? "" : " (at \($0))" } ?? ""
        description = "\(detail)\(place) [\(status) \(code)]"
        self.problem = problem
    }

    /// The gateway's word, where it was the gateway.
    package var code: String? { problem?["code"]?.string }

    /// For scripts: the gateway's problem as it came, or one of the same form.
    package var json: JSONValue {
        problem.map(JSONValue.object) ?? ["code": .string(kind.code), "detail": .string(description)]
    }
}

/// Runs a command's body; says what went wrong, and ends with its exit code.
package func orComplain(asJSON: Bool, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let fault as CommandFault {
        if asJSON { Console.remark(json: fault.json) } else { Console.complain(fault.description) }
        throw ExitCode(fault.kind.rawValue)
    }
}

/// For commands that look at this machine only, whose faults are told in words of their own.
package func orComplain(ofThisMachine asJSON: Bool, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let code as ExitCode {
        throw code
    } catch {
        try await orComplain(asJSON: asJSON) { throw CommandFault(.failed, "\(error)") }
    }
}
