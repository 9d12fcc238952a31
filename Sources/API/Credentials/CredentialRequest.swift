import Content
import Credentials
import Encodings
import JSON
import Model
import ProviderInterface
import Providers
import Requests

/// Reads the bodies of requests about credentials.
package enum CredentialRequest {
    static let topicsMax = 100
    private static let both = "both"

    /// Whether a change concerns the credential of the sibling environment too. The body may be empty.
    static func readBoth(_ body: [UInt8]) throws(Problem) -> Bool {
        guard !body.isEmpty else { return false }
        var reader = try EnvelopeReader(body: body)
        let choice: String? = try reader.choice("environment", [both]) { $0 == both ? both : nil }
        try reader.end()
        return choice != nil
    }

    /// Reads the body of `POST .../credentials`. Whether the key or certificate is valid is found out later.
    package static func read(_ body: [UInt8]) throws(Problem) -> CredentialSubmission {
        var reader = try EnvelopeReader(body: body)
        let provider = try reader.requiredProvider()
        let environments = try readEnvironments(&reader, of: provider)
        let topics = provider.hasTopics ? try readTopics(&reader, of: provider) : []
        let activate = try reader.bool("activate") ?? false
        let form = try readForm(&reader, of: provider)
        try reader.end()
        return CredentialSubmission(
            provider: provider.id, form: form, environments: environments, topics: topics, activate: activate)
    }

    /// A provider's only environment need not be named.
    private static func readEnvironments(
        _ reader: inout EnvelopeReader, of provider: any PushProvider
    ) throws(Problem) -> [PushEnvironment] {
        let offered = provider.environments
        let names = offered.map(\.name) + (offered.count > 1 ? [both] : [])
        if offered.count > 1 { _ = try reader.required("environment", "one of \(names.joined(separator: ", "))") }
        let environments: [PushEnvironment]? = try reader.choice("environment", names) { choice in
            guard names.contains(choice) else { return nil }
            return choice == both ? offered : offered.filter { $0.name == choice }
        }
        return environments ?? offered
    }

    /// A topic keeps its suffix here: a certificate may be for one service alone.
    private static func readTopics(
        _ reader: inout EnvelopeReader, of provider: any PushProvider
    ) throws(Problem) -> [String] {
        guard let elements = try reader.array("topics", countMax: topicsMax) else { return [] }
        var topics = DistinctTexts()
        for (place, element) in elements.enumerated() {
            let pointer = reader.pointer / "topics" / place
            let topic = try element.text(bytesMax: RegistrationLimits.topicBytesMax, at: pointer)
            _ = try TokenText.topic(topic, of: provider, kind: nil, at: pointer)
            topics.add(topic)
        }
        return topics.texts
    }

    private static func readForm(
        _ reader: inout EnvelopeReader, of provider: any PushProvider
    ) throws(Problem) -> SubmittedForm {
        let forms = provider.credentialForms
        let chosen = try reader.choice("kind", forms.map(\.kind.rawValue)) { choice in
            forms.first { $0.kind.rawValue == choice }
        }
        guard let chosen else {
            throw Problem(.missingMember, "kind is missing: \(provider.credentialKinds).", at: reader.pointer / "kind")
        }
        var form = SubmittedForm(chosen.kind)
        for member in chosen.members {
            if let bytes = try read(member, &reader) { form.add(member.name, bytes) }
        }
        do throws(ProviderFault) { try provider.checkForm(form) } catch { throw Problem(error, at: reader.pointer) }
        return form
    }

    private static func read(
        _ member: CredentialForm.Member, _ reader: inout EnvelopeReader
    ) throws(Problem) -> [UInt8]? {
        let pointer = reader.pointer / member.name
        let value: JSONValue
        if let requirement = member.requirement {
            value = try reader.required(member.name, requirement)
        } else {
            guard let optional = reader.take(member.name) else { return nil }
            value = optional
        }
        switch member.value {
        case .text: return Array(try value.text(bytesMax: member.bytesMax, at: pointer).utf8)
        case .base64:
            guard let bytes = Base64.decode(try value.text(bytesMax: member.bytesMax, at: pointer)) else {
                throw Problem(.invalidValue, "The file must be padded base64 without line breaks.", at: pointer)
            }
            return bytes
        case .password:
            return try checked(
                Array(value.anyString(at: pointer).utf8), bytesMax: member.bytesMax, "A password", at: pointer)
        case .object:
            return try checked(
                JSONValue.object(value.members(at: pointer)).bytes, bytesMax: member.bytesMax, "This object",
                at: pointer)
        }
    }

    private static func checked(
        _ bytes: [UInt8], bytesMax: Int, _ noun: String, at pointer: JSONPointer
    ) throws(Problem) -> [UInt8] {
        guard bytes.count <= bytesMax else {
            throw Problem(.valueTooLong, "\(noun) has at most \(bytesMax) bytes.", at: pointer)
        }
        return bytes
    }
}
