import API
import JSON

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
        return "This key has not the scope \(text). Use one that has it, or make one: carillon keys create."
    }

    private static let waysOut: [ProblemCode: String] = [
        .unknownApp: "No app has this slug. carillon apps list lists them, carillon apps create makes one.",
        .unknownDevice:
            "No installation of this name is registered with this app. carillon devices register registers one.",
        .unknownMessage: "This app has no message of this id. carillon messages list lists them.",
        .unknownCredential: "This app has no such credential. carillon credentials list lists them.",
        .unknownKey: "There is no key of this id. carillon keys list lists them.",
    ]
}
