import HTTPTypes
import JSON

/// The endpoint that a request matches.
package struct EndpointMatch: Sendable {
    package let endpoint: Endpoint
    /// The values of the template's parameters, in its order.
    package let names: [String]
}

/// All endpoints as a tree of path segments, built once. A request is compared only with the segments next to its own
/// path.
package struct EndpointTable: Sendable {
    private struct Node: Sendable {
        /// The children for fixed segments: a handful at most.
        var fixed: [(text: String, node: Int)] = []
        /// The child for a parameter.
        var parameter: Int?
        var served: [Endpoint] = []
        var planned: [PlannedEndpoint] = []
    }

    private static let shared = EndpointTable(Endpoint.all, PlannedEndpoint.all)

    private var nodes = [Node()]

    private init(_ served: [Endpoint], _ planned: [PlannedEndpoint]) {
        for endpoint in served {
            let leaf = leaf(of: endpoint.template)
            precondition(
                !nodes[leaf].served.contains { $0.method == endpoint.method }, "an endpoint is declared only once")
            nodes[leaf].served.append(endpoint)
        }
        for endpoint in planned { nodes[leaf(of: endpoint.template)].planned.append(endpoint) }
    }

    private mutating func leaf(of template: String) -> Int {
        template.split(separator: "/").reduce(0) { node, segment in
            segment.hasPrefix("{") ? addParameter(behind: node) : addFixed(String(segment), behind: node)
        }
    }

    private mutating func addParameter(behind node: Int) -> Int {
        if let next = nodes[node].parameter { return next }
        nodes.append(Node())
        nodes[node].parameter = nodes.count - 1
        return nodes.count - 1
    }

    private mutating func addFixed(_ text: String, behind node: Int) -> Int {
        if let next = fixed(behind: node, text) { return next }
        nodes.append(Node())
        nodes[node].fixed.append((text, nodes.count - 1))
        return nodes.count - 1
    }
}

extension EndpointTable {
    /// Returns the endpoint of a method and path. HEAD is served where GET is.
    package static func match(_ method: HTTPRequest.Method, _ segments: [String]) throws(Problem) -> EndpointMatch {
        let asked = method == .head ? .get : method
        var names: [String] = []
        guard let endpoint = shared.endpoint(asked, segments, at: 0, from: 0, &names) else {
            throw shared.refusal(asked, segments)
        }
        return EndpointMatch(endpoint: endpoint, names: names)
    }

    /// A fixed segment wins over a parameter: for the import's methods, `import` in `devices/import` is no
    /// installation.
    private func endpoint(
        _ method: HTTPRequest.Method, _ segments: [String], at place: Int, from node: Int, _ names: inout [String]
    ) -> Endpoint? {
        guard place < segments.count else { return nodes[node].served.first { $0.method == method } }
        if let next = fixed(behind: node, segments[place]),
            let found = endpoint(method, segments, at: place + 1, from: next, &names)
        {
            return found
        }
        guard let next = nodes[node].parameter, !segments[place].isEmpty else { return nil }
        names.append(segments[place])
        if let found = endpoint(method, segments, at: place + 1, from: next, &names) { return found }
        names.removeLast()
        return nil
    }

    private func fixed(behind node: Int, _ segment: String) -> Int? {
        for next in nodes[node].fixed where segment.hasSameBytes(as: next.text) { return next.node }
        return nil
    }

    private func refusal(_ method: HTTPRequest.Method, _ segments: [String]) -> Problem {
        let leaves = leaves(segments, at: 0, from: 0)
        if let planned = leaves.flatMap(\.planned).first(where: { $0.method == method }) { return planned.problem }
        var offered = leaves.flatMap { $0.served.map(\.method.rawValue) }
        guard !offered.isEmpty else {
            return Problem(.notFound, "No route has this path. /openapi.yaml lists the routes.")
        }
        if offered.contains(HTTPRequest.Method.get.rawValue) { offered.append(HTTPRequest.Method.head.rawValue) }
        let allow = offered.sorted().joined(separator: ", ")
        return Problem(.methodNotAllowed, "This path serves \(allow).", allow: allow)
    }

    /// The nodes at the path's end, one for each way to read the path.
    private func leaves(_ segments: [String], at place: Int, from node: Int) -> [Node] {
        guard place < segments.count else { return [nodes[node]] }
        var next = fixed(behind: node, segments[place]).map { [$0] } ?? []
        if let parameter = nodes[node].parameter, !segments[place].isEmpty { next.append(parameter) }
        return next.flatMap { leaves(segments, at: place + 1, from: $0) }
    }
}
