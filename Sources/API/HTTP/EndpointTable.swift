import HTTPTypes
import JSON

package struct EndpointMatch: Sendable {
    package let endpoint: Endpoint
    package let names: [String]
}

/// Finds the endpoint of a method and path. A path is compared only with templates of as many segments.
package enum EndpointTable {
    /// A template's segments; nil: a parameter.
    private struct Template: Sendable {
        private let segments: [String?]

        init(_ text: String) { segments = text.split(separator: "/").map { $0.hasPrefix("{") ? nil : String($0) } }

        var count: Int { segments.count }

        /// A fixed segment wins over a parameter: `import` in `devices/import` is no installation.
        func isMatchedBefore(_ other: Template) -> Bool {
            for (own, others) in zip(segments, other.segments) where (own == nil) != (others == nil) {
                return own != nil
            }
            return false
        }

        func names(in path: [String]) -> [String]? {
            var names: [String] = []
            for (segment, given) in zip(segments, path) {
                if let segment {
                    guard given.hasSameBytes(as: segment) else { return nil }
                } else {
                    guard !given.isEmpty else { return nil }
                    names.append(given)
                }
            }
            return names
        }
    }

    /// The served endpoints by their number of segments; those that are matched first come first.
    private static let served = Dictionary(
        grouping: Endpoint.all.map { (template: Template($0.template), endpoint: $0) }, by: \.template.count
    ).mapValues { group in group.sorted { $0.template.isMatchedBefore($1.template) } }

    /// Returns the endpoint of a method and path. HEAD is served where GET is.
    package static func match(_ method: HTTPRequest.Method, _ path: [String]) throws(Problem) -> EndpointMatch {
        let asked = method == .head ? .get : method
        let group = served[path.count] ?? []
        for (template, endpoint) in group where endpoint.method == asked {
            if let names = template.names(in: path) { return EndpointMatch(endpoint: endpoint, names: names) }
        }
        for planned in PlannedEndpoint.all where planned.method == asked {
            let template = Template(planned.template)
            if template.count == path.count, template.names(in: path) != nil { throw planned.problem }
        }
        var offered = group.filter { $0.template.names(in: path) != nil }.map(\.endpoint.method.rawValue)
        guard !offered.isEmpty else {
            throw Problem(.notFound, "No route has this path. /openapi.yaml lists the routes.")
        }
        if offered.contains(HTTPRequest.Method.get.rawValue) { offered.append(HTTPRequest.Method.head.rawValue) }
        let allow = offered.sorted().joined(separator: ", ")
        throw Problem(.methodNotAllowed, "This path serves \(allow).", allow: allow)
    }
}
