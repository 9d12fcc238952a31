import Basis
import Content
import JSON
import Model

/// A form in which a credential can be submitted: the members that the API reads.
package struct CredentialForm: Sendable {
    package struct Member: Sendable {
        package enum Value: Sendable {
            case text
            /// A text that may be empty.
            case password
            /// Bytes as padded base64.
            case base64
            /// A JSON object, passed on as it is.
            case object
        }

        package let name: String
        package let value: Value
        /// The limit of the value as it is sent.
        package let bytesMax: Int
        /// The text for a client that left the member out; nil: it may be left out.
        package let requirement: String?

        package init(_ name: String, _ value: Value, bytesMax: Int, requirement: String? = nil) {
            (self.name, self.value, self.bytesMax, self.requirement) = (name, value, bytesMax, requirement)
        }
    }

    package let kind: CredentialKind
    package let members: [Member]

    package init(_ kind: CredentialKind, _ members: [Member]) { (self.kind, self.members) = (kind, members) }
}

/// A credential as an operator submitted it, or as it was sealed. A secret: its description names the kind only.
package struct SubmittedForm: Sendable, CustomStringConvertible {
    package let kind: CredentialKind
    private var values: [(name: String, bytes: [UInt8])] = []

    package init(_ kind: CredentialKind, _ values: [(name: String, bytes: [UInt8])] = []) {
        (self.kind, self.values) = (kind, values)
    }

    package mutating func add(_ name: String, _ bytes: [UInt8]) { values.append((name, bytes)) }

    /// The bytes of a member; nil: it was left out.
    package subscript(name: String) -> [UInt8]? { values.first { $0.name == name }?.bytes }

    /// The text of a member; empty if it was left out.
    package func text(_ name: String) -> String { String(decoding: self[name] ?? [], as: UTF8.self) }

    package var description: String { "credential of the kind \(kind.rawValue)" }
}

package protocol ProviderCredential: Sendable {
    var kind: CredentialKind { get }

    /// Returns the members of its form again, for the vault to seal. The keys in them are plain, whatever file they
    /// came in, so that reading needs no key derivation.
    func sealedMembers() throws(ProviderFault) -> [JSONMember]
    /// Returns the facts about the credential that may be shown.
    func facts() -> JSONObject
    /// Returns the topics of its slot, checked against the requested ones. Empty: it serves every topic.
    func topics(asked: [String]) throws(ProviderFault) -> [String]
    /// Returns the whole topics that it covers, push types' suffixes included. A suffix alone stands for registrations
    /// without a topic. Empty: every push type of its topics.
    /// - Parameter slot: the topics of its slot.
    func wholeTopics(in slot: [String]) -> [String]
    /// Checks that it may be used now in these environments.
    func checkUse(in environments: [PushEnvironment], now: WallInstant) throws(ProviderFault)
    /// Refuses an address in the credential that may lead into our own network.
    /// - Parameter isAllowed: whether the gateway may call a host.
    func checkTarget(isAllowed: (_ host: String) -> Bool) throws(ProviderFault)

    /// Returns what a lane needs to send with it.
    /// - Parameters:
    ///   - topics: the topics of its slot.
    ///   - endpoint: the address of the provider, as the operator set it.
    func lane(topics: [String], at endpoint: ProviderEndpoint) -> LaneNeeds
}

extension ProviderCredential {
    package func topics(asked: [String]) throws(ProviderFault) -> [String] { [] }
    package func wholeTopics(in slot: [String]) -> [String] { [] }
    package func checkUse(in environments: [PushEnvironment], now: WallInstant) throws(ProviderFault) {}
    package func checkTarget(isAllowed: (_ host: String) -> Bool) throws(ProviderFault) {}
}

package struct LaneNeeds: Sendable {
    /// The proof of identity that the lane presents.
    package enum Authorization: Sendable {
        case certificate(any ClientIdentity)
        /// A provider token that the credential's key signs. All processes share it.
        case providerToken(any ProviderTokenSource)
        /// An access token that the provider grants. Each process has its own.
        case accessToken(any AccessTokenSource)
    }

    package let authorization: Authorization
    package let reach: CredentialReach
    /// The first request of a connection has to prove the token good before the peer allows more streams.
    package let firstRequestIsProof: Bool
    /// The project whose quota its pushes count in; nil: there is none.
    package let project: String?

    package init(
        _ authorization: Authorization, reach: CredentialReach, firstRequestIsProof: Bool = false,
        project: String? = nil
    ) {
        (self.authorization, self.reach) = (authorization, reach)
        (self.firstRequestIsProof, self.project) = (firstRequestIsProof, project)
    }
}
