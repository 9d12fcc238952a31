import JSON

// The preview: what phones would get. The gateway is asked about the named devices only.
extension SendCommand {
    func show(_ message: JSONObject, _ receivers: TestReceivers?) async throws {
        var message = message
        if message["audience"] == nil { message["audience"] = receivers?.parts.first?.audience }
        let preview = try MessagePreview(JSONValue.object(message).bytes, app: try app.slug())
        let asked = try locales()
        let device = try await device(for: message, preview, hasLocale: !asked.isEmpty)
        var previews: [JSONValue] = []
        for locale in asked.isEmpty ? [nil] : asked.map(Optional.some) {
            if let sentence = preview.sentence(for: locale, device) { remark(sentence) }
            let phone = PreviewDevice(locale: locale ?? device?.locale, device: device?.account)
            previews += preview.messages(phone)
            if !app.gateway.json { for line in preview.lines(phone) { Console.write(line) } }
        }
        if app.gateway.json { writeJSON(["previews": .array(previews)]) }
    }

    /// Reads the one named installation; nil: the preview is for any device. A preview of what is the same on every
    /// device works without a gateway.
    private func device(
        for message: JSONObject, _ preview: MessagePreview, hasLocale: Bool
    ) async throws(CommandFault) -> NamedDevice? {
        let names = message["audience"]?.object?["installations"]?.array?.compactMap(\.string) ?? []
        let isNeeded = names.count == 1 && (preview.isTemplate || preview.isLocalized && !hasLocale)
        var device: NamedDevice?
        for name in names {
            do throws(CommandFault) {
                let client = try app.gateway.client()
                device = NamedDevice(name, try await client.get(try app.path("devices", name), as: .wholeDevice))
            } catch {
                if error.code == "unknown_device" { remark("No preview: the installation \(name) is unknown.") }
                guard !isNeeded, error.kind != .refused else {
                    throw error.kind == .refused ? error : error.advised(Self.wayOut(preview, of: name))
                }
                remark("Not compared with the registry, so for any device: \(error.description)")
                return nil
            }
        }
        return names.count == 1 ? device : nil
    }

    private static func wayOut(_ preview: MessagePreview, of name: String) -> String {
        preview.isTemplate
            ? "The preview needs the attributes of \(name)."
            : "The preview needs the language of \(name). To preview a language without the device, give --locale ja."
    }
}

/// The installation whose phone a preview shows.
struct NamedDevice {
    let name: String
    let account: JSONValue

    init(_ name: String, _ account: JSONValue) { (self.name, self.account) = (name, account) }

    var locale: String? { account.object?["locale"]?.string }
}

extension MessagePreview {
    /// The line above the pictures: whose text and attributes they show. nil: every device gets the same.
    ///
    /// - Parameter locale: the language that was asked for; nil: that of the device.
    func sentence(for locale: String?, _ device: NamedDevice?) -> String? {
        let name = device.map { TerminalText.clean($0.name) }
        let attributes =
            isTemplate ? name.map { "With the attributes of \($0)" } ?? "For a device without attributes" : nil
        guard isLocalized || locale != nil else { return attributes.map { $0 + ":" } }
        let text: String
        if let locale {
            text = choice.sentence(for: locale)
        } else if let name, let own = device?.locale {
            text = choice.sentence(for: own, of: name)
        } else if let name {
            text = "\(name) has no language, and gets the common text:"
        } else {
            text = "The common text. --locale ja shows the text of a language:"
        }
        return (attributes.map { $0 + ". " } ?? "") + text
    }
}
