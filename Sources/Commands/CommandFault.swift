import ArgumentParser
import JSON

/// Why a command could not do what it was asked, with the exit code that a script can go by (those of sysexits.h).
struct CommandFault: Error, CustomStringConvertible {
    enum Kind: Int32 {
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
    }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// From a problem of the gateway's.
    init(status: Int, body: [UInt8]) {
        let problem = (try? JSONReader.read(body))?.object
        kind =
            switch status {
            case 401, 403: .noPermission
            case 429, 500...: .tryAgain
            default: .refused
            }
        guard let code = problem?["code"]?.string, let detail = problem?["detail"]?.string else {
            description = "the gateway answered \(status), and nothing that explains it"
            return
        }
        let place = problem?["pointer"]?.string.map { " (at \($0))" } ?? ""
        description = "\(detail)\(place) [\(status) \(code)]"
    }
}

/// Runs a command's body; says what went wrong, and ends with its exit code.
func orComplain(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let fault as CommandFault {
        Console.complain(fault.description)
        throw ExitCode(fault.kind.rawValue)
    }
}
