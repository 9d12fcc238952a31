import JSON
import Requests

/// The command's text for a refusal. Where the API's sentence suggests another request, the command suggests another
/// command. The problem's code and members decide this, never the sentence's text.
package enum ProblemText {
    /// nil: it is no problem of the gateway's.
    package static func sentence(of problem: JSONObject) -> String? {
        guard let code = problem["code"]?.string, let detail = problem["detail"]?.string else { return nil }
        return ProblemCode(rawValue: code).flatMap { inCommands($0, problem) } ?? detail
    }

    private static func inCommands(_ code: ProblemCode, _ problem: JSONObject) -> String? {
        guard code == .forbidden else { return waysOut[code] }
        let scopes = problem["missing_scopes"]?.array?.compactMap(\.string) ?? []
        return scopes.isEmpty ? nil : missing(scopes)
    }

    private static func missing(_ scopes: [String]) -> String {
        let text = scopes.map { "\"\($0)\"" }.joined(separator: " or ")
        return "This key lacks the scope \(text). Use a key that has it, or create one: carillon keys create."
    }

    private static let waysOut: [ProblemCode: String] = [
        .unknownApp: "No app has this slug. carillon apps list lists the apps, carillon apps create creates one.",
        .unknownDevice:
            "No installation with this name is registered in this app. carillon devices register registers one.",
        .unknownMessage: "This app has no message with this id. carillon messages list lists its messages.",
        .unknownCredential: "This app has no credential with this id. carillon credentials list lists its credentials.",
        .messageStarted:
            "The message has started. carillon messages cancel stops it, carillon messages duplicate makes a copy to "
            + "correct.",
        .unknownKey: "No key has this id. carillon keys list lists the keys.",
    ]
}
