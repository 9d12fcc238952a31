import JSON

/// The receivers of a test, as `--test-to` names them: `phone-1`, `user:frida`, `tag:staff`.
package struct TestReceivers: Equatable {
    /// One message of the test. An audience names receivers of one form only, and a user may have several devices.
    package struct Part: Equatable {
        package let form: Form
        package let names: [String]
        package let audience: JSONValue
        /// "the installations phone-1 and phone-2".
        package let text: String
        /// The smallest number of devices that must receive it.
        package let devicesMin: Int64
    }

    package enum Form: String, Sendable { case installation, user, tag }

    private var installations: [String] = []
    private var users: [String] = []
    private var tags: [String] = []

    /// - Parameter options: each may name several receivers with commas between them.
    package init(_ options: [String]) throws(CommandFault) {
        for receiver in options.flatMap({ $0.split(separator: ",") }) {
            let colon = receiver.firstIndex(of: ":")
            let name = String(colon.map { receiver[receiver.index(after: $0)...] } ?? "")
            switch colon.map({ receiver[..<$0] }) {
            case "user": users.append(name)
            case "tag": tags.append(name)
            // For an installation whose name begins with user: or tag:.
            case "installation": installations.append(name)
            default: installations.append(String(receiver))
            }
        }
        let names = installations + users + tags
        guard !names.isEmpty, !names.contains("") else {
            throw CommandFault(.usage, "--test-to takes an installation, user:name or tag:name")
        }
    }

    package var parts: [Part] {
        var parts: [Part] = []
        func add(_ audience: JSONValue, _ form: Form, _ names: [String]) {
            let noun = names.count == 1 ? form.rawValue : form.rawValue + "s"
            let text = "the \(noun) \(AudienceDescription.sentence(names, "and"))"
            let devicesMin = form == .installation ? Int64(names.count) : 1
            parts.append(Part(form: form, names: names, audience: audience, text: text, devicesMin: devicesMin))
        }
        if !installations.isEmpty { add(["installations": .list(of: installations)], .installation, installations) }
        // Each user's own message: beside others, nobody sees that one of them has no device.
        for user in users { add(["users": .list(of: [user])], .user, [user]) }
        if !tags.isEmpty { add(["tags": ["any": .list(of: tags)]], .tag, tags) }
        return parts
    }

    /// "the installation phone-1 and the user frida".
    package var sentence: String { AudienceDescription.sentence(parts.map(\.text), "and") }
}
