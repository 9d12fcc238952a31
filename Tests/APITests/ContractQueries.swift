import API
import Documents

/// The query parameters of each operation in docs/openapi.yaml.
///
/// Relies on the document's layout, as `Contract` does: one entry per line, two spaces per level.
struct ContractQueries {
    static let current = ContractQueries(String(decoding: EmbeddedDocuments.contract, as: UTF8.self))

    /// Names of query parameters, and references to parameters of any kind, by operation.
    private var operations: [String: [String]] = [:]
    /// The names of the query parameters under components/parameters, by reference.
    private var shared: [String: String] = [:]

    private init(_ text: String) {
        var section: Substring = ""
        var (operation, component, parameter) = ("", "", "")
        var ofPath: [String] = []
        for line in text.split(separator: "\n") {
            let depth = line.prefix { $0 == " " }.count
            let entry = line.dropFirst(depth)
            if depth == 0 || (depth == 2 && section.hasPrefix("components")) {
                section = depth == 0 ? entry : "components/" + entry
            }
            switch (section, depth) {
            case ("paths:", 2): ofPath = []
            case ("paths:", 6) where entry.hasPrefix("- "): ofPath += Self.parameter(entry)
            case ("paths:", 6) where entry.hasPrefix("operationId: "):
                operation = String(entry.dropFirst(13))
                operations[operation] = ofPath
            case ("paths:", 8) where entry.hasPrefix("- name: "): parameter = String(entry.dropFirst(8))
            case ("paths:", 8) where entry.hasPrefix("- "): operations[operation]? += Self.parameter(entry)
            case ("paths:", 10) where entry == "in: query": operations[operation]?.append(parameter)
            case ("components/parameters:", 4): component = String(entry.dropLast())
            case ("components/parameters:", 6) where entry.hasPrefix("name: "): parameter = String(entry.dropFirst(6))
            case ("components/parameters:", 6) where entry == "in: query": shared[component] = parameter
            default: continue
            }
        }
    }

    func names(of endpoint: Endpoint) -> [String] {
        (operations[endpoint.name] ?? []).compactMap { $0.hasPrefix("#") ? shared[String($0.dropFirst())] : $0 }
    }

    /// A parameter on one line: the name of a query parameter, or "#" and the name of a reference.
    private static func parameter(_ entry: Substring) -> [String] {
        if let match = entry.firstMatch(of: /parameters\/(\w+)"/) { return ["#" + match.1] }
        return entry.firstMatch(of: /name: (\w+), in: query/).map { [String($0.1)] } ?? []
    }
}
