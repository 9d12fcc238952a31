import HTTPTypes
import Requests

package struct EndpointMatch: Sendable {
    package let endpoint: Endpoint
    package let names: [String]
}

/// Finds the endpoint of a method and path. A path is compared only with templates of as many segments, or with those
/// that end in any number of segments.
package enum EndpointTable {
    private struct Template: Sendable {
        /// nil: a parameter.
        private let segments: [String?]
        /// The end of the last segment, if the last parameter stands for one or more segments; nil if it does not.
        private let suffix: String?

        private static let path = "{path}"

        init(_ text: String) {
            let parts = text.split(separator: "/")
            segments = parts.map { $0.hasPrefix("{") ? nil : String($0) }
            suffix = parts.last.flatMap { $0.hasPrefix(Self.path) ? String($0.dropFirst(Self.path.count)) : nil }
        }

        var count: Int { segments.count }
        var isOpen: Bool { suffix != nil }

        /// A fixed segment wins over a parameter: `import` in `devices/import` is no installation.
        func isMatchedBefore(_ other: Template) -> Bool {
            for (own, others) in zip(segments, other.segments) where (own == nil) != (others == nil) {
                return own != nil
            }
            return false
        }

        /// The parameters' values. Those of a path of any length come last, and may be empty.
        func names(in path: [String]) -> [String]? {
            guard let suffix else { return path.count == count ? names(of: segments, in: path) : nil }
            guard path.count >= count, let last = path.last, last.hasSuffix(suffix),
                let names = names(of: segments.dropLast(), in: path)
            else { return nil }
            return names + path[(count - 1)...].dropLast() + [String(last.dropLast(suffix.count))]
        }

        private func names(of segments: [String?], in path: [String]) -> [String]? {
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
    private static let served = Dictionary(grouping: templates.filter { !$0.template.isOpen }, by: \.template.count)
    private static let open = templates.filter(\.template.isOpen)
    private static let templates = Endpoint.all.map { (template: Template($0.template), endpoint: $0) }
        .sorted { $0.template.isMatchedBefore($1.template) }

    /// Returns the endpoint of a method and path. HEAD is served where GET is.
    package static func match(_ method: HTTPRequest.Method, _ path: [String]) throws(Problem) -> EndpointMatch {
        // The root's one segment is empty, and its template has none.
        let path = path == [""] ? [] : path
        let asked = method == .head ? .get : method
        let group = (served[path.count] ?? []) + open
        for (template, endpoint) in group where endpoint.method == asked {
            if let names = template.names(in: path) { return EndpointMatch(endpoint: endpoint, names: names) }
        }
        for planned in PlannedEndpoint.all where planned.method == asked {
            let template = Template(planned.template)
            if template.names(in: path) != nil { throw planned.problem }
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
