import ArgumentParser
import JSON

/// The reason why a command failed, with an exit code for scripts (those of sysexits.h).
package struct CommandFault: Error, CustomStringConvertible {
    package enum Kind: Int32, Sendable {
        /// The result is negative: a message ended with failures, or a check failed.
        case failed = 1
        case usage = 64
        /// The gateway refused the request; the same request would be refused again.
        case refused = 65
        case unreachable = 69
        case tryAgain = 75
        case noPermission = 77

        /// Stable codes: published in docs/operations/command-line.md, never reused.
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
    private let problem: JSONObject?

    package init(_ kind: Kind, _ description: String) {
        (self.kind, self.description) = (kind, description)
        problem = nil
    }

    package init(status: Int, body: [UInt8]) {
        kind =
            switch status {
            case 401, 403: .noPermission
            case 429, 500...: .tryAgain
            default: .refused
            }
        guard !(300..<400).contains(status) else {
            description =
                "the server at this address redirects (\(status)). Redirects are not followed, because the request "
                + "holds an API key: give the gateway's own address with --url"
            problem = nil
            return
        }
        let problem = (try? JSONReader.read(body))?.object
        guard let problem, let code = problem["code"]?.string, let detail = ProblemText.sentence(of: problem) else {
            // The gateway's own refusal is a problem.
            description =
                status == 413
                ? "a proxy in front of the gateway refused the request as too large (413). Remove its limit for bodies, "
                    + "in nginx with client_max_body_size 0"
                : "the gateway answered \(status) without an explanation"
            self.problem = nil
            return
        }
        // An empty pointer means the whole body.
        let place = problem["pointer"]?.string.map { $0.isEmpty ? "" : " (at \($0))" } ?? ""
        description = "\(detail)\(place) [\(status) \(code)]"
        self.problem = problem
    }

    private init(_ kind: Kind, _ description: String, _ problem: JSONObject?) {
        (self.kind, self.description, self.problem) = (kind, description, problem)
    }

    /// The same fault with a sentence more for people.
    func advised(_ sentence: String) -> CommandFault {
        let end = description.last.map { ".]".contains($0) } ?? true ? " " : ". "
        return CommandFault(kind, description + end + sentence, problem)
    }

    package var code: String? { problem?["code"]?.string }

    /// The gateway's problem as received, or one of the same form; for scripts.
    package var json: JSONValue {
        problem.map(JSONValue.object) ?? ["code": .string(kind.code), "detail": .string(description)]
    }
}

extension Result where Failure == any Error {
    /// The result of work, for the code that closes something before it uses the result.
    package init(of work: () async throws -> Success) async {
        do { self = .success(try await work()) } catch { self = .failure(error) }
    }
}

/// Runs a command's body. Reports a fault and exits with its code.
package func orComplain(asJSON: Bool, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let fault as CommandFault {
        if asJSON { Console.remark(json: fault.json) } else { Console.complain(fault.description) }
        throw ExitCode(fault.kind.rawValue)
    }
}

package func orComplain(ofThisMachine asJSON: Bool, _ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch let code as ExitCode {
        throw code
    } catch {
        try await orComplain(asJSON: asJSON) { throw CommandFault(.failed, "\(error)") }
    }
}
