import Basis
import JSON
import Model

/// A condition on users' requests, in the language of read rules: `device.provider == 'apns' && auth.plan == 'pro'`.
///
/// A request is allowed if the condition holds. One that fails does not hold, as in `ReadRules`.
///
/// - `auth` is the claims of the user's token, `root` the data at the root of the app's tree, and `now` the time.
/// - `device` has the members `installation`, `provider` and `topic`.
/// - `item`, `field`, `mode` and `trigger` are those of the subscription, as texts. The condition must hold for each pair
///   of an item and a field.
///
/// A value that the request doesn't have is missing, as a claim may be: the trigger of a subscription without one. It
/// equals the literal `null`, and any other comparison with it fails.
package struct HookExpression: Sendable {
    /// The requests that a hook is asked about.
    package enum Kind: CaseIterable, Sendable {
        /// All requests with a user's token.
        case device
        /// Those that make a subscription active or change it.
        case activation
        /// Those that change an installation's token.
        case token

        var names: [HookName] {
            switch self {
            case .device, .token: [.device]
            case .activation: HookName.allCases
            }
        }
    }

    /// The most different look-ups of one request, over all pairs of its items and fields.
    package static let lookupsMax = 100

    private let rule: ReadRule
    private let namesItem: Bool
    private let namesField: Bool

    /// - Parameter pointer: the place of the text in the body.
    package init(parsing text: String, kind: Kind, at pointer: JSONPointer = .root) throws(ReadRuleFault) {
        var way = RuleWay()
        let parsed = try RuleParser.parse(text, at: pointer, way: &way, hook: kind)
        rule = parsed.rule
        namesItem = parsed.requestNames.contains(.item)
        namesField = parsed.requestNames.contains(.field)
    }

    /// The paths whose values `allows` may ask for: different ones. nil: more than the limit, so the request is denied.
    ///
    /// The keys in a path need not be valid keys of the tree, since claims and names of fields may be any text. Nothing
    /// is at such a path.
    package func lookups(_ request: HookRequest, now: WallInstant) -> [[String]]? {
        if rule.lookups.isEmpty { return [] }
        var paths: [[String]] = []
        var known: Set<[UInt8]> = []  // lookup only
        for subject in subjects(of: request, now: now) {
            for lookup in rule.lookups {
                guard case .path(let path) = try? subject.target(of: lookup) else { continue }
                // No key has a slash: a text with one leads to no path.
                guard known.insert(Array(path.joined(separator: "/").utf8)).inserted else { continue }
                guard paths.count < Self.lookupsMax else { return nil }
                paths.append(path)
            }
        }
        return paths
    }

    /// Whether the request is allowed, if `lookups` isn't nil.
    /// - Parameter values: returns the value at a path, which is one of `lookups` with the same arguments. A node with
    ///   children is a structure.
    package func allows(_ request: HookRequest, now: WallInstant, values: ([String]) -> RuleValue) -> Bool {
        subjects(of: request, now: now).allSatisfy { $0.fulfils(rule, values) }
    }

    /// The pairs of items and fields that differ for this condition, each with the rest of the request.
    private func subjects(of request: HookRequest, now: WallInstant) -> [RuleSubject] {
        let device = request.device.members
        guard let activation = request.activation else {
            return [RuleSubject(path: [], auth: request.auth, now: now, request: JSONObject(device))]
        }
        let common = device + activation.members
        let items = namesItem ? activation.items : Array(activation.items.prefix(1))
        let fields = namesField ? activation.fields : Array(activation.fields.prefix(1))
        return items.flatMap { item in
            fields.map { field in
                let pair = [JSONMember(.item, item), JSONMember(.field, field)]
                return RuleSubject(path: [], auth: request.auth, now: now, request: JSONObject(common + pair))
            }
        }
    }
}

/// The name of a value of a request.
enum HookName: String, CaseIterable {
    case device, item, field, mode, trigger
}

extension HookRequest.Device {
    fileprivate var members: [JSONMember] {
        let values: [(String, String?)] = [
            ("installation", installation), ("provider", provider?.name), ("topic", topic),
        ]
        let device = values.compactMap { name, value in value.map { JSONMember(name, .string($0)) } }
        return [JSONMember(HookName.device.rawValue, .object(JSONObject(device)))]
    }
}

extension HookRequest.Activation {
    /// Those that all pairs share.
    fileprivate var members: [JSONMember] {
        [JSONMember(.mode, mode)] + (trigger.map { [JSONMember(.trigger, $0)] } ?? [])
    }
}

extension JSONMember {
    fileprivate init(_ name: HookName, _ text: String) { self.init(name.rawValue, .string(text)) }
}
